import { join } from "node:path";
import type { Skill } from "../core/skill.ts";
import type { FolderFormat, LoadedSkill } from "./format.ts";
import { readSkillDocument, type SkillDocument } from "./skill-folder.ts";

/** A folder that is a SKILL.md and what it refers to: Agent Skills, and the workflow format's custom skills. */
export const skillDocument: FolderFormat = {
  format: "agent-skills",
  recognises: (folder) => folder.names.has("SKILL.md"),
  load(folder) {
    const document = readSkillDocument(folder);
    return "severity" in document ? document : instructionSkill(document, folder.directory, folder.name);
  },
};

/** The skill that a SKILL.md alone makes: instructions, config and a server, no tools of its own. */
export function instructionSkill(document: SkillDocument, directory: string, folderName: string): LoadedSkill {
  const { id, description, category, config, instruction, mcp, frontmatter } = document;
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
    format: formatOf(frontmatter),
    kind: mcp ? "tools" : "instruction",
    frontmatter,
    runsCode: false,
    diagnostics: id === folderName ? [] : [otherName(join(directory, "SKILL.md"), id, folderName)],
  };
}

function formatOf(frontmatter: LoadedSkill["frontmatter"]): LoadedSkill["format"] {
  if (["category", "config"].some((key) => Object.hasOwn(frontmatter, key))) return "sweny";
  return Object.hasOwn(frontmatter, "mcp") ? "mcp" : "agent-skills";
}

function otherName(file: string, id: string, folder: string): LoadedSkill["diagnostics"][number] {
  const message = `the skill is named "${id}", its folder "${folder}"`;
  return { severity: "warning", code: "SKILL_FOLDER_NAME", path: ["name"], message, file };
}
