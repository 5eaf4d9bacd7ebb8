import type * as z from "zod";
import { messageOf, refusalOf, SkillflowError } from "../core/base/errors.ts";
import { clip } from "../core/base/preview.ts";
import { createRedactor } from "../core/base/redact/redact.ts";
import type { Json } from "../core/base/values.ts";
import type { ToolContext } from "../core/skill/skill.ts";
import { patiently, requestsOf, retryAfter, trim, untoldPause } from "./http.ts";
import { endOfStream } from "./job-log.ts";
import { causeCode, reasonOf } from "./reason.ts";

/** HTTP service that a skill calls: its address and its credentials. */
export interface Service {
  /** Display name, such as Prometheus. */
  readonly name: string;
  /** Config field that holds the address. `usual` is the default address. */
  readonly address: string;
  readonly usual?: string;
  /** Path of the API below the address. Paths of requests are relative to it. */
  readonly api?: readonly string[];
  /** Appended to each path, for services whose paths end with a slash. */
  readonly ending?: "/";
  /** Actual address, if the field does not hold it itself. */
  readonly url?: string | ((config: ToolContext["config"]) => string);
  /** Config fields with credentials. Their values are removed from every error. */
  readonly keys: readonly string[];
  /** Permission that requests require unless they name another one. */
  readonly needs?: string;
  /** Advice after a 404, unless a request has its own. Defaults to checking the name and the address. */
  readonly instead?: string;
  /** Returns the milliseconds until a rate limit ends, for services that do not send Retry-After. */
  readonly limitEnds?: (headers: Headers) => number | undefined;
  /**
   * Returns the service's own words for a refusal, or a fault that is not retried. Undefined leaves the default ones.
   */
  readonly advice?: (refusal: Refusal, context: ToolContext) => Promise<Advice> | Advice;
  /** More credentials, loaded from a place that config names. */
  readonly secrets?: readonly string[];
  /** Headers of each request. Read config values with `keyOf`. */
  readonly headers?: (config: ToolContext["config"]) => Readonly<Record<string, string>>;
  /** Provides its own `fetch`, for example to trust a private certificate. */
  readonly fetchWith?: (context: ToolContext) => Promise<typeof fetch>;
}

type Advice = string | ServiceFault | undefined;

/** Refused request, for words of the service's own. */
export interface Refusal {
  readonly status: number;
  /** Status and request, such as `403 for GET /monitors`. */
  readonly what: string;
  /** The service's reason, as a sentence. */
  readonly said: string;
  /** Required permission, if the request names one. */
  readonly needs?: string | undefined;
  readonly text: string;
}

/** One request and the schema of its answer. */
export interface Asking<Answer extends z.ZodType> {
  /** Path below the service's address, by segment. No segment can lead to another path. */
  readonly path: readonly string[];
  readonly query?: Readonly<Record<string, string | number | boolean | readonly string[] | undefined>>;
  /** Sent as JSON, and a string as plain text. */
  readonly body?: unknown;
  /** Defaults to POST with a body, and otherwise to GET. */
  readonly method?: "GET" | "POST" | "PUT" | "DELETE";
  /** Reads are retried if the service fails to answer. A search is a read even if it is a POST. */
  readonly effect?: "read" | "write";
  /** Required permission, in the service's own terms. */
  readonly needs?: string | undefined;
  /** Advice for a service that does not know the request. */
  readonly instead?: string;
  /** Plain-text answer: `true` reads all of it, "end" only the end of a long one. */
  readonly isText?: true | "end";
  /** Replaces the default Accept header. */
  readonly accept?: string;
  /** Receives the headers of the answer, such as a link to the next page. */
  readonly onHeaders?: (headers: Headers) => void;
  readonly answer: Answer;
}

/** Function that sends requests to a service during one tool call. */
export type Ask = <Answer extends z.ZodType>(asking: Asking<Answer>) => Promise<z.infer<Answer>>;

/** Failed request. `status` is undefined if no answer came. */
export class ServiceFault extends Error {
  constructor(
    message: string,
    readonly status?: number,
    /** Returns the milliseconds to wait before a retry. Undefined if the request must not be retried. */
    readonly pause?: (attempt: number) => number,
    cause?: unknown,
  ) {
    super(message, { cause });
  }
}

/**
 * Runs a tool's work on a service and trims its result. Errors state what to change, without secrets. A write that was
 * refused or never sent fails with `NothingDone`, so `work` must write only through `ask`.
 */
