import { existsSync, readdirSync } from "node:fs";
import { join } from "node:path";
import type { Workspace } from "../../../app/host.ts";
import { allSkills, type SkillState, skillStates } from "../../../app/skills/states.ts";
import { plainLine } from "../../../core/base/inert.ts";
import type { Environment } from "../../../core/document/config.ts";
import { readSmall } from "../../../files/files.ts";

/** Data found in a project without asking the user or running programs. */
export interface Survey {
  /** Remote, such as `github.com/acme/shop`. Undefined if there is none or its URL is not understood. */
  readonly remote: string | undefined;
  readonly ci: "github" | "gitlab" | undefined;
  /** Globs for files in log folders. */
  readonly logs: readonly string[];
  /** Usable skills that read, most informative first. */
  readonly readers: readonly string[];
  /** Usable skills that notify people. */
  readonly tellers: readonly string[];
  /** Name of the model API key variable that is set. */
  readonly key: string | undefined;
  /** Variables of each skill. */
  readonly variables: ReadonlyMap<string, readonly Variable[]>;
}

export interface Variable {
  readonly name: string;
  readonly description: string;
  readonly isRequired: boolean;
  readonly isSecret: boolean;
}

const READERS = [
  ...["logs", "git", "sentry", "datadog", "betterstack", "grafana", "prometheus", "loki", "tempo", "elasticsearch"],
  ...["kubernetes", "cloudwatch", "postgres", "pagerduty", "gitlab"],
];
const TELLERS = ["slack", "linear", "jira"];
/** Skills that need no variables. The others are usable only if one of their variables is set. */
const AT_HAND: ReadonlySet<string> = new Set(["logs", "git"]);
const KEYS = ["ANTHROPIC_API_KEY", "OPENAI_API_KEY"];

export async function surveyProject(workspace: Workspace, root: string, env: Environment): Promise<Survey> {
  const states = new Map((await skillStates(workspace)).map((state) => [state.id, state]));
  const remote = remoteOf(root);
  const hasHistory = existsSync(join(root, ".git"));
  const variables = new Map(
    (await allSkills(workspace)).map(({ skill }) => [skill.id, variablesOf(skill.config)] as const),
  );
  const isMeant = (id: string) => AT_HAND.has(id) || variables.get(id)?.some(({ name }) => env[name]);
  const isUsable = (id: string) =>
    USABLE.has(states.get(id)?.state ?? "unavailable") && isMeant(id) && (id !== "git" || hasHistory);
  return {
    remote,
    ci: remote?.startsWith("github.com/") ? "github" : remote && /gitlab/.test(remote) ? "gitlab" : undefined,
    logs: logsBelow(root),
    readers: READERS.filter(isUsable),
    tellers: TELLERS.filter(isUsable),
    key: KEYS.find((name) => env[name]),
    variables,
  };
}

const USABLE: ReadonlySet<SkillState["state"]> = new Set(["available", "configured"]);

type Config = Readonly<
  Record<
    string,
    { readonly description: string; readonly required?: boolean; readonly env?: string; readonly secret?: boolean }
  >
>;

function variablesOf(config: Config): Variable[] {
  return Object.values(config).flatMap(({ env: name, description, required = false, secret = true }) =>
    name === undefined || name === "PATH" ? [] : [{ name, description, isRequired: required, isSecret: secret }],
  );
}

/** Returns only the host and path of `origin`, because its URL may contain a token. */
function remoteOf(root: string): string | undefined {
  const file = join(root, ".git", "config");
  const section = /^[ \t]*\[remote "origin"\][ \t]*\r?\n([^[]*)/m.exec(readSmall(file) ?? "")?.[1] ?? "";
  const url = /^[ \t]*url[ \t]*=[ \t]*(\S+)/m.exec(section)?.[1] ?? "";
  const [, host, path] =
    /^(?:\w+:\/\/)?(?:[^@/\s]*@)?([\w.-]+)(?::\d+)?[:/]+([\w.-][\w./-]*?)(?:\.git)?\/?$/.exec(url) ?? [];
  return host === undefined || path === undefined ? undefined : plainLine(`${host}/${path}`);
}

const MOST_LOOKED_AT = 500;

/** Returns globs for folders named `log` or `logs`, at most two levels deep. */
function logsBelow(root: string): string[] {
  const top = foldersIn(root);
  const folders = [
    ...top,
    ...top.flatMap((folder) => foldersIn(join(root, folder)).map((inner) => `${folder}/${inner}`)),
  ];
  const named = folders.slice(0, MOST_LOOKED_AT).filter((folder) => /(^|\/)logs?$/.test(folder));
  return named.flatMap((folder) => {
    const names = entriesIn(join(root, folder)).map(({ name }) => name);
    const ends = [".log", ".log.gz", ".jsonl"].filter((end) => names.some((name) => name.endsWith(end)));
    return ends.map((end) => `${folder}/*${end}`);
  });
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
