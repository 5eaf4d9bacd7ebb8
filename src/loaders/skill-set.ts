import { existsSync, readdirSync, statSync } from "node:fs";
import { join } from "node:path";
import {
  configValues,
  type Environment,
  isReservedVariable,
  missingConfig,
  missingForTool,
  type ResolvedField,
  resolveConfig,
} from "../core/config.ts";
import { describeMisfit } from "../core/contract.ts";
import { type Diagnostic, messageOf } from "../core/errors.ts";
import type { SkillRecord } from "../core/event.ts";
import { reservedName } from "../core/own-tools.ts";
import { schemaProblems } from "../core/schema.ts";
import {
  type ConfigField,
  describeTools,
  type Format,
  type McpServerConfig,
  type Skill,
  type SkillKind,
  type Tool,
  type ToolContext,
} from "../core/skill.ts";
import {
  describeAbsence,
  type KnownSkills,
  parseSkillReference,
  type SkillReference,
} from "../core/skill-reference.ts";
import { type Json, toJson } from "../core/values.ts";
import type { InlineSkill, Workflow } from "../core/workflow.ts";
import { listBundled } from "./bundled-files.ts";
import { discoverSkills, type SkillLevel } from "./discover.ts";
import type { FolderFormat, Invocation, Invoke, LoadedSkill, LoaderHost } from "./format.ts";
import type { LintedSkill } from "./lint.ts";
import { handedVariables, withoutVariables } from "./mcp-variables.ts";
import { discoverModule, moduleFolder } from "./module-folder.ts";
import { skillContract } from "./skill-contract.ts";
import { skillDocument } from "./skill-document.ts";
import { digestFiles, openSkillFolder, readSkillDocument, skipped } from "./skill-folder.ts";
import { loadSkillModule } from "./skill-module.ts";
import { type SkillPackage, skillPackage } from "./skill-package.ts";
import { skillTools } from "./skill-tools.ts";
import { chooseVersion, fitsRange, listVersions, repeatedVersions } from "./skill-versions.ts";
import { toolDescriptor } from "./tool-descriptor.ts";

/** Every way to write a skill as a folder; the first that recognises a folder reads it (skill-formats 6.1). */
export const FORMATS: readonly FolderFormat[] = [
  skillPackage,
  toolDescriptor,
  skillTools,
  skillContract,
  moduleFolder,
  skillDocument,
];

export interface SkillSetOptions {
  /** The folder of the built-in skills. */
  readonly builtin: string;
  /** Built-in skills whose tools the program itself carries out. */
  readonly own: readonly OwnSkill[];
  /** Where skills are looked for, highest first. */
  readonly levels: readonly SkillLevel[];
  /** MCP servers by skill id: in place of a skill's own, or a skill by themselves. */
  readonly servers: ReadonlyMap<string, ServerChoice>;
  readonly disabled: readonly string[];
  /** Skills whose code the operator lets run: ids, or `id@digest` for exactly those files. */
  readonly trust: ReadonlySet<string>;
  /** Variables handed to a skill beside those that it declares. */
  readonly variables: ReadonlyMap<string, readonly string[]>;
  readonly overrides: ReadonlyMap<string, string>;
  readonly env: Environment;
  readonly host: Omit<LoaderHost, "env" | "invoke">;
}

export interface OwnSkill {
  readonly skill: Skill;
  /** Why the operator's choices keep it away. */
  readonly unavailable: string | undefined;
}

export interface ServerChoice {
  readonly config: McpServerConfig;
  /** The file that says so. */
  readonly path: string;
  readonly kind: "project" | "user";
}

export interface SkillSource {
  readonly kind: "inline" | SkillLevel["kind"];
  readonly path: string | null;
  /** Of two skills of one id the higher one wins. */
  readonly priority: number;
  /** Whether code of it may run. */
  readonly trusted: boolean;
}

