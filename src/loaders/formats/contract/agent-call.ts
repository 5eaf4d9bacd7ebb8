import { createHash } from "node:crypto";
import { messageOf, NothingDone, refusalOf, SkillflowError } from "../../../core/base/errors.ts";
import { isObject, type Json, type JsonObject, parseJson } from "../../../core/base/values.ts";
import type { ToolContext } from "../../../core/skill/skill.ts";
import type { AgentInvocation } from "../../folder/host.ts";

/** Why none is asked where there is no way to ask one. */
export const UNASKED = "a dry run asks no agent";

/** Where an agent is asked, if that is a place where one can be. */
export function agentUrl(text: unknown): string | undefined {
  const url = typeof text === "string" && URL.canParse(text) ? new URL(text) : undefined;
  const isHttp = url?.protocol === "http:" || url?.protocol === "https:";
  return isHttp && url.username === "" && url.password === "" ? url.href : undefined;
}

/** One `message/send` of A2A 0.3, and the JSON of what the agent made of it. Throws a plain Error that says what failed. */
export async function askAgent(call: AgentInvocation, context: ToolContext): Promise<Json> {
  const answer = parseJson(await post(call, requestOf(call, context), context));
  const refusal = isObject(answer) ? answer.error : undefined;
  if (isObject(refusal)) {
    const message = `the agent of ${call.skill} refused: ${JSON.stringify(refusal.message)} (${refusal.code})`;
    throw REFUSALS.includes(Number(refusal.code)) ? new NothingDone(message) : new Error(message);
  }
  const result = isObject(answer) ? answer.result : undefined;
  if (!isObject(result))
    throw new SkillflowError("server.failed", `the agent of ${call.skill} answered what is no JSON-RPC`);
  const value = jsonOf(finishedParts(call.skill, result));
  if (value !== undefined) return value;
  throw new SkillflowError(
    "output.invalid",
    `the agent of ${call.skill} answered with neither data nor text that is JSON`,
  );
}

/** JSON-RPC: parse error, invalid request, method not found, invalid params. A2A: operation or content not supported. */
const REFUSALS: readonly number[] = [-32_700, -32_600, -32_601, -32_602, -32_004, -32_005];

/** The uniform envelope as a data part. A call that is made again has the same id, so that an agent may know it. */
function requestOf(call: AgentInvocation, { callId }: ToolContext): JsonObject {
  const { skill, arguments: input } = call;
  const messageId = createHash("sha256")
    .update(JSON.stringify([callId, skill, input]))
    .digest("hex")
    .slice(0, 32);
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

async function post({ skill, url }: AgentInvocation, body: JsonObject, context: ToolContext): Promise<string> {
  const response = await visit(skill, url, context, {
    method: "POST",
    headers: { "content-type": "application/json", accept: "application/json" },
    body: JSON.stringify(body),
    redirect: "manual",
    signal: context.signal,
  });
  const text = await readCapped(skill, response);
  if (response.ok || isObject(parseJson(text))) return text;
  const acted = refusalOf({ status: response.status }) ? "no" : "unknown";
  throw new SkillflowError("server.failed", `the agent of ${skill} answered ${response.status}`, { acted });
}

/** Only where the operator let it: an agent may be at another path of its own place, and nowhere else. */
async function visit(skill: string, url: string, { fetch, signal }: ToolContext, init: RequestInit): Promise<Response> {
  let next = url;
  for (let redirects = 0; redirects <= MOST_REDIRECTS; redirects++) {
    const response = await fetch(next, init).catch((error: unknown) => {
      signal.throwIfAborted();
      const code = error instanceof SkillflowError ? error.code : "server.failed";
      throw new SkillflowError(code, `the agent of ${skill} cannot be reached: ${messageOf(error)}`, {
        cause: error,
        acted: refusalOf(error) ? "no" : "unknown",
      });
    });
    const location = KEEPS_POST.has(response.status) ? response.headers.get("location") : null;
    if (location === null) return response;
    await response.body?.cancel();
    if (!URL.canParse(location, next) || new URL(location, next).origin !== new URL(url).origin) {
      throw new SkillflowError(
        "server.failed",
        `the agent of ${skill} redirects to another place, which is not asked: ${location}`,
      );
    }
    next = new URL(location, next).href;
  }
  throw new SkillflowError("server.failed", `the agent of ${skill} redirects more than ${MOST_REDIRECTS} times`);
}

const MOST_REDIRECTS = 5;
/** The others turn a POST into a GET. */
const KEEPS_POST = new Set([307, 308]);

async function readCapped(skill: string, { body }: Response): Promise<string> {
  const chunks: Uint8Array[] = [];
  let size = 0;
  for await (const chunk of (body ?? []) as AsyncIterable<Uint8Array>) {
    size += chunk.byteLength;
    if (size > MOST_BYTES)
      throw new SkillflowError("server.failed", `the agent of ${skill} sent more than ${MOST_BYTES / 1024 / 1024} MB`);
    chunks.push(chunk);
  }
  return new TextDecoder().decode(Buffer.concat(chunks));
}

const MOST_BYTES = 10 * 1024 * 1024;

/** Of a message, or of a task that is completed: nobody waits for one that is not. */
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

/** Data before text, whatever the order. */
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
