import { type Json, patiently, requestsOf, type ToolContext, trim } from "skillflow";
import type * as z from "zod";
import { BetterStackFailure, explain, parse, pauseAfter } from "./failure.ts";

/** Request and the schema of its response. */
export interface Asking<Answer extends z.ZodType> {
  readonly product?: "uptime" | "telemetry";
  /** Path without the host, built from fixed text and checked numbers only. */
  readonly path: string;
  /** Request body. If set, the request is a POST and counts as a write. */
  readonly body?: unknown;
  readonly query?: Readonly<Record<string, string | number | boolean | undefined>>;
  readonly answer: Answer;
}

/** Sends a request to Better Stack's REST API within one tool call. */
export type Ask = <Answer extends z.ZodType>(asking: Asking<Answer>) => Promise<z.infer<Answer>>;

/** Runs a tool's work on Better Stack: explains its errors and trims its result. */
export async function withBetterStack(context: ToolContext, work: (ask: Ask) => Promise<unknown>): Promise<Json> {
  try {
    return trim(await work((asking) => askPatiently(asking, context)));
  } catch (error) {
    context.signal.throwIfAborted();
    throw requestsOf(context).failure(error, explain(error, context));
  }
}

async function askPatiently<Answer extends z.ZodType>(asking: Asking<Answer>, context: ToolContext) {
  const { signal } = context;
  const answer = await patiently({ signal, pauseAfter }, () => askOnce(asking, context));
  const parsed = asking.answer.safeParse(answer);
  if (parsed.success) return parsed.data;
  const places = parsed.error.issues.slice(0, 3).map((issue) => issue.path.join(".") || "the whole");
  throw new Error(`Better Stack answered ${asking.path} in an unexpected form (${places.join(", ")}).`);
}

async function askOnce(asking: Asking<z.ZodType>, context: ToolContext): Promise<unknown> {
  const { product = "uptime", path, body, query = {} } = asking;
  const url = new URL(apiUrl(product, context.config) + path);
  for (const [key, value] of Object.entries(query)) if (value !== undefined) url.searchParams.set(key, String(value));
  const request = {
    line: `${body === undefined ? "GET" : "POST"} ${path}`,
    effect: body === undefined ? "read" : "write",
  } as const;
  return requestsOf(context).send(request.effect, async () => {
    const { response, text } = await send(url, body, context).catch((error: unknown) => {
      throw new BetterStackFailure(request, undefined, error);
    });
    const { status, headers } = response;
    if (!response.ok) throw new BetterStackFailure(request, { status, headers, text });
    const answer = parse(text);
    if (answer !== undefined) return answer;
    throw new Error("Better Stack answered with something that is not JSON: check BETTERSTACK_API_URL.");
  });
}

async function send(url: URL, body: unknown, { config, fetch, signal }: ToolContext) {
  const token = config["BETTERSTACK_API_TOKEN"]?.trim();
  if (!token) throw new Error("BETTERSTACK_API_TOKEN is not set: Better Stack cannot be used in this run.");
  const response = await fetch(url, {
    method: body === undefined ? "GET" : "POST",
    redirect: "manual",
    signal,
    headers: {
      accept: "application/json",
      authorization: `Bearer ${token}`,
      ...(body === undefined ? {} : { "content-type": "application/json" }),
    },
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
  });
  return { response, text: await response.text() };
}

function apiUrl(product: "uptime" | "telemetry", config: ToolContext["config"]): string {
  const url = config["BETTERSTACK_API_URL"];
  if (!url) return `https://${product}.betterstack.com`;
  if (URL.canParse(url) && /^https?:$/.test(new URL(url).protocol)) return url.replace(/(?<!\/)\/+$/, "");
  throw new Error("BETTERSTACK_API_URL is not an http or https address.");
}
