import { type Json, patiently, requestsOf, type ToolContext, trim } from "skillflow";
import type * as z from "zod";
import { DatadogFailure, explain, pauseAfter } from "./failure.ts";
import { apiUrl } from "./site.ts";

/** Request and the schema of its response. */
export interface Asking<Answer extends z.ZodType> {
  /** Path without the host, built from fixed text and checked or encoded values. */
  readonly path: string;
  /** Defaults to POST if there is a body, otherwise to GET. */
  readonly method?: "DELETE";
  /** Request body. If set, the request is a POST. */
  readonly body?: unknown;
  readonly query?: Readonly<Record<string, string | number | boolean | undefined>>;
  /** Reads are retried when Datadog fails to respond. Searches are reads even though they use POST. */
  readonly effect?: "read" | "write";
  /** Datadog's name for the required permission. */
  readonly permission?: string;
  readonly answer: Answer;
}

/** Sends a request to Datadog within one tool call. */
export type Ask = <Answer extends z.ZodType>(asking: Asking<Answer>) => Promise<z.infer<Answer>>;

/** Runs a tool's work on Datadog: explains its errors and trims its result. */
export async function withDatadog(context: ToolContext, work: (ask: Ask) => Promise<unknown>): Promise<Json> {
  const ask: Ask = (asking) => askPatiently(asking, context);
  try {
    return trim(await work(ask));
  } catch (error) {
    context.signal.throwIfAborted();
    const isRefused = error instanceof DatadogFailure && error.answer?.status === 403;
    const key = isRefused ? await keyState(context) : undefined;
    context.signal.throwIfAborted();
    throw requestsOf(context).failure(error, explain(error, context, key));
  }
}

async function askPatiently<Answer extends z.ZodType>(asking: Asking<Answer>, context: ToolContext) {
  const { signal } = context;
  const answer = await patiently({ signal, pauseAfter }, () => askOnce(asking, context));
  const parsed = asking.answer.safeParse(answer);
  if (parsed.success) return parsed.data;
  const places = parsed.error.issues.slice(0, 3).map((issue) => issue.path.join(".") || "the whole");
  throw new Error(`Datadog answered ${asking.path} in an unexpected form (${places.join(", ")}).`);
}

async function askOnce(asking: Asking<z.ZodType>, context: ToolContext): Promise<unknown> {
  const { path, body, query = {}, effect = "read", permission } = asking;
  const method = asking.method ?? (body === undefined ? "GET" : "POST");
  const url = new URL(apiUrl(context.config) + path);
  for (const [key, value] of Object.entries(query)) if (value !== undefined) url.searchParams.set(key, String(value));
  const request = { line: `${method} ${path}`, effect, permission };
  return requestsOf(context).send(effect, async () => {
    const { response, text } = await send(url, { method, body }, context).catch((error: unknown) => {
      throw new DatadogFailure(request, undefined, error);
    });
    const { status, headers } = response;
    if (!response.ok) throw new DatadogFailure(request, { status, headers, body: parse(text) });
    const answer = status === 204 ? null : parse(text);
    if (answer === undefined) throw new Error("Datadog answered with something that is not JSON: check DD_API_URL.");
    return answer;
  });
}

// fetch would send Datadog's custom key headers along to the target of a redirect.
async function send(
  url: URL,
  { method, body }: { readonly method: string; readonly body?: unknown },
  { config, fetch, signal }: ToolContext,
) {
  const response = await fetch(url, {
    method,
    redirect: "manual",
    signal,
    headers: {
      accept: "application/json",
      "dd-api-key": keyOf(config, "DD_API_KEY"),
      "dd-application-key": keyOf(config, "DD_APP_KEY"),
      ...(body === undefined ? {} : { "content-type": "application/json" }),
    },
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
  });
  return { response, text: await response.text() };
}

/** Checks the API key alone. Datadog answers 403 for either wrong key and for a missing permission. */
async function keyState(context: ToolContext): Promise<"valid" | "refused" | undefined> {
  const url = new URL(`${apiUrl(context.config)}/api/v1/validate`);
  try {
    const { response, text } = await send(url, { method: "GET" }, context);
    if (response.ok) return /"valid"\s*:\s*true/.test(text) ? "valid" : undefined;
    return response.status === 403 ? "refused" : undefined;
  } catch (error) {
    context.logger.debug(`the API key could not be checked: ${error instanceof Error ? error.name : "no answer"}`);
    return undefined;
  }
}

function keyOf(config: ToolContext["config"], name: "DD_API_KEY" | "DD_APP_KEY"): string {
  const key = config[name]?.trim();
  if (!key) throw new Error(`${name} is not set: Datadog cannot be used in this run.`);
  return key;
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch (error) {
    if (error instanceof SyntaxError) return undefined;
    throw error;
  }
}
