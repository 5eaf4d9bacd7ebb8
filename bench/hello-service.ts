import { readFileSync } from "node:fs";
import type { ServerResponse } from "node:http";
import { sendJson, startLoopback } from "../src/testing.ts";

/** A provider on this machine that answers hello, and records when it was called. */
export async function answerHello() {
  let begun = { at: Number.NaN, pid: 0 };
  let seen = { ms: Number.NaN, megabytes: Number.NaN };
  const service = await startLoopback(({ body }, response) => {
    seen = { ms: performance.now() - begun.at, megabytes: peakOf(begun.pid) };
    if ((JSON.parse(body) as { readonly stream?: boolean }).stream) answerStream(response);
    else
      sendJson(response, 200, {
        ...REPLY,
        object: "chat.completion",
        choices: [{ index: 0, message: MESSAGE, finish_reason: "stop" }],
      });
  });
  return {
    url: service.url,
    close: () => service.close(),
    /** Call `from` with the process. `seen` resolves with its next request. */
    nextRequest: () => ({
      from: (pid: number, at: number) => {
        begun = { at, pid };
        seen = { ms: Number.NaN, megabytes: Number.NaN };
      },
      seen: () => seen,
    }),
  };
}

/** In MB, if the system reports it. */
export function peakOf(pid: number): number {
  try {
    return Number(/VmHWM:\s+(\d+)/.exec(readFileSync(`/proc/${pid}/status`, "utf8"))?.[1]) / 1024;
  } catch {
    return Number.NaN;
  }
}

const TEXT = "It went as it should.";
const MESSAGE = { role: "assistant", content: TEXT };
const REPLY = { id: "1", created: 1, model: "m", usage: { prompt_tokens: 90, completion_tokens: 6, total_tokens: 96 } };

export function answerStream(response: ServerResponse): void {
  answerParts(response, { content: TEXT }, "stop");
}

/** A reply, as a stream of what it adds. */
export function answerParts(response: ServerResponse, delta: unknown, finish: "stop" | "tool_calls"): void {
  response.writeHead(200, { "content-type": "text/event-stream" });
  const parts = [
    { choices: [{ delta }] },
    { choices: [{ delta: {}, finish_reason: finish }] },
    { choices: [], usage: REPLY.usage },
  ];
  for (const part of parts) response.write(`data: ${JSON.stringify(part)}\n\n`);
  response.end("data: [DONE]\n\n");
}
