import { join } from "node:path";
import type { Diagnostic } from "../../../core/base/diagnostic.ts";
import type { FolderFormat, LoadedSkill } from "../../folder/format.ts";
import {
  type OpenDocument,
  openDocument,
  readSkillDocument,
  type SkillDocument,
  type SkillFolder,
} from "../../folder/skill-folder.ts";
import { checkDocument } from "./lint.ts";

/** Loads folders with a SKILL.md: Agent Skills, and the custom skills of the workflow format. */
export const skillDocument: FolderFormat = {
  recognises: (folder) => folder.names.has("SKILL.md"),
  read(folder) {
    const document = openDocument(folder);
    const format = "parsed" in document ? documentFormat(document.parsed.fields) : "agent-skills";
    const loaded = instructionSkill(folder, document);
    return { loaded, format, lint: () => checkDocument(folder, document, format) };
  },
};

/** Builds the skill of a SKILL.md: instructions, config and an MCP server, but no tools of its own. */
export function instructionSkill(folder: SkillFolder, open: OpenDocument): LoadedSkill | Diagnostic {
  const document = readSkillDocument(folder, open);
  if ("severity" in document) return document;
  const { frontmatter, diagnostics, position, ...skill } = document;
  return {
    skill,
    format: documentFormat(frontmatter),
    kind: skill.mcp ? "tools" : "instruction",
    frontmatter,
    runsCode: false,
    diagnostics: [...diagnostics, ...(skill.id === folder.name ? [] : [otherName(document, folder)])],
  };
}

/** Determines the format from keys that only one format has. */
function documentFormat(frontmatter: LoadedSkill["frontmatter"]): LoadedSkill["format"] {
  if (["category", "config"].some((key) => Object.hasOwn(frontmatter, key))) return "sweny";
  return Object.hasOwn(frontmatter, "mcp") ? "mcp" : "agent-skills";
}

function otherName({ id, position }: SkillDocument, { directory, name }: SkillFolder): Diagnostic {
  const message = `the skill is named "${id}", its folder "${name}"`;
  const hint = "give both the same name: other programs refuse the skill";
  const file = join(directory, "SKILL.md");
  return { severity: "warning", code: "SKILL_FOLDER_NAME", path: ["name"], message, hint, file, ...position(["name"]) };
}
