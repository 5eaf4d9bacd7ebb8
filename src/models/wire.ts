import { SkillflowError } from "../core/base/errors.ts";
import { defined, isObject, parseJson } from "../core/base/values.ts";
import { answerText, type Part, resultText, type ToolAnswer, type Usage } from "../core/engine/event/prompt.ts";
import type { ModelCall } from "../core/engine/ports.ts";
import { type Fault, failureOf, faultOfBody, type Service, silence, unreachable, withoutKey } from "./faults.ts";

export const DEFAULT_IDLE_MS = 120_000;

/** An SDK's own limit on waiting, out of the way: `idleMs` decides. */
export const NO_SDK_TIMEOUT = 2_147_483_647;

const MAX_ANSWER_BYTES = 64 * 1024 * 1024;

/** Fields of something that came over the wire: nothing is known about them. */
export type Fields = { readonly [key: string]: unknown };

/** What an adapter works with during one exchange. */
export interface Line {
  /** For the SDK: an answer that is no success ends the exchange with its `model.*` error. */
  readonly fetch: typeof fetch;
  /** For the SDK: aborted with the call, and when the service stays silent. */
  readonly signal: AbortSignal;
  /** The answer as it is, whether a stream or a whole was asked for. */
  open(response: Response): Promise<Answer>;
}

export type Answer = (
  | { readonly kind: "stream"; readonly events: AsyncIterable<Fields | typeof DONE> }
  | { readonly kind: "whole"; readonly body: Fields }
) & {
  readonly garbled: (what: string) => SkillflowError;
  /** The error that a body reports although the answer began as a success. */
  readonly failureIn: (body: Fields) => SkillflowError | undefined;
};

/** `data: [DONE]`, the end of some streams. */
export const DONE = Symbol("done");

/** One request and its answer. Rejects with the signal's reason, or with a `model.*` error. */
export async function exchange<T>(service: Service, call: ModelCall, talk: (line: Line) => Promise<T>): Promise<T> {
  call.signal.throwIfAborted();
  checkAddress(service);
  const watch = startWatch(service, call.signal);
  const checked = checkedFetch(service, call.model);
  const open = (response: Response) => openAnswer(service, call.model, response, watch.touch);
  try {
    return await Promise.race([watch.stopped, talk({ fetch: checked.fetch, signal: watch.signal, open })]);
  } catch (error) {
    const reason = watch.signal.aborted ? watch.signal.reason : (checked.failure() ?? error);
    watch.hangUp(reason);
    throw reason;
  } finally {
    watch.end();
  }
}

/**
 * Asks with every wish. Where the service refuses the request over one of them, asks again without it: what a model or
 * a gateway takes is not written down anywhere we could read.
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
    return concede(
      wishes.filter((wish) => wish !== refused),
      refusals,
      ask,
    );
  }
}

/** The part of a usage that says what went into the provider's cache, where anything did. */
export function writtenToCache(count: unknown): Pick<Usage, "cacheWriteTokens"> {
  return countOf(count) > 0 ? { cacheWriteTokens: countOf(count) } : {};
}

/** A call part from arguments as text. No arguments at all mean none are needed. */
export function callPart(id: string, tool: string, text: string): Part {
  if (text.trim() === "") return { type: "call", id, tool, input: {} };
  const input = parseJson(text);
  return input === undefined ? { type: "broken_call", id, tool, text } : { type: "call", id, tool, input };
}

/** A tool's answer for services without a mark for failed calls: an object that tells its error speaks for itself. */
export function markedText({ ref, output, failed }: ToolAnswer): string {
  const isTold = !failed || (isObject(output) && "error" in output);
  return answerText({ ...defined("ref", ref), output: isTold ? output : `Error: ${resultText(output)}` });
}

