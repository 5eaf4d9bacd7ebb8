import type { CommandSpec } from "./command.ts";
import { ENGINE, FILE_ROOT, FROM_REF, JSON_FLAG, PROJECT, STORE } from "./options.ts";

/** What people ask who write workflows. */
export const AUTHOR_COMMANDS: readonly CommandSpec[] = [
  {
    usage: "validate [workflow...]",
    summary: "find everything that is wrong with workflows, and what strangers may steer in them",
    options: [
      ["--format <kind>", "how findings are told", { choices: ["text", "json", "sarif", "github"] }],
      ["--strict", "warnings are errors; notes are not"],
      [
        "--explain [code]",
        "tell what a code of a finding or an error means, without a workflow; alone: list all codes",
      ],
      FILE_ROOT,
      ["--json", "the same as --format json"],
      FROM_REF,
      ...PROJECT,
    ],
    load: async () => (await import("../commands/author/validate.ts")).validate,
  },
  {
    usage: "init [name]",
    summary:
      "write a workflow that runs without a key, its test, .skillflow.yml and .env.example (default name: triage)",
    details: "Looks at the project first; on a terminal it asks two questions. A file that is there stays as it is.",
    options: [
      ["--from <workflow>", "start from a shipped workflow", { choices: ["triage", "board", "review"] }],
      ["--ci <system>", "write the CI job too", { choices: ["github", "gitlab"] }],
      ...PROJECT,
    ],
    load: async () => (await import("../commands/init/init.ts")).init,
  },
  {
    usage: "test [place...]",
    summary: "run the tests of workflows: *.test.yml in these folders, or these files (default: the project here)",
    options: [
      ["-u, --update", "write the new outcome into the tests; list the changes, and ask before a test becomes weaker"],
      ["--yes", "with -u: also accept changes that make a test weaker"],
      ["--watch", "run again what depends on a file that changes"],
      ["--filter <text>", "run only the cases whose name holds this"],
      ["--repeat <n>", "run each case so often; it passes when all of them do"],
      [
        "--model <provider:name>",
        "ask this model in place of the tests' own; two of them are shown beside each other",
        { repeatable: true },
      ],
      ["--from <run>", "write a test and a recording from a recorded run, beside its workflow"],
      ["--report <kind=path>", "write a report: junit", { repeatable: true }],
      ["--json", "print what came of each case"],
      FROM_REF,
      ...PROJECT,
      ["--store <dir>", "keep the runs of the tests here (default: they are not kept)"],
      ...ENGINE,
    ],
    load: async () => (await import("../commands/testing/test.ts")).test,
  },
  {
    usage: "graph <workflow-or-run>",
    summary: "draw a workflow with its taint, or the path that a run took",
    options: [
      ["--format <kind>", "default: mermaid", { choices: ["mermaid", "dot", "svg"] }],
      FROM_REF,
      ...PROJECT,
      ...STORE,
    ],
    load: async () => (await import("../commands/author/draw.ts")).graph,
  },
  {
    usage: "doctor [workflow]",
    summary: "tell which skills and models can be used, and what the others need",
    options: [["--live", "ask each configured service, by reading only"], JSON_FLAG, FROM_REF, ...PROJECT, ...ENGINE],
    load: async () => (await import("../commands/author/doctor.ts")).doctor,
  },
];
