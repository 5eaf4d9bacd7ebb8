import type { OptionSpec } from "./command.ts";

/** Headings of the help, in the order in which it shows them. */
const GROUPS = {
  input: "Input:",
  model: "Model and limits:",
  writes: "Writes and trust:",
  skills: "Skills and config:",
  output: "Output:",
  storage: "Runs and state:",
} as const;

function inGroup(group: keyof typeof GROUPS, options: readonly OptionSpec[]): readonly OptionSpec[] {
  return options.map(([flags, description, extra]) => [flags, description, { group: GROUPS[group], ...extra }]);
}

/** Shown only by --help-all, where a command has many options. */
function rare(options: readonly OptionSpec[]): readonly OptionSpec[] {
  return options.map(([flags, description, extra]) => [flags, description, { ...extra, isRare: true }]);
}

export const SHARED_OPTIONS: readonly OptionSpec[] = inGroup("output", [
  ["--quiet", "Print only what went wrong"],
  ["--verbose", "Print everything, including stack traces"],
  ...rare([
    ["--no-color", "Print plain text without colors"],
    ["--env-from <path>", "Read more environment variables from this file", { group: GROUPS.skills }],
  ]),
]);

export const INPUT: readonly OptionSpec[] = inGroup("input", [
  ["--input <json>", "Set the input object: JSON, @FILE, or - for standard input"],
  ["-i <key=value>", "Set one input field, typed by the workflow's `inputs`", { repeatable: true }],
]);

const TRUST: OptionSpec = [
  "--trust-skill <id>",
  "Run the code of this skill and connect its MCP server; ID@DIGEST for a skill that a record defines",
  { repeatable: true },
];

export const PROJECT: readonly OptionSpec[] = [
  ...inGroup("writes", [TRUST]),
  ...inGroup("skills", [
    ["--set <key=value>", "Override a config value; SKILL.KEY=VALUE for one skill", { repeatable: true }],
    ...rare([
      ["--skills <dir>", "Add a skill folder", { repeatable: true }],
      ["--no-discover", "Ignore the skill folders of the project and the user"],
      ["--skill-env <id=variable>", "Pass a variable to a skill that cannot declare it", { repeatable: true }],
      ["--effect <id.tool=effect>", "Set whether this tool of an MCP server reads or writes", { repeatable: true }],
      [
        "--skill-order <name>",
        "Set the precedence of skill folders (default: sweny)",
        { choices: ["sweny", "skill-tools"] },
      ],
      ["--context-mode <mode>", "Set how skill instructions reach the model", { choices: ["full", "readOnDemand"] }],
    ]),
  ]),
  ...inGroup(
    "writes",
    rare([
      ["--allow-scripts", "Let tools.json descriptors resolve values with their scripts"],
      ["--allow-define-tool", "Enable the skill tool-maker"],
    ]),
  ),
];

/** Commands with this option read the workflow, config and skills from the base commit in CI. */
export const FROM_REF: OptionSpec = [
  "--from-ref <ref>",
  "Read the workflow, config and skills from this commit and treat the checkout as data",
  { group: GROUPS.writes, isRare: true },
];

export const WORKDIR: OptionSpec = [
  "--writable-workdir",
  "Let code in the sandbox write to the working directory",
  { group: GROUPS.writes, isRare: true },
];

export const DATABASE: OptionSpec = [
  "--database-url <url>",
  "Set the Postgres database of the engine dbos, or embedded to try it out (default: SKILLFLOW_DATABASE_URL)",
  { group: GROUPS.storage, isRare: true },
];

export const ENGINE: readonly OptionSpec[] = [
  ...inGroup(
    "storage",
    rare([["--engine <name>", "Set what stores and drives runs (default: local)", { choices: ["local", "dbos"] }]]),
  ),
  DATABASE,
];

export const STORE: readonly OptionSpec[] = [
  ...inGroup("storage", rare([["--store <dir>", "Set the folder of runs (default: .skillflow/runs)"]])),
  ...ENGINE,
];

export const STATE: OptionSpec = [
  "--state <place>",
  "Set where runs keep state: a folder, or git:BRANCH of the checkout's remote (default: .skillflow/state, or the engine's database)",
  { group: GROUPS.storage, isRare: true },
];

export const RUN_ID: OptionSpec = ["--run-id <id>", "Set the run's id", { group: GROUPS.storage, isRare: true }];

export const REPORTS: readonly OptionSpec[] = inGroup("output", [
  ["--out <dir>", "Write the result, the trace, the plan and the reports to this folder"],
  [
    "--report <kind=path>",
    "Write one report: html, md, postmortem, junit, sarif, digest, json or mermaid",
    { repeatable: true },
  ],
]);

export const OTLP_CONTENT: OptionSpec = [
  "--otlp-content",
  "Include prompts, answers, arguments and results in the spans that go to SKILLFLOW_OTLP_URL",
  { group: GROUPS.output, isRare: true },
];

/** Output of commands that drive a run. */
export const DRIVING: readonly OptionSpec[] = [
  ...inGroup("output", [["--json", "Print the result document"]]),
  ...REPORTS,
  ...inGroup(
    "output",
    rare([
      ["--stream", "Print every event, one JSON document per line"],
      ["--detailed-exit-code", "Exit with 6 if the run succeeded and its plan has writes to apply"],
    ]),
  ),
  OTLP_CONTENT,
];

export const FILE_ROOT: OptionSpec = [
  "--file-root <dir>",
  "Set the folder that file sources must be in (default: the project; / removes the limit)",
  { group: GROUPS.input, isRare: true },
];

export const SOURCES: readonly OptionSpec[] = [
  FILE_ROOT,
  ...inGroup("input", rare([["--input-sources", "Let `rules` and `context` of the input name files and addresses"]])),
];

export const FROZEN: OptionSpec = [
  "--frozen",
  "Fail if an MCP server's tools differ from skillflow.lock",
  { group: GROUPS.writes, isRare: true },
];

export const CHOICES: readonly OptionSpec[] = [
  ...SOURCES,
  ...inGroup("model", [
    [
      "--model <provider:name>",
      "Set the default model (anthropic:, openai:, openai-compatible:, replay:FILE, script:FILE)",
    ],
    ["--max-cost <usd>", "Stop before a model call once the run has cost this much"],
    ["--timeout <duration>", "Stop the run after this time (90s, 10m, 2h)"],
    ...rare([
      ["--max-tokens <n>", "Stop before a model call once the run has used this many tokens"],
      ["--max-steps <n>", "Stop before another node visit after this many (default: 200)"],
      ["--node-timeout <duration>", "Fail a node's attempt after this time"],
      ["--tool-timeout <duration>", "Fail a tool call after this time (default: 60s)"],
    ]),
  ]),
  ...inGroup("writes", [
    [
      "--writes <mode>",
      "Set what tools that write may do (default: the workflow's `writes`)",
      { choices: ["allow", "plan", "deny"] },
    ],
    ["--require-skills", "Fail if a skill is unavailable"],
    ...rare([
      ["--allow-public", "Let text from private sources go to public places (default: queue it for review)"],
      ["--offline", "Make no network requests except to this machine"],
    ]),
  ]),
  FROZEN,
];

export const JSON_FLAG: OptionSpec = ["--json", "Print JSON", { group: GROUPS.output }];

/** Options of commands that drive a workflow to its end. */
export const RUNNING: readonly OptionSpec[] = [...CHOICES, FROM_REF, ...PROJECT, WORKDIR, ...DRIVING, ...STORE, STATE];
