import { join } from "node:path";
import type { Diagnostic } from "../../../core/base/diagnostic.ts";
import type { Json } from "../../../core/base/values.ts";
import type { DescribedTool } from "../../../core/skill/formats/descriptor.ts";
import { claimedEffects } from "../../../core/skill/formats/tool-reach.ts";
import type { Tool } from "../../../core/skill/skill.ts";
import { type FolderFormat, type LoadedSkill, type Reading, strictly } from "../../folder/format.ts";
import type { LoaderHost } from "../../folder/host.ts";
import {
  looseParts,
  type OpenDocument,
  openDocument,
  readConfig,
  type SkillFolder,
  skipped,
} from "../../folder/skill-folder.ts";
import { findRequiredPrograms } from "../../programs/required-programs.ts";
import { checkDocument } from "../agent-skills/lint.ts";
import { skillDocument } from "../agent-skills/skill-document.ts";
import { skillTools } from "../skill-tools/skill-tools.ts";
import { callDescribedTool, type DescriptorHome } from "./descriptor-call.ts";
import { descriptorRoot, type OpenDescriptor, openDescriptor, readDescriptor } from "./descriptor-file.ts";
import { checkDescriptor } from "./lint.ts";

/**
 * Loads folders with a SKILL.md and a tools.json whose tools are command lines of allowlisted programs. The descriptor
 * is one file, or tools.json, allowlist.json and execution.json. If tools.json has an unknown format, only the
 * instructions are loaded.
 */
export const toolDescriptor: FolderFormat = {
  recognises: (folder) =>
    folder.names.has("SKILL.md") && folder.names.has("tools.json") && descriptorRoot(folder) !== "list",
  read(folder, host) {
    if (descriptorRoot(folder) === "other") return otherTools(folder, host);
    const document = openDocument(folder);
    const open = openDescriptor(folder);
    const loaded = loadDescriptor(folder, host, { document, open });
    const found = "severity" in loaded ? [loaded] : loaded.diagnostics;
    // A descriptor that is not even recognisable is probably meant as Skill Tools, whose rules say more about it.
    if (!open.isWhole && !open.isList) {
      const tools = skillTools.read(folder, host);
      const other = found.filter(({ code, file }) => code === "DESCRIPTOR_INVALID" && file !== toolsFile(folder));
      return { ...tools, loaded, lint: (known) => [...tools.lint(known), ...strictly(other)] };
    }
    return {
      loaded,
      format: "tool-descriptor",
      lint: () => [...checkDocument(folder, document, "tool-descriptor"), ...checkDescriptor(folder, open, found)],
    };
  },
};

function otherTools(folder: SkillFolder, host: LoaderHost): Reading {
  const { loaded } = skillDocument.read(folder, host);
  const message = "tools.json is neither a list of tools nor a map with tools, allowlist and execution";
  const file = toolsFile(folder);
  const found: Diagnostic = { severity: "warning", code: "DESCRIPTOR_INVALID", path: [], message, file };
  const whole = "severity" in loaded ? loaded : { ...loaded, diagnostics: [...loaded.diagnostics, found] };
  return { ...skillTools.read(folder, host), loaded: whole };
}

const toolsFile = ({ directory }: SkillFolder) => join(directory, "tools.json");

function loadDescriptor(
  folder: SkillFolder,
  host: LoaderHost,
  { document, open }: { document: OpenDocument; open: OpenDescriptor },
): LoadedSkill | Diagnostic {
  const { fields: frontmatter, body, fault } = looseParts(document);
  if (fault?.lacks === "text") return skipped(folder.directory, fault.message);
  const { name, description } = frontmatter;
  const id = host.options.descriptor === "seed" && typeof name === "string" && isId(name) ? name : folder.name;
  if (!isId(id)) return skipped(folder.directory, `"${id}" is not a skill id: use letters, digits, ".", "_" and "-"`);
  const programs = findRequiredPrograms(frontmatter, host.env);
  const group = programs.missing === undefined ? programs.group : 0;
  const { descriptor, diagnostics } = readDescriptor(open, host.options, group);
  const { tools = [], allowlist = new Map() } = descriptor ?? {};
  const config = readConfig(frontmatter.config);
  const home = { directory: folder.directory, host, allowlist, config, seen: new Set<string>() };
  const offered = tools.map((tool) => asTool(tool, home));
  return {
    skill: {
      id,
      name: id,
      description: typeof description === "string" ? description : "",
      category: "general",
      config,
      tools: offered,
      ...(body === "" ? {} : { instruction: body }),
    },
    format: "tool-descriptor",
    kind: offered.length > 0 ? "tools" : "instruction",
    frontmatter,
    runsCode: offered.length > 0,
    effects: claimedEffects(tools, frontmatter),
    code: [...allowlist].map(([program, subcommands]) => `program ${program} (${subcommands.join(", ")})`),
    ...(programs.missing === undefined ? {} : { unavailable: { kind: "machine", reason: programs.missing } }),
    diagnostics: [...diagnostics, ...(programs.malformed ? [badRequirement(folder)] : [])],
  };
}

/** Checks that a name can be used as an id in flags and lists. A title cannot. */
function isId(name: string): boolean {
  return /^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$/.test(name);
}

function badRequirement({ directory }: SkillFolder): Diagnostic {
  const message = "requires.bins must be a list of programs, or a list of such lists; it is ignored";
  const path = ["metadata", "requires", "bins"];
  return { severity: "warning", code: "DESCRIPTOR_INVALID", path, message, file: join(directory, "SKILL.md") };
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
