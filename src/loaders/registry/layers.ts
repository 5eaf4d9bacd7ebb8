import { existsSync, readdirSync, realpathSync } from "node:fs";
import { join } from "node:path";
import type { Diagnostic } from "../../core/base/diagnostic.ts";
import { defined } from "../../core/base/values.ts";
import { isReservedVariable } from "../../core/document/config.ts";
import { reservedName } from "../../core/engine/tools/own-tools.ts";
import type { Unavailable } from "../../core/skill/availability/unavailable.ts";
import type { McpServerConfig, Skill, Tool, ToolContext } from "../../core/skill/skill.ts";
import { exposedName, numberNames } from "../../core/skill/tool-names.ts";
import type { FoundSkill, LoadedSkill, SkillLevel } from "../folder/format.ts";
import type { LoaderHost } from "../folder/host.ts";
import { type Contents, joinContents } from "../folder/skill-contents.ts";
import { skipped } from "../folder/skill-folder.ts";
import { discoverModule } from "../formats/module/module-folder.ts";
import { openServerContents } from "../mcp/contents.ts";
import { loadBuiltinSkill } from "./builtin.ts";
import { discoverSkills } from "./discover.ts";
import type { InstanceChoice, OwnedInline, ServerChoice, SkillSetOptions } from "./skill-set.ts";
import { chooseVersion, repeatedVersions } from "./versions.ts";
import type { Held, OwnedServer } from "./withheld.ts";

export interface Layer extends FoundSkill {
  readonly level: SkillLevel;
  readonly priority: number;
}

export const STEP = 10;

/** Finds the skills of all levels by id, highest first. */
export function findLayers(levels: readonly SkillLevel[], host: LoaderHost) {
  const layers = new Map<string, Layer[]>();
  const diagnostics: Diagnostic[] = [];
  for (const [index, level] of levels.entries()) {
    const discovery = level.kind === "module" ? discoverModule(level) : discoverSkills(level, host);
    diagnostics.push(...discovery.diagnostics);
    for (const { path, loaded, contents } of discovery.found) {
      const { id } = loaded.skill;
      const reserved = reservedNameOf(loaded.skill);
      if (reserved !== undefined) {
        diagnostics.push(skipped(path, reserved));
        continue;
      }
      const whole = joinContents(contents, serverContents(loaded, host));
      const priority = (levels.length - index) * STEP;
      const found = { level, priority, path, ...guarded(withoutReserved(loaded, path), level, whole) };
      layers.set(id, [...(layers.get(id) ?? []), found]);
    }
  }
  return { layers, diagnostics };
}

/** Returns the error if the skill's id or one of its tools has a reserved name. */
export function reservedNameOf(skill: Skill): string | undefined {
  return reservedName(skill.id, numberNames(skill.tools.map(({ name }) => exposedName(skill.id, name))));
}

/** Reports reserved variables in flags and config files. */
export function refusedVariables({ variables }: Pick<SkillSetOptions, "variables">): Diagnostic[] {
  const refusals = ([id, names]: readonly [string, readonly string[]]) =>
    names.filter(isReservedVariable).map((name) => refusedVariable(id, name));
  return [...variables].flatMap(refusals);
}

function refusedVariable(id: string, name: string, at: Pick<Diagnostic, "path" | "file"> = { path: [] }): Diagnostic {
  const message = `skill "${id}": the variable ${name} is not passed to a skill, because it changes what programs load`;
  return { severity: "warning", code: "VARIABLE_REFUSED", message, ...at };
}

/** Opens the files that the commands of the skill's servers name. */
function serverContents({ skill, server }: LoadedSkill, { cwd }: Pick<LoaderHost, "cwd">): Contents[] {
  const own = skill.mcp ? [{ config: skill.mcp, cwd }] : [];
  return [...own, ...(server ? [server] : [])].map(({ config, cwd }) => openServerContents(config, cwd));
}

/** Blocks untrusted skills whose files changed after they were loaded. The operator's own skills may change. */
function guarded(loaded: LoadedSkill, { trusted }: SkillLevel, contents: Contents): Pick<Layer, "loaded" | "contents"> {
  if (!trusted) contents.pin();
  if (trusted || !loaded.runsCode) return { loaded, contents };
  const guard = (skill: Skill): Skill => ({ ...skill, tools: skill.tools.map((tool) => guardedTool(tool, contents)) });
  const { importCode } = loaded;
  const load = importCode && {
    async importCode() {
      contents.check();
      const skill = guard(await importCode());
      contents.check();
      return skill;
    },
  };
  return { loaded: { ...loaded, skill: guard(loaded.skill), ...load }, contents };
}

function guardedTool(tool: Tool, contents: Contents): Tool {
  const guard = <Given>(work: (input: never, context: ToolContext) => Given): typeof work => {
    return (input, context) => {
      contents.check();
      return work(input, context);
    };
  };
  const { audience } = tool;
  const told = typeof audience === "function" ? { audience: guard(audience) } : {};
  return { ...tool, ...told, handler: guard(tool.handler) };
}

