import { join } from "node:path";
import { type Diagnostic, messageOf } from "../../core/errors.ts";
import type { SkillFolder } from "../skill-folder.ts";

const FILES = ["skill.ts", "skill.mts", "skill.js", "skill.mjs"];

/** A skill as code, told from its text: nothing of it is imported. */
export function checkModule(folder: SkillFolder): Diagnostic[] {
  const name = FILES.find((file) => folder.names.has(file)) ?? "skill.ts";
  const file = join(folder.directory, name);
  const refuse = (code: string, message: string, hint?: string): Diagnostic[] => [
    { severity: "error", code, path: [], message, ...(hint ? { hint } : {}), file },
  ];
  try {
    const text = folder.read(name) ?? "";
    const hint = "export default defineSkill({ id, name, description, category, config, tools })";
    if (!/\bexport\s+default\b|\bas\s+default\b/.test(text)) {
      return refuse("MODULE_EXPORT", `${name} exports nothing by default`, hint);
    }
    if (!/\bid\s*:\s*["'`][^"'`]+["'`]/.test(text)) {
      return refuse("MODULE_ID", `the id of the skill does not stand in ${name}`, `id: "${folder.name}"`);
    }
    return [];
  } catch (error) {
    return refuse("MODULE_UNREADABLE", messageOf(error));
  }
}
