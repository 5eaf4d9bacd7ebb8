import type { CommandSpec } from "./command.ts";
import { ENGINE, PROJECT, STORE } from "./options.ts";

export const AUTHOR_COMMANDS: readonly CommandSpec[] = [
  {
    usage: "validate [workflow...]",
    summary: "Check workflows for errors and for text from untrusted authors that may steer them",
    options: [
      ["--format <kind>", "Set the output format", { choices: ["text", "json", "sarif", "github"] }],
      ["--strict", "Treat warnings as errors"],
      ["--explain [code]", "Explain the code of a finding or an error; without a code: list all codes"],
      "file-root",
      ["--json", "Same as --format json"],
      "from-ref",
      ...PROJECT,
      "add-skill",
    ],
    load: async () => (await import("../commands/author/validate.ts")).validate,
  },
  {
    usage: "init [name]",
    summary:
      "Write a workflow that runs without a key, its test, .skillflow.yml and .env.example (default name: triage)",
    details: "Examines the project first, and asks two questions on a terminal. Does not change existing files.",
    options: [
      ["--from <workflow>", "Start from a shipped workflow", { choices: ["triage", "board", "review"] }],
      ["--ci <system>", "Also write the CI job", { choices: ["github", "gitlab"] }],
      ...PROJECT,
    ],
    load: async () => (await import("../commands/init/init.ts")).init,
  },
  {
    usage: "test [place...]",
    summary: "Run workflow tests: *.test.yml in these folders, or these files (default: the current project)",
    options: [
      ["-u, --update", "Write the new outcomes into the tests; list the changes, and ask before weakening a test"],
      ["--yes", "With -u: also accept changes that weaken a test"],
      ["--watch", "Rerun the tests that depend on a changed file"],
      ["--filter <text>", "Run only the cases whose name contains this text"],
      ["--repeat <n>", "Run each case this many times; it passes if all runs pass", { form: "count" }],
      [
        "--model <provider:name>",
        "Use this model instead of the tests' own; pass two to compare them",
        { repeatable: true },
      ],
      ["--from <run>", "Write a test and a recording from a recorded run, next to its workflow"],
      ["--report <kind=path>", "Write a report: junit", { repeatable: true }],
      ["--json", "Print the result of each case"],
      "from-ref",
      ...PROJECT,
      ["--store <dir>", "Store the test runs in this folder (default: they are not stored)"],
      ...ENGINE,
    ],
    load: async () => (await import("../commands/testing/test.ts")).test,
  },
  {
    usage: "graph <workflow-or-run>",
    summary: "Draw a workflow with its taint, or the path of a run",
    options: [
      ["--format <kind>", "Set the output format (default: mermaid)", { choices: ["mermaid", "dot", "svg"] }],
      "from-ref",
      ...PROJECT,
      ...STORE,
    ],
    load: async () => (await import("../commands/author/draw.ts")).graph,
  },
  {
    usage: "doctor [workflow]",
    summary: "Show which skills and models are available, and what the others need",
    options: [
      ["--live", "Send a read-only request to each configured service"],
      "json",
      "from-ref",
      ...PROJECT,
      ...ENGINE,
    ],
    load: async () => (await import("../commands/author/doctor.ts")).doctor,
  },
];
