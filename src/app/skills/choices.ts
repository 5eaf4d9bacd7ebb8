import { resolve } from "node:path";
import { usageError } from "../../core/base/errors.ts";
import { CONTEXT_MODES, type Hint, type OptionName, SKILL_ORDERS, variableOf } from "../../core/base/options.ts";
import type { Environment } from "../../core/document/config.ts";
import { loosenings } from "../../core/skill/formats/tool-reach.ts";
import type { Effect } from "../../core/skill/skill.ts";
import type { LoadedConfig } from "../../loaders/documents/project-config.ts";
import type { FormatOptions } from "../../loaders/folder/host.ts";
import type { InstanceChoice, ServerChoice } from "../../loaders/registry/skill-set.ts";
import type { Trust, TrustEntry, TrustMemory } from "../../loaders/trust/trust-memory.ts";
import { OPTIONS, type OptionRow, type OptionValues } from "../options.ts";

/** Options for skills, as given on the command line or to the library. */
export interface SkillFlags extends Pick<OptionValues, SkillKey> {
  readonly allowed?: readonly TrustEntry[];
}

type SkillKey =
  | ("trustSkill" | "skillEnv" | "effect")
  | "addSkill"
  | ("skillOrder" | "contextMode" | "allowScripts" | "allowDefineTool");

/** Merged settings for skills. Flags override the environment, which overrides config files. */
export interface SkillChoices {
  readonly order: (typeof SKILL_ORDERS)[number];
  readonly contextMode: (typeof CONTEXT_MODES)[number];
  readonly trust: Trust;
  readonly defineTool: boolean;
  readonly variables: ReadonlyMap<string, readonly string[]>;
  /** Keyed by `ID.tool`. */
  readonly effects: ReadonlyMap<string, Effect>;
  readonly servers: ReadonlyMap<string, ServerChoice>;
  /** Keyed by the ids of instances, such as `prometheus@eu`. */
  readonly instances: ReadonlyMap<string, InstanceChoice>;
  readonly modules: readonly ModuleChoice[];
  readonly disabled: readonly string[];
  readonly added: ReadonlyMap<string, readonly string[]>;
  /** Nodes that the command line names. Config files name nodes of any workflow. */
  readonly addedHere: readonly string[];
  readonly formats: FormatOptions;
  readonly findings: readonly string[];
  /** Skills that a flag, a variable or `skills.disabled` names. */
  readonly named: readonly NamedSkill[];
}

export interface NamedSkill {
  readonly id: string;
  /** Option, or the name of a variable or a setting. */
  readonly by: Hint;
}

/** Plug-in module: a path, or the name of a package installed for `from`. */
interface ModuleChoice {
  readonly specifier: string;
  readonly from: string;
  /** Config file that names the module, and the index in its list. */
  readonly named: { readonly file: string; readonly index: number };
  readonly trusted: boolean;
}

interface Files {
  readonly project: LoadedConfig | undefined;
  readonly user: LoadedConfig | undefined;
  readonly memory: TrustMemory;
  /** False if the user's own file is in the checkout. It then counts as the project's. */
  readonly trustsUser: boolean;
  /** True if a bare skill id trusts nothing. */
  readonly onlyPinned?: boolean;
}

