import { PassThrough, type Stream } from "node:stream";
import {
  Client,
  type ClientOptions,
  ReadBuffer,
  StreamableHTTPClientTransport,
  serializeMessage,
  type Transport,
} from "@modelcontextprotocol/client";
import { StdioClientTransport } from "@modelcontextprotocol/client/stdio";
import { onTestFinished } from "vitest";
import { runHere } from "../cli/in-process.ts";
import { programCommand } from "../cli/program.ts";

/** `skillflow mcp` as a process, and stock clients that connect to it. */

export interface Program {
  /** Its output on stderr so far. */
  stderr(): string;
  /** Resolves with the match, once it was printed. */
  said(pattern: RegExp): Promise<RegExpExecArray>;
}

interface Started {
  readonly cwd: string;
  readonly args?: readonly string[];
  readonly env?: Readonly<Record<string, string>>;
  readonly client?: ClientOptions;
}

function listen(stream: Stream | null): Program {
  let text = "";
  const waiting = new Set<() => void>();
  stream?.on("data", (chunk: Buffer) => {
    text += chunk.toString("utf8");
    for (const look of waiting) look();
  });
  return {
    stderr: () => text,
    said: (pattern) =>
      new Promise((resolve) => {
        const look = () => {
          const found = pattern.exec(text);
          if (!found) return;
          waiting.delete(look);
          resolve(found);
        };
        waiting.add(look);
        look();
      }),
  };
}

/** Connects with the newest revision if the client is configured for it, otherwise with the handshake of older ones. */
export async function connectStdio({ cwd, args = [], env = {}, client: options }: Started) {
  const program = programCommand(["mcp", ...args]);
  const transport = new StdioClientTransport({ ...program, env: { ...program.env, ...env }, cwd, stderr: "pipe" });
  const client = new Client({ name: "test", version: "1" }, options);
  const told = listen(transport.stderr);
  onTestFinished(() => client.close());
  await client.connect(transport);
  return { client, transport, ...told };
}

/** Connects in this process, for tests that do not depend on the process itself. */
export async function connectHere({ cwd, args = [], env = {}, client: options }: Started) {
  const [input, errors] = [new PassThrough(), new PassThrough()];
  const told = listen(errors);
  const answers = new ReadBuffer();
  let ended: Promise<unknown> = Promise.resolve();
  const transport: Transport = {
    async start() {
      ended = runHere(["mcp", ...args], {
        cwd,
        env,
        input,
        onText(stream, text) {
          if (stream === "stderr") return void errors.write(text);
          answers.append(Buffer.from(text));
          for (let next = answers.readMessage(); next; next = answers.readMessage()) transport.onmessage?.(next);
        },
      });
    },
    send: async (message) => void input.write(serializeMessage(message)),
    async close() {
      input.end();
      await ended;
      transport.onclose?.();
    },
  };
  const client = new Client({ name: "test", version: "1" }, options);
  onTestFinished(() => client.close());
  await client.connect(transport);
  return { client, transport, ...told };
}

/** The server, started through a client's transport that never sends a message. */
export async function startHttp({ cwd, args = [], env = {} }: Started) {
  const program = programCommand(["mcp", "--http", "--port", "0", ...args]);
  const holder = new StdioClientTransport({ ...program, env: { ...program.env, ...env }, cwd, stderr: "pipe" });
  const told = listen(holder.stderr);
  onTestFinished(async () => {
    if (holder.pid !== null) process.kill(holder.pid, "SIGTERM");
    await holder.close();
  });
  await holder.start();
  const [, url = ""] = await told.said(/serving \d+ tools at (\S+)/);
  return { url, ...told };
}

export async function connectHttp(url: string, options?: ClientOptions, headers: Record<string, string> = {}) {
  const client = new Client({ name: "test", version: "1" }, options);
  const transport = new StreamableHTTPClientTransport(new URL(url), { requestInit: { headers } });
  await client.connect(transport);
  onTestFinished(() => client.close());
  return client;
}
