import { existsSync, readdirSync } from "node:fs";
import { join } from "node:path";
import type { Workspace } from "../../../app/host.ts";
import { allSkills, examineSkill, type SkillState } from "../../../app/skills/states.ts";
import type { SkillEntry } from "../../../app/workspace.ts";
import { plainLine } from "../../../core/base/inert.ts";
import type { Environment } from "../../../core/document/config.ts";
import type { Category, Effect, Skill } from "../../../core/skill/skill.ts";
import { readSmall } from "../../../files/files.ts";

/** Data found in a project without asking the user or running programs. */
export type Survey = Awaited<ReturnType<typeof surveyProject>>;

/** Categories of the skills that gather evidence, and of those that notify people, most useful first. */
const READING: readonly Category[] = ["observability", "data", "git"];
const TELLING: readonly Category[] = ["notification", "tasks"];
const KEYS = ["ANTHROPIC_API_KEY", "OPENAI_API_KEY"];

export async function surveyProject(workspace: Workspace, root: string, env: Environment) {
  const remote = remoteOf(root);
  const hasHistory = existsSync(join(root, ".git"));
  const builtin = (await allSkills(workspace)).flatMap((entry) => {
    return entry.isBuiltin ? [offerOf(entry, examineSkill(entry.skill.id, entry, workspace.host))] : [];
  });
  const isUsable = ({ id, state, isAtHand, variables }: Offer) =>
    USABLE.has(state) && (isAtHand || variables.some(({ name }) => env[name])) && (id !== "git" || hasHistory);
  const readers = offersOf(builtin, READING, "read");
  const tellers = offersOf(builtin, TELLING, "write");
  const usable = (offers: readonly Offer[]) => offers.filter(isUsable).map(({ id }) => id);
  const ci = remote?.startsWith("github.com/") ? "github" : remote && /gitlab/.test(remote) ? "gitlab" : undefined;
  return {
    /** Remote, such as `github.com/acme/shop`. Undefined if there is none or its URL is not understood. */
    remote,
    ci,
    logs: logsBelow(root),
    readers: usable(readers),
    /** Tool of each usable reader that needs no input, for a first look. */
    looks: new Map(
      readers.filter(isUsable).flatMap(({ id, tools }) => firstLook(tools).map((name) => [id, `${id}_${name}`])),
    ),
    tellers: usable(tellers),
    /** Name of the model API key variable that is set. */
    key: KEYS.find((name) => env[name]),
    /** Variables of each built-in skill that a new workflow may use, usable now or not. */
    variables: new Map([...readers, ...tellers].map(({ id, isAtHand, variables }) => [id, isAtHand ? [] : variables])),
  };
}

/** Built-in skill that a new workflow may use. */
type Offer = ReturnType<typeof offerOf>;

function offerOf({ skill }: SkillEntry, { state }: SkillState) {
  const { id, category, tools, config } = skill;
  const variables = Object.values(config).flatMap(
    ({ env: name, description, required: isRequired = false, secret: isSecret = true }) =>
      name === undefined || name === "PATH" ? [] : [{ name, description, isRequired, isSecret }],
  );
  // The skill reads this machine. The others are used only if a variable is set.
  const isAtHand = variables.every(({ isRequired, isSecret }) => !isRequired && !isSecret);
  return { id, category, tools, state, variables, isAtHand };
}

/** Returns the skills that have a tool with the effect: those at hand first, then by category. */
function offersOf(offers: readonly Offer[], categories: readonly Category[], effect: Effect): Offer[] {
  const fitting = categories.flatMap((wanted) =>
    offers.filter(({ category, tools }) => category === wanted && tools.some((tool) => tool.effect === effect)),
  );
  return fitting.sort((a, b) => Number(b.isAtHand) - Number(a.isAtHand));
}

const USABLE: ReadonlySet<SkillState["state"]> = new Set(["available", "configured"]);

/** Returns only the host and path of `origin`, because its URL may contain a token. */
function remoteOf(root: string): string | undefined {
  const file = join(root, ".git", "config");
  const section = /^[ \t]*\[remote "origin"\][ \t]*\r?\n([^[]*)/m.exec(readSmall(file) ?? "")?.[1] ?? "";
  const url = /^[ \t]*url[ \t]*=[ \t]*(\S+)/m.exec(section)?.[1] ?? "";
  const [, host, path] =
    /^(?:\w+:\/\/)?(?:[^@/\s]*@)?([\w.-]+)(?::\d+)?[:/]+([\w.-][\w./-]*?)(?:\.git)?\/?$/.exec(url) ?? [];
  return host === undefined || path === undefined ? undefined : plainLine(`${host}/${path}`);
}

/** Tools that show what is wrong or new, most useful first. */
const FIRST_LOOKS = [
  ...["list_issues", "list_events", "list_alerts", "list_incidents", "list_alarms", "list_deployments"],
  ...["check_health", "cluster_health"],
];

function firstLook(tools: Skill["tools"]): string[] {
  const isFree = (name: string) => {
    return tools.some((tool) => tool.name === name && [tool.input_schema.required ?? []].flat().length === 0);
  };
  return FIRST_LOOKS.filter(isFree).slice(0, 1);
}

const MOST_LOOKED_AT = 500;
const MOST_LOGS = 20;

/** Returns globs for log files in the project, at most two folders deep. In a folder of logs, any file counts. */
function logsBelow(root: string): string[] {
  const top = foldersIn(root);
  const inner = top.flatMap((folder) => foldersIn(join(root, folder)).map((name) => `${folder}/${name}`));
  const globs = ["", ...top, ...inner].slice(0, MOST_LOOKED_AT).flatMap((folder) => {
    const files = entriesIn(join(root, folder)).filter((entry) => entry.isFile() && !entry.name.startsWith("."));
    const isOfLogs = /(^|\/)logs?$/.test(folder);
    const ends = [".log", ".log.gz", ...(isOfLogs ? [".jsonl", ".txt"] : [])];
    const found = ends.filter((end) => files.some(({ name }) => name.endsWith(end)));
    const shown = found.length === 0 && isOfLogs && files.length > 0 ? [""] : found;
    return shown.map((end) => `${folder === "" ? "" : `${folder}/`}*${end}`);
  });
  return globs.slice(0, MOST_LOGS);
}

/** Returns the names of the subfolders, without following symbolic links. */
function foldersIn(folder: string): string[] {
  const isMeant = (name: string) => /^[\w-][\w.-]*$/.test(name) && name !== "node_modules";
  return entriesIn(folder).flatMap((entry) => (entry.isDirectory() && isMeant(entry.name) ? [entry.name] : []));
}

/** Returns the entries of a folder. An unreadable folder counts as empty. */
function entriesIn(folder: string) {
  try {
    return readdirSync(folder, { withFileTypes: true });
  } catch (error) {
    if (error instanceof Error && "code" in error) return [];
    throw error;
  }
}