/** One skill of the set, all its layers joined (D32), and whether it can be used. */
export interface SkillEntry {
  readonly skill: Skill;
  readonly format: Format;
  readonly kind: SkillKind;
  readonly source: SkillSource;
  /** Where lower layers of the same id are. */
  readonly shadows: readonly string[];
  readonly fields: readonly ResolvedField[];
  /** Why it is unavailable; undefined when it is available. */
  readonly unavailable: string | undefined;
  /** Why its code does not run, or its server gets no variables, although the rest is there; undefined where nothing is held back. */
  readonly withheld: string | undefined;
  /** What would happen if it were not held back, in words: `runs tool page`, `hands GITHUB_TOKEN to https://…`. */
  readonly heldBack: readonly string[];
  readonly frontmatter: { readonly [key: string]: unknown } | undefined;
  /** The folder whose files belong to its instruction; undefined where there are none. */
  readonly bundle: Bundle | undefined;
  /** References of other skills that its tools call. */
  readonly calls: readonly string[];
  /** What can be run and mounted by itself, where it is trusted. */
  readonly package: SkillPackage | undefined;
  readonly diagnostics: readonly Diagnostic[];
}

export interface Withheld {
  readonly reason: string;
  readonly remedy: string;
}

interface Bundle {
  readonly directory: string;
  /** Names of the files that a model may read. */
  readonly files: readonly string[];
}

/** Every skill there is, found once and read when asked for. */
export interface SkillSet {
  /** Checks skills by the strict rules of their formats: those at the paths, without any every skill of the levels. */
  lint(paths?: readonly string[]): Promise<readonly LintedSkill[]>;
  readonly ids: ReadonlySet<string>;
  readonly diagnostics: readonly Diagnostic[];
  /** What the tools of foreign skills are carried out with. */
  readonly host: LoaderHost;
  /** What is held back of the skill and why (trust 6), told without running any; undefined where nothing is. */
  withheld(reference: string, inline?: Workflow["skills"]): Withheld | undefined;
  /**
   * By id, or by `id@range` for one of its versions; undefined for what nobody declares. `inline` are the skills of one
   * workflow, the highest layer.
   */
  find(reference: string, inline?: Workflow["skills"]): Promise<SkillEntry | undefined>;
  /** The versions of an id at all levels, newest first. */
  versions(id: string): readonly string[];
  /** What the skill's files hold, for trust that is bound to it; undefined where it has none. */
  digest(reference: string): string | undefined;
}

/** The skills of a set as references name them. */
export function knownSkills({ ids, versions }: SkillSet): KnownSkills {
  const has = (reference: string) => {
    const { id, range } = referenceOf(ids, reference);
    return ids.has(id) && (range === undefined || versions(id).some((version) => fitsRange(version, range)));
  };
  return { has, [Symbol.iterator]: () => ids[Symbol.iterator]() };
}

/** An id that holds an `@` is that id. */
function referenceOf(ids: ReadonlySet<string>, reference: string): SkillReference {
  return ids.has(reference) ? { id: reference, range: undefined } : parseSkillReference(reference);
}

/** One skill of one id, found at one level. */
interface Layer {
  readonly level: SkillLevel;
  readonly priority: number;
  readonly path: string;
  readonly loaded: LoadedSkill;
  /** Of all the files that its code is; read once. */
  readonly digest: () => string;
}

const STEP = 10;

