import { join } from "node:path";
import type { Diagnostic, DiagnosticCode } from "../../../core/base/diagnostic.ts";
import { messageOf } from "../../../core/base/errors.ts";
import { isObject, type Json, parseJson } from "../../../core/base/values.ts";
import {
  type Descriptor,
  type DescriptorFinding,
  type DescriptorPart,
  parseDescriptor,
} from "../../../core/skill/formats/descriptor.ts";
import type { FormatOptions } from "../../folder/host.ts";
import type { SkillFolder } from "../../folder/skill-folder.ts";
import { type JsonText, parseJsonText } from "../../text/json-text.ts";

/**
 * Determines what a tools.json is, even if it is invalid. An array is Skill Tools, unless it has companion files or
 * only descriptor tools. Text that is not JSON counts as an array if it begins with a bracket.
 */
export function descriptorRoot(folder: SkillFolder): "descriptor" | "list" | "other" {
  if (COMPANIONS.some((name) => folder.names.has(name))) return "descriptor";
  const text = readTools(folder).replace(/^\uFEFF/, "");
  const value = parseJson(text);
  if (value === undefined) return /^\s*\[/.test(text) ? "list" : "descriptor";
  if (Array.isArray(value)) return value.length > 0 && value.every(isDescribed) ? "descriptor" : "list";
  return hasParts(value) ? "descriptor" : "other";
}

/** Returns an empty string on errors, which reading the descriptor reports. */
function readTools(folder: SkillFolder): string {
  try {
    return folder.read("tools.json") ?? "";
  } catch {
    return "";
  }
}

const COMPANIONS = ["allowlist.json", "execution.json"];

/** Checks for a JSON Schema of the parameters and no script. */
function isDescribed(tool: Json): boolean {
  if (!isObject(tool) || tool.script !== undefined) return false;
  return isObject(tool.parameters) && typeof tool.parameters.type === "string";
}

function hasParts(value: unknown): boolean {
  return isObject(value) && PARTS.some((part) => Object.hasOwn(value, part));
}

interface ReadDescriptor {
  /** Undefined if the descriptor is unusable. The skill's instructions remain. */
  readonly descriptor: Descriptor | undefined;
  readonly diagnostics: readonly Diagnostic[];
}

interface Source {
  readonly file: string;
  readonly text: JsonText;
  /** Path of the part in its file. */
  readonly base: readonly string[];
}

/** Reads tools.json, alone or with its companions. Each finding has its file, line and column. */
export function readDescriptor(
  folder: SkillFolder,
  options: FormatOptions,
  binGroup: number | undefined,
): ReadDescriptor {
  const sources = readSources(folder);
  if ("diagnostics" in sources) return sources;
  const partOf = (part: DescriptorPart) => valueAt(sources[part]);
  const parts = { tools: partOf("tools"), allowlist: partOf("allowlist"), execution: partOf("execution") };
  const strangers = options.descriptor === "seed" ? strangeKeys(sources.tools) : [];
  const { descriptor, findings } = parseDescriptor(parts, options.descriptor, binGroup);
  const kept = strangers.length === 0 ? descriptor : undefined;
  const scripts = kept && !options.allowScripts ? heldScripts(kept, sources.execution) : [];
  return {
    descriptor: kept,
    diagnostics: [...strangers, ...findings.map((each) => located(each, sources)), ...scripts],
  };
}

/** Reads the file of each part, or reports why there is no descriptor. */
function readSources(folder: SkillFolder): Readonly<Record<DescriptorPart, Source>> | ReadDescriptor {
  const open = (name: string): Source => ({
    file: join(folder.directory, name),
    text: readText(folder, name),
    base: [],
  });
  const refuse = (...diagnostics: Diagnostic[]): ReadDescriptor => ({ descriptor: undefined, diagnostics });
  const tools = open("tools.json");
  const { value } = tools.text;
  if (tools.text.problem) return refuse(...problemsOf(tools));
  if (hasParts(value)) {
    return {
      tools: within(tools, "tools"),
      allowlist: within(tools, "allowlist"),
      execution: within(tools, "execution"),
    };
  }
  if (!Array.isArray(value)) return refuse(invalid(tools, "must be a list of tools"));
  const missing = COMPANIONS.filter((name) => !folder.names.has(name));
  if (missing.length > 0)
    return refuse(invalid(tools, `is a list of tools that needs ${missing.join(" and ")} beside it`));
  const [allowlist, execution] = [open("allowlist.json"), open("execution.json")];
  const problems = [allowlist, execution].flatMap(problemsOf);
  return problems.length > 0 ? refuse(...problems) : { tools, allowlist, execution };
}

function readText(folder: SkillFolder, name: string): JsonText {
  try {
    return parseJsonText(folder.read(name) ?? "");
  } catch (error) {
    return { value: undefined, problem: { message: messageOf(error) }, position: () => ({}) };
  }
}

const PARTS: readonly DescriptorPart[] = ["tools", "allowlist", "execution"];

function within(source: Source, part: DescriptorPart): Source {
  return { ...source, base: [part] };
}

function valueAt({ text: { value }, base: [key] }: Source): unknown {
  if (key === undefined) return value;
  return isObject(value) && Object.hasOwn(value, key) ? value[key] : undefined;
}

function problemsOf({ file, text }: Source): Diagnostic[] {
  if (!text.problem) return [];
  const { message, ...place } = text.problem;
  const found = { path: [], message: `cannot be read: ${message}`, file };
  return [{ ...descriptorFinding("DESCRIPTOR_INVALID", found), ...place }];
}

/** Reports unknown keys at the root. The seed format allows only three. */
function strangeKeys(source: Source): Diagnostic[] {
  const { value } = source.text;
  const keys = isObject(value) ? Object.keys(value) : [];
  const strange = keys.filter((key) => !PARTS.some((part) => part === key));
  return strange.map((key) => ({
    ...descriptorFinding("DESCRIPTOR_INVALID", {
      path: [key],
      message: `${key} is no key of the format`,
      file: source.file,
    }),
    ...source.text.position([key]),
  }));
}

/** Reports parameters that a script resolves, which needs the operator's --allow-scripts. */
function heldScripts({ tools }: Descriptor, { file }: Source): Diagnostic[] {
  return tools.flatMap(({ name, executions }) => {
    const mappings = executions.flatMap(({ args }) => args).filter(({ resolveCommand }) => resolveCommand?.script);
    return mappings.map(({ param, resolveCommand }) => {
      const message = `tool "${name}" resolves ${param} with the script ${resolveCommand?.script}, which needs --allow-scripts`;
      return descriptorFinding("DESCRIPTOR_SCRIPTS", { path: [], message, file });
    });
  });
}

function located(
  { code, part, path, message }: DescriptorFinding,
  sources: Readonly<Record<DescriptorPart, Source>>,
): Diagnostic {
  const { file, text, base } = sources[part];
  const whole = [...base, ...path];
  return { ...descriptorFinding(code, { path: whole, message, file }), ...text.position(whole) };
}

function invalid({ file, text }: Source, message: string): Diagnostic {
  return {
    ...descriptorFinding("DESCRIPTOR_INVALID", { path: [], message: `tools.json ${message}`, file }),
    ...text.position([]),
  };
}

/** Builds a warning. An invalid descriptor costs tools, but never stops the run. */
export function descriptorFinding(
  code: DiagnosticCode,
  rest: Pick<Diagnostic, "path" | "message" | "file">,
): Diagnostic {
  return { severity: "warning", code, ...rest };
}
