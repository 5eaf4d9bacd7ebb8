import { type ErrorCode, messageOf, SkillflowError } from "../core/errors.ts";
import type { ModelCall } from "../core/ports.ts";
import type { Part } from "../core/prompt.ts";
import { isObject, type Json } from "../core/values.ts";

/** The service that an adapter talks to, and how messages name it. */
export interface Service {
  readonly name: string;
  readonly baseURL: string;
  /** Undefined for a service that asks for none. */
  readonly apiKey: string | undefined;
  /** Where the key comes from: the name of a variable. */
  readonly keyName: string;
  readonly fetch: typeof fetch;
  /** How long it may send nothing. */
  readonly idleMs: number;
}

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
    throw watch.signal.aborted ? watch.signal.reason : (checked.failure() ?? error);
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

/** A call part from arguments as text. No arguments at all mean none are needed. */
export function callPart(id: string, tool: string, text: string): Part {
  if (text.trim() === "") return { type: "call", id, tool, input: {} };
  const input = parseJson(text);
  return input === undefined ? { type: "broken_call", id, tool, text } : { type: "call", id, tool, input };
}

/** A tool's output as text: a string as it is, another value as JSON. */
export function outputText(output: Json): string {
  return typeof output === "string" ? output : JSON.stringify(output);
}

/** Asks in words for what an API cannot be asked for otherwise. */
export function shapeText(schema: Json): string {
  return `Give your final answer as one JSON value that fits this JSON Schema, without any other text:\n\n${JSON.stringify(schema)}`;
}

/** Whether OpenAI's strict mode takes a schema as it is: closed objects whose properties are all required. */
export function isStrictShape(schema: unknown): boolean {
  return isObject(schema) && schema["type"] === "object" && !("anyOf" in schema) && isStrict(schema);
}

const STRICT_KEYS = new Set(
  (
    "type properties required additionalProperties items anyOf enum const $ref $defs title description pattern format " +
    "multipleOf minimum maximum exclusiveMinimum exclusiveMaximum minItems maxItems"
  ).split(" "),
);

function isStrict(schema: unknown): boolean {
  if (!isObject(schema) || !Object.keys(schema).every((key) => STRICT_KEYS.has(key))) return false;
  const { type, properties, required, additionalProperties, items, anyOf, $defs } = schema;
  const names = Object.keys(fieldsOf(properties));
  const isMap = [type].flat().includes("object") || properties !== undefined;
  if (isMap && (additionalProperties !== false || !names.every((name) => [required].flat().includes(name))))
    return false;
  const maps = [properties, $defs].flatMap((map) => Object.values(fieldsOf(map)));
  return [...maps, ...[items, anyOf].flat().filter((inner) => inner !== undefined)].every(isStrict);
}

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
  if (!URL.canParse(service.baseURL)) {
    throw new SkillflowError("config.invalid", `The base URL of ${service.name} is not a URL: ${service.baseURL}`);
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
      controller.abort();
    },
  };
}

