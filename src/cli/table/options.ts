import type { OptionSpec } from "./command.ts";

export const SHARED_OPTIONS: readonly OptionSpec[] = [
  ["--no-color", "plain text without colours"],
  ["--quiet", "say only what went wrong"],
  ["--verbose", "say everything, stack traces included"],
  ["--env-from <path>", "read more environment variables from this file"],
];

export const PROJECT: readonly OptionSpec[] = [
  [
    "--set <key=value>",
    "a config value that beats the environment; SKILL.KEY=VALUE for one skill",
    { repeatable: true },
  ],
  ["--skills <dir>", "more skill folders", { repeatable: true }],
  ["--no-discover", "use no skill folders of the project or the user"],
  [
    "--trust-skill <id>",
    "let code of this skill run and its MCP server be connected; ID@DIGEST for what a record defines",
    { repeatable: true },
  ],
  ["--skill-env <id=variable>", "hand a variable to a skill that cannot declare it", { repeatable: true }],
  ["--effect <id.tool=effect>", "whether this tool of an MCP server reads or writes", { repeatable: true }],
  [
    "--skill-order <name>",
    "which order of skill folders counts (default: sweny)",
    { choices: ["sweny", "skill-tools"] },
  ],
  ["--context-mode <mode>", "how skills' instructions reach the model", { choices: ["full", "readOnDemand"] }],
  ["--allow-scripts", "let tools.json descriptors resolve values by their scripts"],
  ["--allow-define-tool", "make the skill tool-maker available"],
];

/** What takes it has its documents from the base where an event of CI calls for that. */
export const FROM_REF: OptionSpec = [
  "--from-ref <ref>",
  "take the workflow, config and skills as of this commit: the checkout is data",
];

export const WORKDIR: OptionSpec = ["--writable-workdir", "let code in the sandbox write to the working directory"];

export const DATABASE: OptionSpec = [
  "--database-url <url>",
  "the Postgres of the engine dbos, or embedded: one to try it out (default: SKILLFLOW_DATABASE_URL)",
];

export const ENGINE: readonly OptionSpec[] = [
  ["--engine <name>", "what keeps runs and drives them (default: local)", { choices: ["local", "dbos"] }],
  DATABASE,
];

export const STORE: readonly OptionSpec[] = [
  ["--store <dir>", "where runs are kept (default: .skillflow/runs)"],
  ...ENGINE,
];

export const STATE: OptionSpec = [
  "--state <place>",
  "where runs remember: a folder, or git:BRANCH of the checkout's remote (default: .skillflow/state, or the engine's database)",
];

export const REPORTS: readonly OptionSpec[] = [
  ["--out <dir>", "write the result, the trace, the plan and reports into this folder"],
  [
    "--report <kind=path>",
    "write one report: html, md, postmortem, junit, sarif, digest, json or mermaid",
    { repeatable: true },
  ],
];

export const OUTPUT: readonly OptionSpec[] = [
  ["--json", "print the result document"],
  ["--stream", "print every event, one JSON document per line"],
  ...REPORTS,
];

/** Of what drives a run. */
export const DRIVING: readonly OptionSpec[] = [
  ["--detailed-exit-code", "end with 6 where the run succeeded and its plan holds writes to apply"],
  ["--otlp-content", "with SKILLFLOW_OTLP_URL: send prompts, answers, arguments and results along with the spans"],
  ...OUTPUT,
];

export const FILE_ROOT: OptionSpec = [
  "--file-root <dir>",
  "where file sources may lie (default: the project; / lifts it)",
];

export const SOURCES: readonly OptionSpec[] = [
  FILE_ROOT,
  ["--input-sources", "let `rules` and `context` of the input name files and addresses"],
];

export const FROZEN: OptionSpec = ["--frozen", "run nothing where an MCP server is not as skillflow.lock says"];

export const CHOICES: readonly OptionSpec[] = [
  ["--model <provider:name>", "default model (anthropic:, openai:, openai-compatible:, replay:FILE, script:FILE)"],
  [
    "--writes <mode>",
    "what tools that write may do (default: the workflow's `writes`)",
    { choices: ["allow", "plan", "deny"] },
  ],
  [
    "--allow-public",
    "let text from private sources be written where all the world reads it (default: held as planned)",
  ],
  ["--offline", "contact nobody but this machine"],
  ...SOURCES,
  ["--max-cost <usd>", "stop before a model call once this was spent"],
  ["--max-tokens <n>", "stop before a model call once these were used"],
  ["--max-steps <n>", "stop before another node visit after these (default: 200)"],
  ["--timeout <duration>", "stop the run after this time (90s, 10m, 2h)"],
  ["--node-timeout <duration>", "fail a node's attempt after this time"],
  ["--tool-timeout <duration>", "fail a tool call after this time (default: 60s)"],
  ["--require-skills", "an unavailable skill is an error"],
  FROZEN,
];

export const JSON_FLAG: OptionSpec = ["--json", "print JSON"];

/** Of what runs a workflow to its end. */
export const RUNNING: readonly OptionSpec[] = [...CHOICES, FROM_REF, ...PROJECT, WORKDIR, ...STORE, STATE, ...DRIVING];