/** Finds the skills of all levels; of one id the higher level wins (S10). */
export function openSkillSet(options: SkillSetOptions): SkillSet {
  const host: LoaderHost = { ...options.host, env: options.env, invoke: (call, context) => invoke(call, context) };
  const { layers, diagnostics } = findLayers(options.levels, host);
  const builtins = openBuiltins(options);
  const ids = new Set([...builtins.ids, ...layers.keys(), ...options.servers.keys()]);
  const topOf = (reference: string) => {
    const { id, range } = referenceOf(ids, reference);
    return { id, top: chooseVersion(layers.get(id) ?? [], range).winner };
  };
  const set: SkillSet = {
    async lint(paths) {
      const { foldersAt, foldersOf, lintSkills } = await import("./lint.ts");
      const folders = paths ? paths.flatMap(foldersAt) : foldersOf(options.levels);
      return lintSkills(folders, { formats: FORMATS, host, known: ids });
    },
    ids,
    host,
    diagnostics: [...diagnostics, ...refusedVariables(options), ...shadowings(layers, builtins)],
    async find(reference, inline) {
      const own = inlineOf(reference, inline);
      const { id, range } = own ? { id: reference, range: undefined } : referenceOf(ids, reference);
      const { winner, shadowed } = chooseVersion(layers.get(id) ?? [], range);
      const builtin = await builtins.load(id);
      if (range !== undefined && !winner && !fitsRange(builtin?.version, range)) return undefined;
      return joinLayers(id, {
        inline: own,
        custom: winner ? [winner, ...shadowed] : [],
        builtin,
        kept: builtins.kept(id),
        server: options.servers.get(id),
        options,
      });
    },
    withheld(reference, inline) {
      const { id, top } = topOf(reference);
      if (!top || isTrusted(id, top, options.trust)) return undefined;
      const runsCode = top.loaded.runsCode && !builtins.ids.has(id);
      const isOther = (options.servers.get(id)?.config ?? inlineOf(id, inline)?.mcp) !== undefined;
      return reasonWithheld(id, runsCode, isOther ? undefined : top.loaded.skill.mcp);
    },
    versions: (id) => listVersions(layers.get(id) ?? []),
    digest: (reference) => topOf(reference).top?.digest(),
  };
  const invoke = createInvoke(set, host);
  return set;
}

function inlineOf(id: string, inline: Workflow["skills"]): InlineSkill | undefined {
  return inline && Object.hasOwn(inline, id) ? inline[id] : undefined;
}

function findLayers(levels: readonly SkillLevel[], host: LoaderHost) {
  const layers = new Map<string, Layer[]>();
  const diagnostics: Diagnostic[] = [];
  for (const [index, level] of levels.entries()) {
    const discovery = level.kind === "module" ? discoverModule(level) : discoverSkills(level, FORMATS, host);
    diagnostics.push(...discovery.diagnostics);
    for (const { path, loaded } of discovery.found) {
      const { id } = loaded.skill;
      const reserved = reservedNameOf(loaded.skill);
      if (reserved !== undefined) {
        diagnostics.push(skipped(path, reserved));
        continue;
      }
      const layer: Layer = {
        level,
        priority: (levels.length - index) * STEP,
        path,
        loaded: withoutReserved(loaded, path),
        digest: once(() => digestFiles(path, loaded.alsoRuns?.())),
      };
      layers.set(id, [...(layers.get(id) ?? []), layer]);
    }
  }
  return { layers, diagnostics };
}

function reservedNameOf(skill: Skill): string | undefined {
  const exposed = describeTools(skill, skill.tools).map((tool) => tool.exposed);
  return reservedName(skill.id, exposed);
}

/** Those that flags and config files hand over. */
function refusedVariables({ variables }: SkillSetOptions): Diagnostic[] {
  return [...variables].flatMap(([id, names]) =>
    names.filter(isReservedVariable).map((name) => refusedVariable(id, name)),
  );
}

function refusedVariable(id: string, name: string, at: Pick<Diagnostic, "path" | "file"> = { path: [] }): Diagnostic {
  const message = `skill "${id}": the variable ${name} is not handed to a skill, because it changes what programs load`;
  return { severity: "warning", code: "VARIABLE_REFUSED", message, ...at };
}

function once<Value>(make: () => Value): () => Value {
  let made: { readonly value: Value } | undefined;
  return () => {
    made ??= { value: make() };
    return made.value;
  };
}

/** A document cannot have its skill's programs started with variables that change what they load. */
function withoutReserved(loaded: LoadedSkill, path: string): LoadedSkill {
  const { id, config, mcp } = loaded.skill;
  const fields = Object.entries(config).filter(([key, { env }]) => [key, env ?? key].some(isReservedVariable));
  const variables = Object.keys(mcp?.env ?? {}).filter(isReservedVariable);
  if (fields.length + variables.length === 0) return loaded;
  const skill: Skill = {
    ...loaded.skill,
    config: without(config, new Set(fields.map(([key]) => key))),
    ...only("mcp", mcp?.env ? { ...mcp, env: without(mcp.env, new Set(variables)) } : mcp),
  };
  const findings = [
    ...fields.map(([key, { env }]) => refusedVariable(id, env ?? key, { path: ["config", key], file: path })),
    ...variables.map((name) => refusedVariable(id, name, { path: ["mcp", "env", name], file: path })),
  ];
  return { ...loaded, skill, diagnostics: [...loaded.diagnostics, ...findings] };
}

