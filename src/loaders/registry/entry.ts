import { statSync } from "node:fs";
import { join } from "node:path";
import type { Diagnostic } from "../../core/base/diagnostic.ts";
import { messageOf } from "../../core/base/errors.ts";
import { asFlag, renderHint } from "../../core/base/options.ts";
import { defined } from "../../core/base/values.ts";
import {
  configValues,
  isReservedVariable,
  lackOfConfig,
  missingForTool,
  resolveConfig,
  settledParameters,
} from "../../core/document/config.ts";
import { forbidsSkill, type LoadedPolicy } from "../../core/document/policy.ts";
import type { SkillRecord } from "../../core/engine/event/record.ts";
import { withoutTools } from "../../core/engine/tools/disclosure.ts";
import { RUN_SCRIPT } from "../../core/engine/tools/own-tools.ts";
import type { Unavailable } from "../../core/skill/availability/unavailable.ts";
import {
  claimedEffects,
  loosenings,
  readReachMaps,
  uncontained,
  unvouched,
  withoutLoosenings,
} from "../../core/skill/formats/tool-reach.ts";
import {
  type ConfigField,
  describeTools,
  type Effect,
  type Format,
  type McpServerConfig,
  type RunOutlook,
  type Skill,
  type Tool,
  type ToolDescriptor,
} from "../../core/skill/skill.ts";
import { describeAbsence } from "../../core/skill/skill-reference.ts";
import { hasOwnScripts, listBundled } from "../folder/bundled-files.ts";
import type { SkillScripts } from "../programs/skill-script.ts";
import { deriveInstance } from "./derived/instance.ts";
import { idleEffects, leaveOutReserved, unknownToolsNamed } from "./discover.ts";
import { type Layer, type Layers, partsOf, reservedNameOf, STEP } from "./layers.ts";
import { lookUpIn } from "./look-up.ts";
import type { Bundle, SkillEntry, SkillSetOptions, SkillSource } from "./skill-set.ts";
import { describeHeldBack, describeWithheld, type Held, heldOf, isTrusted } from "./withheld.ts";

/** Joins a skill's layers. The highest instructions and server win. A built-in skill keeps its tools and config. */
export async function joinLayers(id: string, layers: Layers): Promise<SkillEntry | undefined> {
  const { inline, custom, builtin, server, options } = layers;
  const [top] = custom;
  if (!inline && !top && !builtin && !server) return undefined;
  const parts = partsOf({ ...layers, hasBuiltin: builtin !== undefined });
  const held = heldOf(id, parts, options.trust);
  const barred = policyOf(id, layers, server?.config ?? inline?.mcp ?? top?.loaded.skill.mcp ?? builtin?.mcp);
  const code: Code = barred ? { skill: top?.loaded.skill } : await codeOf(top, held, builtin);
  const { own, unsound } = await withSoundTools(code.skill, top);
  const named = server?.config ?? inline?.mcp ?? own?.mcp ?? builtin?.mcp;
  const policy = barred ?? policyOf(id, layers, named);
  const areUsers = server ? server.trusted : !inline?.mcp && !own?.mcp;
  const loose = named === undefined || areUsers ? [] : loosenings(named);
  const mcp =
    named && !held.server && !policy
      ? withEffects(areUsers ? named : withoutLoosenings(named), id, options)
      : undefined;
  const source = sourceOf(id, layers, held);
  const areTrusted = top !== undefined && isTrusted(id, top, options.trust);
  const said: SkillEntry["said"] = areTrusted ? readReachMaps(top.loaded.frontmatter).reach : new Map();
  const stated = areTrusted ? top.loaded.effects : undefined;
  const flagged = (tool: Tool) => options.effects?.get(`${id}.${tool.name}`);
  // The effect of a built-in tool is known, so a flag can only make it stricter.
  const hold = (tool: Tool): Tool => (flagged(tool) === "write" ? { ...tool, effect: "write" } : tool);
  const vouch = (tool: Tool): Tool => {
    const effect = flagged(tool) ?? stated?.get(tool.name) ?? tool.effect;
    return { ...(areTrusted ? { ...uncontained(tool), ...said.get(tool.name) } : unvouched(tool)), effect };
  };
  const joined = joinSkill(id, layers, {
    own: own && !areTrusted ? { ...own, config: allSecret(own.config) } : own,
    tools: policy ? [] : (builtin?.tools.map(hold) ?? (own?.tools ?? []).map(vouch)),
    serves: named !== undefined,
    mcp,
    host: builtin?.host ?? (areTrusted ? own?.host : undefined),
  });
  const base = { skill: joined, serves: named !== undefined, isHeld: held.code !== undefined };
  const { skill, overrides, lack } = deriveInstance(base, layers.instance, options);
  const waiting = describeWithheld(id, held, options.trust);
  const untrusted = lack?.kind === "untrusted" ? lack.reason : undefined;
  const withheld = waiting ? `${waiting.reason}: ${renderHint(waiting.remedy, options.write ?? asFlag)}` : untrusted;
  const fields = resolveConfig(skill, overrides, { env: options.env, lookUp: lookUpIn(options.host.cwd) });
  const scripts = top && !builtin ? scriptsOf(top, options.effects?.get(`${id}.${RUN_SCRIPT}`)) : undefined;
  const heldTools = (held.code?.loaded.skill.tools ?? []).map(unvouched);
  const allTools = [...skill.tools, ...heldTools];
  const misnamed = unknownToolsNamed(skill, allTools, defined("file", top?.path));
  const idle = named || policy ? [] : idleEffects(id, allTools, { ...options, isBuiltin: builtin !== undefined });
  return {
    skill,
    format: builtin ? "module" : inline ? "sweny" : (top?.loaded.format ?? "mcp"),
    kind: builtin ? "tools" : (top?.loaded.kind ?? (named ? "tools" : "instruction")),
    source,
    isBuiltin: builtin !== undefined,
    shadows: shadowsOf(layers, source),
    fields,
    unavailable: lackOf(skill, layers, { fields, failed: code.failed, withheld, lack, policy }),
    isLacking: false,
    withheld,
    heldBack: describeHeldBack(held),
    heldTools,
    isUnopened: named !== undefined || code.failed !== undefined || (held.code !== undefined && heldTools.length === 0),
    said,
    frontmatter: top?.loaded.frontmatter,
    bundle: top && skill.instruction === own?.instruction ? bundleOf(top.path) : undefined,
    scripts: areTrusted && !policy ? scripts : undefined,
    holdsScripts: scripts !== undefined && !areTrusted,
    holdsServer: held.server !== undefined,
    calls: builtin || policy ? [] : (top?.loaded.calls ?? []),
    package: builtin || policy ? undefined : top?.loaded.package,
    contents: held.server || parts.server?.level.trusted ? undefined : parts.server?.contents,
    mounts: builtin || !top || policy ? [] : (top.loaded.mounts ?? (top.loaded.package ? [top.loaded.package] : [])),
    diagnostics: [
      ...(top?.loaded.diagnostics ?? []),
      ...unsound,
      ...misnamed,
      ...idle,
      ...uncountedKeys(id, loose, layers),
    ],
  };
}

