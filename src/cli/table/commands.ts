import { AUTHOR_COMMANDS } from "./author-commands.ts";
import type { CommandSpec } from "./command.ts";
import { HISTORY_COMMANDS } from "./history-commands.ts";
import { PROJECT } from "./options.ts";
import { RUN_COMMANDS } from "./run-commands.ts";
import { SERVER_COMMANDS } from "./server-commands.ts";
import { SKILL_COMMANDS } from "./skill-commands.ts";

/** The whole command line, in the order of its help. */
export const COMMANDS: readonly CommandSpec[] = [
  ...RUN_COMMANDS,
  ...AUTHOR_COMMANDS,
  ...SKILL_COMMANDS,
  ...HISTORY_COMMANDS,
  ...SERVER_COMMANDS,
  {
    usage: "mcp-lock [workflow...]",
    summary: "write skillflow.lock: what MCP servers offer now, for runs to be held to",
    details:
      "Asks the servers of all skills and of the workflows (without any, those in the project's workflows/), if they are trusted.",
    options: [...PROJECT],
    load: async () => (await import("../commands/author/mcp-lock.ts")).mcpLock,
  },
  {
    usage: "schema <document>",
    summary:
      "print a published JSON Schema: workflow, skill, tools, script, test, config, listen, result, plan, event or record; protocol: the tools that serve answers",
    options: [["--for <provider>", "the tools of the protocol as openai or anthropic takes them"]],
    load: async () => (await import("../commands/author/schema.ts")).printSchema,
  },
  {
    usage: "completion <shell> [word...]",
    summary: "print what completes commands, flags, files, runs and skills in bash, zsh or fish",
    details: "The script asks by --words N -- WORDS...: what may stand in place of word N, the program being word 0.",
    options: [["--words <n>", "tell what completes this word of a command line"]],
    load: async () => (await import("../commands/author/completion.ts")).completion,
  },
];