/** Removes config fields and server variables that could change which code a program loads. */
function withoutReserved(loaded: LoadedSkill, path: string): LoadedSkill {
  const { id, config, mcp } = loaded.skill;
  const fields = Object.entries(config).filter(([key, { env }]) => [key, env ?? key].some(isReservedVariable));
  const variables = Object.keys(mcp?.env ?? {}).filter(isReservedVariable);
  if (fields.length + variables.length === 0) return loaded;
  const skill: Skill = {
    ...loaded.skill,
    config: without(config, new Set(fields.map(([key]) => key))),
    ...defined("mcp", mcp?.env ? { ...mcp, env: without(mcp.env, new Set(variables)) } : mcp),
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

export function openBuiltins({ builtin: directory, own }: Pick<SkillSetOptions, "builtin" | "own">) {
  const ownById = new Map(own.map((entry) => [entry.skill.id, entry]));
  const entries = existsSync(directory) ? readdirSync(directory, { withFileTypes: true }) : [];
  const ids = new Set(entries.filter((entry) => entry.isDirectory()).map((entry) => entry.name));
  const loaded = new Map<string, Promise<Skill>>();
  return {
    ids: new Set([...ids, ...ownById.keys()]),
    /** Returns the reason why the operator's choices disable the skill. */
    kept: (id: string) => ownById.get(id)?.unavailable,
    async load(id: string): Promise<Skill | undefined> {
      const program = ownById.get(id);
      if (program || !ids.has(id)) return program?.skill;
      const known = loaded.get(id) ?? loadBuiltinSkill(join(directory, id));
      loaded.set(id, known);
      return known;
    },
  };
}

/** Reports which layer of each id shadows which others. Different versions at one level do not shadow each other. */
export function shadowings(
  layers: ReadonlyMap<string, readonly Layer[]>,
  builtins: { readonly ids: ReadonlySet<string> },
): Diagnostic[] {
  return [...layers].flatMap(([id, found]) => {
    if (found.length === 1 && !builtins.ids.has(id)) return [];
    const { winner, shadowed } = chooseVersion(found);
    if (!winner) return [];
    const lower = new Map(shadowed.filter(({ path }) => path !== winner.path).map((loser) => [loser, winner]));
    for (const [first, again] of repeatedVersions(found)) if (!lower.has(again)) lower.set(again, first);
    const told = [...lower].map(([loser, over]) => shadowing(id, over, `${loser.path} (priority ${loser.priority})`));
    if (!builtins.ids.has(id)) return told;
    told.push(shadowing(id, winner, "the built-in skill (priority 0), which keeps its tools"));
    return winner.loaded.runsCode ? [...told, toolsLeftOut(id, winner)] : told;
  });
}

function shadowing(id: string, { path, priority }: Layer, loser: string): Diagnostic {
  const message = `skill "${id}": ${path} (priority ${priority}) shadows ${loser}`;
  return { severity: "warning", code: "SKILL_SHADOWED", path: [], message, file: path };
}

function toolsLeftOut(id: string, { path }: Layer): Diagnostic {
  const message = `skill "${id}": the tools of ${path} are left out, because the built-in skill keeps its own`;
  const hint = "rename the skill: a skill with its own tools needs its own id";
  return { severity: "warning", code: "SKILL_TOOLS_LEFT_OUT", path: [], message, hint, file: path };
}

export interface Layers {
  readonly inline: OwnedInline | undefined;
  /** Highest first. */
  readonly custom: readonly Layer[];
  readonly builtin: Skill | undefined;
  /** Reason why the operator's choices disable the built-in skill. */
  readonly kept: Unavailable | undefined;
  readonly server: ServerChoice | undefined;
  readonly instance: InstanceChoice | undefined;
  readonly options: SkillSetOptions;
}

/** Layers as far as they are known before a built-in skill is loaded. */
type Described = Omit<Layers, "builtin" | "kept" | "instance"> & { readonly hasBuiltin: boolean };

/** Returns the parts of a skill that need trust, without running them. */
export function partsOf(layers: Described): Held {
  const { custom, hasBuiltin } = layers;
  const [top] = custom;
  return { code: top?.loaded.runsCode && !hasBuiltin ? top : undefined, server: serverOf(layers) };
}

/** Returns the server that would be used, and its trust. A built-in skill's own server needs no trust. */
function serverOf({ server, inline, custom: [top], options }: Described): OwnedServer | undefined {
  const owned = (config: McpServerConfig, trusted: boolean, isRecorded = false): OwnedServer => {
    const contents = openServerContents(config, realpathSync.native(options.host.cwd));
    return { config, level: { trusted }, contents, isForeign: isRecorded || differs(config, contents, options) };
  };
  if (server) return owned(server.config, server.trusted);
  if (inline?.mcp) return owned(inline.mcp, inline.trusted, inline.recorded);
  const own = top?.loaded.skill.mcp;
  if (!top || !own) return undefined;
  return { config: own, level: top.level, contents: top.contents, isForeign: owned(own, false).isForeign ?? false };
}

/** Checks whether a server starts working-directory files that differ from the commit that provides the documents. */
function differs(config: McpServerConfig, contents: Contents, { host: { documents } }: SkillSetOptions): boolean {
  if (documents === undefined || config.command === undefined) return false;
  return openServerContents(config, realpathSync.native(documents)).digest() !== contents.digest();
}