function silence(service: Service): SkillflowError {
  return new SkillflowError("model.unreachable", `${service.name} sent nothing for ${service.idleMs / 1000} s`, {
    repeatable: {},
  });
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

function unreachable(service: Service, error: unknown): SkillflowError {
  const { host } = new URL(service.baseURL);
  return new SkillflowError("model.unreachable", `Cannot reach ${service.name} at ${host}: ${reasonOf(error)}`, {
    hint: "Check the network and the service's base URL.",
    cause: error,
    repeatable: {},
  });
}

function reasonOf(error: unknown): string {
  if (error instanceof AggregateError && error.errors.length > 0) return reasonOf(error.errors[0]);
  return error instanceof Error && error.cause !== undefined ? reasonOf(error.cause) : messageOf(error);
}

/** What a service says went wrong, in the words of its API. */
interface Fault {
  /** Absent inside a stream. */
  readonly status?: number;
  readonly headers?: Headers;
  /** Types and codes, as the API names them. */
  readonly kinds: string;
  readonly message: string;
}

async function faultOfResponse(service: Service, response: Response): Promise<Fault> {
  const text = await joined(textsOf(service, response, () => undefined));
  const fault = faultOfBody(parseJson(text)) ?? {
    kinds: "",
    message: text.trimStart().startsWith("<") ? response.statusText : text,
  };
  return { ...fault, status: response.status, headers: response.headers };
}

function faultOfBody(body: unknown): Fault | undefined {
  if (!isObject(body)) return undefined;
  const error = isObject(body["error"]) ? body["error"] : body;
  const details = fieldsOf(error["details"])["error_code"];
  const kinds = [error["type"], error["code"], details].filter((kind) => typeof kind === "string").join(" ");
  const said = error["message"] ?? body["error"] ?? body["detail"] ?? body["message"] ?? body;
  const status = Number(error["code"] ?? error["status"]);
  return {
    kinds,
    message: typeof said === "string" ? said : JSON.stringify(said),
    ...(status >= 400 && status < 600 ? { status } : {}),
  };
}

function failureIn(service: Service, model: string, body: Fields): SkillflowError | undefined {
  const told = body["type"] === "error" || isObject(body["error"]) || stringOf(body["error"]) !== "";
  const fault = told ? faultOfBody(body) : undefined;
  return fault && failureOf(service, model, fault);
}

function failureOf(service: Service, model: string, fault: Fault): SkillflowError {
  const code = codeOf(fault);
  const message = sayFault(service, model, code, fault);
  switch (code) {
    case "model.auth":
      return new SkillflowError(code, message, { hint: `Check ${service.keyName}.` });
    case "model.unknown":
      return new SkillflowError(code, message, {
        hint: "Set another with `model` in the workflow or its node, or with --model; for another server, check the base URL.",
      });
    case "model.overloaded":
      return new SkillflowError(code, message, { repeatable: waitOf(fault.headers) });
    default:
      return new SkillflowError(code, message);
  }
}

const QUOTA = /insufficient_quota|billing|spend_limit|insufficient_balance|insufficient_credits/;
const QUOTA_WORDS = /credit balance is too low|exceeded your current quota|insufficient (quota|balance|credits)/i;
const UNKNOWN_WORDS = /\b(invalid|unknown) model\b|\bmodel\b.{0,120}\b(not found|does not exist)/i;
const BUSY = /rate_limit|overloaded|server_error|api_error|timeout/;
const INVALID = /invalid|not_found|too_large|policy|prompt|image/;

function codeOf({ status = 0, kinds, message }: Fault): ErrorCode {
  if (status === 402 || QUOTA.test(kinds) || QUOTA_WORDS.test(message)) return "model.quota";
  if (status === 404 || /model_not_found/.test(kinds)) return "model.unknown";
  if (status === 400 && UNKNOWN_WORDS.test(message)) return "model.unknown";
  if (status === 401 || status === 403 || /authentication|permission|api_key/.test(kinds)) return "model.auth";
  if ([408, 409, 425, 429].includes(status) || status >= 500 || BUSY.test(kinds)) return "model.overloaded";
  return status === 0 && !INVALID.test(kinds) ? "model.overloaded" : "model.rejected";
}

function sayFault(service: Service, model: string, code: ErrorCode, fault: Fault): string {
  const status = fault.status === undefined ? "" : ` (${fault.status})`;
  const said = withoutKey(service, fault.message).trim().slice(0, 2000);
  const reason = said === "" ? "" : `: ${said}`;
  switch (code) {
    case "model.auth":
      return fault.status === 403 ? `${service.name} refused access${reason}` : `${service.name} refused the API key`;
    case "model.unknown":
      return `${service.name} knows no model "${model}"${reason}`;
    case "model.quota":
      return `The quota or credit at ${service.name} is used up${reason}`;
    case "model.overloaded":
      return `${service.name} cannot answer now${status}${reason}`;
    default:
      return `${service.name} rejected the request${status}${reason}`;
  }
}

function withoutKey(service: Service, text: string): string {
  return service.apiKey === undefined ? text : text.replaceAll(service.apiKey, `[${service.keyName}]`);
}

function waitOf(headers: Headers | undefined): { readonly afterMs?: number } {
  const exact = Number.parseFloat(headers?.get("retry-after-ms") ?? "");
  if (exact >= 0) return { afterMs: exact };
  const text = headers?.get("retry-after") ?? "";
  const seconds = Number(text);
  if (text !== "" && seconds >= 0) return { afterMs: seconds * 1000 };
  const date = Date.parse(text);
  return Number.isNaN(date) ? {} : { afterMs: Math.max(0, date - Date.now()) };
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
    if (!isObject(body)) throw garbled(text.trim() === "" ? "an empty body" : withoutKey(service, text.slice(0, 200)));
    const failure = failureIn(service, model, body);
    if (failure) throw failure;
    return body;
  }
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
    reader?.cancel().catch(() => undefined);
  }
  if (size > MAX_ANSWER_BYTES) {
    throw new SkillflowError("model.garbled", `${service.name} sent more than ${MAX_ANSWER_BYTES} bytes`);
  }
  yield decoder.decode();
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
  if (lines.length > 0) yield lines.map((line) => line.slice(line[5] === " " ? 6 : 5)).join("\n");
}

function parseJson(text: string): Json | undefined {
  try {
    return JSON.parse(text) as Json;
  } catch {
    return undefined;
  }
}
