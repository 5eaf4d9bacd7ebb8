import {
  type Acted,
  type ErrorCode,
  messageOf,
  NothingDone,
  refusalOf,
  SkillflowError,
} from "../../../core/base/errors.ts";
import { isObject, type Json, type JsonObject, parseJson } from "../../../core/base/values.ts";
import type { ToolContext } from "../../../core/skill/skill.ts";
import { digestOf } from "../../../files/files.ts";
import type { AgentInvocation } from "../../folder/host.ts";
import { REFUSALS } from "../../mcp/offer/results.ts";
import { readCapped } from "../../text/bounded.ts";

/** Reason why an agent cannot be called without a connection. */
export const UNASKED = "a dry run does not call agents";

/** Returns an agent's URL. Returns undefined unless it is http or https without credentials. */
export function agentUrl(text: unknown): string | undefined {
  const url = typeof text === "string" && URL.canParse(text) ? new URL(text) : undefined;
  const isHttp = url?.protocol === "http:" || url?.protocol === "https:";
  return isHttp && url.username === "" && url.password === "" ? url.href : undefined;
}

/** Sends one `message/send` request of A2A 0.3 and returns the JSON of the answer. Throws if the agent fails. */
export async function askAgent(call: AgentInvocation, context: ToolContext): Promise<Json> {
  const answer = parseJson(await post(call, requestOf(call, context), context));
  const refusal = isObject(answer) ? answer.error : undefined;
  if (isObject(refusal)) {
    const message = `the agent of ${call.skill} refused: ${JSON.stringify(refusal.message)} (${refusal.code})`;
    throw AGENT_REFUSALS.includes(Number(refusal.code)) ? new NothingDone(message) : new Error(message);
  }
  const result = isObject(answer) ? answer.result : undefined;
  if (!isObject(result)) throw failed(call, "did not answer with JSON-RPC");
  const value = jsonOf(finishedParts(call.skill, result));
  if (value !== undefined) return value;
  throw failed(call, "answered with neither data nor text that is JSON", { code: "output.invalid" });
}

/** Creates the error of an agent, with a message that begins with it. */
function failed(
  { skill }: AgentInvocation,
  what: string,
  { code = "server.failed", ...rest }: { code?: ErrorCode; cause?: unknown; acted?: Acted } = {},
): SkillflowError {
  return new SkillflowError(code, `the agent of ${skill} ${what}`, rest);
}

/** Errors that rule out any effect: those of JSON-RPC, unsupported operation and unsupported content. */
const AGENT_REFUSALS: readonly number[] = [...REFUSALS, -32_004, -32_005];

/** Builds the request. A retried call has the same message id, so that the agent can detect it. */
function requestOf(call: AgentInvocation, { callId }: ToolContext): JsonObject {
  const { skill, arguments: input } = call;
  const messageId = digestOf(JSON.stringify([callId, skill, input])).slice(0, 32);
  const parts = [{ kind: "data", data: { skill, arguments: input } }];
  return {
    jsonrpc: "2.0",
    id: messageId,
    method: "message/send",
    params: {
      message: { kind: "message", messageId, role: "user", parts },
      configuration: { acceptedOutputModes: ["application/json", "text/plain"], blocking: true },
    },
  };
}

async function post(call: AgentInvocation, body: JsonObject, context: ToolContext): Promise<string> {
  const response = await visit(call, context, {
    method: "POST",
    headers: { "content-type": "application/json", accept: "application/json" },
    body: JSON.stringify(body),
    redirect: "manual",
    signal: context.signal,
  });
  const text = await readCapped(response.body, MOST_BYTES);
  if (text === undefined) throw failed(call, `sent more than ${MOST_BYTES / 1024 / 1024} MB`);
  const { ok, status } = response;
  if (ok || isObject(parseJson(text))) return text;
  throw failed(call, `answered ${status}`, { acted: refusalOf({ status }) ? "no" : "unknown" });
}

/** Follows redirects within the agent's origin only, because the operator allowed no other. */
async function visit(call: AgentInvocation, context: ToolContext, init: RequestInit): Promise<Response> {
  const { fetch, signal } = context;
  let next = call.url;
  for (let redirects = 0; redirects <= MOST_REDIRECTS; redirects++) {
    const response = await fetch(next, init).catch((error: unknown) => {
      signal.throwIfAborted();
      const code = error instanceof SkillflowError ? error.code : undefined;
      const acted = refusalOf(error) ? "no" : "unknown";
      throw failed(call, `cannot be reached: ${messageOf(error)}`, { code, cause: error, acted });
    });
    const location = KEEPS_POST.has(response.status) ? response.headers.get("location") : null;
    if (location === null) return response;
    await response.body?.cancel();
    if (!URL.canParse(location, next) || new URL(location, next).origin !== new URL(call.url).origin) {
      throw failed(call, `redirects to another origin, which is not followed: ${location}`);
    }
    next = new URL(location, next).href;
  }
  throw failed(call, `redirects more than ${MOST_REDIRECTS} times`);
}

const MOST_REDIRECTS = 5;
/** Redirects that keep the method. The others turn a POST into a GET. */
const KEEPS_POST = new Set([307, 308]);

const MOST_BYTES = 10 * 1024 * 1024;

/** Returns the parts of a message or a completed task. Throws for other tasks, because we do not poll. */
function finishedParts(skill: string, result: JsonObject): readonly Json[] {
  const { status, artifacts } = result;
  if (!isObject(status)) return partsOf(result);
  if (status.state === "completed") {
    return [...(Array.isArray(artifacts) ? artifacts.flatMap(partsOf) : []), ...partsOf(status.message)];
  }
  const said = partsOf(status.message).flatMap((part) => (isObject(part) && part.text ? [String(part.text)] : []));
  const why = said.length === 0 ? "" : `: ${said.join(" ")}`;
  const message = `the agent of ${skill} did not complete the task, which is ${String(status.state)}${why}`;
  throw status.state === "rejected" ? new NothingDone(message) : new Error(message);
}

function partsOf(whole: Json | undefined): readonly Json[] {
  return isObject(whole) && Array.isArray(whole.parts) ? whole.parts : [];
}

/** Returns the first data part, or else the first text part that is JSON. */
function jsonOf(parts: readonly Json[]): Json | undefined {
  const read = parts.flatMap((part) => (isObject(part) ? [part] : []));
  const data = read.find((part) => part.data !== undefined)?.data;
  if (data !== undefined) return data;
  for (const { text } of read) {
    const value = typeof text === "string" ? parseJson(text) : undefined;
    if (value !== undefined) return value;
  }
  return undefined;
}
