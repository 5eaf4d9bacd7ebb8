import type { Diagnostic } from "../../../core/base/diagnostic.ts";
import { attempt } from "../../../core/base/errors.ts";
import { isObject, type Json, parseJson } from "../../../core/base/values.ts";
import { type Descriptor, type DescriptorPart, parseDescriptor } from "../../../core/skill/formats/descriptor.ts";
import type { FormatOptions } from "../../folder/host.ts";
import { type Manifest, openManifest, type Unreadable } from "../../folder/manifest.ts";
import type { SkillFolder } from "../../folder/skill-folder.ts";

/**
 * Determines what a tools.json is, even if it is invalid. An array is Skill Tools, unless it has companion files or
 * only descriptor tools. Text that is not JSON counts as an array if it begins with a bracket.
 */
export function descriptorRoot(folder: SkillFolder): "descriptor" | "list" | "other" {
  if (COMPANIONS.some((name) => folder.names.has(name))) return "descriptor";
  const text = (attempt(() => folder.read("tools.json")) ?? "").replace(/^\uFEFF/, "");
  const value = parseJson(text);
  if (value === undefined) return /^\s*\[/.test(text) ? "list" : "descriptor";
  if (Array.isArray(value)) return value.length > 0 && value.every(isDescribed) ? "descriptor" : "list";
  return hasParts(value) ? "descriptor" : "other";
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

const PARTS: readonly DescriptorPart[] = ["tools", "allowlist", "execution"];

export type OpenDescriptor = ReturnType<typeof openDescriptor>;

/** Parses each file of a descriptor once: tools.json alone, or with its two companions. Has either `sources` or `faults`. */
export function openDescriptor(folder: SkillFolder) {
  const tools = openManifest(folder, "tools.json", "json");
  const none = { tools, execution: undefined, isWhole: false, isList: false, sources: undefined };
  if ("fault" in tools) return { ...none, faults: [unreadableFile(tools)] };
  const { value } = tools;
  if (hasParts(value)) {
    const sources = {
      tools: partOf(tools, "tools"),
      allowlist: partOf(tools, "allowlist"),
      execution: partOf(tools, "execution"),
    };
    return { ...none, isWhole: true, sources, faults: [] };
  }
  if (!Array.isArray(value)) return { ...none, faults: [invalid(tools, [], "tools.json must be a list of tools")] };
  const missing = COMPANIONS.filter((name) => !folder.names.has(name));
  const isList = missing.length < COMPANIONS.length;
  const [allowlist, execution] = COMPANIONS.map((name) => openManifest(folder, name, "json"));
  if (missing.length > 0 || !allowlist || !execution) {
    const message = `tools.json is a list of tools that needs ${missing.join(" and ")} next to it`;
    return { ...none, isList, execution, faults: [invalid(tools, [], message)] };
  }
  const faults = [allowlist, execution].flatMap((each) => ("fault" in each ? [unreadableFile(each)] : []));
  if ("fault" in allowlist || "fault" in execution) return { ...none, isList, execution, faults };
  const sources = { tools: partOf(tools), allowlist: partOf(allowlist), execution: partOf(execution) };
  return { ...none, isList, execution, sources, faults };
}

/** `base` is the path of the part in its file. */
function partOf(manifest: Manifest, part?: DescriptorPart) {
  const { value } = manifest;
  if (part === undefined) return { manifest, value, base: [] };
  const own = isObject(value) && Object.hasOwn(value, part) ? value[part] : undefined;
  return { manifest, value: own, base: [part] };
}

function unreadableFile({ file, fault, place }: Unreadable): Diagnostic {
  const message = `cannot be read: ${fault}`;
  return { severity: "warning", code: "DESCRIPTOR_INVALID", path: [], message, file, ...place };
}

/**
 * Reads the parts of a descriptor. Each finding has its file, line and column. Returns no descriptor if it is unusable:
 * the skill's instructions remain.
 */
export function readDescriptor(
  { sources, faults }: OpenDescriptor,
  options: FormatOptions,
  binGroup: number | undefined,
): { readonly descriptor: Descriptor | undefined; readonly diagnostics: readonly Diagnostic[] } {
  if (!sources) return { descriptor: undefined, diagnostics: faults };
  const { tools, allowlist, execution } = sources;
  const parts = { tools: tools.value, allowlist: allowlist.value, execution: execution.value };
  const strangers = options.descriptor === "seed" ? strangeKeys(tools.manifest) : [];
  const { descriptor, findings } = parseDescriptor(parts, options.descriptor, binGroup);
  const kept = strangers.length === 0 ? descriptor : undefined;
  const scripts = kept && !options.allowScripts ? heldScripts(kept, execution.manifest.file) : [];
  const placed = findings.map(({ code, part, path, message }) => {
    const { manifest, base } = sources[part];
    return manifest.problem("warning", code, [...base, ...path], message);
  });
  return { descriptor: kept, diagnostics: [...strangers, ...placed, ...scripts] };
}

/** Reports unknown keys at the root. The seed format allows only three. */
function strangeKeys(manifest: Manifest): Diagnostic[] {
  const keys = isObject(manifest.value) ? Object.keys(manifest.value) : [];
  const strange = keys.filter((key) => !PARTS.some((part) => part === key));
  return strange.map((key) => invalid(manifest, [key], `${key} is not a key of this format`));
}

/** Reports parameters that a script resolves, which needs the operator's permission. */
function heldScripts({ tools }: Descriptor, file: string): Diagnostic[] {
  return tools.flatMap(({ name, executions }) => {
    const mappings = executions.flatMap(({ args }) => args).filter(({ resolveCommand }) => resolveCommand?.script);
    return mappings.map(({ param, resolveCommand }): Diagnostic => {
      const message = `tool "${name}" resolves ${param} with the script ${resolveCommand?.script}, which needs skills.allowScripts in your own config file`;
      return { severity: "warning", code: "DESCRIPTOR_SCRIPTS", path: [], message, file };
    });
  });
}

/** Creates a warning, because an invalid descriptor costs tools, but never stops the run. */
function invalid({ problem }: Manifest, path: readonly string[], message: string): Diagnostic {
  return problem("warning", "DESCRIPTOR_INVALID", path, message);
}