export async function withService(
  service: Service,
  context: ToolContext,
  work: (ask: Ask) => Promise<unknown>,
): Promise<Json> {
  try {
    return trim(await work(asker(service, context)));
  } catch (error) {
    context.signal.throwIfAborted();
    if (error instanceof SkillflowError) throw error;
    const told = service.keys.map((name) => ({ name, value: context.config[name]?.trim() ?? "" }));
    const secrets = [...told, ...(service.secrets ?? []).map((value) => ({ name: service.address, value }))];
    // An answer without a checked schema lacked what the work read of it. Failed connections are `ServiceFault`s.
    const isOdd = error instanceof TypeError;
    const words = isOdd ? `${service.name} answered in an unexpected form (${error.message}).` : messageOf(error);
    throw requestsOf(context).failure(error, createRedactor(secrets).text(words));
  }
}

/** Returns a function that runs tools on a service that needs nothing else. */
export function workOn(service: Service) {
  return (context: ToolContext, work: (ask: Ask) => Promise<unknown>) => withService(service, context, work);
}

/** Reads a secret from config. Throws if a header cannot carry it. */
export function keyOf(config: ToolContext["config"], name: string): string | undefined {
  const key = config[name]?.trim();
  if (!key) return undefined;
  if (/^[\x21-\x7e]+$/.test(key)) return key;
  throw new Error(`${name} contains characters that a header cannot carry: copy it again.`);
}

/** Reads a secret without which the service cannot be used. */
export function requiredKey(config: ToolContext["config"], name: string): string {
  const key = keyOf(config, name);
  if (key) return key;
  throw new Error(`${name} is not set: its service cannot be used in this run.`);
}

/** Returns the authorization header: Basic if there is a user name, and otherwise Bearer. */
export function authorization(user: string | undefined, token: string | undefined): Record<string, string> {
  if (!token) return {};
  if (!user?.trim()) return { authorization: `Bearer ${token}` };
  return { authorization: `Basic ${Buffer.from(`${user.trim()}:${token}`).toString("base64")}` };
}

/** Returns the headers of Grafana Labs' databases, from the config fields `<name>_USERNAME`, `_TOKEN` and `_ORG_ID`. */
export function grafanaHeaders(name: string): NonNullable<Service["headers"]> {
  return (config) => {
    const tenant = keyOf(config, `${name}_ORG_ID`);
    return {
      ...authorization(keyOf(config, `${name}_USERNAME`), keyOf(config, `${name}_TOKEN`)),
      ...(tenant ? { "x-scope-orgid": tenant } : {}),
    };
  };
}

type Address = Pick<Service, "name" | "address" | "usual" | "url">;

/** Returns the service's address without trailing slashes. */
export function serviceUrl({ name, address, usual, url }: Address, config: ToolContext["config"]): string {
  const own = typeof url === "function" ? url(config) : url;
  const text = own ?? (config[address]?.trim() || usual);
  if (!text) throw new Error(`${address} is not set: ${name} cannot be used in this run.`);
  if (!URL.canParse(text) || !/^https?:$/.test(new URL(text).protocol))
    throw new Error(`${address} is not an http or https address.`);
  const { username, password, search, hash } = new URL(text);
  if (username || password) throw new Error(`${address} must not contain credentials: they have their own variables.`);
  if (search || hash) throw new Error(`${address} must not contain ? or #.`);
  return text.replace(/(?<!\/)\/+$/, "");
}

/** Larger answers are not read to the end. */
const LARGEST_ANSWER = 10_000_000;
const LONGEST_ANSWER_MS = 30_000;
const UNTOLD_LIMIT_MS = 60_000;

function asker(service: Service, context: ToolContext): Ask {
  return async (asked) => {
    const asking = { needs: service.needs, ...asked, path: [...(service.api ?? []), ...asked.path] };
    const { effect = "read" } = asking;
    const pauseAfter = (failure: unknown, attempt: number) => {
      if (!(failure instanceof ServiceFault) || !failure.pause) return undefined;
      return effect === "read" || failure.status === 429 ? failure.pause(attempt) : undefined;
    };
    const answer = await patiently({ signal: context.signal, pauseAfter }, () => askOnce({ service, asking, context }));
    const parsed = asked.answer.safeParse(answer);
    if (parsed.success) return parsed.data;
    const places = parsed.error.issues.slice(0, 3).map(({ path }) => path.join(".") || "the whole");
    throw new ServiceFault(`${service.name} answered ${lineOf(asking)} in an unexpected form (${places.join(", ")}).`);
  };
}