/** Reading what came over the wire: the value where it is of that kind, else an empty one. */
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
    throw new SkillflowError(
      "config.invalid",
      `${service.name} has a base URL that is not an http or https URL: ${service.baseURL}`,
    );
  }
  // A header cannot carry it, and the error that says so would quote it.
  if (service.apiKey !== undefined && !/^[\x21-\x7e]+$/.test(service.apiKey)) {
    throw new SkillflowError("model.auth", `The API key for ${service.name} is empty or holds blanks or line breaks`, {
      hint: `Check ${service.keyName}.`,
    });
  }
}

function startWatch(service: Service, outer: AbortSignal) {
  const controller = new AbortController();
  const { signal } = controller;
  const timer = setTimeout(() => controller.abort(silence(service)), service.idleMs);
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

/** The SDKs rename and drop errors on their way, so what went wrong is kept here. */
function checkedFetch(service: Service, model: string) {
  let failure: SkillflowError | undefined;
  const checked: typeof fetch = async (input, init) => {
    try {
      const response = await service.fetch(input, init);
      if (response.ok) return response;
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

async function faultOfResponse(service: Service, response: Response): Promise<Fault> {
  const text = await joined(textsOf(service, response, () => undefined));
  const fault = faultOfBody(parseJson(text)) ?? {
    kinds: "",
    message: text.trimStart().startsWith("<") ? response.statusText : text,
  };
  return { ...fault, status: response.status, headers: response.headers };
}

async function openAnswer(service: Service, model: string, response: Response, touch: () => void): Promise<Answer> {
  touch();
  const garbled = (what: string) =>
    new SkillflowError("model.garbled", `${service.name} sent what is no answer of its API: ${what}`, {
      repeatable: {},
    });
  const told = { garbled, failureIn: (body: Fields) => failureIn(service, model, body) };
  const chunks = textsOf(service, response, touch);
  if (response.headers.get("content-type")?.includes("text/event-stream")) {
    return { kind: "stream", events: checkedEvents(dataOf(chunks)), ...told };
  }
  const text = await joined(chunks);
  if (/^(data|event):/.test(text)) return { kind: "stream", events: checkedEvents(dataOf([text])), ...told };
  return { kind: "whole", body: checked(text), ...told };

  async function* checkedEvents(events: AsyncIterable<string>): AsyncGenerator<Fields | typeof DONE> {
    for await (const data of events) yield data.trim() === "[DONE]" ? DONE : checked(data);
  }

  function checked(text: string): Fields {
    const body = parseJson(text);
    if (!isObject(body)) throw garbled(text.trim() === "" ? "an empty body" : withoutKey(service, text));
    const failure = failureIn(service, model, body);
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

async function* textsOf(service: Service, response: Response, touch: () => void): AsyncGenerator<string> {
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

/** What follows the answer's last event: only a body that was read to its end leaves its connection to the next request. */
async function readToEnd(reader: ReadableStreamDefaultReader<Uint8Array>): Promise<void> {
  const leave = () => reader.cancel().catch(() => undefined);
  const timer = setTimeout(leave, LONGEST_END_MS);
  for (let size = 0; size <= LONGEST_END_BYTES; ) {
    const chunk = await reader.read().catch(() => undefined);
    size += chunk?.value?.byteLength ?? Number.POSITIVE_INFINITY;
  }
  clearTimeout(timer);
  await leave();
}

/** The `data` of server-sent events. */
async function* dataOf(chunks: AsyncIterable<string> | Iterable<string>): AsyncGenerator<string> {
  let rest = "";
  for await (const chunk of chunks) {
    rest += chunk;
    if (!/[\r\n]/.test(chunk)) continue;
    const blocks = rest.split(/\r\n\r\n|\n\n|\r\r/);
    rest = blocks.pop() ?? "";
    for (const block of blocks) yield* dataOfBlock(block);
  }
  yield* dataOfBlock(rest);
}

function* dataOfBlock(block: string): Generator<string> {
  const lines = block.split(/\r\n|\n|\r/).filter((line) => line.startsWith("data:"));
  const data = lines.map((line) => line.slice("data:".length).trimStart()).join("\n");
  if (data !== "") yield data;
}
