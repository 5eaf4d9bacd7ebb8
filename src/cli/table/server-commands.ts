import type { CommandSpec } from "./command.ts";
import { CHOICES, DATABASE, FROM_REF, FROZEN, PROJECT, STATE, STORE, WORKDIR } from "./options.ts";

/** What serves others until it is told to end. */
export const SERVER_COMMANDS: readonly CommandSpec[] = [
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
    load: async () => (await import("../commands/serve/serve.ts")).serve,
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
    load: async () => (await import("../commands/serve/mcp.ts")).mcp,
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
    load: async () => (await import("../commands/serve/worker.ts")).worker,
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
    load: async () => (await import("../commands/serve/listen.ts")).listen,
  },
];
