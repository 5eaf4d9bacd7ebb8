import { SkillflowError } from "../core/base/errors.ts";
import { defined, isObject, parseJson } from "../core/base/values.ts";
import {
  answerText,
  type Part,
  type Reply,
  resultText,
  type ToolAnswer,
  type Usage,
} from "../core/engine/event/prompt.ts";
import type { ModelCall } from "../core/engine/ports.ts";
import { failureOf, faultOfBody, type Received, type Service, silence, unreachable, withoutKey } from "./faults.ts";

const MAX_ANSWER_BYTES = 64 * 1024 * 1024;

/** Untrusted fields received from a service. */
export type Fields = { readonly [key: string]: unknown };
export interface Line {
  /** Fetch for the SDK. An unsuccessful response ends the exchange with its `model.*` error. */
  readonly fetch: typeof fetch;
  /** Signal for the SDK. Aborts with the call and when the service is silent for too long. */
  readonly signal: AbortSignal;
}

interface Talk {
  readonly send: (line: Line) => Promise<Received>;
  readonly readStream: (answer: Answer, events: Events, call: ModelCall) => Promise<Reply>;
  readonly readWhole: (answer: Answer, body: Fields, call: ModelCall) => Reply;
}

export type Events = AsyncIterable<Fields | typeof DONE>;

export interface Answer {
  readonly garbled: (what: string) => SkillflowError;
  /** Returns the error that a body reports despite a successful status. */
  readonly failureIn: (body: Fields) => SkillflowError | undefined;
}

/** Marker for `data: [DONE]`, which ends some streams. */
export const DONE = Symbol("done");

/** Sends one request and reads the response. Rejects with the signal's reason or a `model.*` error. */
export async function exchange(service: Service, call: ModelCall, talk: Talk): Promise<Reply> {
  call.signal.throwIfAborted();
  checkAddress(service);
  const watch = startWatch(service, call.signal);
  const checked = checkedFetch(service, call.model);
  const replying = async () => {
    const response = await talk.send({ fetch: checked.fetch, signal: watch.signal });
    return readAnswer(service, call, { response, talk, touch: watch.touch });
  };
  try {
    return await Promise.race([watch.stopped, replying()]);
  } catch (error) {
    const reason = watch.signal.aborted
      ? watch.signal.reason
      : (checked.failure() ?? ownError(error) ?? service.unsent?.(service, error) ?? error);
    watch.hangUp(reason);
    throw reason;
  } finally {
    watch.end();
  }
}

/**
 * Sends a request with all optional features. If the service rejects it because of one, retries without that one. No
 * documentation lists which features a model or gateway supports.
 */
export async function concede<Wish extends string, T>(
  wishes: readonly Wish[],
  refusals: Readonly<Record<Wish, RegExp>>,
  ask: (wishes: readonly Wish[]) => Promise<T>,
): Promise<T> {
  try {
    return await ask(wishes);
  } catch (error) {
    if (!(error instanceof SkillflowError) || error.code !== "model.rejected") throw error;
    const refused = wishes.find((wish) => refusals[wish].test(error.message));
    if (refused === undefined) throw error;
    const left = wishes.filter((wish) => wish !== refused);
    return concede(left, refusals, ask);
  }
}

/** Returns the usage that OpenAI's APIs report, under the names of one of them. Null if the service reports none. */
export function usageFrom(usage: Fields, input: "input" | "prompt", output: "output" | "completion"): Usage | null {
  const inputTokens = usage[`${input}_tokens`];
  if (typeof inputTokens !== "number") return null;
  const { cached_tokens, cache_write_tokens } = fieldsOf(usage[`${input}_tokens_details`]);
  return {
    inputTokens,
    cachedTokens: countOf(cached_tokens),
    ...writtenToCache(cache_write_tokens),
    outputTokens: countOf(usage[`${output}_tokens`]),
  };
}

export function writtenToCache(count: unknown): Pick<Usage, "cacheWriteTokens"> {
  return countOf(count) > 0 ? { cacheWriteTokens: countOf(count) } : {};
}

