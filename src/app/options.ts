import { CONTEXT_MODES, type OptionName, type OptionWriter, SKILL_ORDERS } from "../core/base/options.ts";

/** One row per option. Flags, help, completion, library names, the rules of config files and docs follow from it. */

/** Headings of the help, in the order in which it shows them. */
const GROUPS = {
  input: "Input:",
  model: "Model and limits:",
  writes: "Writes and trust:",
  skills: "Skills and config:",
  output: "Output:",
  storage: "Runs and state:",
} as const;

export type OptionRow = readonly [
  flags: string,
  help: string,
  extra?: {
    readonly choices?: readonly string[];
    readonly repeatable?: boolean;
    /** Heading of the help that it is shown below. */
    readonly group?: string;
    /** Shown by --help-all, and by --help only if the command has few options. */
    readonly isRare?: boolean;
    /** Form of the value: KEY=VALUE, US dollars, a whole number from 1 or from 0, a duration. Default: text. */
    readonly form?: "pair" | "amount" | "count" | "whole" | "duration";
    /** Set by the variable that `variableOf` names. */
    readonly variable?: true;
    /** Key of the config file. */
    readonly config?: string;
    /** Counts only in the user's own config file. */
    readonly raisesTrust?: true;
    /** Name in the options of the library. */
    readonly library?: string;
  },
];

type Rows = Readonly<Record<string, OptionRow>>;

function withExtra<Given extends Rows>(rows: Given, extra: OptionRow[2]): Given {
  const added = Object.entries(rows).map(([name, [flags, help, own]]) => [name, [flags, help, { ...extra, ...own }]]);
  return Object.fromEntries(added) as Given;
}

const inGroup = <const Given extends Rows>(group: keyof typeof GROUPS, rows: Given) =>
  withExtra(rows, { group: GROUPS[group] });
const rare = <const Given extends Rows>(rows: Given) => withExtra(rows, { isRare: true });

