/// <reference types="node" preserve="true" />

import { createServer, type IncomingHttpHeaders, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { SkillflowError } from "./core/errors.ts";
import type { RunEvent } from "./core/event.ts";
import type { Model, Observer } from "./core/ports.ts";
import type { ToolContext } from "./core/skill.ts";
import { type ScriptedReply, scriptModel, scriptSchema } from "./models/script.ts";
import { memoryBlobs } from "./stores/blobs.ts";

export { memoryStore } from "./stores/memory.ts";
export type { ScriptedReply };

/** Public fakes for tests of workflows, skills and adapters. */

/** A request as a loopback service saw it. */
export interface LoopbackRequest {
  readonly method: string;
  /** Path and query, as sent. */
  readonly url: string;
  readonly headers: IncomingHttpHeaders;
  readonly body: string;
}

export interface Loopback {
  /** `http://127.0.0.1:port` */
  readonly url: string;
  /** Every request so far, in order. */
  readonly requests: readonly LoopbackRequest[];
  close(): Promise<void>;
}

export type LoopbackHandler = (request: LoopbackRequest, response: ServerResponse) => void | Promise<void>;

/** A real HTTP service on 127.0.0.1 that answers as `handler` says. */
export async function startLoopback(handler: LoopbackHandler): Promise<Loopback> {
  const requests: LoopbackRequest[] = [];
  const server = createServer((incoming, response) => {
    const chunks: Buffer[] = [];
    incoming.on("data", (chunk: Buffer) => chunks.push(chunk));
    incoming.on("end", () => {
      const { method = "", url = "", headers } = incoming;
      const request = { method, url, headers, body: Buffer.concat(chunks).toString("utf8") };
      requests.push(request);
      Promise.resolve(handler(request, response)).catch((error: unknown) => response.destroy(error as Error));
    });
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const { port } = server.address() as AddressInfo;
  return {
    url: `http://127.0.0.1:${port}`,
    requests,
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
}

/** Answers with JSON. */
export function sendJson(
  response: ServerResponse,
  status: number,
  body: unknown,
  headers: Readonly<Record<string, string>> = {},
): void {
  response.writeHead(status, { "content-type": "application/json", ...headers });
  response.end(JSON.stringify(body));
}

/** The context of a tool call outside a run: real fetch, a signal that never fires, a logger that says nothing. */
export function toolContext(parts: Partial<ToolContext> = {}): ToolContext {
  const silent = () => undefined;
  return {
    config: {},
    callId: "test/1",
    workDir: "/",
    signal: new AbortController().signal,
    fetch: (input, init) => fetch(input, init),
    offline: false,
    logger: { debug: silent, info: silent, warn: silent },
    blobs: memoryBlobs(),
    ...parts,
  };
}

/** An observer that keeps what it saw. */
export function recordingObserver(): Observer & { readonly events: RunEvent[] } {
  const events: RunEvent[] = [];
  return { events, onEvent: (event) => events.push(event) };
}

/**
 * A model that answers from a list, as a script file does: each reply is used once, by the first call that it fits: at its
 * `node` where it names one, and a `choice` to a route, a `verdict` to a judge, a `reflection` to a diagnosis. A call that
 * none is left for ends the run with `script.exhausted` (1).
 */
export function scriptedModel(replies: readonly ScriptedReply[]): Model {
  const checked = scriptSchema.safeParse({ replies });
  if (checked.success) return scriptModel(checked.data);
  const problems = checked.error.issues.map(({ path, message }) => `${path.join(".")}: ${message}`);
  throw new SkillflowError("recording.invalid", `this is no script: ${problems.join("; ")}`);
}