interface Call {
  readonly service: Service;
  readonly asking: Asking<z.ZodType>;
  readonly context: ToolContext;
}

async function askOnce(call: Call): Promise<unknown> {
  const { service, asking, context } = call;
  const { query = {}, body } = asking;
  const isPlain = typeof body === "string";
  const url = new URL(
    `${serviceUrl(service, context.config)}/${asking.path.map(segment).join("/")}${service.ending ?? ""}`,
  );
  for (const [key, value] of Object.entries(query))
    for (const one of Array.isArray(value) ? value : [value])
      if (one !== undefined) url.searchParams.append(key, String(one));
  const method = methodOf(asking);
  const init: RequestInit = {
    method,
    // Following a redirect would forward or lose the key.
    redirect: "manual",
    headers: {
      accept: asking.isText ? "text/plain, application/json" : "application/json",
      "user-agent": "skillflow",
      ...service.headers?.(context.config),
      ...(asking.accept ? { accept: asking.accept } : {}),
      ...(body === undefined ? {} : { "content-type": isPlain ? "text/plain; charset=utf-8" : "application/json" }),
    },
    ...(body === undefined ? {} : { body: isPlain ? body : JSON.stringify(body) }),
  };
  // A request that is not declared to read may write, unless it is a GET.
  const { effect = method === "GET" ? "read" : "write" } = asking;
  return requestsOf(context).send(effect, async () => {
    const answered = await send(call, url, init);
    const { status, headers, text } = answered;
    if (status < 200 || status > 299) throw await refusal(call, answered);
    asking.onHeaders?.(headers);
    // A web page, such as a proxy's, does not confirm a write.
    const isPage = effect === "write" && text.trimStart().startsWith("<");
    return asking.isText && !isPage ? text : parse(service, asking, text);
  });
}

interface Answered {
  readonly status: number;
  readonly headers: Headers;
  readonly text: string;
}

/** Sends a request and reads the whole answer, within the limits of time and size. */
async function send({ service, asking, context }: Call, url: URL, init: RequestInit): Promise<Answered> {
  const ending = new AbortController();
  const timer = setTimeout(() => ending.abort(), LONGEST_ANSWER_MS);
  try {
    const fetching = (await service.fetchWith?.(context)) ?? context.fetch;
    const response = await fetching(url, { ...init, signal: AbortSignal.any([context.signal, ending.signal]) });
    const text = await (asking.isText === "end" && response.ok
      ? endOfStream(response.body ?? new Blob([]).stream(), context.signal)
      : boundedText(response));
    if (text === undefined)
      throw new ServiceFault(
        `${service.name}'s answer to ${lineOf(asking)} is larger than ${LARGEST_ANSWER / 1e6} MB and was not read: ask for less at a time.`,
      );
    return { status: response.status, headers: response.headers, text };
  } catch (error) {
    context.signal.throwIfAborted();
    if (error instanceof ServiceFault || error instanceof SkillflowError) throw error;
    if (ending.signal.aborted) throw new ServiceFault(tooSlow(service, asking));
    // Other errors come from this process, and would be the same again.
    const pause = error instanceof TypeError ? untoldPause : undefined;
    throw new ServiceFault(silence(service, asking, error), undefined, pause, error);
  } finally {
    clearTimeout(timer);
  }
}

/** Returns undefined, and stops reading, if the answer is too large. */
async function boundedText(response: Response): Promise<string | undefined> {
  const chunks: Uint8Array[] = [];
  let size = 0;
  for await (const chunk of response.body ?? []) {
    size += chunk.length;
    if (size > LARGEST_ANSWER) return undefined;
    chunks.push(chunk);
  }
  return Buffer.concat(chunks).toString("utf8");
}

/** Encodes a path segment. Rejects `..`, which encoding leaves as it is and URL parsers resolve. */
function segment(text: string): string {
  if (text === "" || text === "." || text === "..") throw new Error(`"${text}" is not a name.`);
  return encodeURIComponent(text);
}

function methodOf({ method, body }: Asking<z.ZodType>): string {
  return method ?? (body === undefined ? "GET" : "POST");
}

