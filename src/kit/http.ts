import { AsyncLocalStorage } from "node:async_hooks";
import { hash } from "node:crypto";
import { setTimeout as sleep } from "node:timers/promises";
import { NothingDone, refusalOf } from "../core/base/errors.ts";
import { clip } from "../core/base/preview.ts";
import type { Json, JsonObject, JsonSchema } from "../core/base/values.ts";
import { nothingSent, type Sent, sentBy } from "../core/skill/sent.ts";
import type { ToolContext } from "../core/skill/skill.ts";

/**
 * Helpers for skills that call HTTP services. They retry requests, keep results small, and mark written text so that a
 * repeated call finds its own work.
 */

const ATTEMPTS = 3;
const LONGEST_PAUSE_MS = 30_000;
const FIRST_PAUSE_MS = 500;

export interface Patience {
  readonly signal: AbortSignal;
  /** Returns the delay before a retry, in milliseconds. Undefined if the request must not be repeated. */
  readonly pauseAfter: (failure: unknown, attempt: number) => number | undefined;
}

/**
 * Makes a request up to three times. `pauseAfter` decides whether it may be repeated. Throws the failure if the delay
 * would be longer than 30 seconds. The signal ends a wait.
 */
export async function patiently<Result>(
  { signal, pauseAfter }: Patience,
  request: () => Promise<Result>,
): Promise<Result> {
  for (let attempt = 1; ; attempt++) {
    try {
      return await request();
    } catch (failure) {
      signal.throwIfAborted();
      const pause = pauseAfter(failure, attempt);
      if (pause === undefined || pause > LONGEST_PAUSE_MS || attempt === ATTEMPTS) throw failure;
      await sleep(pause, undefined, { signal });
    }
  }
}

/** Returns a growing delay for services that do not specify one. */
export function untoldPause(attempt: number): number {
  return FIRST_PAUSE_MS * 2 ** (attempt - 1);
}

/** Parses a Retry-After header, in seconds or as a date, to milliseconds. Undefined if it is absent or invalid. */
export function retryAfter(header: string | null | undefined): number | undefined {
  if (header === null || header === undefined) return undefined;
  const told = /^\d+(\.\d+)?$/.test(header) ? Number(header) * 1000 : Date.parse(header) - Date.now();
  return Number.isFinite(told) ? Math.max(0, told) : undefined;
}

/**
 * Requests of one tool call, to know after a failure whether anything may have been written. An error's `acted`, its
 * `status` or the system code in its `cause` shows whether a request was refused.
 */
export interface Requests {
  /** Makes one request. All writes of the call must go through this function. */
  send<Answer>(effect: "read" | "write", request: () => Promise<Answer>): Promise<Answer>;
  /** Returns the error to throw for a failed call: a `NothingDone` if nothing can have been written. */
  failure(error: unknown, message: string): Error;
}

const known = new WeakMap<object, Requests>();
const sending = new AsyncLocalStorage<true>();

/**
 * Returns the requests of the call that a context, or a copy of it, belongs to. A request through `context.fetch`
 * outside of `send` counts as a write, unless it was refused.
 */
export function requestsOf(context: ToolContext): Requests {
  const sent = sentBy(context.fetch);
  const requests = known.get(sent ?? context) ?? followRequests(sent ?? nothingSent());
  known.set(sent ?? context, requests);
  return requests;
}

function followRequests(sent: Sent): Requests {
  const isFollowed = sent.isFollowed;
  sent.isFollowed = () => isFollowed() || sending.getStore() === true;
  return {
    async send(effect, request) {
      sent.isTried = true;
      try {
        const answer = await sending.run(true, request);
        sent.mayHaveActed ||= effect === "write";
        return answer;
      } catch (error) {
        sent.mayHaveActed ||= effect === "write" && refusalOf(error) === undefined;
        throw error;
      }
    },
    failure(error, message) {
      if (sent.mayHaveActed) return new Error(message);
      // A failure before any request comes from the input or the config, and would happen again.
      const isLasting = !sent.isTried || refusalOf(error) === "lasting";
      return new NothingDone(message, { passing: !isLasting });
    },
  };
}

const LARGEST_RESULT = 19_000;
const TEXT_CAPS = [LARGEST_RESULT, 12_000, 6_000, 3_000, 1_500, 700, 300] as const;
const SHORTEST_CAP = 300;

