import type { Format } from "../../../core/skill/skill.ts";
import { fillTemplates, titleOf } from "../../templates/fill.ts";

/** Advice on what to change first in a new skill, by format. */
export const ADVICE: Readonly<Record<Format, string>> = {
  "agent-skills": "describe when to use it in the description, and how in the text",
  "skill-tools": "declare its tools in tools.json, and write a handler for each in scripts/",
  "tool-descriptor": "list its programs in the allowlist, and map each tool's parameters to arguments",
  contract: "write the contract that the model sees, and bind it to the code that performs it",
  sweny: "list the config that it needs, and write its instruction",
  "skills-protocol": "describe the package in skill.toml, and write the function that it exports",
  module: "write its tools; unknown effects count as write",
  mcp: "set your server's command or url; paths in args are relative to the working directory",
};

export function newSkillFiles(format: Format, names: { readonly id: string; readonly folder: string }) {
  return fillTemplates(`skills/${format}`, { ...names, title: titleOf(names.folder) });
}
