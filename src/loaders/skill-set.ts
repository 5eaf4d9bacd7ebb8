import { existsSync, readdirSync } from "node:fs";
import { join } from "node:path";
import {
  configValues,
  type Environment,
  missingConfig,
  missingForTool,
  type ResolvedField,
  resolveConfig,
} from "../core/config.ts";
import type { Diagnostic } from "../core/errors.ts";
import type { SkillRecord } from "../core/event.ts";
import { describeTool, type Skill, type Tool } from "../core/skill.ts";
import type { InlineSkill, Workflow } from "../core/workflow.ts";
import { readSkillDocument, type SkillDocument, scanSkillFolders } from "./skill-folder.ts";
import { loadSkillModule } from "./skill-module.ts";

export interface SkillSetOptions {
  /** The folder of the built-in skills. */
  readonly builtin: string;
  /** Directories of skill folders, highest first, each with the name of its level. */
  readonly levels: readonly SkillLevel[];
  readonly disabled: readonly string[];
  readonly overrides: ReadonlyMap<string, string>;
  readonly env: Environment;
}

export interface SkillLevel {
  readonly kind: "extra" | "project" | "user";
  readonly path: string;
}

/** One skill of the set, all its layers joined (D32), and whether it can be used. */
export interface SkillEntry {
  readonly skill: Skill;
  readonly format: "module" | "agent-skills" | "sweny";
  readonly source: { readonly kind: "inline" | SkillLevel["kind"] | "builtin"; readonly path: string | null };
  /** Where lower layers of the same id are. */
  readonly shadows: readonly string[];
  readonly fields: readonly ResolvedField[];
  /** Why it is unavailable; undefined when it is available. */
  readonly unavailable: string | undefined;
  readonly frontmatter: { readonly [key: string]: unknown } | undefined;
}

/** Every skill there is, found once and read when asked for. */
export interface SkillSet {
  readonly ids: ReadonlySet<string>;
  readonly diagnostics: readonly Diagnostic[];
  /** Undefined for an id that nobody declares. `inline` are the skills of one workflow, the highest layer. */
  find(id: string, inline?: Workflow["skills"]): Promise<SkillEntry | undefined>;
}

interface Layer {
  readonly kind: SkillLevel["kind"];
  readonly document: SkillDocument;
}

/** Finds the skills of all levels; of one id the higher level wins (S10). */
export function openSkillSet(options: SkillSetOptions): SkillSet {
  const custom = new Map<string, Layer[]>();
  const diagnostics: Diagnostic[] = [];
  for (const { kind, path } of options.levels) {
    const scan = scanSkillFolders(path);
    diagnostics.push(...scan.diagnostics);
    for (const document of scan.documents) {
      custom.set(document.id, [...(custom.get(document.id) ?? []), { kind, document }]);
    }
  }
  const builtin = new Set(existsSync(options.builtin) ? foldersIn(options.builtin) : []);
  const loaded = new Map<string, Promise<Skill>>();
  const loadBuiltin = (id: string) => {
    const known = loaded.get(id) ?? loadBuiltinSkill(join(options.builtin, id));
    loaded.set(id, known);
    return known;
  };
  return {
    ids: new Set([...builtin, ...custom.keys()]),
    diagnostics,
    async find(id, inline) {
      const base = builtin.has(id) ? await loadBuiltin(id) : undefined;
      const own = inline && Object.hasOwn(inline, id) ? inline[id] : undefined;
      return joinLayers(
        id,
        own,
        custom.get(id) ?? [],
        base && { skill: base, path: join(options.builtin, id) },
        options,
      );
    },
  };
}

function foldersIn(directory: string): string[] {
  const entries = readdirSync(directory, { withFileTypes: true });
  return entries.filter((entry) => entry.isDirectory()).map((entry) => entry.name);
}

