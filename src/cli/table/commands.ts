import { AUTHOR_COMMANDS } from "./author-commands.ts";
import { HISTORY_COMMANDS } from "./history-commands.ts";
import { type CommandSpec, PROJECT } from "./options.ts";
import { RUN_COMMANDS } from "./run-commands.ts";
import { SERVER_COMMANDS } from "./server-commands.ts";
import { SKILL_COMMANDS } from "./skill-commands.ts";

export const COMMANDS: readonly CommandSpec[] = [
  ...RUN_COMMANDS,
  ...AUTHOR_COMMANDS,
  ...SKILL_COMMANDS,
  ...HISTORY_COMMANDS,
  ...SERVER_COMMANDS,
  {
    usage: "mcp-lock [workflow...]",
    summary: "Pin the tools and skills that MCP servers offer in skillflow.lock",
    details:
      "Connects the trusted servers of all skills and of the workflows (default: those in the project's workflows/).",
    options: [...PROJECT],
    load: async () => (await import("../commands/author/mcp-lock.ts")).mcpLock,
  },
  {
    usage: "schema <document>",
    summary: "Print a published JSON Schema, or the methods of serve",
    details: `Documents that you write: workflow, skill, tools, script, test, config, listen, policy.
Documents that commands print: result, finding, plan, ask, recheck, backtest, stats, event, record.
protocol: the methods of serve, as tools.`,
    options: [["--for <provider>", "Print the protocol's tools in the form of openai or anthropic"]],
    load: async () => (await import("../commands/author/schema.ts")).printSchema,
  },
  {
    usage: "completion <shell> [word...]",
    summary: "Print a script that completes commands, flags, files, runs and skills in bash, zsh or fish",
    details: "The script calls --words N -- WORDS... to complete word N. The program is word 0.",
    options: [["--words <n>", "Print completions of this word of a command line", { form: "whole" }]],
    load: async () => (await import("../commands/author/completion.ts")).completion,
  },
];