function without<Value>(record: Readonly<Record<string, Value>>, keys: ReadonlySet<string>): Record<string, Value> {
  return Object.fromEntries(Object.entries(record).filter(([key]) => !keys.has(key)));
}

interface Builtins {
  readonly ids: ReadonlySet<string>;
  pathOf(id: string): string;
  /** Why the operator's choices keep it away. */
  kept(id: string): string | undefined;
  load(id: string): Promise<Skill | undefined>;
}

function openBuiltins({ builtin: directory, own }: SkillSetOptions): Builtins {
  const ownById = new Map(own.map((entry) => [entry.skill.id, entry]));
  const entries = existsSync(directory) ? readdirSync(directory, { withFileTypes: true }) : [];
  const ids = new Set(entries.filter((entry) => entry.isDirectory()).map((entry) => entry.name));
  const loaded = new Map<string, Promise<Skill>>();
  return {
    ids: new Set([...ids, ...ownById.keys()]),
    kept: (id) => ownById.get(id)?.unavailable,
    pathOf: (id) => join(directory, id),
    async load(id) {
      const program = ownById.get(id);
      if (program || !ids.has(id)) return program?.skill;
      const known = loaded.get(id) ?? loadBuiltinSkill(join(directory, id));
      loaded.set(id, known);
      return known;
    },
  };
}

async function loadBuiltinSkill(directory: string): Promise<Skill> {
  const code = ["skill.js", "skill.ts"].map((name) => join(directory, name)).find((file) => existsSync(file));
  const skill = await loadSkillModule(code ?? join(directory, "skill.js"));
  const folder = openSkillFolder(directory);
  const document = folder && readSkillDocument(folder);
  return document && "instruction" in document && document.instruction
    ? { ...skill, instruction: document.instruction }
    : skill;
}

/** Who wins an id, and over whom. Versions of one level stand side by side. */
function shadowings(layers: ReadonlyMap<string, readonly Layer[]>, builtins: Builtins): Diagnostic[] {
  return [...layers].flatMap(([id, found]) => {
    const { winner, shadowed } = chooseVersion(found);
    if (!winner) return [];
    const lower = new Map(shadowed.filter(({ path }) => path !== winner.path).map((loser) => [loser, winner]));
    for (const [first, again] of repeatedVersions(found)) if (!lower.has(again)) lower.set(again, first);
    const told = [...lower].map(([loser, over]) => shadowing(id, over, `${loser.path} (priority ${loser.priority})`));
    if (!builtins.ids.has(id)) return told;
    told.push(shadowing(id, winner, "the built-in skill (priority 0), whose tools stay"));
    return winner.loaded.runsCode ? [...told, toolsLeftOut(id, winner)] : told;
  });
}

function shadowing(id: string, { path, priority }: Layer, loser: string): Diagnostic {
  const message = `skill "${id}": ${path} (priority ${priority}) shadows ${loser}`;
  return { severity: "warning", code: "SKILL_SHADOWED", path: [], message, file: path };
}

function toolsLeftOut(id: string, { path }: Layer): Diagnostic {
  const message = `skill "${id}": the tools of ${path} are left out, because the built-in skill keeps its own`;
  const hint = "a skill with tools of its own needs an id of its own";
  return { severity: "warning", code: "SKILL_TOOLS_LEFT_OUT", path: [], message, hint, file: path };
}

interface Layers {
  readonly inline: InlineSkill | undefined;
  /** Highest first. */
  readonly custom: readonly Layer[];
  readonly builtin: Skill | undefined;
  /** Why the operator's choices keep the built-in skill away. */
  readonly kept: string | undefined;
  readonly server: ServerChoice | undefined;
  readonly options: SkillSetOptions;
}