export function chooseSkills(flags: SkillFlags, env: Environment, files: Files): SkillChoices {
  const { project, user, memory, trustsUser, onlyPinned = false } = files;
  const own = user?.config.skills ?? {};
  const trusting = trustsUser ? own : {};
  const untrusted = [project, trustsUser ? undefined : user];
  const shared = project?.config.skills ?? {};
  const isOn = (option: OptionName) => ["1", "true"].includes(env[variableOf(option)] ?? "");
  const trusted = [...(flags.trustSkill ?? []), ...listed(env, "trust-skill"), ...(trusting.trust ?? [])];
  return {
    order: oneOf(
      "order",
      SKILL_ORDERS,
      flags.skillOrder ?? env[variableOf("skill-order")] ?? shared.order ?? own.order,
    ),
    contextMode: oneOf(
      "context mode",
      CONTEXT_MODES,
      flags.contextMode ?? env[variableOf("context-mode")] ?? shared.contextMode ?? own.contextMode,
    ),
    trust: {
      ids: new Set(trusted.filter((name) => !PINNED.test(name))),
      pinned: new Set(trusted.filter((name) => PINNED.test(name))),
      onlyPinned,
      remembered: [...memory.entries, ...(flags.allowed ?? [])],
    },
    defineTool: flags.allowDefineTool || isOn("allow-define-tool") || trusting.defineTool === true,
    variables: gatherVariables(flags, env, trusting.env),
    effects: new Map(flags.effect?.map(([place, effect]) => [place, effectOf(place, effect)])),
    servers: gatherServers(files),
    instances: gatherInstances(files),
    modules: [...moduleChoices(project, false), ...moduleChoices(user, trustsUser)],
    disabled: [...(shared.disabled ?? []), ...(own.disabled ?? [])],
    addedHere: (flags.addSkill ?? []).map(([node]) => node),
    added: addedSkills(flags.addSkill ?? [], [shared.add, own.add]),
    formats: {
      descriptor: shared.descriptor ?? own.descriptor ?? "current",
      allowScripts: flags.allowScripts || isOn("allow-scripts") || trusting.allowScripts === true,
    },
    findings: [...untrusted.flatMap((file) => (file ? refusedOf(file) : [])), ...pinnedOf(user), ...memory.findings],
    named: [
      ...namedSkills(flags, env),
      ...[project, user].flatMap((file) =>
        (file?.config.skills?.disabled ?? []).map((id) => ({ by: `${file?.path}: skills.disabled`, id })),
      ),
      ...[project, user].flatMap((file) =>
        Object.keys(file?.config.skills?.instances ?? {}).map((id) => ({ by: `${file?.path}: skills.instances`, id })),
      ),
    ],
  };
}

function addedSkills(
  flags: readonly (readonly [node: string, skill: string])[],
  files: readonly (Readonly<Record<string, readonly string[]>> | undefined)[],
): ReadonlyMap<string, readonly string[]> {
  const written = files.flatMap((file) => Object.entries(file ?? {}));
  const all = [...written, ...flags.map(([node, skill]) => [node, [skill]] as const)];
  const nodes = new Set(all.map(([node]) => node));
  return new Map([...nodes].map((node) => [node, all.flatMap(([each, ids]) => (each === node ? ids : []))]));
}

/** Skill id with the digest of its content. */
const PINNED = /@[0-9a-f]{64}$/;

function effectOf(place: string, effect: string): Effect {
  if ((effect === "read" || effect === "write") && /^[^.]+\../.test(place)) return effect;
  throw usageError(`${place}=${effect} does not set the effect of a tool`, [
    "write ",
    { option: "effect", value: "ID.TOOL=read" },
    " or ID.TOOL=write",
  ]);
}

function namedSkills({ trustSkill = [], skillEnv = [], effect = [] }: SkillFlags, env: Environment): NamedSkill[] {
  const named = (by: Hint, ids: readonly string[]) => ids.map((id) => ({ by, id: id.replace(PINNED, "") }));
  const first = ([id]: readonly [string, string]) => id;
  return [
    ...named([{ option: "trust-skill" }], trustSkill),
    ...named(variableOf("trust-skill"), listed(env, "trust-skill")),
    ...named([{ option: "skill-env" }], skillEnv.map(first)),
    ...named(
      [{ option: "effect" }],
      effect.map(([place]) => place.split(".")[0] ?? ""),
    ),
    ...named(variableOf("skill-env"), listedPairs(env).map(first)),
  ];
}

function oneOf<Choice extends string>(what: string, choices: readonly [Choice, ...Choice[]], given?: string): Choice {
  if (given === undefined || given === "") return choices[0];
  const found = choices.find((choice) => choice === given);
  if (found) return found;
  throw usageError(`the skills' ${what} must be ${choices.join(" or ")}, not "${given}"`);
}

