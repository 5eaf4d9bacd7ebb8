import type { Format } from "../../../core/skill/skill.ts";
import { fillTemplates, titleOf } from "../../templates/fill.ts";

/** Advice on what to change first in a new skill, by format. */
export const ADVICE: Readonly<Record<Format, string>> = {
  "agent-skills": "say in the description when to use it, and in the text how",
  "skill-tools": "declare its tools in tools.json, and write a handler for each in scripts/",
  "tool-descriptor": "name programs in the allowlist, and map each tool's parameters to their arguments",
  contract: "write the contract for the model that plans, and bind it to what carries it out",
  sweny: "list the config that it needs, and write the instruction",
  "skills-protocol": "describe the package in skill.toml, and write the function that it exports",
  module: "write its tools; unknown effects count as write",
  mcp: "name your server's command or url; a path in args starts from where skillflow is run",
};

/** Returns the files of a new skill. */
export function newSkillFiles(format: Format, names: { readonly id: string; readonly folder: string }) {
  return fillTemplates(`skills/${format}`, { ...names, title: titleOf(names.folder) });
}
