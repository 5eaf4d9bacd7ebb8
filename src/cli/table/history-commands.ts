import { type CommandSpec, ENGINE, STORE } from "./options.ts";

export const HISTORY_COMMANDS: readonly CommandSpec[] = [
  {
    usage: "runs",
    summary: "Show, compare, verify, export and remove runs",
    commands: [
      {
        usage: "list",
        summary: "List runs, newest first",
        options: [
          [
            "--kind <kind>",
            "List only runs of this kind (default: all but backtest)",
            { choices: ["run", "dry-run", "replay", "test", "recheck", "ask", "backtest"] },
          ],
          "json",
          ...STORE,
        ],
        load: async () => (await import("../commands/runs/list.ts")).listRuns,
      },
      {
        usage: "show <run> [node]",
        summary: "Show what a run did and found (by an unambiguous prefix of its id, or latest)",
        details:
          "With a node: shows the prompt, answer, calls, evals, tokens and cost of each visit. NODE#2 is the second visit.\nLong texts are shortened unless you pass --verbose or --json.",
        options: ["json", "stream", ...STORE],
        load: async () => (await import("../commands/runs/show.ts")).showRun,
      },
      {
        usage: "diff <run> <other-run>",
        summary: "Compare two runs: path, calls, results, prompts and cost",
        options: [["--exit-code", "Exit with 1 if they differ"], "json", ...STORE],
        load: async () => (await import("../commands/runs/diff.ts")).diffRuns,
      },
      {
        usage: "verify <run>",
        summary:
          "Check that a run's record was not altered: exits with 0, with 4 if altered, with 1 if unfinished or without digests",
        details: "Name the run as for `show`, or by the path of a copy of its record.",
        options: [
          ["--digest <digest>", "Require this last digest, which also detects a record that was rewritten"],
          "json",
          ...STORE,
        ],
        load: async () => (await import("../commands/runs/verify.ts")).verify,
      },
      {
        usage: "export <run>",
        summary: "Export a run as OpenTelemetry spans or as a trajectory",
        details: "Without --otlp and --format, sends spans to SKILLFLOW_OTLP_URL.",
        options: [
          ["--otlp <url>", "Send spans to this address as OTLP/JSON (headers: OTEL_EXPORTER_OTLP_HEADERS)"],
          ["--otlp-content", "Include prompts, answers, arguments and results"],
          [
            "--format <kind>",
            "Write the run as atif, the exchange format of agent trajectories",
            { choices: ["atif"] },
          ],
          ["--out <file>", "Write to this file (default: standard output)"],
          ...STORE,
        ],
        load: async () => (await import("../commands/runs/export.ts")).exportRun,
      },
      {
        usage: "prune",
        summary: "Remove old runs and their blobs",
        options: [
          ["--keep <n>", "Keep this many of the newest runs", { form: "whole" }],
          [
            "--older-than <duration>",
            "Remove only runs that started longer ago than this (90s, 10m, 14d)",
            { form: "duration" },
          ],
          "json",
          ...STORE,
        ],
        load: async () => (await import("../commands/runs/prune.ts")).pruneRuns,
      },
    ],
  },
  {
    usage: "feedback <run> <judgement>",
    summary: "Record whether a run's finding was right, partly right or wrong",
    details:
      "JUDGEMENT is right, partly or wrong. It is kept next to the states, not in the run's record. The last judgement of a run counts.",
    options: [
      ["--cause <text>", "Record the true cause"],
      ["--by <name>", "Name the person who judges (default: the user of the CI job, or USER@HOST)"],
      "json",
      ...STORE,
      "state",
    ],
    load: async () => (await import("../commands/runs/feedback.ts")).feedback,
  },
  {
    usage: "stats",
    summary: "Count runs, verdicts, judgements, rechecks, planned writes and cost, per workflow and model",
    options: [
      ["--since <duration>", "Count runs that started within this time (default: 30d)", { form: "duration" }],
      "json",
      ...STORE,
      "state",
    ],
    load: async () => (await import("../commands/runs/stats.ts")).stats,
  },
  {
    usage: "state",
    summary: "Show, export and remove what runs keep for later runs",
    details:
      "Name a state as its workflow declares it. _days and _cool_downs hold the counts for limits.per_day and cool_down.",
    commands: [
      {
        usage: "list",
        summary: "List states and their sizes",
        options: ["json", "state", ...ENGINE],
        load: async () => (await import("../commands/state.ts")).listStates,
      },
      {
        usage: "show <state> [key]",
        summary: "Show the entries of a state, last seen first, or one whole entry",
        options: ["json", "state", ...ENGINE],
        load: async () => (await import("../commands/state.ts")).showState,
      },
      {
        usage: "forget <state> [key...]",
        summary: "Remove entries of a state",
        options: [["--all", "Remove all entries"], ["--yes", "Do not ask"], "json", "state", ...ENGINE],
        load: async () => (await import("../commands/state.ts")).forgetState,
      },
      {
        usage: "export <state>",
        summary: "Write a state to standard output",
        options: [
          ["--format <kind>", "Set the format (default: json)", { choices: ["json", "jsonl", "csv"] }],
          "json",
          "state",
          ...ENGINE,
        ],
        load: async () => (await import("../commands/state.ts")).exportState,
      },
    ],
  },
  {
    usage: "ui",
    summary: "Serve a local page that shows all runs, also while they are running",
    details: "Prints the page's address, which contains a token and works on this machine only. The page is read-only.",
    options: [["--port <number>", "Set the port (default: a free port)"], ...STORE, "state"],
    load: async () => (await import("../commands/serve/ui.ts")).ui,
  },
];