/** Reads a variable that lists values, separated by commas. */
function listed(env: Environment, option: OptionName): string[] {
  return (env[variableOf(option)] ?? "").split(",").flatMap((name) => (name.trim() === "" ? [] : [name.trim()]));
}

function listedPairs(env: Environment) {
  return listed(env, "skill-env").map((pair) => [pair.split("=")[0] ?? "", pair.split("=")[1] ?? ""] as const);
}

function gatherVariables(
  { skillEnv = [] }: SkillFlags,
  env: Environment,
  own: Readonly<Record<string, readonly string[]>> = {},
): ReadonlyMap<string, readonly string[]> {
  const written = Object.entries(own).flatMap(([id, names]) => names.map((name) => [id, name] as const));
  const gathered = new Map<string, string[]>();
  for (const [id, name] of [...skillEnv, ...listedPairs(env), ...written])
    gathered.set(id, [...(gathered.get(id) ?? []), name]);
  return gathered;
}

/** Merges the servers of both config files. The user's own override the project's. */
function gatherServers({ project, user, trustsUser }: Files) {
  const choices = (file: LoadedConfig | undefined, kind: ServerChoice["kind"], trusted: boolean) =>
    Object.entries(file?.config.mcpServers ?? {}).map(
      ([id, config]) => [id, { config, path: file?.path ?? "", kind, trusted }] as const,
    );
  return new Map<string, ServerChoice>([...choices(project, "project", false), ...choices(user, "user", trustsUser)]);
}

/** Merges the instances of both config files. The user's own override the project's. */
function gatherInstances({ project, user, trustsUser }: Files) {
  const choices = (file: LoadedConfig | undefined, trusted: boolean) =>
    Object.entries(file?.config.skills?.instances ?? {}).flatMap(([skill, instances]) =>
      Object.entries(instances).map(
        ([name, config]) => [`${skill}@${name}`, { skill, name, config, path: file?.path ?? "", trusted }] as const,
      ),
    );
  return new Map<string, InstanceChoice>([...choices(project, false), ...choices(user, trustsUser)]);
}

function moduleChoices(file: LoadedConfig | undefined, trusted: boolean): ModuleChoice[] {
  return (file?.config.skills?.modules ?? []).map((specifier, index) => ({
    specifier: /^[./]/.test(specifier) ? resolve(file?.directory ?? ".", specifier) : specifier,
    from: file?.directory ?? ".",
    named: { file: file?.path ?? "", index },
    trusted,
  }));
}

/** Reports answers in an old format, which are bound to files but not to a place. */
function pinnedOf(user: LoadedConfig | undefined): string[] {
  const pinned = (user?.config.skills?.trust ?? []).filter((entry) => /@[0-9a-f]{16}$/.test(entry));
  return pinned.map(
    (entry) => `${user?.path}: skills.trust: ${entry} is ignored, because it does not name a folder: answer again`,
  );
}

function refusedOf({ path, config }: LoadedConfig): string[] {
  const { skills = {}, fetch = {}, mcpServers = {}, workspace = {} } = config;
  const set = new Set(Object.entries(skills).flatMap(([key, value]) => (value === false ? [] : [`skills.${key}`])));
  const rows: readonly OptionRow[] = Object.values(OPTIONS);
  const keys = rows.flatMap(([, , { config: key = "", raisesTrust } = {}]) =>
    raisesTrust && set.has(key) ? [key] : [],
  );
  const auth = Object.keys(fetch).map((key) => `fetch.${key}`);
  const servers = Object.entries(mcpServers).flatMap(([id, server]) =>
    loosenings(server).map((key) => `mcpServers.${id}.${key}`),
  );
  const copies = Object.keys(workspace).flatMap((key) => (key === "test" ? [] : [`workspace.${key}`]));
  return [...keys, ...auth, ...servers, ...copies].map((key) => cannotCount(path, key));
}

export function cannotCount(path: string, key: string): string {
  return `${path}: ${key} is ignored: a file of the checkout cannot raise trust. Set it in your own config file, by flag or by variable`;
}