/** Shortens a result for a model to less than 20 KB. Cuts long strings to the same length, and marks each cut. */
export function trim(result: unknown): Json {
  for (const cap of TEXT_CAPS) {
    const value = plain(result, cap);
    if (jsonSize(value) <= LARGEST_RESULT) return value;
  }
  return dropItems(plain(result, SHORTEST_CAP));
}

/**
 * Creates the output schema of a tool that returns an object, such as `id total:number tags:[text] owner:{ name }`. The
 * types are text (if none is given), number, flag, any, lists and objects. `always` names the required members. Other
 * members are allowed, such as the note of `trim` about what it omitted.
 */
export function resultSchema(always: string, members: string): JsonSchema {
  const schema = objectSchema((members.match(/[[\]{}]|[^\s[\]{}]+/g) ?? []).reverse(), undefined);
  return always === "" ? schema : { ...schema, required: always.split(" ") };
}

/** Consumes the words up to the end of an object, from the last one on: `shift` would move all the others each time. */
function objectSchema(words: string[], end: "}" | undefined): JsonSchema {
  const properties: Record<string, JsonSchema> = {};
  for (let word = words.pop(); word !== end; word = words.pop()) {
    const [, name, type = "text"] = /^(\w+)(?::(\w*))?$/.exec(word ?? "") ?? [];
    if (name === undefined) throw new Error(`"${word ?? "the end"}" is not a member of a result.`);
    properties[name] = schemaOf(type || words.pop(), words);
  }
  return { type: "object", properties };
}

function schemaOf(type: string | undefined, words: string[]): JsonSchema {
  if (type === "{") return objectSchema(words, "}");
  if (type === "[") {
    const items = schemaOf(words.pop(), words);
    if (words.pop() !== "]") throw new Error("A list of a result's member has one type, and ends with ].");
    return { type: "array", items };
  }
  const leaf = LEAVES.get(type);
  if (!leaf) throw new Error(`"${type}" is not a type of a result's member.`);
  return leaf;
}

const LEAVES = new Map<string | undefined, JsonSchema>([
  ["text", { type: "string" }],
  ["number", { type: "number" }],
  ["flag", { type: "boolean" }],
  ["any", {}],
]);

/** Returns the size of a value as JSON, in bytes. */
export function jsonSize(value: Json): number {
  return Buffer.byteLength(JSON.stringify(value));
}

/** Returns the first items of a list, and the numbers of all and of omitted ones. */
export function firstOf<Item>(items: readonly Item[], most: number) {
  const { length: matching } = items;
  return { shown: items.slice(0, most), matching, left_out: matching > most ? matching - most : undefined };
}

/** Bytes of items that a result of local files shows. */
export const BYTES_SHOWN = 16 * 1024;

/** Returns the first items whose JSON fits into a number of bytes, but at least one. */
export function fitting<T>(items: readonly T[], bytes: number = BYTES_SHOWN): readonly T[] {
  let used = 0;
  const stop = items.findIndex((item, index) => {
    used += Buffer.byteLength(JSON.stringify(item)) + 1;
    return used > bytes && index > 0;
  });
  return stop < 0 ? items : items.slice(0, stop);
}

const LARGEST_PART = 16_000;
const LONGEST_LINE = 2_000;

/** Returns as many lines of a text file as fit in a result, and the next line to read. */
export function linesFrom(
  text: string,
  range: { readonly start_line?: number | undefined; readonly end_line?: number | undefined },
) {
  const lines = text.replace(/\n$/, "").split("\n");
  const start = range.start_line ?? 1;
  const wanted = lines.slice(start - 1, range.end_line).map((line) => clip(line, LONGEST_LINE));
  let room = LARGEST_PART;
  const fitting = wanted.findIndex((line) => {
    room -= jsonSize(line);
    return room < 0;
  });
  const shown = fitting === -1 ? wanted : wanted.slice(0, fitting);
  return {
    total_lines: lines.length,
    start_line: start,
    content: shown.join("\n"),
    ...(shown.length < wanted.length ? { next_line: start + shown.length } : {}),
  };
}

