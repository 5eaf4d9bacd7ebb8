import { readEvent } from "../../app/reference.ts";
import { messageOf, SkillflowError } from "../../core/base/errors.ts";
import { isObject, memberAt } from "../../core/base/values.ts";
import type { Environment } from "../../core/document/config.ts";
import { type GitHub, repositoryPath } from "./github.ts";

/**
 * Checks that everyone who caused the event may write to the repository. A run has secrets and costs money, so nothing
 * starts before. Refuses if permissions cannot be determined.
 */
export async function admitActors(env: Environment, allowed: readonly string[], github: GitHub): Promise<void> {
  const event = env.GITHUB_EVENT_NAME ?? "";
  if (OF_WRITERS.includes(event)) return;
  const known = new Set(allowed.map(foldName));
  const actors = distinct(actorsOf(env, event)).filter(({ name }) => !known.has(foldName(name)));
  for (const each of actors) await admit(each, event, { env, github });
}

/** Events that require write access or come from the repository itself. */
const OF_WRITERS: readonly string[] = ["schedule", "workflow_dispatch", "push"];

interface Actor {
  readonly name: string;
  /** Source of the name, such as `GITHUB_ACTOR` or `workflow_run.actor`. */
  readonly as: string;
}

/** Returns all users who had a part in the event. All of them must pass. */
function actorsOf(env: Environment, event: string): Actor[] {
  const payload = readEvent(env);
  if (typeof payload === "string") throw refusal(`cannot identify who caused ${eventName(event)}: ${payload}`);
  const has = (...keys: readonly string[]) => memberAt(payload, ...keys) !== undefined;
  const login = (...keys: readonly string[]) => actor(keys.join("."), memberAt(payload, ...keys, "login"));
  return [
    actor("GITHUB_ACTOR", env.GITHUB_ACTOR),
    // Older servers do not set it. Then the first actor counts.
    ...(env.GITHUB_TRIGGERING_ACTOR ? [actor("GITHUB_TRIGGERING_ACTOR", env.GITHUB_TRIGGERING_ACTOR)] : []),
    ...(event === "workflow_run" ? [login("workflow_run", "actor")] : []),
    ...(has("workflow_run", "triggering_actor") ? [login("workflow_run", "triggering_actor")] : []),
    ...(event.endsWith("_comment") || has("comment", "user") ? [login("comment", "user")] : []),
    ...(has("review", "user") ? [login("review", "user")] : []),
  ];
}

const NAME = /^[a-z\d](?:[a-z\d_-]{0,98}[a-z\d_])?(?:\[bot\])?$/i;

function actor(as: string, name: unknown): Actor {
  if (typeof name === "string" && NAME.test(name)) return { name, as };
  const what = name === undefined || name === "" || name === null ? "is empty" : "is not a valid user name";
  throw refusal(`cannot identify who caused this: ${as} ${what}`);
}

function distinct(actors: readonly Actor[]): Actor[] {
  return [...new Map(actors.toReversed().map((each) => [foldName(each.name), each])).values()].reverse();
}

/** Lowercases a name, because GitHub names are case-insensitive. */
function foldName(name: string): string {
  return name.toLowerCase();
}

async function admit(
  { name, as }: Actor,
  event: string,
  { env, github }: { readonly env: Environment; readonly github: GitHub },
): Promise<void> {
  const who = `${name} (${as})`;
  const repository = repositoryPath(env);
  if (repository === undefined)
    throw refusal(`cannot check the permissions of ${who}: GITHUB_REPOSITORY is not a repository`);
  const asked = github.ask("GET", `${repository}/collaborators/${encodeURIComponent(name)}/permission`);
  const { status, body } = await asked.catch((error: unknown) => {
    throw refusal(`cannot check the permissions of ${who}: GitHub did not answer: ${messageOf(error)}`);
  });
  if (status !== 200) {
    throw refusal(
      `${who} cannot start this with ${eventName(event)}: GitHub answered ${status} for their permission`,
      name,
    );
  }
  if (!mayWrite(body)) {
    throw refusal(`${who} cannot start this with ${eventName(event)}: they have no write access`, name);
  }
}

const WRITING: readonly unknown[] = ["admin", "maintain", "write"];
const READING: readonly unknown[] = ["triage", "read", "none"];

/**
 * Checks for write access. `permission` is the base of any role: maintain maps to write, triage to read. If the role's
 * name contradicts it, access is refused.
 */
function mayWrite(body: unknown): boolean {
  return isObject(body) && WRITING.includes(body["permission"]) && !READING.includes(body["role_name"]);
}

function eventName(event: string): string {
  return event === "" ? "an event without a name" : event;
}

function refusal(message: string, name?: string): SkillflowError {
  const hint =
    name === undefined
      ? "run the action on a GitHub event and pass github-token: it starts only for users with write access to the repository"
      : `ask a user with write access to start it again, or add ${name} to allow-actors`;
  return new SkillflowError("actor.refused", message, { hint });
}
