import { join } from "node:path";
import {
  type DescribedTool,
  type Descriptor,
  type DescriptorFinding,
  type DescriptorPart,
  parseDescriptor,
} from "../core/descriptor.ts";
import type { Diagnostic } from "../core/errors.ts";
import type { Tool } from "../core/skill.ts";
import { isObject, type Json, parseJson } from "../core/values.ts";
import { callDescribedTool } from "./descriptor-call.ts";
import type { FolderFormat, LoadedSkill, LoaderHost } from "./format.ts";
import { parseJsonText } from "./json-text.ts";
import { findRequiredPrograms } from "./required-programs.ts";
import { skillDocument } from "./skill-document.ts";
import { type SkillFolder, skipped, splitFrontmatter } from "./skill-folder.ts";
import { readYaml, type YamlText } from "./yaml-text.ts";

/**
 * A SKILL.md with a tools.json whose tools are command lines of allowlisted programs: one file, or tools.json,
 * allowlist.json and execution.json (skill-formats 3). Also a tools.json that no format reads: it costs its tools, and
 * the instructions stay.
 */
export const toolDescriptor: FolderFormat = {
  format: "tool-descriptor",
  recognises: (folder) => folder.names.has("SKILL.md") && folder.names.has("tools.json") && rootOf(folder) !== "list",
  load(folder, host) {
    if (rootOf(folder) === "other") return withoutTools(skillDocument.load(folder, host), folder);
    const document = readDocument(folder);
    const id = host.options.descriptor === "seed" ? document.name : folder.name;
    if (!isId(id)) return skipped(folder.directory, `"${id}" is no skill id: use letters, digits, ".", "_" and "-"`);
    const programs = findRequiredPrograms(document.frontmatter, host.env);
    const { descriptor, diagnostics } = readDescriptor(
      folder,
      host,
      programs.missing === undefined ? programs.group : 0,
    );
    const tools = (descriptor?.tools ?? []).map((tool) => asTool(tool, { folder, host, descriptor }));
    return {
      skill: {
        id,
        name: id,
        description: document.description,
        category: "general",
        config: {},
        tools,
        ...(document.body === "" ? {} : { instruction: document.body }),
      },
      format: "tool-descriptor",
      kind: tools.length > 0 ? "tools" : "instruction",
      frontmatter: document.frontmatter,
      runsCode: tools.length > 0,
      ...(programs.missing === undefined ? {} : { unavailable: programs.missing }),
      diagnostics: [...diagnostics, ...(programs.malformed ? [badRequirement(folder)] : [])],
    };
  },
};