function policyOf(id: string, { builtin, custom, inline, options }: Layers, server: McpServerConfig | undefined) {
  const isServer = !builtin && custom.length === 0 && !inline?.instruction;
  return forbidsSkill(options.policies ?? [], { id, server, isServer });
}

interface Lack {
  readonly fields: SkillEntry["fields"];
  readonly failed: string | undefined;
  readonly withheld: string | undefined;
  /** Reason why an instance cannot be used. */
  readonly lack: Unavailable | undefined;
  readonly policy: LoadedPolicy | undefined;
}

function lackOf(skill: Skill, { kept, custom: [top], options, instance }: Layers, found: Lack) {
  const { fields, failed, withheld, lack, policy } = found;
  if (policy) return { kind: "policy", reason: `policy: ${policy.path} does not allow it` } as const;
  if ([skill.id, instance?.skill].some((id) => id !== undefined && options.disabled.includes(id)))
    return { kind: "disabled", reason: "disabled in .skillflow.yml" } as const;
  return (
    lack ??
    lackOfConfig(fields) ??
    kept ??
    top?.loaded.unavailable ??
    invalid(failed ?? reservedNameOf(skill)) ??
    emptiness(skill, withheld)
  );
}

/** Ignores `secret: false` of a skill that is not trusted: it could make any variable readable. */
function allSecret(config: Skill["config"]): Skill["config"] {
  return Object.fromEntries(Object.entries(config).map(([key, { secret: _, ...field }]) => [key, field]));
}

interface Joined {
  /** Skill in the highest folder. */
  readonly own: Skill | undefined;
  readonly tools: readonly Tool[];
  /** True if the skill has a server, connected or held back. */
  readonly serves: boolean;
  readonly mcp: McpServerConfig | undefined;
  /** Host of the service that the skill writes to. Its URLs may stay in published text. Undefined if untrusted. */
  readonly host: string | undefined;
}

function joinSkill(
  id: string,
  { inline, builtin, options, instance }: Layers,
  { own, tools, serves, mcp, host }: Joined,
): Skill {
  const names = [id, ...(instance ? [instance.skill] : [])].flatMap((each) => options.variables.get(each) ?? []);
  const instructions = [inline?.instruction, own?.instruction, builtin?.instruction];
  return {
    id,
    name: inline?.name ?? builtin?.name ?? own?.name ?? id,
    description: inline?.description ?? own?.description ?? builtin?.description ?? (serves ? `MCP server ${id}` : ""),
    category: builtin?.category ?? own?.category ?? "general",
    config: { ...variableFields(names), ...own?.config, ...builtin?.config },
    tools,
    ...defined(
      "instruction",
      instructions.find((text) => text?.trim()),
    ),
    ...defined("mcp", mcp),
    ...defined("version", own?.version),
    ...defined("host", host),
    ...defined("probe", builtin?.probe ?? own?.probe),
    ...defined("lacks", builtin?.lacks ?? own?.lacks),
  };
}