/** Creates a call part from arguments as text. Empty text means no arguments. */
export function callPart(id: string, tool: string, text: string): Part {
  if (text.trim() === "") return { type: "call", id, tool, input: {} };
  const input = parseJson(text);
  return input === undefined ? { type: "broken_call", id, tool, text } : { type: "call", id, tool, input };
}

/** Renders a tool's answer for services that cannot mark failed calls. Objects with an `error` field need no mark. */
export function markedText({ ref, output, failed }: ToolAnswer): string {
  const isTold = !failed || (isObject(output) && "error" in output);
  return answerText({ ...defined("ref", ref), output: isTold ? output : `Error: ${resultText(output)}` });
}

/** Helpers for untrusted values. Each returns an empty value if the type is wrong. */
export function fieldsOf(value: unknown): Fields {
  return isObject(value) ? value : {};
}

export function listOf(value: unknown): readonly Fields[] {
  return Array.isArray(value) ? value.filter(isObject) : [];
}

export function stringOf(value: unknown): string {
  return typeof value === "string" ? value : "";
}

export function countOf(value: unknown): number {
  return typeof value === "number" && Number.isFinite(value) ? value : 0;
}

function checkAddress(service: Service): void {
  if (!/^https?:/i.test(service.baseURL) || !URL.canParse(service.baseURL)) {
    const message = `${service.name} has a base URL that is not an http or https URL: ${service.baseURL}`;
    throw new SkillflowError("config.invalid", message);
  }
  // A header cannot carry such a key, and the resulting error would quote it.
  if (service.apiKey !== undefined && !/^[\x21-\x7e]+$/.test(service.apiKey)) {
    throw new SkillflowError("model.auth", `The API key for ${service.name} is empty or has spaces or line breaks`, {
      hint: `Check ${service.keyName}.`,
    });
  }
}

function startWatch(service: Service, outer: AbortSignal) {
  const controller = new AbortController();
  const { signal } = controller;
  const timer = setTimeout(() => controller.abort(silence(service)), service.idleMs);
  // Node keeps a signal of AbortSignal.any, and with it the response, for as long as it has a listener.
  const relay = () => controller.abort(outer.reason);
  outer.addEventListener("abort", relay, { once: true });
  const stopped = new Promise<never>((_, reject) => {
    signal.addEventListener("abort", () => reject(signal.reason), { once: true });
  });
  return {
    signal,
    stopped,
    touch: () => void timer.refresh(),
    end: () => {
      clearTimeout(timer);
      outer.removeEventListener("abort", relay);
    },
    hangUp: (reason: unknown) => controller.abort(reason),
  };
}

/** Wraps fetch and remembers the first cause of a failure, because the SDKs rename and drop errors. */
function checkedFetch(service: Service, model: string) {
  let failure: SkillflowError | undefined;
  const checked: typeof fetch = async (input, init) => {
    try {
      const response = await service.fetch(input, init);
      if (response.ok) return response as Response; // the SDKs pass it on, and read only its headers
      throw failureOf(service, model, await faultOfResponse(service, response));
    } catch (error) {
      failure = ownError(error) ?? unreachable(service, error);
      throw failure;
    }
  };
  return { fetch: checked, failure: () => failure };
}

function ownError(error: unknown): SkillflowError | undefined {
  if (error instanceof SkillflowError) return error;
  return error instanceof Error && error.cause !== undefined ? ownError(error.cause) : undefined;
}

async function faultOfResponse(service: Service, response: Received) {
  const text = await joined(textsOf(service, response, () => undefined));
  const fault = faultOfBody(parseJson(text)) ?? {
    kinds: "",
    message: text.trimStart().startsWith("<") ? response.statusText : text,
  };
  return { ...fault, status: response.status, headers: response.headers };
}

interface Arrived {
  readonly response: Received;
  readonly talk: Talk;
  readonly touch: () => void;
}

