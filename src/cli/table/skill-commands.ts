import { FORMATS } from "../../core/skill/skill.ts";
import { type CommandSpec, PROJECT } from "./options.ts";

export const SKILL_COMMANDS: readonly CommandSpec[] = [
  {
    usage: "skills",
    summary: "List, show, check and create skills",
    commands: [
      {
        usage: "list",
        summary: "List skills with format, origin, trust and what they need",
        options: ["json", "from-ref", ...PROJECT],
        load: async () => (await import("../commands/skills/skills.ts")).listSkills,
      },
      {
        usage: "show <id>",
        summary: "Show a skill: tools, effects, config and the source of each value",
        options: ["json", "from-ref", ...PROJECT],
        load: async () => (await import("../commands/skills/skills.ts")).showSkill,
      },
      {
        usage: "lint [path-or-id...]",
        summary: "Check skills against the strict rules of their formats (default: all skills)",
        options: ["json", "from-ref", ...PROJECT],
        load: async () => (await import("../commands/skills/lint.ts")).lintSkills,
      },
      {
        usage: "new [id] [file]",
        summary: "Create a skill in the project's skills/",
        details:
          "To create a skill with the reading operations of an API: skills new ID --from openapi FILE (JSON or YAML).",
        options: [
          ["--format <label>", `Set the format: ${FORMATS.join(", ")} (default: agent-skills)`],
          ["--from <kind>", "Create it from the API description FILE", { choices: ["openapi"] }],
          [
            "--operation <name>",
            "Include an operation by its id, its path or list_* (default: all that read, up to 20)",
            { repeatable: true },
          ],
        ],
        load: async () => (await import("../commands/skills/new.ts")).newSkill,
      },
    ],
  },
];