/** D32: instruction and server come from the highest layer that has them; a built-in skill's tools and config stay. */
async function joinLayers(id: string, layers: Layers): Promise<SkillEntry | undefined> {
  const { inline, custom, builtin, kept, server, options } = layers;
  const [top] = custom;
  if (!inline && !top && !builtin && !server) return undefined;
  const source = sourceOf(id, layers);
  // An inline skill of the same id is the operator's own, the code below it is not.
  const trusted = top === undefined || isTrusted(id, top, options.trust);
  const code = await codeOf(top, trusted, builtin);
  const own = code.skill;
  const mcp = server?.config ?? inline?.mcp ?? own?.mcp ?? builtin?.mcp;
  const foreign = mcp === own?.mcp && !trusted ? mcp : undefined;
  const skill: Skill = {
    id,
    name: inline?.name ?? builtin?.name ?? own?.name ?? id,
    description: inline?.description ?? own?.description ?? builtin?.description ?? (mcp ? `MCP server ${id}` : ""),
    category: builtin?.category ?? own?.category ?? "general",
    config: { ...variableFields(options.variables.get(id)), ...own?.config, ...builtin?.config },
    tools: builtin?.tools ?? own?.tools ?? [],
    ...only("instruction", firstText(inline?.instruction, own?.instruction, builtin?.instruction)),
    ...only("mcp", foreign ? harmlessServer(foreign) : mcp),
    ...only("version", own?.version),
    ...only("probe", builtin?.probe ?? own?.probe),
  };
  const held = reasonWithheld(id, code.withheld, foreign);
  const withheld = held && `${held.reason}: ${held.remedy}`;
  const fields = resolveConfig(skill, options.overrides, options.env);
  const lacks = kept ?? top?.loaded.unavailable ?? code.failed ?? reservedNameOf(skill);
  return {
    skill,
    format: builtin ? "module" : inline ? "sweny" : (top?.loaded.format ?? "mcp"),
    kind: builtin ? "tools" : (top?.loaded.kind ?? (skill.mcp ? "tools" : "instruction")),
    source,
    shadows: shadowsOf(layers, source),
    fields,
    unavailable: options.disabled.includes(id)
      ? "disabled in .skillflow.yml"
      : (missingConfig(fields) ?? lacks ?? emptiness(skill, withheld)),
    withheld,
    heldBack: withheld === undefined || !top ? [] : describeHeldBack(top, code.withheld, foreign),
    frontmatter: top?.loaded.frontmatter,
    bundle: top && skill.instruction === own?.instruction ? bundleOf(top.path) : undefined,
    calls: builtin ? [] : (top?.loaded.calls ?? []),
    package: builtin ? undefined : top?.loaded.package,
    diagnostics: top?.loaded.diagnostics ?? [],
  };
}

function sourceOf(id: string, { inline, custom, builtin, server, options }: Layers): SkillSource {
  const [top] = custom;
  if (inline) return { kind: "inline", path: null, priority: (options.levels.length + 1) * STEP, trusted: true };
  if (top) {
    const { level, priority, path } = top;
    return { kind: level.kind, path, priority, trusted: isTrusted(id, top, options.trust) };
  }
  if (builtin) return { kind: "builtin", path: builtinPath(id, options), priority: 0, trusted: true };
  return { kind: server?.kind ?? "user", path: server?.path ?? null, priority: STEP, trusted: true };
}

/** Null for a skill that the program itself carries out: it has no folder. */
function builtinPath(id: string, { builtin, own }: SkillSetOptions): string | null {
  return own.some(({ skill }) => skill.id === id) ? null : join(builtin, id);
}

/** By its level, by id, or by id and what its files held when it was allowed. */
function isTrusted(id: string, { level, digest }: Layer, trust: ReadonlySet<string>): boolean {
  if (level.trusted || trust.has(id)) return true;
  const isPinned = [...trust].some((entry) => entry.startsWith(`${id}@`));
  return isPinned && trust.has(`${id}@${digest()}`);
}

/** What is left of a server that nobody vouches for: its address, which may be asked but is told no secret. */
function harmlessServer(server: McpServerConfig): McpServerConfig | undefined {
  return server.command === undefined ? withoutVariables(server) : undefined;
}

