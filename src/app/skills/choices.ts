import { resolve } from "node:path";
import { usageError } from "../../core/base/errors.ts";
import { CONTEXT_MODES, type Hint, type OptionName, SKILL_ORDERS, variableOf } from "../../core/base/options.ts";
import { groupBy } from "../../core/base/values.ts";
import type { Environment } from "../../core/document/config.ts";
import { loosenings } from "../../core/skill/formats/tool-reach.ts";
import type { Effect } from "../../core/skill/skill.ts";
import type { LoadedConfig } from "../../loaders/documents/project-config.ts";
import type { FormatOptions } from "../../loaders/folder/host.ts";
import type { InstanceChoice, ServerChoice } from "../../loaders/registry/skill-set.ts";
import type { Trust, TrustEntry, TrustMemory } from "../../loaders/trust/trust-memory.ts";
import { OPTIONS, type OptionRow, type OptionValues } from "../options.ts";

type SkillKey = "trustSkill" | "skillEnv" | "effect" | "addSkill" | "skillOrder" | "contextMode";

/** Options for skills, as given on the command line or to the library. */
export interface SkillFlags extends Pick<OptionValues, SkillKey | "allowScripts" | "allowDefineTool"> {
  readonly allowed?: readonly TrustEntry[];
}

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

export interface Files {
  readonly project: LoadedConfig | undefined;
  readonly user: LoadedConfig | undefined;
  readonly memory: TrustMemory;
  /** False if the user's own file is in the checkout. It then counts as the project's. */
  readonly trustsUser: boolean;
  /** True if a bare skill id trusts nothing. */
  readonly onlyPinned?: boolean;
}

interface File extends LoadedConfig {
  readonly kind: ServerChoice["kind"];
  readonly trusted: boolean;
}

export function chooseSkills(
  flags: SkillFlags,
  env: Environment,
  { project, user, memory, trustsUser, onlyPinned = false }: Files,
): SkillChoices {
  const files: readonly File[] = [
    ...(project ? [{ ...project, kind: "project" as const, trusted: false }] : []),
    ...(user ? [{ ...user, kind: "user" as const, trusted: trustsUser }] : []),
  ];
  const said = files.map(({ config: { skills = {} } }) => skills);
  const own = (trustsUser && user?.config.skills) || {};
  const isOn = (option: OptionName) => ["1", "true"].includes(env[variableOf(option)] ?? "");
  const order = flags.skillOrder ?? env[variableOf("skill-order")] ?? said.find((one) => one.order)?.order;
  const mode = flags.contextMode ?? env[variableOf("context-mode")] ?? said.find((one) => one.contextMode)?.contextMode;
  const trusted = [...(flags.trustSkill ?? []), ...listed(env, "trust-skill"), ...(own.trust ?? [])];
  return {
    order: oneOf("order", SKILL_ORDERS, order),
    contextMode: oneOf("context mode", CONTEXT_MODES, mode),
    trust: {
      ids: new Set(trusted.filter((name) => !PINNED.test(name))),
      pinned: new Set(trusted.filter((name) => PINNED.test(name))),
      onlyPinned,
      remembered: [...memory.entries, ...(flags.allowed ?? [])],
    },
    defineTool: flags.allowDefineTool || isOn("allow-define-tool") || own.defineTool === true,
    variables: grouped([...(flags.skillEnv ?? []), ...listedPairs(env), ...pairsIn(own.env)]),
    effects: new Map(flags.effect?.map(([place, effect]) => [place, effectOf(place, effect)])),
    // The user's own servers and instances override the project's.
    servers: new Map(files.flatMap(serversIn)),
    instances: new Map(files.flatMap(instancesIn)),
    modules: files.flatMap(modulesIn),
    disabled: said.flatMap(({ disabled = [] }) => disabled),
    addedHere: (flags.addSkill ?? []).map(nodeGiven),
    added: grouped([...said.flatMap(({ add }) => pairsIn(add)), ...(flags.addSkill ?? [])]),
    formats: {
      descriptor: said.find((one) => one.descriptor)?.descriptor ?? "current",
      allowScripts: flags.allowScripts || isOn("allow-scripts") || own.allowScripts === true,
    },
    findings: [...files.filter((file) => !file.trusted).flatMap(refusedOf), ...memory.findings],
    named: [...namedSkills(flags, env), ...files.flatMap(namedIn)],
  };
}

type Pair = readonly [key: string, value: string];

function pairsIn(lists: Readonly<Record<string, readonly string[]>> = {}): Pair[] {
  return Object.entries(lists).flatMap(([key, values]) => values.map((value): Pair => [key, value]));
}

function grouped(pairs: readonly Pair[]): ReadonlyMap<string, readonly string[]> {
  return new Map([...groupBy(pairs, ([key]) => key)].map(([key, group]) => [key, group.map(([, value]) => value)]));
}

/** Skill id with the digest of its content. */
const PINNED = /@[0-9a-f]{64}$/;

function nodeGiven([node, skill]: Pair): string {
  if (node !== "" && skill !== "") return node;
  throw usageError(`${node}=${skill} does not give a node a skill`, [
    "write ",
    { option: "add-skill", value: "NODE=SKILL" },
  ]);
}

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
  const first = ([id]: Pair) => id;
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

function listedPairs(env: Environment): Pair[] {
  return listed(env, "skill-env").map((pair) => [pair.split("=")[0] ?? "", pair.split("=")[1] ?? ""]);
}

function serversIn({ path, config, kind, trusted }: File): (readonly [id: string, server: ServerChoice])[] {
  const servers = Object.entries(config.mcpServers ?? {});
  return servers.map(([id, server]) => [id, { config: server, path, kind, trusted }]);
}

function instancesIn({ path, config, trusted }: File): (readonly [id: string, instance: InstanceChoice])[] {
  return Object.entries(config.skills?.instances ?? {}).flatMap(([skill, instances]) =>
    Object.entries(instances).map(([name, instance]) => {
      return [`${skill}@${name}`, { skill, name, config: instance, path, trusted }] as const;
    }),
  );
}

function modulesIn({ path, directory, config, trusted }: File): ModuleChoice[] {
  return (config.skills?.modules ?? []).map((specifier, index) => ({
    specifier: /^[./]/.test(specifier) ? resolve(directory, specifier) : specifier,
    from: directory,
    named: { file: path, index },
    trusted,
  }));
}

function namedIn({ path, config: { skills = {} } }: File): NamedSkill[] {
  return [
    ...(skills.disabled ?? []).map((id) => ({ by: `${path}: skills.disabled`, id })),
    ...Object.keys(skills.instances ?? {}).map((id) => ({ by: `${path}: skills.instances`, id })),
  ];
}

function refusedOf({ path, config }: File): string[] {
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