export const OPTIONS = {
  ...inGroup("input", {
    input: ["--input <json>", "Set the input object: JSON, @FILE, or - for standard input", { library: "input" }],
    i: ["-i <key=value>", "Set one input field, typed by the workflow's `inputs`", { form: "pair", repeatable: true }],
    ...rare({
      "file-root": [
        "--file-root <dir>",
        "Set the folder that file sources must be in (default: the project; / removes the limit)",
      ],
      "input-sources": ["--input-sources", "Let `rules` and `context` of the input name files and addresses"],
    }),
  }),
  ...inGroup("model", {
    model: [
      "--model <provider:name>",
      "Set the default model (anthropic:, openai:, openai-compatible:, bedrock:, vertex:, azure:, replay:FILE, script:FILE); A,B asks B if A cannot answer",
      { variable: true, config: "model", library: "model" },
    ],
    "max-cost": [
      "--max-cost <usd>",
      "Stop before a model call once the run has cost this much",
      { form: "amount", variable: true, config: "limits.max_cost_usd", library: "limits.max_cost_usd" },
    ],
    timeout: [
      "--timeout <duration>",
      "Stop the run after this time (90s, 10m, 2h)",
      { form: "duration", variable: true, config: "limits.timeout", library: "limits.timeout" },
    ],
    ...rare({
      "max-tokens": [
        "--max-tokens <n>",
        "Stop before a model call once the run has used this many tokens",
        { form: "count", variable: true, config: "limits.max_tokens", library: "limits.max_tokens" },
      ],
      "max-steps": [
        "--max-steps <n>",
        "Stop before another node visit after this many (default: 200)",
        { form: "count", variable: true, config: "limits.max_steps", library: "limits.max_steps" },
      ],
      "node-timeout": ["--node-timeout <duration>", "Fail a node's attempt after this time", { form: "duration" }],
      "tool-timeout": [
        "--tool-timeout <duration>",
        "Fail a tool call after this time (default: 60s)",
        { form: "duration" },
      ],
    }),
  }),
  ...inGroup("writes", {
    writes: [
      "--writes <mode>",
      "Set what tools that write may do (default: the workflow's `writes`)",
      { choices: ["allow", "plan", "deny"], variable: true, config: "writes", library: "writes" },
    ],
    "require-skills": ["--require-skills", "Fail if a skill is unavailable"],
    "trust-skill": [
      "--trust-skill <id>",
      "Run the code of this skill and connect its MCP server; ID@DIGEST for a skill that a record defines",
      { repeatable: true, variable: true, config: "skills.trust", raisesTrust: true, library: "trust" },
    ],
    ...rare({
      "allow-public": [
        "--allow-public",
        "Let text from private sources go to public places (default: queue it for review)",
      ],
      offline: ["--offline", "Make no network requests except to this machine"],
      frozen: ["--frozen", "Fail if an MCP server's tools or skills differ from skillflow.lock"],
      "from-ref": [
        "--from-ref <ref>",
        "Read the workflow, config and skills from this commit and treat the checkout as data",
      ],
      "allow-scripts": [
        "--allow-scripts",
        "Let tools.json descriptors resolve values with their scripts",
        { variable: true, config: "skills.allowScripts", raisesTrust: true },
      ],
      "allow-define-tool": [
        "--allow-define-tool",
        "Enable the skill tool-maker",
        { variable: true, config: "skills.defineTool", raisesTrust: true },
      ],
      "workspace-dirty": ["--workspace-dirty", "Start the working copy with the checkout's uncommitted changes"],
      "writable-workdir": ["--writable-workdir", "Let code in the sandbox write to the working directory"],
    }),
  }),
  ...inGroup("skills", {
    set: [
      "--set <key=value>",
      "Override a config value; SKILL.KEY=VALUE for one skill",
      { form: "pair", repeatable: true, library: "config" },
    ],
    ...rare({
      skills: ["--skills <dir>", "Add a skill folder", { repeatable: true, config: "skills.extraDirs" }],
      "no-discover": [
        "--no-discover",
        "Ignore the skill folders of the project and the user",
        { config: "skills.discover", library: "discover: false" },
      ],
      "add-skill": [
        "--add-skill <node=skill>",
        "Give a node one more skill",
        { form: "pair", repeatable: true, config: "skills.add" },
      ],
      "skill-env": [
        "--skill-env <id=variable>",
        "Pass a variable to a skill that cannot declare it",
        { form: "pair", repeatable: true, variable: true, config: "skills.env", raisesTrust: true },
      ],
      effect: [
        "--effect <id.tool=effect>",
        "Set whether this tool reads or writes",
        { form: "pair", repeatable: true },
      ],
      "skill-order": [
        "--skill-order <name>",
        "Set the precedence of skill folders (default: sweny)",
        { choices: SKILL_ORDERS, variable: true, config: "skills.order" },
      ],
      "context-mode": [
        "--context-mode <mode>",
        "Set how skill instructions reach the model",
        { choices: CONTEXT_MODES, variable: true, config: "skills.contextMode" },
      ],
      "env-from": ["--env-from <path>", "Read more environment variables from this file", { library: "env" }],
    }),
  }),
  ...inGroup("output", {
    json: ["--json", "Print JSON"],
    out: ["--out <dir>", "Write the result, the trace, the plan and the reports to this folder"],
    report: [
      "--report <kind=path>",
      "Write one report: html, md, postmortem, junit, sarif, digest, json or mermaid",
      { repeatable: true },
    ],
    quiet: ["--quiet", "Print only what went wrong"],
    verbose: ["--verbose", "Print everything, including stack traces"],
    ...rare({
      "no-color": ["--no-color", "Print plain text without colors"],
      stream: ["--stream", "Print every event, one JSON document per line"],
      "detailed-exit-code": [
        "--detailed-exit-code",
        "Exit with 6 if the run succeeded and its plan has writes to apply",
      ],
      "otlp-content": [
        "--otlp-content",
        "Include prompts, answers, arguments and results in the spans that go to SKILLFLOW_OTLP_URL",
      ],
    }),
  }),
  ...inGroup(
    "storage",
    rare({
      store: ["--store <dir>", "Set the folder of runs (default: .skillflow/runs)", { library: "store" }],
      engine: ["--engine <name>", "Set what stores and drives runs (default: local)", { choices: ["local", "dbos"] }],
      "database-url": [
        "--database-url <url>",
        "Set the Postgres database of the engine dbos, or embedded to try it out (default: SKILLFLOW_DATABASE_URL)",
        { variable: true },
      ],
      state: [
        "--state <place>",
        "Set where runs keep state: a folder, or git:BRANCH of the checkout's remote (default: .skillflow/state, or the engine's database)",
        { library: "state" },
      ],
      "run-id": ["--run-id <id>", "Set the run's id"],
      detach: ["--detach", "With the engine dbos: record the run for a worker and print its id"],
      "no-cool-down": [
        "--no-cool-down",
        "Run even if a run with the same key ended within the workflow's cool-down",
        { library: "coolDown: false" },
      ],
    }),
  ),
  from: ["--from <node>", "Start again from this node", { library: "from" }],
  "allow-changes": [
    "--allow-changes",
    "Succeed even if prompts or tools differ from the recording",
    { library: "allowChanges" },
  ],
  port: ["--port <number>", "Set the port (default: 8080; 0 for a free port)"],
} as const satisfies Readonly<Record<OptionName, OptionRow>>;

/** Key of an option in parsed flags: `maxCost` for `max-cost`, `discover` for `no-discover`. */
type Camel<Name extends string> = Name extends `${infer Head}-${infer Tail}`
  ? `${Head}${Capitalize<Camel<Tail>>}`
  : Name;
type OptionKey<Name extends OptionName> = Name extends `no-${infer Rest}` ? Camel<Rest> : Camel<Name>;

type Extra<Row> = Row extends readonly [string, string, infer Found] ? Found : object;
type One<Row extends OptionRow> =
  Extra<Row> extends { choices: readonly (infer Choice)[] }
    ? Choice
    : Extra<Row> extends { form: "pair" }
      ? readonly [key: string, value: string]
      : Extra<Row> extends { form: string }
        ? number
        : Row[0] extends `${string}<${string}`
          ? string
          : boolean;
type ValueOf<Row extends OptionRow> = Extra<Row> extends { repeatable: true } ? readonly One<Row>[] : One<Row>;

/** Values of options. Durations are in milliseconds. */
export type OptionValues = {
  readonly [Name in OptionName as OptionKey<Name>]?: ValueOf<(typeof OPTIONS)[Name]> | undefined;
};

/** Returns the row of an option. Undefined for an option of another version, which a record may name. */
export function optionRow(name: string): OptionRow | undefined {
  return (OPTIONS as Rows)[name];
}

/** Writes an option as library users know it, such as `model` NAME. */
export const asLibraryOption: OptionWriter = (option, value) => {
  const name = optionRow(option)?.[2]?.library;
  const shown = name === undefined ? `--${option}` : `\`${name}\``;
  return value === undefined ? shown : `${shown} ${value}`;
};