/** Undefined where nothing is held back; `server` is one that nobody vouches for. */
function reasonWithheld(id: string, isCode: boolean, server: McpServerConfig | undefined): Withheld | undefined {
  if (isCode || server?.command !== undefined) {
    return { reason: "its code is not trusted", remedy: `--trust-skill ${id} lets it run` };
  }
  const { variables } = handedVariables(server ?? {});
  if (variables.length === 0) return undefined;
  const reason = `its server is not trusted and gets no ${variables.join(", ")}`;
  return { reason, remedy: `--trust-skill ${id} hands that over` };
}

function describeHeldBack({ loaded }: Layer, isCode: boolean, server: McpServerConfig = {}): readonly string[] {
  const { command, args = [], url = "" } = server;
  const code = isCode ? [...loaded.skill.tools.map(({ name }) => `tool ${name}`), ...(loaded.code ?? [])] : [];
  const programs = command === undefined ? code : [...code, `command ${[command, ...args].join(" ")}`];
  const { variables } = handedVariables(command === undefined ? server : {});
  const handed = variables.length === 0 ? [] : [`hands ${variables.join(", ")} to ${url}`];
  return [...programs.map((program) => `runs ${program}`), ...handed];
}

interface Code {
  readonly skill: Skill | undefined;
  readonly withheld: boolean;
  /** Why the skill's module could not be loaded. */
  readonly failed?: string;
}

/** The highest custom layer as far as trust goes: without it, what needs no code. */
async function codeOf(top: Layer | undefined, trusted: boolean, builtin: Skill | undefined): Promise<Code> {
  if (!top) return { skill: undefined, withheld: false };
  const { skill, runsCode, importCode } = top.loaded;
  if (!runsCode || builtin) return { skill, withheld: false };
  if (!trusted) return { skill: { ...skill, tools: [] }, withheld: true };
  if (!importCode) return { skill, withheld: false };
  try {
    const imported = await importCode();
    return {
      skill: {
        ...imported,
        config: { ...skill.config, ...imported.config },
        ...only("instruction", skill.instruction ?? imported.instruction),
        ...only("mcp", skill.mcp ?? imported.mcp),
      },
      withheld: false,
    };
  } catch (error) {
    return { skill, withheld: false, failed: messageOf(error) };
  }
}

function bundleOf(directory: string): Bundle | undefined {
  const files = statSync(directory).isDirectory() ? listBundled(directory) : [];
  return files.length === 0 ? undefined : { directory, files };
}

function variableFields(names: readonly string[] = []): Readonly<Record<string, ConfigField>> {
  const allowed = names.filter((name) => !isReservedVariable(name));
  return Object.fromEntries(allowed.map((name) => [name, { description: "handed over by the operator", env: name }]));
}

function shadowsOf({ custom, builtin, options }: Layers, source: SkillSource): string[] {
  const lowest = builtin ? builtinPath(builtin.id, options) : null;
  const paths = [...custom.map(({ path }) => path), ...(lowest === null ? [] : [lowest])];
  return paths.filter((path) => path !== source.path);
}

function emptiness(skill: Skill, withheld: string | undefined): string | undefined {
  if (skill.tools.length > 0 || skill.instruction || skill.mcp) return undefined;
  return withheld ?? "it has neither tools nor an instruction";
}

function only<Key extends string, Value>(key: Key, value: Value | undefined): { [K in Key]?: Value } {
  return value === undefined ? {} : ({ [key]: value } as { [K in Key]: Value });
}

function firstText(...texts: readonly (string | undefined)[]): string | undefined {
  return texts.find((text) => text !== undefined && text.trim() !== "");
}

/** What one invocation means. */
export interface Chosen {
  readonly entry: SkillEntry;
  readonly tool: Tool;
}

/** The skill and tool that are invoked, and that the arguments fit; throws what keeps the call from being made. */
export async function chooseTool(set: Pick<SkillSet, "find">, call: Invocation): Promise<Chosen> {
  const entry = await findCallable(set, call);
  const offered = offeredTools(entry);
  const tool = call.tool === undefined ? offered[0] : offered.find((candidate) => candidate.name === call.tool);
  if (!tool) throw new Error(`skill ${call.skill} has no tool ${call.tool ?? "to call"}`);
  if (call.effects === "read" && tool.effect === "write") {
    throw new Error(`the tool ${tool.name} of ${call.skill} may write, and only reading is allowed here`);
  }
  const problems = schemaProblems(tool.input_schema, call.arguments);
  if (problems.length > 0) throw new Error(describeMisfit("invalid_input", problems));
  return { entry, tool };
}

