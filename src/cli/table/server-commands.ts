import { CHOICES, type CommandSpec, PROJECT, STORE } from "./options.ts";

export const SERVER_COMMANDS: readonly CommandSpec[] = [
  {
    usage: "serve",
    summary: "Serve skills to other programs with the Skills Protocol over JSON-RPC 2.0",
    options: [
      "port",
      ["--host <address>", "Set the address (default: 127.0.0.1; others need --token-env)"],
      ["--token-env <name>", "Require the token in this variable from callers"],
      ["--json", "Print the address as JSON"],
      ...PROJECT,
      "writable-workdir",
    ],
    load: async () => (await import("../commands/serve/serve.ts")).serve,
  },
  {
    usage: "mcp [workflow...]",
    summary: "Serve skills and workflows as an MCP server over standard input and output",
    details: "Pass workflows as files or folders. By default, serves those in the project's workflows/.",
    options: [
      ["--http", "Serve over streamable HTTP instead"],
      ["--port <number>", "With --http: set the port (default: 8080; 0 for a free port)"],
      ["--host <address>", "With --http: set the address (default: 127.0.0.1; others need --token-env)"],
      ["--token-env <name>", "With --http: require the token in this variable from callers"],
      ["--json", "With --http: print the address as JSON"],
      ...CHOICES,
      ...PROJECT,
      "writable-workdir",
      ...STORE,
    ],
    load: async () => (await import("../commands/serve/mcp.ts")).mcp,
  },
  {
    usage: "worker",
    summary: "Take runs from the queue of the engine dbos, with this project's skills, config and models",
    details:
      "Also resumes the runs of workers that died. On SIGTERM, takes no more runs and exits when the current ones end.\nA second SIGTERM exits at once, and another worker resumes the runs.",
    options: [
      ["--concurrency <n>", "Drive this many runs at a time (default: 4)", { form: "count" }],
      "database-url",
      ["--engine <name>", "Set the engine (default: dbos, the one with a queue)", { choices: ["dbos"] }],
      [
        "--metrics-port <n>",
        "Serve Prometheus metrics on 127.0.0.1 at this port (0 for a free one)",
        { form: "whole" },
      ],
      "frozen",
      ...PROJECT,
      "writable-workdir",
    ],
    load: async () => (await import("../commands/serve/worker.ts")).worker,
  },
  {
    usage: "listen",
    summary: "Start and drive runs from webhooks of alerting systems",
    details:
      "Each source of listen.yml is POST /NAME and starts a run only with a valid signature or token.\nOn SIGTERM, accepts no more webhooks and exits when the current runs end. Unfinished runs resume at the next start.",
    options: [
      ["--config <path>", "Read the sources from this file (default: listen.yml)"],
      ["--port <number>", "Set the port (default: from the file, or 8080; 0 for a free port)"],
      ["--host <address>", "Set the address (default: from the file, or 127.0.0.1)"],
      ["--json", "Print the address as JSON"],
      ["--no-cool-down", "Start a run for every webhook, even if one for the same cause is running"],
      "otlp-content",
      ...CHOICES,
      "from-ref",
      ...PROJECT,
      "writable-workdir",
      ...STORE,
      "state",
    ],
    load: async () => (await import("../commands/serve/listen.ts")).listen,
  },
];