function lineOf(asking: Asking<z.ZodType>): string {
  return clip(`${methodOf(asking)} /${asking.path.join("/")}`, 200);
}

function parse({ name, address }: Service, asking: Asking<z.ZodType>, text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    const start = text.trimStart();
    const line = lineOf(asking);
    if (start.startsWith("<"))
      throw new ServiceFault(
        `${name} answered ${line} with a web page instead of JSON: check ${address}, and any login page in front of it.`,
      );
    if (/^[[{]/.test(start))
      throw new ServiceFault(
        `${name}'s answer to ${line} ended in the middle of its JSON. Try again, or ask for less.`,
      );
    throw new ServiceFault(`${name} answered ${line} with something that is not JSON: check ${address}.`);
  }
}

async function refusal({ service, asking, context }: Call, { status, headers, text }: Answered) {
  const told = retryAfter(headers.get("retry-after"));
  if (status === 429) {
    const pause = told ?? service.limitEnds?.(headers) ?? UNTOLD_LIMIT_MS;
    return new ServiceFault(limitAdvice(service.name, pause), status, () => pause);
  }
  const refused = { status, what: `${status} for ${lineOf(asking)}`, said: reasonOf(text), needs: asking.needs, text };
  const own = await service.advice?.(refused, context);
  if (own instanceof ServiceFault) return own;
  const message = own ?? advice({ service, asking, context }, refused, headers);
  if (status < 500) return new ServiceFault(message, status);
  return new ServiceFault(message, status, (attempt) => told ?? untoldPause(attempt));
}

function advice({ service, asking, context }: Call, refused: Refusal, headers: Headers): string {
  const { name, address } = service;
  const { status, what, said } = refused;
  if (status === 401) return `${name} refused authentication (${what}): ${said} ${keyAdvice(service, context.config)}`;
  if (status === 403)
    return `${name} does not allow this (${what}): ${said}${asking.needs ? ` It requires ${asking.needs}.` : ""}`;
  if (status === 404 || status === 405)
    return `Not found in ${name} (${what}): ${said} ${asking.instead ?? service.instead ?? `Check the name, and ${address}.`}`;
  if (status >= 500) return `${name} failed (${what}): ${said}${outcome(asking)}`;
  if (status >= 300 && status < 400)
    return redirectAdvice(`${name} redirects this (${what})`, service, context, headers);
  return `${name} found the request invalid (${what}): ${said}`;
}

function keyAdvice({ keys, address }: Service, config: ToolContext["config"]): string {
  const set = keys.filter((key) => config[key]?.trim());
  if (set.length === 0) return `${keys.join(" and ")} ${keys.length > 1 ? "are" : "is"} not set.`;
  return `${set.join(" or ")} is wrong, expired or revoked, or not for the server at ${address}.`;
}

/** Explains a rate limit that ends after a number of milliseconds. */
export function limitAdvice(name: string, pause: number): string {
  const until = new Date(Date.now() + pause).toISOString();
  return `${name}'s rate limit is used up until ${until}. Nothing was done: continue without it, or try again after that.`;
}

function outcome({ effect = "read" }: Asking<z.ZodType>): string {
  return effect === "read" ? " Try again later." : " Whether it took effect is unclear: look before doing it again.";
}

function tooSlow({ name }: Service, asking: Asking<z.ZodType>): string {
  const words = `${name} did not answer ${lineOf(asking)} in ${LONGEST_ANSWER_MS / 1000} seconds: ask for less, such as a shorter period.`;
  return asking.effect === "write" ? words + outcome(asking) : words;
}

function silence({ name, address }: Service, asking: Asking<z.ZodType>, error: unknown): string {
  const words = `${name} did not answer ${lineOf(asking)}: ${messageOf(error)}${causeCode(error)}. Check ${address}.`;
  if (asking.effect !== "write") return words;
  return words + (refusalOf(error) ? " Nothing was sent." : outcome(asking));
}

function redirectAdvice(words: string, service: Service, { config }: ToolContext, headers: Headers): string {
  const { href, origin } = new URL(serviceUrl(service, config));
  const location = headers.get("location") ?? "";
  const to = URL.canParse(location, href) ? new URL(location, href).origin : origin;
  if (to === origin) return `${words} to another path: what the path names was renamed or moved, or requires a login.`;
  return `${words} to ${to}: set ${service.address} to the final address.`;
}
