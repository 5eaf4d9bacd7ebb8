import { existsSync, mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { readEvent } from "../../app/reference.ts";
import { actionsRun } from "../../app/runs/report-url.ts";
import { annotationsOfRefusal } from "../../cli/ci/github.ts";
import { messageOf, SkillflowError } from "../../core/base/errors.ts";
import { isObject, memberAt, parseJson, textAt } from "../../core/base/values.ts";
import type { Environment } from "../../core/document/config.ts";
import { bearsMark, commentText, type Facts, factsIn, factsOf } from "./comment-text.ts";
import { type GitHub, repositoryPath } from "./github.ts";

/** Comment on a pull request that each run of a workflow rewrites. It shows what changed since the last run. */
type Comment = ReturnType<typeof openComment>;

/** Creates a folder for the reports. Without a pull request, `place` is undefined. */
export function openComment(workflow: string, env: Environment, github: GitHub) {
  // The runner removes its folder after the job, so that later steps can read what `result-file` names.
  const kept = env.RUNNER_TEMP;
  const folder = mkdtempSync(join(kept || tmpdir(), "skillflow-comment-"));
  const reports = [`--report=json=${join(folder, RESULT)}`, `--report=md=${join(folder, SUMMARY)}`];
  const close = () => {
    if (!kept) rmSync(folder, { recursive: true, force: true });
  };
  return { reports, place: placeOf(env), workflow, folder, address: actionsRun(env), github, close };
}

const RESULT = "result.json";
const SUMMARY = "summary.md";

/** Writes the comment after a run that exited with `code`. Returns the combined exit code. */
export async function keepComment(
  comment: Comment,
  code: number,
  say: (text: string) => Promise<void>,
): Promise<number> {
  const { place, folder } = comment;
  if (!existsSync(join(folder, RESULT)) || !existsSync(join(folder, SUMMARY))) return code;
  if (!place) {
    await say("no comment: this event does not belong to a pull request\n");
    return code;
  }
  try {
    await writeComment(comment, place);
    return code;
  } catch (error) {
    const failure = new SkillflowError("output.failed", `cannot write the comment: ${messageOf(error)}`, {
      hint: "add permissions: pull-requests: write to the job (pull requests from forks never have it)",
    });
    for (const line of annotationsOfRefusal(failure)) await say(`${line}\n`);
    return code === 0 ? failure.exitCode : code;
  }
}

async function writeComment({ workflow, folder, address, github }: Comment, place: Place): Promise<void> {
  const facts = factsOf(parseJson(readFileSync(join(folder, RESULT), "utf8")));
  if (!facts) throw new Error("the run left no result");
  const summary = readFileSync(join(folder, SUMMARY), "utf8");
  const ours = await findOurs(workflow, github, place);
  const body = commentText({ workflow, facts, before: earlier(ours?.body, facts), summary, address });
  const { repository, number } = place;
  const { status } = ours
    ? await github.ask("PATCH", `${repository}/issues/comments/${ours.id}`, { body })
    : await github.ask("POST", `${repository}/issues/${number}/comments`, { body });
  if (status !== 200 && status !== 201) throw new Error(`GitHub answers ${status}`);
}

/** Returns the previous run's facts, or undefined if they are of this run, as when a job is repeated. */
function earlier(body: string | undefined, { run }: Facts): Facts | undefined {
  const facts = body === undefined ? undefined : factsIn(body);
  return facts?.run === run ? undefined : facts;
}

/** Finds our comment. Anyone can copy the marker, so the author must be the owner of our token. */
async function findOurs(workflow: string, github: GitHub, { repository, number }: Place) {
  const author = await authorOf(github);
  for (let page = 1; page <= MOST_PAGES; page += 1) {
    const path = `${repository}/issues/${number}/comments?per_page=${PAGE}&page=${page}`;
    const { status, body } = await github.ask("GET", path);
    if (status !== 200 || !Array.isArray(body)) throw new Error(`GitHub answers ${status} for the comments`);
    for (const one of body) {
      const [id, text] = [memberAt(one, "id"), textAt(one, "body")];
      const isOurs = textAt(one, "user", "login") === author && text !== undefined && bearsMark(text, workflow);
      if (isOurs && typeof id === "number" && Number.isSafeInteger(id)) return { id, body: text };
    }
    if (body.length < PAGE) return undefined;
  }
  throw new Error(`there are more than ${MOST_PAGES * PAGE} comments`);
}

const PAGE = 100;
const MOST_PAGES = 50;

/** Author of comments that use the job's own token. For other tokens, GitHub is asked. */
const JOB = "github-actions[bot]";

async function authorOf(github: GitHub): Promise<string> {
  const { status, body } = await github.graphql("query { viewer { login } }");
  return (status === 200 ? textAt(body, "data", "viewer", "login") : undefined) ?? JOB;
}

type Place = NonNullable<ReturnType<typeof placeOf>>;

function placeOf(env: Environment) {
  const repository = repositoryPath(env);
  const event = readEvent(env);
  const number = typeof event === "string" ? undefined : numberOf(event);
  if (repository === undefined || typeof number !== "number" || !Number.isSafeInteger(number) || number <= 0)
    return undefined;
  return { repository, number };
}

/** Returns the number of the event's pull request, also if the event is a comment on it. */
function numberOf(event: unknown): unknown {
  const isOnPull = isObject(memberAt(event, "issue", "pull_request"));
  return memberAt(event, "pull_request", "number") ?? (isOnPull ? memberAt(event, "issue", "number") : undefined);
}
