import { FORMATS } from "../../core/skill/skill.ts";
import type { CommandSpec } from "./command.ts";
import { FROM_REF, JSON_FLAG, PROJECT } from "./options.ts";

/** The registry of skills. */
export const SKILL_COMMANDS: readonly CommandSpec[] = [
  {
    usage: "skills",
    summary: "the registry of skills",
    commands: [
      {
        usage: "list",
        summary: "every skill: its format, where it is from, whether its code is trusted, and what it needs",
        options: [JSON_FLAG, FROM_REF, ...PROJECT],
        load: async () => (await import("../commands/skills/skills.ts")).listSkills,
      },
      {
        usage: "show <id>",
        summary: "one skill: tools, effects, config and where each value comes from",
        options: [JSON_FLAG, FROM_REF, ...PROJECT],
        load: async () => (await import("../commands/skills/skills.ts")).showSkill,
      },
      {
        usage: "lint [path-or-id...]",
        summary: "check skills by the strict rules of their formats (without any: every skill that is found)",
        options: [JSON_FLAG, FROM_REF, ...PROJECT],
        load: async () => (await import("../commands/skills/lint.ts")).lintSkills,
      },
      {
        usage: "new [id] [file]",
        summary: "begin a skill in skills/ of the project",
        details:
          "--from openapi makes one that reads by an API's description (JSON or YAML): skills new ID --from openapi FILE.",
        options: [
          ["--format <label>", `how it is written: ${FORMATS.join(", ")} (default: agent-skills)`],
          ["--from <kind>", "make it from the API description FILE", { choices: ["openapi"] }],
          [
            "--operation <name>",
            "of the description: an operation's id, its path, or list_* (default: all that read, up to 20)",
            { repeatable: true },
          ],
        ],
        load: async () => (await import("../commands/skills/new.ts")).newSkill,
      },
    ],
  },
];
