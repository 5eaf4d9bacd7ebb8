import { readdirSync } from "node:fs";
import { dirname, join, resolve } from "node:path";
import { openState } from "../../app/adapters/states.ts";
import { findRun, openStore } from "../../app/adapters/stores.ts";
import { knownSkills } from "../../app/skills/levels.ts";
import { PROVIDERS } from "../../core/document/model-name.ts";
import { APPLIED } from "../../core/engine/state/entries.ts";
import { JUDGEMENTS } from "../../core/engine/state/feedback.ts";
import { FORMATS } from "../../core/skill/skill.ts";
import { placeOf } from "../flags.ts";
import type { Io } from "../io.ts";
import type { Line, Wanted } from "./line.ts";

export const SHELLS = ["bash", "zsh", "fish"] as const;

interface Place extends Pick<Line, "args" | "flags" | "path"> {
  readonly host: Io["host"];
  readonly typed: string;
}

type Source = (place: Place) => readonly string[] | Promise<readonly string[]>;

export async function valuesFor(wanted: Extract<Wanted, { kind: "value" }>, place: Place): Promise<readonly string[]> {
  if (wanted.choices.length > 0) return wanted.choices;
  const placeholder = wanted.name.split(" ").at(-1) ?? "";
  const source = SOURCES[`${place.path} ${wanted.name}`] ?? SOURCES[wanted.name] ?? SOURCES[placeholder];
  return source ? source(place) : [];
}

const files =
  (...ends: readonly string[]): Source =>
  ({ host, typed }) =>
    pathsAt(host.cwd, typed, ends);
const folders: Source = ({ host, typed }) => pathsAt(host.cwd, typed, undefined);
const workflows = files(".yml", ".yaml", ".json");
const runs: Source = async ({ host, flags }) => ["latest", ...(await storeAt(host, flags).list())];
const skills: Source = ({ host, flags }) =>
  knownSkills(
    host,
    (flags.get("--skills") ?? []).map((folder) => resolve(host.cwd, folder)),
  );
const both =
  (...sources: readonly Source[]): Source =>
  async (place) =>
    (await Promise.all(sources.map((source) => source(place)))).flat();
/** Completes `KIND=` first, then the value after it. */
const ending =
  (mark: string, heads: Source, rest: Source): Source =>
  async (place) => {
    const at = place.typed.indexOf(mark);
    if (at === -1) return (await heads(place)).map((head) => `${head}${mark}`);
    const lead = place.typed.slice(0, at + 1);
    return (await rest({ ...place, typed: place.typed.slice(at + 1) })).map((value) => lead + value);
  };
const nothing: Source = () => [];

/** Sources by placeholder, preceded by the flag or command if the name alone is ambiguous. */
export const SOURCES: Readonly<Record<string, Source>> = {
  workflow: workflows,
  "workflow-or-run": both(workflows, runs),
  run: runs,
  judgement: () => JUDGEMENTS,
  "other-run": runs,
  "run-or-trace": both(runs, files(".jsonl")),
  "run-or-plan": both(runs, files(".json")),
  node: nodes,
  state: states,
  key: keys,
  "--state place": both(folders, () => ["git:"]),
  place: files(".test.yml", ".test.yaml"),
  cases: both(folders, files(".yml", ".yaml")),
  "path-or-id": both(skills, folders),
  "skills show id": skills,
  document: schemas,
  "completion shell": () => SHELLS,
  label: () => FORMATS,
  "--trust-skill id": skills,
  "--skill-env id=variable": ending("=", skills, nothing),
  "--add-skill node=skill": ending("=", nodes, skills),
  "--effect id.tool=effect": ending(".", skills, nothing),
  "--model provider:name": model,
  "--report kind=path": ending("=", kinds, files("")),
  "--input json": ({ host, typed }) =>
    typed.startsWith("@") ? pathsAt(host.cwd, typed.slice(1), [".json"]).map((path) => `@${path}`) : ["@", "-"],
  "--explain code": codes,
  "--for provider": () => ["openai", "anthropic"],
  "--from node": nodes,
  "--from run": runs,
  "--token-env name": ({ host }) => Object.keys(host.env),
  dir: folders,
  file: files(""),
  path: files(""),
};

async function model({ host, typed }: Place): Promise<readonly string[]> {
  const provider = PROVIDERS.find((known) => typed.startsWith(`${known}:`));
  if (provider === undefined) return PROVIDERS.map((known) => `${known}:`);
  const ends = { replay: [".jsonl"], script: [".yml", ".yaml", ".json"] }[provider as string];
  const rest = typed.slice(provider.length + 1);
  return ends ? pathsAt(host.cwd, rest, ends).map((path) => `${provider}:${path}`) : [];
}

async function kinds({ path }: Place): Promise<readonly string[]> {
  const { PLAN_REPORTS, REPORT_KINDS } = await import("../../app/views/reports.ts");
  return path === "apply" ? PLAN_REPORTS : REPORT_KINDS;
}

async function schemas(): Promise<readonly string[]> {
  const { publishedSchemas } = await import("../../core/outward/published.ts");
  return [...publishedSchemas().keys(), "protocol"];
}

async function codes(): Promise<readonly string[]> {
  const { explainedCodes } = await import("../../core/base/codes/explained.ts");
  return explainedCodes().map(({ code }) => code);
}

async function nodes({ host, args: [given = ""], flags }: Place): Promise<readonly string[]> {
  const store = storeAt(host, flags);
  const { record } = await store.skim(await findRun(store, given));
  return Object.keys(record.workflow.nodes);
}

async function states({ host, flags }: Place): Promise<readonly string[]> {
  const names = await openState(host, flags.get("--state")?.at(-1)).list();
  return names.filter((name) => name !== APPLIED);
}

async function keys({ host, args: [name = ""], flags }: Place): Promise<readonly string[]> {
  const found = await openState(host, flags.get("--state")?.at(-1)).read([name]);
  return (found.get(name) ?? []).map(({ key }) => key);
}

function storeAt(host: Io["host"], flags: Line["flags"]) {
  const last = (flag: string) => flags.get(flag)?.at(-1);
  return openStore(
    host,
    placeOf({ store: last("--store"), engine: last("--engine"), databaseUrl: last("--database-url") }),
  ).store;
}

/** Lists folders and the files with these endings, or only folders. Includes hidden entries after a typed dot. */
function pathsAt(cwd: string, typed: string, ends: readonly string[] | undefined): string[] {
  const folder = typed.endsWith("/") ? typed : dirname(typed) === "." && !typed.startsWith("./") ? "" : dirname(typed);
  const lead = folder === "" || folder.endsWith("/") ? folder : `${folder}/`;
  const name = typed.slice(lead.length);
  const entries = readdirSync(resolve(cwd, folder), { withFileTypes: true });
  return entries.flatMap((entry) => {
    if (!entry.name.startsWith(name) || (entry.name.startsWith(".") && !name.startsWith("."))) return [];
    if (entry.isDirectory()) return [join(lead, entry.name, "/")];
    return ends?.some((end) => entry.name.endsWith(end)) ? [lead + entry.name] : [];
  });
}
