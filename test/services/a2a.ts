import type { ServerResponse } from "node:http";
import * as z from "zod";
import { type Loopback, type LoopbackRequest, sendJson, startLoopback } from "../../src/testing.ts";

/** An A2A agent on the loopback that refuses what A2A 0.3 (specification/json/a2a.json) does not describe. */

const part = z.discriminatedUnion("kind", [
  z.strictObject({ kind: z.literal("data"), data: z.record(z.string(), z.unknown()), metadata: z.object().optional() }),
  z.strictObject({ kind: z.literal("text"), text: z.string(), metadata: z.object().optional() }),
]);
const request = z.strictObject({
  jsonrpc: z.literal("2.0"),
  id: z.union([z.string(), z.int()]),
  method: z.literal("message/send"),
  params: z.strictObject({
    message: z.strictObject({
      kind: z.literal("message"),
      messageId: z.string().min(1),
      role: z.enum(["user", "agent"]),
      parts: z.array(part).min(1),
    }),
    configuration: z
      .strictObject({ acceptedOutputModes: z.array(z.string()).optional(), blocking: z.boolean().optional() })
      .optional(),
  }),
});
export type AgentRequest = z.infer<typeof request>;

/** `answer` returns the JSON-RPC answer without its id. `intercept` may answer a request itself. */
export function startAgent(
  answer: (asked: AgentRequest) => object,
  intercept: (request: LoopbackRequest, response: ServerResponse) => boolean = () => false,
): Promise<Loopback> {
  return startLoopback((asked, response) => {
    if (intercept(asked, response)) return;
    const isJson = asked.method === "POST" && asked.headers["content-type"] === "application/json";
    const read = request.safeParse(isJson ? JSON.parse(asked.body) : undefined);
    const body = read.success
      ? { id: read.data.id, ...answer(read.data) }
      : { id: null, error: { code: -32602, message: z.prettifyError(read.error) } };
    sendJson(response, 200, { jsonrpc: "2.0", ...body });
  });
}

/** A task as agents send one. */
export function task(state: string, parts: readonly object[] = [], said?: string) {
  const words = { kind: "message", messageId: "m2", role: "agent", parts: [{ kind: "text", text: said }] };
  const status = { state, timestamp: "2026-01-01T00:00:00Z", ...(said === undefined ? {} : { message: words }) };
  return { result: { kind: "task", id: "t1", contextId: "c1", status, artifacts: [{ artifactId: "a1", parts }] } };
}