async function readAnswer(service: Service, call: ModelCall, { response, talk, touch }: Arrived): Promise<Reply> {
  touch();
  const garbled = (what: string) =>
    new SkillflowError("model.garbled", `${service.name} sent an invalid response: ${what}`, { repeatable: {} });
  const answer: Answer = { garbled, failureIn: (body) => failureIn(service, call.model, body) };
  const chunks = textsOf(service, response, touch);
  if (response.headers.get("content-type")?.includes("text/event-stream")) {
    return talk.readStream(answer, checkedEvents(dataOf(chunks)), call);
  }
  const text = await joined(chunks);
  if (/^(data|event):/.test(text)) return talk.readStream(answer, checkedEvents(dataOf([text])), call);
  return talk.readWhole(answer, checked(text), call);

  async function* checkedEvents(events: AsyncIterable<string>): Events {
    for await (const data of events) yield data.trim() === "[DONE]" ? DONE : checked(data);
  }

  function checked(text: string): Fields {
    const body = parseJson(text);
    if (!isObject(body)) throw garbled(text.trim() === "" ? "an empty body" : withoutKey(service, text));
    const failure = answer.failureIn(body);
    if (failure) throw failure;
    return body;
  }
}

function failureIn(service: Service, model: string, body: Fields): SkillflowError | undefined {
  const told = body["type"] === "error" || isObject(body["error"]) || stringOf(body["error"]) !== "";
  const fault = told ? faultOfBody(body) : undefined;
  return fault && failureOf(service, model, fault);
}

async function joined(chunks: AsyncIterable<string>): Promise<string> {
  const texts: string[] = [];
  for await (const text of chunks) texts.push(text);
  return texts.join("");
}

async function* textsOf(service: Service, response: Received, touch: () => void): AsyncGenerator<string> {
  const decoder = new TextDecoder();
  const reader = response.body?.getReader();
  let size = 0;
  try {
    for (let chunk = await reader?.read(); chunk && !chunk.done; chunk = await reader?.read()) {
      touch();
      size += chunk.value.byteLength;
      if (size > MAX_ANSWER_BYTES) break;
      yield decoder.decode(chunk.value, { stream: true });
    }
  } catch (error) {
    throw unreachable(service, error);
  } finally {
    if (reader) void readToEnd(reader);
  }
  if (size > MAX_ANSWER_BYTES) {
    throw new SkillflowError("model.garbled", `${service.name} sent more than ${MAX_ANSWER_BYTES} bytes`);
  }
  yield decoder.decode();
}

const LONGEST_END_MS = 1000;
const LONGEST_END_BYTES = 64 * 1024;

/** Drains the rest of the body, because only a fully read body leaves its connection reusable. */
async function readToEnd(reader: Pick<ReadableStreamDefaultReader<Uint8Array>, "read" | "cancel">): Promise<void> {
  const leave = () => reader.cancel().catch(() => undefined);
  const timer = setTimeout(leave, LONGEST_END_MS);
  for (let size = 0; size <= LONGEST_END_BYTES; ) {
    const chunk = await reader.read().catch(() => undefined);
    size += chunk?.value?.byteLength ?? Number.POSITIVE_INFINITY;
  }
  clearTimeout(timer);
  await leave();
}

async function* dataOf(chunks: AsyncIterable<string> | Iterable<string>): AsyncGenerator<string> {
  let pieces: string[] = [];
  // A boundary may be split between chunks. Only the new text is searched, as a block may have many chunks.
  let seam = "";
  for await (const chunk of chunks) {
    pieces.push(chunk);
    const recent = seam + chunk;
    seam = recent.slice(-3);
    if (!BOUNDARY.test(recent)) continue;
    const blocks = pieces.join("").split(BOUNDARY);
    pieces = [blocks.pop() ?? ""];
    for (const block of blocks) yield* dataOfBlock(block);
  }
  yield* dataOfBlock(pieces.join(""));
}

const BOUNDARY = /\r\n\r\n|\n\n|\r\r/;

function* dataOfBlock(block: string): Generator<string> {
  const lines = block.split(/\r\n|\n|\r/).filter((line) => line.startsWith("data:"));
  const data = lines.map((line) => line.slice("data:".length).trimStart()).join("\n");
  if (data !== "") yield data;
}
