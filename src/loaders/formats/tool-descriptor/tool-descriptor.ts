import { join } from "node:path";
import type { Diagnostic } from "../../../core/base/diagnostic.ts";
import { isObject, type Json } from "../../../core/base/values.ts";
import type { DescribedTool } from "../../../core/skill/formats/descriptor.ts";
import { claimedEffects } from "../../../core/skill/formats/tool-reach.ts";
import type { Tool } from "../../../core/skill/skill.ts";
import type { FolderFormat, LoadedSkill } from "../../folder/format.ts";
import { readConfig, type SkillFolder, skipped } from "../../folder/skill-folder.ts";
import { findRequiredPrograms } from "../../programs/required-programs.ts";
import { splitFrontmatter } from "../../text/frontmatter.ts";
import { readYaml } from "../../text/yaml-text.ts";
import { skillDocument } from "../agent-skills/skill-document.ts";
import { callDescribedTool, type DescriptorHome } from "./descriptor-call.ts";
import { descriptorFinding, descriptorRoot, readDescriptor } from "./descriptor-file.ts";

/**
 * Loads folders with a SKILL.md and a tools.json whose tools are command lines of allowlisted programs. The descriptor
 * is one file, or tools.json, allowlist.json and execution.json. If tools.json has an unknown format, only the
 * instructions are loaded.
 */
export const toolDescriptor: FolderFormat = {
  format: "tool-descriptor",
  recognises: (folder) =>
    folder.names.has("SKILL.md") && folder.names.has("tools.json") && descriptorRoot(folder) !== "list",
  load(folder, host) {
    if (descriptorRoot(folder) === "other") return withoutTools(skillDocument.load(folder, host), folder);
    const document = readDocument(folder);
    const id = host.options.descriptor === "seed" && isId(document.name) ? document.name : folder.name;
    if (!isId(id)) return skipped(folder.directory, `"${id}" is no skill id: use letters, digits, ".", "_" and "-"`);
    const programs = findRequiredPrograms(document.frontmatter, host.env);
    const group = programs.missing === undefined ? programs.group : 0;
    const { descriptor, diagnostics } = readDescriptor(folder, host.options, group);
    const { tools = [], allowlist = new Map() } = descriptor ?? {};
    const config = readConfig(document.frontmatter.config);
    const home = { directory: folder.directory, host, allowlist, config, seen: new Set<string>() };
    const offered = tools.map((tool) => asTool(tool, home));
    return {
      skill: {
        id,
        name: id,
        description: document.description,
        category: "general",
        config,
        tools: offered,
        ...(document.body === "" ? {} : { instruction: document.body }),
      },
      format: "tool-descriptor",
      kind: offered.length > 0 ? "tools" : "instruction",
      frontmatter: document.frontmatter,
      runsCode: offered.length > 0,
      effects: claimedEffects(tools, document.frontmatter),
      code: [...allowlist].map(([program, subcommands]) => `program ${program} (${subcommands.join(", ")})`),
      ...(programs.missing === undefined ? {} : { unavailable: { kind: "machine", reason: programs.missing } }),
      diagnostics: [...diagnostics, ...(programs.malformed ? [badRequirement(folder)] : [])],
    };
  },
};

function withoutTools(loaded: LoadedSkill | Diagnostic, { directory }: SkillFolder): LoadedSkill | Diagnostic {
  if ("severity" in loaded) return loaded;
  const message = "tools.json is neither a list of tools nor a map with tools, allowlist and execution";
  const found = descriptorFinding("DESCRIPTOR_INVALID", { path: [], message, file: join(directory, "tools.json") });
  return { ...loaded, diagnostics: [...loaded.diagnostics, found] };
}

/** Checks that a name can be used as an id in flags and lists. A title cannot. */
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

/** Parses the frontmatter. Anything but a mapping counts as empty, because this format does not require any. */
function readFrontmatter(text: string): LoadedSkill["frontmatter"] {
  try {
    const value = readYaml(text, "metadata");
    return isObject(value) ? value : {};
  } catch {
    return {};
  }
}

function badRequirement({ directory }: SkillFolder): Diagnostic {
  const message = "requires.bins must be a list of programs, or a list of such lists; it is not looked at";
  return descriptorFinding("DESCRIPTOR_INVALID", {
    path: ["metadata", "requires", "bins"],
    message,
    file: join(directory, "SKILL.md"),
  });
}

// ---- the tools

/** Builds the tool. The effect of a command line is unknown, so it counts as a write. */
function asTool(tool: DescribedTool, home: Omit<DescriptorHome, "tool">): Tool {
  const { name, description, input_schema, reach } = tool;
  return {
    name,
    description,
    input_schema,
    effect: "write",
    ...reach,
    dialect: `descriptor-${home.host.options.descriptor}`,
    handler: (input: Json, context) => callDescribedTool({ ...home, tool }, input, context),
  };
}
