import { type Json, patiently, requestsOf, type ToolContext, trim } from "skillflow";
import type * as z from "zod";
import { DatadogFailure, explain, pauseAfter } from "./failure.ts";
import { apiUrl } from "./site.ts";

/** One request, and what an answer to it must look like. */
export interface Asking<Answer extends z.ZodType> {
  /** Without host; made of fixed text and of what was checked or encoded. */
  readonly path: string;
  /** Else POST where there is a body, and GET where there is none. */
  readonly method?: "DELETE";
  /** Present: the request is a POST. */
  readonly body?: unknown;
  readonly query?: Readonly<Record<string, string | number | boolean | undefined>>;
  /** A read is asked again when Datadog fails to answer; searches are reads that are posted. */
  readonly effect?: "read" | "write";
  /** The permission that it takes, as Datadog names it. */
  readonly permission?: string;
  readonly answer: Answer;
}

/** Datadog for one tool call. */
export type Ask = <Answer extends z.ZodType>(asking: Asking<Answer>) => Promise<z.infer<Answer>>;

/** Does a tool's work on Datadog: what goes wrong is explained, what comes out is trimmed. */
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

// The keys travel in headers of Datadog's own, which fetch would hand on to wherever a redirect points.
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

/** Datadog answers 403 to a wrong API key, a wrong application key and a missing permission alike. */
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
