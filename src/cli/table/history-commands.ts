import type { CommandSpec } from "./command.ts";
import { ENGINE, JSON_FLAG, STATE, STORE } from "./options.ts";

/** What earlier runs did, and what they left. */
export const HISTORY_COMMANDS: readonly CommandSpec[] = [
  {
    usage: "runs",
    summary: "the history of runs",
    commands: [
      {
        usage: "list",
        summary: "the runs, newest first",
        options: [JSON_FLAG, ...STORE],
        load: async () => (await import("../commands/runs/list.ts")).listRuns,
      },
      {
        usage: "show <run> [node]",
        summary: "what a run did and found (an unambiguous beginning of its id, or latest)",
        details:
          "With a node: each of its visits with what the model was asked, what it answered, the calls, evals, tokens and cost.\nNODE#2 is the second visit alone. Long texts are shortened: --verbose shows them whole, --json all there is.",
        options: [JSON_FLAG, ["--stream", "print every event, one JSON document per line"], ...STORE],
        load: async () => (await import("../commands/runs/show.ts")).showRun,
      },
      {
        usage: "diff <run> <other-run>",
        summary: "what two runs did otherwise: the way, calls, results, prompts and cost",
        options: [["--exit-code", "end with 1 where they differ"], JSON_FLAG, ...STORE],
        load: async () => (await import("../commands/runs/diff.ts")).diffRuns,
      },
      {
        usage: "verify <run>",
        summary: "whether a run's record is as it was written: 0 it is, 4 altered, 1 unfinished or without digests",
        details: "The run is named as for `show`, or by the path of a copy of its record.",
        options: [
          ["--digest <digest>", "what its last digest has to be: that shows a record that was written anew, too"],
          JSON_FLAG,
          ...STORE,
        ],
        load: async () => (await import("../commands/runs/verify.ts")).verify,
      },
      {
        usage: "export <run>",
        summary: "give a run to other tools: spans for OpenTelemetry, or a trajectory",
        details: "Without --otlp and --format the spans are sent to SKILLFLOW_OTLP_URL.",
        options: [
          ["--otlp <url>", "send its spans to this address, as OTLP/JSON (headers: OTEL_EXPORTER_OTLP_HEADERS)"],
          ["--otlp-content", "send prompts, answers, arguments and results along"],
          ["--format <kind>", "write it: atif, the exchange format of agent trajectories", { choices: ["atif"] }],
          ["--out <file>", "where to write it (default: standard output)"],
          ...STORE,
        ],
        load: async () => (await import("../commands/runs/export.ts")).exportRun,
      },
      {
        usage: "prune",
        summary: "remove old runs, with their blobs",
        options: [
          ["--keep <n>", "keep this many of the newest runs"],
          ["--older-than <duration>", "remove only runs that began longer ago (90s, 10m, 14d)"],
          JSON_FLAG,
          ...STORE,
        ],
        load: async () => (await import("../commands/runs/prune.ts")).pruneRuns,
      },
    ],
  },
  {
    usage: "state",
    summary: "what runs remember for later runs",
    details:
      "A state is named as its workflow declares it. _days and _cool_downs count what limits.per_day and cool_down go by.",
    commands: [
      {
        usage: "list",
        summary: "the states, and how much each holds",
        options: [JSON_FLAG, STATE, ...ENGINE],
        load: async () => (await import("../commands/state/list.ts")).listStates,
      },
      {
        usage: "show <state> [key]",
        summary: "the entries of a state, those seen last first; or one of them, whole",
        options: [JSON_FLAG, STATE, ...ENGINE],
        load: async () => (await import("../commands/state/show.ts")).showState,
      },
      {
        usage: "forget <state> [key...]",
        summary: "remove entries of a state",
        options: [["--all", "all of them"], ["--yes", "do not ask"], JSON_FLAG, STATE, ...ENGINE],
        load: async () => (await import("../commands/state/forget.ts")).forgetState,
      },
      {
        usage: "export <state>",
        summary: "write a state to standard output",
        options: [
          ["--format <kind>", "how (default: json)", { choices: ["json", "jsonl", "csv"] }],
          JSON_FLAG,
          STATE,
          ...ENGINE,
        ],
        load: async () => (await import("../commands/state/export.ts")).exportState,
      },
    ],
  },
  {
    usage: "ui",
    summary: "a local page over all runs, and over one under way as it goes",
    details: "Prints its address, which holds a token and is for this machine alone. It reads, and changes nothing.",
    options: [["--port <number>", "default: a free one"], ...STORE],
    load: async () => (await import("../commands/serve/ui.ts")).ui,
  },
];