/** Converts a value to JSON without absent members. Ids above 2^53 arrive as BigInts and become exact strings. */
function plain(value: unknown, cap: number): Json {
  if (typeof value === "string") return clip(value, cap);
  if (typeof value === "bigint") return value.toString();
  if (typeof value === "number" || typeof value === "boolean") return value;
  if (Array.isArray(value)) return value.map((item) => plain(item, cap));
  if (typeof value !== "object" || value === null) return null;
  const members = Object.entries(value).filter(([, member]) => member !== undefined && member !== null);
  return Object.fromEntries(members.map(([key, member]) => [key, plain(member, cap)]));
}

/** Number of rows of a list that a result lost, by result. */
const cuts = new WeakMap<object, Cut>();

interface Cut {
  readonly kept: number;
  readonly of: number;
}

/** Returns how many rows `trim` left of the list that it shortened. Returns undefined if all rows fit. */
export function cutOf(result: unknown): Cut | undefined {
  return typeof result === "object" && result !== null ? cuts.get(result) : undefined;
}

/** Drops items from the end of the largest list, at most half of them at a time, until the result fits. */
function dropItems(value: Json): Json {
  const members: Record<string, Json> = { ...(value as JsonObject) };
  let dropped = 0;
  for (let size = jsonSize(members); size > LARGEST_RESULT; size = jsonSize(members)) {
    const [key, list] = longestList(members);
    if (list.length === 0) return withoutLargest(members);
    const kept = withoutEnd(list, size - LARGEST_RESULT);
    dropped += list.length - kept.length;
    members[key] = kept;
    cuts.set(members, { kept: kept.length, of: kept.length + dropped });
    members["truncated"] = `${dropped} items left out: ask for fewer at a time`;
  }
  return members;
}

/** Drops the largest members if no list is left to shorten, and names them. */
function withoutLargest(members: Readonly<Record<string, Json>>): Json {
  const { truncated: _, ...rest }: Record<string, Json> = { ...members };
  const bySize = Object.keys(rest).sort((a, b) => jsonSize(rest[b] ?? null) - jsonSize(rest[a] ?? null));
  const gone: string[] = [];
  for (const key of bySize) {
    if (jsonSize(rest) <= LARGEST_RESULT) break;
    delete rest[key];
    rest["truncated"] = `left out as too large: ${gone.concat(key).join(", ")}`;
    gone.push(key);
  }
  return rest;
}

function withoutEnd(list: readonly Json[], excess: number): readonly Json[] {
  let end = list.length;
  for (let over = excess; over > 0 && end > Math.floor(list.length / 2); end--) over -= jsonSize(list[end - 1] ?? null);
  return list.slice(0, end);
}

function longestList(members: Readonly<Record<string, Json>>): readonly [string, readonly Json[]] {
  const lists = Object.entries(members).flatMap(([key, value]) =>
    Array.isArray(value) ? [{ key, list: value as readonly Json[], size: jsonSize(value) }] : [],
  );
  const longest = lists.sort((a, b) => b.size - a.size)[0];
  return [longest?.key ?? "", longest?.list ?? []];
}

/**
 * Identifies a call by its id and input, in 24 hex digits, because calls of other runs may have the same id. A planned
 * operation is identified by its id alone, because its wording may differ between runs.
 */
export function callDigest({ callId }: Pick<ToolContext, "callId">, input: unknown): string {
  return digest(isOperation(callId) ? callId : [callId, input], 24);
}

/** Returns a comment that identifies the call that wrote a text. It is invisible in rendered Markdown. */
export function markerOf({ callId }: Pick<ToolContext, "callId">, input: unknown): string {
  const call = encodeURIComponent(callId).replaceAll("-", "%2D").slice(0, 200);
  return `<!-- skillflow:${call}:${digest(isOperation(callId) ? callId : input, 12)} -->`;
}

/** Returns a visible marker for plain text, like `markerOf` for Markdown. */
export function plainMarkerOf(context: Pick<ToolContext, "callId">, input: unknown): string {
  return `(skillflow call ${callDigest(context, input)})`;
}

/** Checks for the id of a planned operation: a digest of what it writes, or of the finding that it reports. */
function isOperation(callId: string): boolean {
  return /^[0-9a-f]{64}(?:~|$)/.test(callId);
}

export function withoutMarkers(text: string): string {
  return text.replace(/(?<!\n)\n*<!-- skillflow:[^\s>]+ -->|(?<!\s)\s*\(skillflow call [0-9a-f]{24}\)/g, "");
}

function digest(value: unknown, length: number): string {
  return hash("sha256", JSON.stringify(value)).slice(0, length);
}
