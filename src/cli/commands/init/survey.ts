import { existsSync, readdirSync } from "node:fs";
import { join } from "node:path";
import type { Workspace } from "../../../app/host.ts";
import { allSkills, type SkillState, skillStates } from "../../../app/skills/states.ts";
import { plainLine } from "../../../core/base/inert.ts";
import type { Environment } from "../../../core/document/config.ts";
import { readSmall } from "../../../files/files.ts";

/** What is at hand in a project: nothing is asked of anybody, and nothing run. */
export interface Survey {
  /** `github.com/acme/shop`; undefined where there is no remote that can be told. */
  readonly remote: string | undefined;
  readonly ci: "github" | "gitlab" | undefined;
  /** Globs of the files in folders of logs. */
  readonly logs: readonly string[];
  /** Skills that read and that can be used here, the most telling first. */
  readonly readers: readonly string[];
  /** Those that tell people, configured here. */
  readonly tellers: readonly string[];
  /** The variable of a model's key that is set. */
  readonly key: string | undefined;
  /** The variables of each skill, with what they are. */
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
/** Of use as they are; all others where one of their variables is set. */
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

/** Host and path alone: an address may hold a token. */
function remoteOf(root: string): string | undefined {
  const file = join(root, ".git", "config");
  const section = /^[ \t]*\[remote "origin"\][ \t]*\r?\n([^[]*)/m.exec(readSmall(file) ?? "")?.[1] ?? "";
  const url = /^[ \t]*url[ \t]*=[ \t]*(\S+)/m.exec(section)?.[1] ?? "";
  const [, host, path] =
    /^(?:\w+:\/\/)?(?:[^@/\s]*@)?([\w.-]+)(?::\d+)?[:/]+([\w.-][\w./-]*?)(?:\.git)?\/?$/.exec(url) ?? [];
  return host === undefined || path === undefined ? undefined : plainLine(`${host}/${path}`);
}

const MOST_LOOKED_AT = 500;

/** Folders named for logs, at most two levels down. */
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

/** No link is followed. */
function foldersIn(folder: string): string[] {
  const isMeant = (name: string) => /^[\w-][\w.-]*$/.test(name) && name !== "node_modules";
  return entriesIn(folder).flatMap((entry) => (entry.isDirectory() && isMeant(entry.name) ? [entry.name] : []));
}

/** What may not be looked into holds nothing to tell of. */
function entriesIn(folder: string) {
  try {
    return readdirSync(folder, { withFileTypes: true });
  } catch (error) {
    if (error instanceof Error && "code" in error) return [];
    throw error;
  }
}