/** Applies the tool effects that flags set. They override all other sources. */
function withEffects(config: McpServerConfig, id: string, { effects = new Map() }: SkillSetOptions): McpServerConfig {
  const own = [...effects].filter(([place]) => place.startsWith(`${id}.`));
  if (own.length === 0) return config;
  const told = own.map(([place, effect]) => [place.slice(id.length + 1), effect] as const);
  return { ...config, effects: { ...config.effects, ...Object.fromEntries(told) } };
}

/** Warns about server settings that count only in the operator's own config file. */
function uncountedKeys(id: string, keys: readonly string[], { server, inline, custom: [top] }: Layers): Diagnostic[] {
  if (server) return [];
  const file = defined("file", inline?.mcp ? undefined : top?.path);
  return keys.map((key) => {
    const message = `skill "${id}": mcp.${key} is ignored: only mcpServers in your own config file may loosen a server's limits`;
    return { severity: "warning", code: "CONFIG_RAISES_TRUST", path: ["mcp"], message, ...file };
  });
}

/** Removes tools with invalid schemas, whose calls could not be validated, and imported tools with reserved names. */
async function withSoundTools(loaded: Skill | undefined, top: Layer | undefined) {
  if (!loaded || loaded.tools.length === 0) return { own: loaded, unsound: [] };
  const { skill, findings } = leaveOutReserved(loaded, () => defined("file", top?.path));
  const { faultOfSchema } = await import("../../core/base/schema/schema.ts");
  const unsound: Diagnostic[] = [...findings];
  const tools = skill.tools.filter(({ name, input_schema: input, output_schema: output }) => {
    const fault = faultOfSchema(input) ?? (output && faultOfSchema(output));
    if (fault === undefined) return true;
    const message = `the tool ${name} is left out: its schema is not a JSON Schema: ${fault}`;
    unsound.push({ severity: "error", code: "TOOL_SCHEMA", path: [], message, ...defined("file", top?.path) });
    return false;
  });
  return { own: { ...skill, tools }, unsound };
}

function sourceOf(id: string, { inline, custom, builtin, server, options }: Layers, held: Held): SkillSource {
  const [top] = custom;
  const trusted = held.code === undefined && held.server === undefined;
  if (inline) return { kind: "inline", path: null, priority: (options.levels.length + 1) * STEP, trusted };
  if (top) {
    const { level, priority, path } = top;
    return { kind: level.kind, path, priority, trusted: isTrusted(id, top, options.trust) };
  }
  if (builtin) return { kind: "builtin", path: builtinPath(builtin.id, options), priority: 0, trusted: true };
  return { kind: server?.kind ?? "user", path: server?.path ?? null, priority: STEP, trusted };
}

/** Returns the path of a built-in skill. Null if the program itself implements it, without a folder. */
function builtinPath(id: string, { builtin, own }: SkillSetOptions): string | null {
  return own.some(({ skill }) => skill.id === id) ? null : join(builtin, id);
}

type Code = { readonly skill: Skill | undefined; readonly failed?: string };

/**
 * Loads the code of the highest custom layer if it is trusted. Otherwise, returns the skill without tools. `failed` is the
 * reason why its module could not be loaded.
 */
async function codeOf(top: Layer | undefined, held: Held, builtin: Skill | undefined): Promise<Code> {
  if (!top) return { skill: undefined };
  const { skill, runsCode, importCode } = top.loaded;
  if (!runsCode || builtin) return { skill };
  if (held.code) return { skill: { ...skill, tools: [] } };
  if (!importCode) return { skill };
  try {
    const imported = await importCode();
    return {
      skill: {
        ...imported,
        config: { ...skill.config, ...imported.config },
        ...defined("instruction", skill.instruction ?? imported.instruction),
        ...defined("mcp", skill.mcp ?? imported.mcp),
      },
    };
  } catch (error) {
    return { skill, failed: messageOf(error) };
  }
}

function bundleOf(directory: string): Bundle | undefined {
  const files = statSync(directory).isDirectory() ? listBundled(directory) : [];
  return files.length === 0 ? undefined : { directory, files };
}