async function loadBuiltinSkill(directory: string): Promise<Skill> {
  const code = ["skill.js", "skill.ts"].map((name) => join(directory, name)).find((file) => existsSync(file));
  const skill = await loadSkillModule(code ?? join(directory, "skill.js"));
  const document = readSkillDocument(join(directory, "SKILL.md"));
  return "severity" in document || !document.instruction ? skill : { ...skill, instruction: document.instruction };
}

function joinLayers(
  id: string,
  inline: InlineSkill | undefined,
  custom: readonly Layer[],
  builtin: { readonly skill: Skill; readonly path: string } | undefined,
  options: SkillSetOptions,
): SkillEntry | undefined {
  const [top] = custom;
  if (!inline && !top && !builtin) return undefined;
  const document = top?.document;
  const skill: Skill = {
    id,
    name: inline?.name ?? builtin?.skill.name ?? id,
    description: inline?.description ?? document?.description ?? builtin?.skill.description ?? "",
    category: builtin?.skill.category ?? document?.category ?? "general",
    config: { ...document?.config, ...builtin?.skill.config },
    tools: builtin?.skill.tools ?? [],
    ...only("instruction", firstText(inline?.instruction, document?.instruction, builtin?.skill.instruction)),
    ...only("mcp", inline?.mcp ?? document?.mcp ?? builtin?.skill.mcp),
    ...only("probe", builtin?.skill.probe),
  };
  const fields = resolveConfig(skill, options.overrides, options.env);
  const paths = [...custom.map((layer) => layer.document.directory), ...(builtin ? [builtin.path] : [])];
  return {
    skill,
    format: builtin ? "module" : isPlain(document) && !inline ? "agent-skills" : "sweny",
    source: inline
      ? { kind: "inline", path: null }
      : { kind: top?.kind ?? "builtin", path: document?.directory ?? builtin?.path ?? null },
    shadows: inline ? paths : paths.slice(1),
    fields,
    unavailable: unavailability(skill, fields, options.disabled),
    frontmatter: document?.frontmatter,
  };
}

function only<Key extends string, Value>(key: Key, value: Value | undefined): { [K in Key]?: Value } {
  return value === undefined ? {} : ({ [key]: value } as { [K in Key]: Value });
}

function firstText(...texts: readonly (string | undefined)[]): string | undefined {
  return texts.find((text) => text !== undefined && text.trim() !== "");
}

/** Only the keys of the open Agent Skills format, none of the workflow format's own. */
function isPlain(document: SkillDocument | undefined): boolean {
  return (
    document !== undefined && !["category", "config", "mcp"].some((key) => Object.hasOwn(document.frontmatter, key))
  );
}

function unavailability(
  skill: Skill,
  fields: readonly ResolvedField[],
  disabled: readonly string[],
): string | undefined {
  if (disabled.includes(skill.id)) return "disabled in .skillflow.yml";
  const missing = missingConfig(fields);
  if (missing) return missing;
  if (skill.tools.length > 0 || skill.instruction) return undefined;
  return skill.mcp ? "MCP servers are not supported by this version" : "it has neither tools nor an instruction";
}

/** What a run's record keeps of a skill. */
export function recordSkill(id: string, entry: SkillEntry | undefined): SkillRecord {
  if (!entry) return { id, name: id, format: "unknown", available: false, reason: "no skill has this id", tools: [] };
  const { skill, format, unavailable } = entry;
  return {
    id,
    name: skill.name,
    format,
    available: unavailable === undefined,
    ...(unavailable === undefined ? {} : { reason: unavailable }),
    ...(skill.instruction ? { instruction: skill.instruction } : {}),
    tools: unavailable === undefined ? offeredTools(entry).map((tool) => describeTool(skill, tool)) : [],
  };
}

/** The tools of an available skill whose own needs are met. */
function offeredTools({ skill, fields }: SkillEntry): readonly Tool[] {
  return skill.tools.filter((tool) => missingForTool(tool, fields) === undefined);
}

export function handlerConfig(entry: SkillEntry): Readonly<Record<string, string>> {
  return configValues(entry.fields);
}
