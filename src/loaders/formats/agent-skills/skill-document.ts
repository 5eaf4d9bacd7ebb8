import { join } from "node:path";
import type { Diagnostic } from "../../../core/base/diagnostic.ts";
import type { Skill } from "../../../core/skill/skill.ts";
import type { FolderFormat, LoadedSkill } from "../../folder/format.ts";
import { readSkillDocument, type SkillDocument } from "../../folder/skill-folder.ts";

/** Loads folders with a SKILL.md: Agent Skills, and the custom skills of the workflow format. */
export const skillDocument: FolderFormat = {
  format: "agent-skills",
  recognises: (folder) => folder.names.has("SKILL.md"),
  load(folder) {
    const document = readSkillDocument(folder);
    return "severity" in document ? document : instructionSkill(document, folder.directory, folder.name);
  },
};

/** Builds the skill of a SKILL.md: instructions, config and an MCP server, but no tools of its own. */
export function instructionSkill(document: SkillDocument, directory: string, folderName: string): LoadedSkill {
  const { id, description, category, config, instruction, mcp, frontmatter, diagnostics } = document;
  const skill: Skill = {
    id,
    name: id,
    description,
    category,
    config,
    tools: [],
    ...(instruction === undefined ? {} : { instruction }),
    ...(mcp === undefined ? {} : { mcp }),
  };
  return {
    skill,
    format: documentFormat(frontmatter),
    kind: mcp ? "tools" : "instruction",
    frontmatter,
    runsCode: false,
    diagnostics: [...diagnostics, ...(id === folderName ? [] : [otherName(document, directory, folderName)])],
  };
}

/** Determines the format from keys that only one format has. */
export function documentFormat(frontmatter: LoadedSkill["frontmatter"]): LoadedSkill["format"] {
  if (["category", "config"].some((key) => Object.hasOwn(frontmatter, key))) return "sweny";
  return Object.hasOwn(frontmatter, "mcp") ? "mcp" : "agent-skills";
}

function otherName({ id, position }: SkillDocument, directory: string, folder: string): Diagnostic {
  const message = `the skill is named "${id}", its folder "${folder}"`;
  const hint = "give both the same name: other programs refuse the skill";
  const file = join(directory, "SKILL.md");
  return { severity: "warning", code: "SKILL_FOLDER_NAME", path: ["name"], message, hint, file, ...position(["name"]) };
}