function scriptsOf({ path, loaded, contents }: Layer, said: Effect | undefined): SkillScripts | undefined {
  const { format, frontmatter } = loaded;
  if (!PLAIN.has(format) || !statSync(path).isDirectory() || !hasOwnScripts(path)) return undefined;
  const stated = claimedEffects([{ name: RUN_SCRIPT }], frontmatter).get(RUN_SCRIPT);
  return { directory: path, contents, effect: said ?? stated ?? "write", frontmatter };
}

/** Formats of skills that consist of a SKILL.md and files next to it. */
const PLAIN: ReadonlySet<Format> = new Set(["agent-skills", "sweny", "mcp"]);

function variableFields(names: readonly string[]): Readonly<Record<string, ConfigField>> {
  const allowed = names.filter((name) => !isReservedVariable(name));
  return Object.fromEntries(allowed.map((name) => [name, { description: "supplied by the operator", env: name }]));
}

function shadowsOf({ custom, builtin, options }: Layers, source: SkillSource): string[] {
  const lowest = builtin ? builtinPath(builtin.id, options) : null;
  const paths = [...custom.map(({ path }) => path), ...(lowest === null ? [] : [lowest])];
  return paths.filter((path) => path !== source.path);
}

function emptiness(skill: Skill, withheld: string | undefined): Unavailable | undefined {
  if (skill.tools.length > 0 || skill.instruction || skill.mcp) return undefined;
  if (withheld === undefined) return invalid("it has neither tools nor an instruction");
  return { kind: "untrusted", reason: withheld };
}

function invalid(reason: string | undefined): Unavailable | undefined {
  return reason === undefined ? undefined : { kind: "invalid", reason };
}

/** Asks a fully configured skill what it lacks. A later answer, given more about the run, replaces an earlier one. */
export async function askForLack(entry: SkillEntry, known: Omit<RunOutlook, "config">): Promise<SkillEntry> {
  const { lacks } = entry.skill;
  if (!lacks || entry.plannable !== undefined || (entry.unavailable && !entry.isLacking)) return entry;
  const answer = await Promise.resolve({ ...known, config: handlerConfig(entry) })
    .then(lacks)
    .catch(messageOf);
  const unavailable = typeof answer === "string" ? ({ kind: "machine", reason: answer } as const) : answer;
  return { ...entry, unavailable, isLacking: unavailable !== undefined };
}

/** Returns what a run's record contains of a skill, under the id that the workflow uses. */
export function recordSkill(id: string, entry: SkillEntry | undefined): SkillRecord {
  if (!entry) {
    const reason = describeAbsence(id);
    return { id, name: id, format: "unknown", available: false, cause: "unknown", reason, tools: [] };
  }
  const { skill, format, unavailable, withheld } = entry;
  const reason = unavailable?.reason ?? withheld;
  return {
    id,
    name: skill.name,
    format,
    available: unavailable === undefined,
    ...defined("cause", unavailable?.kind),
    ...(entry.plannable === undefined ? {} : { plannable: true }),
    ...(reason === undefined ? {} : { reason }),
    ...(skill.version === undefined ? {} : { version: skill.version }),
    ...(skill.description ? { description: skill.description } : {}),
    ...(skill.instruction ? { instruction: withoutTools(skill.instruction, leftOut(entry)) } : {}),
    ...(entry.bundle ? { files: [...entry.bundle.files] } : {}),
    ...(entry.remote ? { files: [...entry.remote.files], server: entry.remote.server.skill.id } : {}),
    ...(entry.scripts && unavailable === undefined ? { scripts: entry.scripts.effect } : {}),
    tools: unavailable === undefined ? recordTools(id, entry) : [],
  };
}

/** Returns the skill's tools that the run does not offer, so that the instructions can still name them. */
function leftOut(entry: SkillEntry): ToolDescriptor[] {
  const offered = offeredTools(entry);
  const others = entry.skill.tools.filter((tool) => !offered.includes(tool));
  return describeTools(entry.skill, [...others, ...entry.heldTools]);
}

function recordTools(id: string, entry: SkillEntry): SkillRecord["tools"] {
  const offered = offeredTools(entry);
  const settled = offered.map((tool) => settledParameters(tool, entry.fields));
  return describeTools(entry.skill, offered).map((tool, index) => {
    const names = settled[index] ?? [];
    return { ...tool, skill: id, ...(names.length > 0 ? { settled: names } : {}) };
  });
}

/** Returns the tools of an available skill whose required config is set. */
export function offeredTools({ skill, fields }: SkillEntry): readonly Tool[] {
  return skill.tools.filter((tool) => missingForTool(tool, fields) === undefined);
}

/** Finds the tool of a call by its name. Without a name, returns the first offered one. */
export function calledTool(entry: SkillEntry, name: string | undefined): Tool | undefined {
  const offered = offeredTools(entry);
  return name === undefined ? offered[0] : offered.find((tool) => tool.name === name);
}

export function handlerConfig(entry: SkillEntry): Readonly<Record<string, string>> {
  return configValues(entry.fields);
}
