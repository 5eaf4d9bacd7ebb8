import type { CommandSpec } from "./command.ts";
import { DRIVING, PROJECT, RUNNING, reworded, STORE } from "./options.ts";

/** Commands that run workflows and continue runs. */
export const RUN_COMMANDS: readonly CommandSpec[] = [
  {
    usage: "run <workflow>",
    summary: "Run a workflow",
    options: [
      "input",
      "i",
      ...RUNNING,
      ["--dry-run", "Run up to the first edge with `when` and connect no MCP server", { group: "Writes and trust:" }],
      "run-id",
      "detach",
      "no-cool-down",
    ],
    load: async () => (await import("../commands/run/run.ts")).run,
  },
  {
    usage: "resume <run>",
    summary: "Resume a run that stopped: after a crash, a kill, a limit or a failed node",
    options: ["from", reworded("detach", "With the engine dbos: leave the run to a worker"), ...RUNNING],
    continues: "run",
    load: async () => (await import("../commands/run/run.ts")).resume,
  },
  {
    usage: "signal <run> <node>",
    summary: "Approve or deny a waiting run, and continue it",
    details: "NODE is the node that waits: ask, or top/each[fp-81]/ask for a node inside other nodes.",
    options: [
      ["--approve", "Approve"],
      ["--deny", "Deny"],
      ["--note <text>", "Record the reason, which later nodes see"],
      ["--no-run", "Record the decision without continuing the run"],
      reworded("detach", "With the engine dbos: record the decision and leave the run to a worker"),
      ...RUNNING,
    ],
    continues: "run",
    load: async () => (await import("../commands/run/run.ts")).signal,
  },
  {
    usage: "replay <run-or-trace>",
    summary: "Run again with the recorded model replies",
    options: [
      ["--tools <source>", "Set where tool results come from (default: recorded)", { choices: ["live", "recorded"] }],
      "allow-changes",
      "run-id",
      "file-root",
      "input-sources",
      ...PROJECT,
      "writable-workdir",
      ...STORE,
      ...DRIVING,
    ],
    load: async () => (await import("../commands/run/run.ts")).replay,
  },
  {
    usage: "report <run-or-trace>",
    summary: "Write reports of a recorded run",
    details: "Name the run by its id, an unambiguous prefix of it, or latest. Name a trace by its path.",
    options: ["out", "report", ...STORE],
    load: async () => (await import("../commands/run/report.ts")).report,
  },
  {
    usage: "apply <run-or-plan>",
    summary: "Carry out the writes that a run planned, after showing them and asking",
    options: [
      ["--yes", "Approve all operations"],
      ["--approve <ops>", "Approve some operations: op-1,op-3 or op-1@DIGEST", { repeatable: true }],
      ["--plan-digest <digest>", "Fail if the plan differs from the reviewed one"],
      [
        "--resolve <op=outcome>",
        "Settle an operation in doubt: op-2=applied or op-2=not-applied",
        { repeatable: true },
      ],
      ["--again", "Repeat writes that another run has already made"],
      [
        "--report <kind=path>",
        "Write the plan for review as md or html; applies nothing without --yes or --approve",
        { repeatable: true },
      ],
      "frozen",
      "json",
      "from-ref",
      ...PROJECT,
      "writable-workdir",
      ...STORE,
      "state",
    ],
    continues: "plan",
    load: async () => (await import("../commands/run/apply.ts")).apply,
  },
];
