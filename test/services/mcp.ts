import { type Loopback, type LoopbackRequest, sendJson, startLoopback } from "../../src/testing.ts";

/** Small MCP servers with scripted answers: over stdio as a process, over HTTP on the loopback. */

type Params = { readonly [key: string]: unknown };

/** Actions of a scripted answer other than its result. */
export interface ServerIo {
  /** Writes the text to standard output unchanged. */
  print(text: string): void;
  notify(method: string, params?: Params): void;
  /** A line in the file of notes, if there is one. */
  note(text: string): void;
  /** The notes so far, also those of the server's earlier processes. */
  notes(): string[];
  exit(code: number): void;
}

/**
 * Answers by method: the result, `{error}` for a refusal, undefined for no answer. `start` runs before anything is
 * read.
 */
export type Answers = Readonly<Record<string, (params: Params, io: ServerIo) => unknown>>;

export const TOOL = { name: "look", description: "Looks.", inputSchema: { type: "object" } };

/** Answers of every correct server. */
const SOUND: Answers = {
  initialize: (params) => ({
    protocolVersion: params.protocolVersion,
    capabilities: { tools: { listChanged: true } },
    serverInfo: { name: "scripted", version: "1" },
  }),
  "tools/list": () => ({ tools: [{ name: "look", description: "Looks.", inputSchema: { type: "object" } }] }),
  "tools/call": () => ({ content: [{ type: "text", text: "seen" }] }),
};

/** The command of a server as a process. Each answer is passed as source text, so it may refer to nothing outside. */
export function stdioServer(answers: Answers, notes = "") {
  const table = Object.entries({ ...SOUND, ...answers }).map(
    ([method, answer]) => `${JSON.stringify(method)}: ${answer}`,
  );
  const source = `const answers = {${table.join(",\n")}};\n(${serve})(answers, ${JSON.stringify(notes)});`;
  return { command: "node", args: ["-e", source] };
}

function serve(answers: Answers, notesFile: string): void {
  const { appendFileSync, existsSync, readFileSync } = require("node:fs") as typeof import("node:fs");
  const send = (message: object) => process.stdout.write(`${JSON.stringify({ jsonrpc: "2.0", ...message })}\n`);
  const io: ServerIo = {
    print: (text) => void process.stdout.write(text),
    notify: (method, params = {}) => void send({ method, params }),
    note: (text) => appendFileSync(notesFile, `${text}\n`),
    notes: () => (existsSync(notesFile) ? readFileSync(notesFile, "utf8").trimEnd().split("\n") : []),
    exit: (code) => process.exit(code),
  };
  answers.start?.({}, io);
  const lines = (require("node:readline") as typeof import("node:readline")).createInterface({ input: process.stdin });
  lines.on("line", async (line: string) => {
    const { id, method, params } = JSON.parse(line);
    const answer = await answers[method]?.(params ?? {}, io);
    if (id === undefined || answer === undefined) return;
    send(
      typeof answer === "object" && answer !== null && "error" in answer ? { id, ...answer } : { id, result: answer },
    );
  });
}

/** A server over streamable HTTP, with sessions. `intercept` may answer a request itself. */
export function httpServer(
  answers: Answers,
  intercept: (request: LoopbackRequest, response: Parameters<typeof sendJson>[0]) => boolean = () => false,
): Promise<Loopback> {
  const silent = () => undefined;
  const io: ServerIo = { print: silent, notify: silent, note: silent, notes: () => [], exit: silent };
  return startLoopback(async (request, response) => {
    if (intercept(request, response)) return;
    if (request.method !== "POST") return sendJson(response, request.method === "DELETE" ? 200 : 405, {});
    const { id, method, params } = JSON.parse(request.body);
    if (id === undefined) return void response.writeHead(202).end();
    const result = await { ...SOUND, ...answers }[method as string]?.(params ?? {}, io);
    sendJson(response, 200, { jsonrpc: "2.0", id, result }, { "mcp-session-id": "s1" });
  });
}