async function findCallable({ find }: Pick<SkillSet, "find">, { skill, version }: Invocation): Promise<SkillEntry> {
  const reference = version === undefined ? skill : `${parseSkillReference(skill).id}@${version}`;
  const entry = await find(reference);
  const reason = entry
    ? (entry.unavailable ?? (entry.skill.tools.length > 0 ? undefined : entry.withheld))
    : describeAbsence(reference);
  if (entry && reason === undefined) return entry;
  throw new Error(`skill ${reference} cannot be called: ${reason}`);
}

/** Calls by name, whatever format the called skill has. A call that leads back to itself is refused. */
function createInvoke(set: SkillSet, host: LoaderHost): Invoke {
  const chains = new WeakMap<ToolContext, readonly string[]>();
  return async (call, context) => {
    const chain = [...(chains.get(context) ?? []), `${call.skill}/${call.tool ?? ""}`];
    if (new Set(chain).size < chain.length) {
      throw new Error(
        `skills call each other in a circle: ${chain.map((step) => step.replace(/\/$/, "")).join(" -> ")}`,
      );
    }
    const server = await serverCall(set, call);
    if (server) return callServer(host, server, call, context);
    const { entry, tool } = await chooseTool(set, call);
    const inner = { ...context, config: handlerConfig(entry) };
    chains.set(inner, chain);
    return checkedOutput(tool, toJson(await tool.handler(call.arguments as never, inner)));
  };
}

/** Undefined where the skill itself has the tool that is called. */
async function serverCall(set: SkillSet, call: Invocation): Promise<SkillEntry | undefined> {
  const entry = await set.find(call.skill);
  const isOwn = entry?.skill.tools.some(({ name }) => name === call.tool);
  return entry?.skill.mcp && entry.unavailable === undefined && call.tool !== undefined && !isOwn ? entry : undefined;
}

function callServer({ callMcp, env }: LoaderHost, { skill }: SkillEntry, call: Invocation, context: ToolContext) {
  const { tool = "", effects } = call;
  if (!callMcp || !skill.mcp) throw new Error("MCP servers cannot be reached here");
  const ceiling = effects === undefined ? {} : { effects };
  const { workDir: cwd } = context;
  return callMcp({ id: skill.id, server: skill.mcp, tool, arguments: call.arguments, env, cwd, ...ceiling }, context);
}

/** A result that does not fit is no result (O12). */
export function checkedOutput(tool: Pick<Tool, "output_schema">, output: Json): Json {
  const problems = tool.output_schema ? schemaProblems(tool.output_schema, output) : [];
  if (problems.length > 0) throw new Error(describeMisfit("invalid_output", problems));
  return output;
}

/** What a run's record keeps of a skill, under the reference by which the workflow names it. */
export function recordSkill(id: string, entry: SkillEntry | undefined): SkillRecord {
  if (!entry) {
    return { id, name: id, format: "unknown", available: false, reason: describeAbsence(id), tools: [] };
  }
  const { skill, format, unavailable, withheld } = entry;
  const reason = unavailable ?? withheld;
  return {
    id,
    name: skill.name,
    format,
    available: unavailable === undefined,
    ...(reason === undefined ? {} : { reason }),
    ...(skill.description ? { description: skill.description } : {}),
    ...(skill.instruction ? { instruction: skill.instruction } : {}),
    ...(entry.bundle ? { files: [...entry.bundle.files] } : {}),
    tools:
      unavailable === undefined
        ? describeTools(skill, offeredTools(entry)).map((tool) => ({ ...tool, skill: id }))
        : [],
  };
}

/** The tools of an available skill whose own needs are met. */
function offeredTools({ skill, fields }: SkillEntry): readonly Tool[] {
  return skill.tools.filter((tool) => missingForTool(tool, fields) === undefined);
}

export function handlerConfig(entry: SkillEntry): Readonly<Record<string, string>> {
  return configValues(entry.fields);
}
