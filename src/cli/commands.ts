import { FORMATS } from "../core/skill.ts";
import type { Action } from "./io.ts";

/** The command line as data. Nothing here is loaded before it is asked for. */
export interface CommandSpec {
  /** Name and positional arguments, as the help shows them. */
  readonly usage: string;
  readonly summary: string;
  readonly details?: string;
  readonly options?: readonly OptionSpec[];
  readonly commands?: readonly CommandSpec[];
  readonly load?: () => Promise<Action>;
  /** It goes on with the recorded run that its first argument names, by itself or by its plan. */
  readonly continues?: "run" | "plan";
}

export type OptionSpec = readonly [
  flags: string,
  description: string,
  extra?: { readonly choices?: readonly string[]; readonly repeatable?: boolean },
];

export const SHARED_OPTIONS: readonly OptionSpec[] = [
  ["--no-color", "plain text without colours"],
  ["--quiet", "say only what went wrong"],
  ["--verbose", "say everything, stack traces included"],
  ["--env-from <path>", "read more environment variables from this file"],
];

const PROJECT: readonly OptionSpec[] = [
  [
    "--set <key=value>",
    "a config value that beats the environment; SKILL.KEY=VALUE for one skill",
    { repeatable: true },
  ],
  ["--skills <dir>", "more skill folders", { repeatable: true }],
  ["--no-discover", "use no skill folders of the project or the user"],
  ["--trust-skill <id>", "let code of this skill run and its MCP server be connected", { repeatable: true }],
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

const WORKDIR: OptionSpec = ["--writable-workdir", "let code in the sandbox write to the working directory"];

const DATABASE: OptionSpec = [
  "--database-url <url>",
  "the Postgres of the engine dbos, or embedded: one to try it out (default: SKILLFLOW_DATABASE_URL)",
];

const ENGINE: readonly OptionSpec[] = [
  ["--engine <name>", "what keeps runs and drives them (default: local)", { choices: ["local", "dbos"] }],
  DATABASE,
];

const STORE: readonly OptionSpec[] = [["--store <dir>", "where runs are kept (default: .skillflow/runs)"], ...ENGINE];

const STATE: OptionSpec = [
  "--state <place>",
  "where runs remember: a folder, or git:BRANCH of the checkout's remote (default: .skillflow/state, or the engine's database)",
];

const REPORTS: readonly OptionSpec[] = [
  ["--out <dir>", "write the result, the trace, the plan and reports into this folder"],
  [
    "--report <kind=path>",
    "write one report: html, md, postmortem, junit, sarif, digest, json or mermaid",
    { repeatable: true },
  ],
];

const OUTPUT: readonly OptionSpec[] = [
  ["--json", "print the result document"],
  ["--stream", "print every event, one JSON document per line"],
  ...REPORTS,
];

/** Of what drives a run. */
const DRIVING: readonly OptionSpec[] = [
  ["--detailed-exit-code", "end with 6 where the run succeeded and its plan holds writes to apply"],
  ["--otlp-content", "with SKILLFLOW_OTLP_URL: send prompts, answers, arguments and results along with the spans"],
  ...OUTPUT,
];

const FILE_ROOT: OptionSpec = ["--file-root <dir>", "where file sources may lie (default: the project; / lifts it)"];

const SOURCES: readonly OptionSpec[] = [
  FILE_ROOT,
  ["--input-sources", "let `rules` and `context` of the input name files and addresses"],
];

const FROZEN: OptionSpec = ["--frozen", "run nothing where an MCP server is not as skillflow.lock says"];

const CHOICES: readonly OptionSpec[] = [
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

const JSON_FLAG: OptionSpec = ["--json", "print JSON"];
export const COMMANDS: readonly CommandSpec[] = [
  {
    usage: "run <workflow>",
    summary: "validate a workflow, then run it",
    options: [
      ["--input <json>", "the input object: JSON, @FILE, or - for standard input"],
      ["-i <key=value>", "one field of the input, typed by the workflow's `inputs`", { repeatable: true }],
      ["--dry-run", "stop at the first decision; no MCP server is connected"],
      ["--run-id <id>", "name the run"],
      ["--detach", "with the engine dbos: record the run for a worker, and print its id"],
      ["--no-cool-down", "run although one of the same key has ended within the workflow's cool-down"],
      ...CHOICES,
      FROM_REF,
      ...PROJECT,
      WORKDIR,
      ...STORE,
      STATE,
      ...DRIVING,
    ],
    load: async () => (await import("./commands/run.ts")).run,
  },
  {
    usage: "resume <run>",
    summary: "carry on a run that stopped: a crash, a kill, a limit, a failed node",
    options: [
      ["--from <node>", "redo from this node"],
      ["--detach", "with the engine dbos: leave the run to a worker"],
      ...CHOICES,
      FROM_REF,
      ...PROJECT,
      WORKDIR,
      ...STORE,
      STATE,
      ...DRIVING,
    ],
    continues: "run",
    load: async () => (await import("./commands/run.ts")).resume,
  },
  {
    usage: "signal <run> <node>",
    summary: "give a person's word to a run that waits for it, and carry the run on",
    details: "NODE is named as the run names it: ask, or top/each[fp-81]/ask inside other nodes.",
    options: [
      ["--approve", "the word is yes"],
      ["--deny", "the word is no"],
      ["--note <text>", "why: kept with the word, and seen by later nodes"],
      ["--no-run", "record the word alone; resume carries on"],
      ["--detach", "with the engine dbos: record the word, and leave the run to a worker"],
      ...CHOICES,
      FROM_REF,
      ...PROJECT,
      WORKDIR,
      ...STORE,
      STATE,
      ...DRIVING,
    ],
    continues: "run",
    load: async () => (await import("./commands/run.ts")).signal,
  },
  {
    usage: "replay <run-or-trace>",
    summary: "run again with every model reply answered from the recording",
    options: [
      ["--tools <source>", "where tool results come from (default: recorded)", { choices: ["live", "recorded"] }],
      ["--allow-changes", "succeed although prompts or tools differ from the recording"],
      ["--run-id <id>", "name the run"],
      ...SOURCES,
      ...PROJECT,
      WORKDIR,
      ...STORE,
      ...DRIVING,
    ],
    load: async () => (await import("./commands/run.ts")).replay,
  },
  {
    usage: "report <run-or-trace>",
    summary: "write reports again from a recorded run",
    details: "The run is named by its id, an unambiguous beginning of it, or latest; a trace by its path.",
    options: [...REPORTS, ...STORE],
    load: async () => (await import("./commands/report.ts")).report,
  },
  {
    usage: "apply <run-or-plan>",
    summary: "carry out the writes that a run planned: shows them, and asks",
    options: [
      ["--yes", "approve all of them"],
      ["--approve <ops>", "approve some: op-1,op-3, or op-1@DIGEST", { repeatable: true }],
      ["--plan-digest <digest>", "refuse where the plan is not the one that was reviewed"],
      ["--resolve <op=word>", "an operation in doubt: op-2=applied or op-2=not-applied", { repeatable: true }],
      ["--again", "write anew what another run has written already"],
      [
        "--report <kind=path>",
        "write the plan for review: md or html; nothing is applied without --yes or --approve",
        { repeatable: true },
      ],
      FROZEN,
      JSON_FLAG,
      FROM_REF,
      ...PROJECT,
      WORKDIR,
      ...STORE,
      STATE,
    ],
    continues: "plan",
    load: async () => (await import("./commands/apply.ts")).apply,
  },
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
    load: async () => (await import("./commands/validate.ts")).validate,
  },
  {
    usage: "init [name]",
    summary:
      "write a workflow that runs without a key, its test, .skillflow.yml and .env.example (default name: triage)",
    details: "Looks at the project first; on a terminal it asks two questions. A file that is there stays as it is.",
    options: [
      ["--from <workflow>", "start from a shipped workflow", { choices: ["triage", "board"] }],
      ["--ci <system>", "write the CI job too", { choices: ["github", "gitlab"] }],
      ...PROJECT,
    ],
    load: async () => (await import("./commands/init/init.ts")).init,
  },
  {
    usage: "test [place...]",
    summary: "run the tests of workflows: *.test.yml in these folders, or these files (default: the project here)",
    options: [
      ["-u, --update", "accept what came: write it into the tests in place of what was expected"],
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
    load: async () => (await import("./commands/testing/test.ts")).test,
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
    load: async () => (await import("./commands/draw.ts")).graph,
  },
  {
    usage: "doctor [workflow]",
    summary: "tell which skills and models can be used, and what the others need",
    options: [["--live", "ask each configured service, by reading only"], JSON_FLAG, FROM_REF, ...PROJECT, ...ENGINE],
    load: async () => (await import("./commands/doctor.ts")).doctor,
  },
  {
    usage: "skills",
    summary: "the registry of skills",
    commands: [
      {
        usage: "list",
        summary: "every skill: its format, where it is from, whether its code is trusted, and what it needs",
        options: [JSON_FLAG, FROM_REF, ...PROJECT],
        load: async () => (await import("./commands/skills.ts")).listSkills,
      },
      {
        usage: "show <id>",
        summary: "one skill: tools, effects, config and where each value comes from",
        options: [JSON_FLAG, FROM_REF, ...PROJECT],
        load: async () => (await import("./commands/skills.ts")).showSkill,
      },
      {
        usage: "lint [path-or-id...]",
        summary: "check skills by the strict rules of their formats (without any: every skill that is found)",
        options: [JSON_FLAG, FROM_REF, ...PROJECT],
        load: async () => (await import("./commands/lint.ts")).lintSkills,
      },
      {
        usage: "new [id] [file]",
        summary: "begin a skill in skills/ of the project",
        details:
          "--from openapi makes one that reads by an API's description (JSON or YAML): skills new ID --from openapi FILE.",
        options: [
          ["--format <label>", `how it is written: ${FORMATS.join(", ")} (default: agent-skills)`],
          ["--from <kind>", "make it from the API description FILE", { choices: ["openapi"] }],
          [
            "--operation <name>",
            "of the description: an operation's id, its path, or list_* (default: all that read, up to 20)",
            { repeatable: true },
          ],
        ],
        load: async () => (await import("./commands/skills/new.ts")).newSkill,
      },
    ],
  },
  {
    usage: "runs",
    summary: "the history of runs",
    commands: [
      {
        usage: "list",
        summary: "the runs, newest first",
        options: [JSON_FLAG, ...STORE],
        load: async () => (await import("./commands/runs/list.ts")).listRuns,
      },
      {
        usage: "show <run> [node]",
        summary: "what a run did and found (an unambiguous beginning of its id, or latest)",
        details:
          "With a node: each of its visits with what the model was asked, what it answered, the calls, evals, tokens and cost.\nNODE#2 is the second visit alone. Long texts are shortened: --verbose shows them whole, --json all there is.",
        options: [JSON_FLAG, ["--stream", "print every event, one JSON document per line"], ...STORE],
        load: async () => (await import("./commands/runs/show.ts")).showRun,
      },
      {
        usage: "diff <run> <other-run>",
        summary: "what two runs did otherwise: the way, calls, results, prompts and cost",
        options: [["--exit-code", "end with 1 where they differ"], JSON_FLAG, ...STORE],
        load: async () => (await import("./commands/runs/diff.ts")).diffRuns,
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
        load: async () => (await import("./commands/runs/verify.ts")).verify,
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
        load: async () => (await import("./commands/runs/export.ts")).exportRun,
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
        load: async () => (await import("./commands/runs/prune.ts")).pruneRuns,
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
        load: async () => (await import("./commands/state/list.ts")).listStates,
      },
      {
        usage: "show <state> [key]",
        summary: "the entries of a state, those seen last first; or one of them, whole",
        options: [JSON_FLAG, STATE, ...ENGINE],
        load: async () => (await import("./commands/state/show.ts")).showState,
      },
      {
        usage: "forget <state> [key...]",
        summary: "remove entries of a state",
        options: [["--all", "all of them"], ["--yes", "do not ask"], JSON_FLAG, STATE, ...ENGINE],
        load: async () => (await import("./commands/state/forget.ts")).forgetState,
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
        load: async () => (await import("./commands/state/export.ts")).exportState,
      },
    ],
  },
  {
    usage: "ui",
    summary: "a local page over all runs, and over one under way as it goes",
    details: "Prints its address, which holds a token and is for this machine alone. It reads, and changes nothing.",
    options: [["--port <number>", "default: a free one"], ...STORE],
    load: async () => (await import("./commands/ui.ts")).ui,
  },
  {
    usage: "serve",
    summary: "serve the skills to other programs: the Skills Protocol over JSON-RPC 2.0",
    options: [
      ["--port <number>", "default: 8080; 0 takes a free one"],
      ["--host <address>", "default: 127.0.0.1; any other needs --token-env"],
      ["--token-env <name>", "the variable that holds the token callers have to give"],
      ["--json", "print the address as JSON"],
      ...PROJECT,
      WORKDIR,
    ],
    load: async () => (await import("./commands/serve.ts")).serve,
  },
  {
    usage: "mcp [workflow...]",
    summary: "serve the skills and workflows as an MCP server, over standard input and output",
    details: "Workflows are files or folders; without any, those in the project's workflows/ are served.",
    options: [
      ["--http", "serve over streamable HTTP instead"],
      ["--port <number>", "with --http, default: 8080; 0 takes a free one"],
      ["--host <address>", "with --http, default: 127.0.0.1; any other needs --token-env"],
      ["--token-env <name>", "with --http: the variable that holds the token callers have to give"],
      ["--json", "with --http: print the address as JSON"],
      ...CHOICES,
      ...PROJECT,
      WORKDIR,
      ...STORE,
    ],
    load: async () => (await import("./commands/mcp.ts")).mcp,
  },
  {
    usage: "worker",
    summary: "take runs from the queue of the engine dbos, with the skills, config and models of this project",
    details:
      "Takes up the runs of workers that died, too. SIGTERM: takes no more, and ends once those under way have; a second one ends at once, and another worker takes them up.",
    options: [
      ["--concurrency <n>", "drive so many runs at a time (default: 4)"],
      DATABASE,
      ["--engine <name>", "the one with a queue (default: dbos)", { choices: ["dbos"] }],
      FROZEN,
      ...PROJECT,
      WORKDIR,
    ],
    load: async () => (await import("./commands/worker.ts")).worker,
  },
  {
    usage: "listen",
    summary: "start runs by webhooks of alerting systems, and drive them",
    details:
      "Each source of listen.yml is POST /NAME; only what its secret signed, or bears its token, starts anything, so another --host needs no more. SIGTERM: takes no more webhooks, and ends once the runs under way have; what is left goes on at the next start.",
    options: [
      ["--config <path>", "who may start what (default: listen.yml)"],
      ["--port <number>", "default: the file's, or 8080; 0 takes a free one"],
      ["--host <address>", "default: the file's, or 127.0.0.1"],
      ["--json", "print the address as JSON"],
      ["--no-cool-down", "begin a run for every webhook, also where one of the same cause is under way"],
      ["--otlp-content", "with SKILLFLOW_OTLP_URL: send prompts, answers, arguments and results along with the spans"],
      ...CHOICES,
      FROM_REF,
      ...PROJECT,
      WORKDIR,
      ...STORE,
      STATE,
    ],
    load: async () => (await import("./commands/listen.ts")).listen,
  },
  {
    usage: "mcp-lock [workflow...]",
    summary: "write skillflow.lock: what MCP servers offer now, for runs to be held to",
    details:
      "Asks the servers of all skills and of the workflows (without any, those in the project's workflows/), if they are trusted.",
    options: [...PROJECT],
    load: async () => (await import("./commands/mcp-lock.ts")).mcpLock,
  },
  {
    usage: "schema <document>",
    summary:
      "print a published JSON Schema: workflow, skill, tools, script, test, config, listen, result, plan, event or record; protocol: the tools that serve answers",
    options: [["--for <provider>", "the tools of the protocol as openai or anthropic takes them"]],
    load: async () => (await import("./commands/schema.ts")).printSchema,
  },
  {
    usage: "completion <shell> [word...]",
    summary: "print what completes commands, flags, files, runs and skills in bash, zsh or fish",
    details: "The script asks by --words N -- WORDS...: what may stand in place of word N, the program being word 0.",
    options: [["--words <n>", "tell what completes this word of a command line"]],
    load: async () => (await import("./commands/completion.ts")).completion,
  },
];