/** A list is Skill Tools, but for one with a companion or with JSON Schemas; text that is no JSON may be either. */
function rootOf(folder: SkillFolder): "descriptor" | "list" | "other" {
  if (COMPANIONS.some((name) => folder.names.has(name))) return "descriptor";
  const text = (folder.read("tools.json") ?? "").replace(/^\uFEFF/, "");
  const value = parseJson(text);
  if (value === undefined) return /^\s*\[/.test(text) ? "list" : "descriptor";
  if (Array.isArray(value)) return value.some(hasJsonSchema) ? "descriptor" : "list";
  return hasParts(value) ? "descriptor" : "other";
}

const COMPANIONS = ["allowlist.json", "execution.json"];

/** A Skill Tools parameter that is called `type` is a map. */
function hasJsonSchema(tool: Json): boolean {
  const parameters = isObject(tool) ? tool.parameters : undefined;
  return isObject(parameters) && typeof parameters.type === "string";
}

function hasParts(value: unknown): boolean {
  return isObject(value) && PARTS.some((part) => Object.hasOwn(value, part));
}

function withoutTools(loaded: LoadedSkill | Diagnostic, { directory }: SkillFolder): LoadedSkill | Diagnostic {
  if ("severity" in loaded) return loaded;
  const message = "tools.json is neither a list of tools nor a map with tools, allowlist and execution";
  const found = finding("DESCRIPTOR_INVALID", { path: [], message, file: join(directory, "tools.json") });
  return { ...loaded, diagnostics: [...loaded.diagnostics, found] };
}

/** Ids stand in flags and lists of ids. */
function isId(name: string): boolean {
  return /^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$/.test(name);
}

// ---- SKILL.md, where everything has a default

interface Document {
  readonly name: string;
  readonly description: string;
  readonly frontmatter: LoadedSkill["frontmatter"];
  readonly body: string;
}

function readDocument(folder: SkillFolder): Document {
  const text = folder.read("SKILL.md") ?? "";
  const parts = splitFrontmatter(text);
  const frontmatter = readFrontmatter(parts?.frontmatter ?? "");
  const { name, description } = frontmatter;
  return {
    name: typeof name === "string" && name !== "" ? name : folder.name,
    description: typeof description === "string" ? description : "",
    frontmatter,
    body: (parts?.body ?? text).trim(),
  };
}

/** Frontmatter that is no map counts as none: this format does without. */
function readFrontmatter(text: string): LoadedSkill["frontmatter"] {
  try {
    const value = readYaml(text);
    return isObject(value) ? value : {};
  } catch {
    return {};
  }
}

function badRequirement({ directory }: SkillFolder): Diagnostic {
  const message = "requires.bins must be a list of programs, or a list of such lists; it is not looked at";
  return finding("DESCRIPTOR_INVALID", {
    path: ["metadata", "requires", "bins"],
    message,
    file: join(directory, "SKILL.md"),
  });
}

// ---- tools.json and its companions

interface ReadDescriptor {
  readonly descriptor: Descriptor | undefined;
  readonly diagnostics: readonly Diagnostic[];
}

interface Source {
  readonly file: string;
  readonly text: YamlText;
  /** Where the part begins in its file. */
  readonly base: readonly string[];
}

function readDescriptor(folder: SkillFolder, { options }: LoaderHost, binGroup: number | undefined): ReadDescriptor {
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

/** Each part with the file that holds it; or why there is no descriptor. */
function readSources(folder: SkillFolder): Readonly<Record<DescriptorPart, Source>> | ReadDescriptor {
  const open = (name: string): Source => ({
    file: join(folder.directory, name),
    text: parseJsonText(folder.read(name) ?? ""),
    base: [],
  });
  const refuse = (...diagnostics: Diagnostic[]): ReadDescriptor => ({ descriptor: undefined, diagnostics });
  const tools = open("tools.json");
  const { value } = tools.text;
  if (tools.text.problems.length > 0) return refuse(...problemsOf(tools));
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

const PARTS: readonly DescriptorPart[] = ["tools", "allowlist", "execution"];

function within(source: Source, part: DescriptorPart): Source {
  return { ...source, base: [part] };
}

function valueAt({ text: { value }, base: [key] }: Source): unknown {
  if (key === undefined) return value;
  return isObject(value) && Object.hasOwn(value, key) ? value[key] : undefined;
}

function problemsOf({ file, text }: Source): Diagnostic[] {
  return text.problems.map(({ message, ...place }) => {
    return { ...finding("DESCRIPTOR_INVALID", { path: [], message: `is no JSON: ${message}`, file }), ...place };
  });
}

/** The document of the seed knows three keys at its root. */
function strangeKeys(source: Source): Diagnostic[] {
  const { value } = source.text;
  const keys = isObject(value) ? Object.keys(value) : [];
  const strange = keys.filter((key) => !PARTS.some((part) => part === key));
  return strange.map((key) => ({
    ...finding("DESCRIPTOR_INVALID", { path: [key], message: `${key} is no key of the format`, file: source.file }),
    ...source.text.position([key]),
  }));
}

/** Parameters that a script resolves, which only the operator can let run. */
function heldScripts({ tools }: Descriptor, { file }: Source): Diagnostic[] {
  return tools.flatMap(({ name, executions }) => {
    const mappings = executions.flatMap(({ args }) => args).filter(({ resolveCommand }) => resolveCommand?.script);
    return mappings.map(({ param, resolveCommand }) => {
      const message = `tool "${name}" resolves ${param} with the script ${resolveCommand?.script}, which needs --allow-scripts`;
      return finding("DESCRIPTOR_SCRIPTS", { path: [], message, file });
    });
  });
}

function located(
  { code, part, path, message }: DescriptorFinding,
  sources: Readonly<Record<DescriptorPart, Source>>,
): Diagnostic {
  const { file, text, base } = sources[part];
  const whole = [...base, ...path];
  return { ...finding(code, { path: whole, message, file }), ...text.position(whole) };
}

function invalid({ file, text }: Source, message: string): Diagnostic {
  return {
    ...finding("DESCRIPTOR_INVALID", { path: [], message: `tools.json ${message}`, file }),
    ...text.position([]),
  };
}

function finding(code: string, rest: Pick<Diagnostic, "path" | "message" | "file">): Diagnostic {
  return { severity: "warning", code, ...rest };
}

// ---- the tools

interface Home {
  readonly folder: SkillFolder;
  readonly host: LoaderHost;
  readonly descriptor: Descriptor | undefined;
}

/** What a command line does is not known: it counts as a write. */
function asTool(tool: DescribedTool, { folder, host, descriptor }: Home): Tool {
  const allowlist = descriptor?.allowlist ?? new Map();
  const { name, description, input_schema } = tool;
  return {
    name,
    description,
    input_schema,
    effect: "write",
    handler: (input: Json, context) =>
      callDescribedTool({ directory: folder.directory, host, allowlist, tool }, input, context),
  };
}
