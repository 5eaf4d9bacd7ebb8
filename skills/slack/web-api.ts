import { parseJson, requestsOf, type ToolContext } from "skillflow";
import { patiently, requiredKey, retryAfter, serviceUrl, untoldPause } from "skillflow/internal";
import { explainCode, patientFetch, unclear } from "./failure.ts";

const SLACK = { name: "Slack", address: "SLACK_API_URL", usual: "https://slack.com/api" } as const;

interface Answer {
  readonly ok: boolean;
  readonly error?: string;
  readonly [key: string]: unknown;
}

/** Calls a method of Slack's Web API as the bot, without retries. Slack refuses with `{ok: false}` and status 200. */
export async function callApi(method: string, body: unknown, context: ToolContext): Promise<Answer> {
  const type = "application/json; charset=utf-8";
  requiredKey(context.config, "SLACK_BOT_TOKEN");
  return requestsOf(context).send(HARMLESS.includes(method) ? "read" : "write", async () => {
    const { response, answer } = await send(method, { type, body: JSON.stringify(body) }, context);
    if (response.status >= 500) throw unclear(response.status, answer?.error);
    if (!answer && response.ok) throw new Error(`${NOT_SLACK} Whether the message was sent is unclear.`);
    return accepted(response, answer);
  });
}

/** Methods that are safe to repeat, because they write nothing visible. */
const HARMLESS: readonly string[] = ["auth.test", "conversations.open"];

type Token = "SLACK_BOT_TOKEN" | "SLACK_USER_TOKEN";

/** Calls a read-only method, with retries if Slack fails to respond. These methods take form data instead of JSON. */
export async function readApi(
  method: string,
  query: Readonly<Record<string, string | number | boolean | undefined>>,
  context: ToolContext,
  token: Token = "SLACK_BOT_TOKEN",
): Promise<Answer> {
  const given = new URLSearchParams();
  for (const [key, value] of Object.entries(query)) if (value !== undefined) given.set(key, String(value));
  const body = given.toString();
  const { signal } = context;
  const pauseAfter = (failure: unknown, attempt: number) =>
    failure instanceof Failed ? (failure.pause ?? untoldPause(attempt)) : undefined;
  const type = "application/x-www-form-urlencoded";
  const { response, answer } = await patiently({ signal, pauseAfter }, async () => {
    const got = await send(method, { type, body, token }, context).catch(silent);
    if (got.response.status >= 500) throw new Failed(got.response.status, got.response);
    return got;
  });
  if (!answer && response.ok) throw new Error(NOT_SLACK);
  return accepted(response, answer);
}

class Failed extends Error {
  readonly pause: number | undefined;
  constructor(how: number | string, response?: Response) {
    super(`Slack failed (${how}). Try again later.`);
    this.pause = retryAfter(response?.headers.get("retry-after"));
  }
}

function silent(error: unknown): never {
  const { cause } = error as { readonly cause?: unknown };
  if (!(error instanceof TypeError && cause instanceof Error)) throw error;
  throw new Failed(`no response${"code" in cause ? `: ${String(cause.code)}` : ""}`);
}

interface Sending {
  readonly type: string;
  readonly body: string;
  readonly token?: Token;
}

async function send(method: string, { type, body, token = "SLACK_BOT_TOKEN" }: Sending, context: ToolContext) {
  const secret = requiredKey(context.config, token);
  const response = await patientFetch(context)(`${serviceUrl(SLACK, context.config)}/${method}`, {
    method: "POST",
    redirect: "error",
    headers: { authorization: `Bearer ${secret}`, "content-type": type },
    body,
  });
  return { response, answer: parse(await response.text()) };
}

function accepted(response: Response, answer: Answer | undefined): Answer {
  if (answer?.ok === true) return answer;
  if (answer?.error) throw explainCode(answer.error, { ...answer, status: response.status });
  const { status } = response;
  throw Object.assign(new Error(`Slack refused the request (${status}). ${NOT_SLACK}`), { status });
}

/** Describes the bot. A webhook alone cannot be checked without posting. */
export async function describeBot(context: ToolContext): Promise<string> {
  if (!context.config["SLACK_BOT_TOKEN"]) return "not checked: a webhook can only be checked by posting";
  const { user, team } = await callApi("auth.test", {}, context);
  return `${String(user)} in ${String(team)}`;
}

const NOT_SLACK = "The response is not from Slack. Check SLACK_API_URL and any proxy in front of it.";

function parse(text: string): Answer | undefined {
  const value: unknown = parseJson(text);
  return typeof value === "object" && value !== null && "ok" in value ? (value as Answer) : undefined;
}
