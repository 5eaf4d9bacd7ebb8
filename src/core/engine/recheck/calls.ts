import { isObject, type Json, type JsonObject, mapStrings } from "../../base/values.ts";
import type { ToolReach } from "../../skill/skill.ts";

/** Calls with other time ranges: repeats of recorded calls, moved to now, and those that end at a run's clock. */

type Facts = Pick<ToolReach, "clock" | "range" | "selects">;

const LEAST_WINDOW_MS = 30 * 60_000;

interface Moving {
  /** Time of the repeat, in milliseconds. */
  readonly now: number;
  /** Time of the recorded call. */
  readonly then: number;
  /** Length of the range, in milliseconds. Default: that of the recorded range, at least 30 minutes. */
  readonly window: number | undefined;
}

/** Moves the time range of a call to end now. Returns undefined if the call has no time range. */
export function moveInput(input: Json, facts: Facts | undefined, { now, then, window }: Moving) {
  const { from, to } = (facts?.clock === "range" && facts.range) || {};
  if (!isObject(input)) return undefined;
  const fields = input as JsonObject;
  const given = { from: valueAt(fields, from), to: valueAt(fields, to) };
  if (given.from === undefined && given.to === undefined) return undefined;
  const start = momentOf(given.from, then);
  const end = momentOf(given.to, then) ?? then;
  if (given.from !== undefined && start === undefined) return undefined;
  const recorded = start === undefined ? 0 : end - start;
  // A range without an end reaches up to the recorded call. Moved as it is, it could reach back into the incident.
  const most = given.to === undefined ? now - then : recorded;
  const length = window ?? Math.max(LEAST_WINDOW_MS, Math.min(recorded, most));
  const since = now - length;
  const moved = {
    ...fields,
    ...(from === undefined ? {} : { [from]: writeLike(given.from ?? given.to, since) }),
    ...(to === undefined ? {} : { [to]: writeLike(given.to ?? given.from, now) }),
  };
  return {
    input: moved,
    /** Start of the range, in milliseconds. */
    since,
    /** End of the recorded range, if it had one. */
    until: given.to === undefined ? undefined : end,
  };
}

/** Ends the range of a call at a time, instead of later or where a call with a start leaves its end open. */
export function endInput(input: Json, { clock, range }: Facts, end: number): Json {
  const { from, to } = (clock === "range" && range) || {};
  if (!isObject(input) || to === undefined) return input;
  const fields = input as JsonObject;
  const [start, given] = [valueAt(fields, from), valueAt(fields, to)];
  // A day would end a range too early or too late.
  const isOpen = given === undefined && start !== undefined && !DAY.test(String(start));
  const isLater = (momentOf(given, end) ?? end) > end;
  return isOpen || isLater ? { ...fields, [to]: writeLike(given ?? start, end) } : input;
}

function valueAt(fields: JsonObject, name: string | undefined): Json | undefined {
  const value = name === undefined ? undefined : fields[name];
  return value === null ? undefined : value;
}

const UNITS: Readonly<Record<string, number>> = { s: 1e3, m: 6e4, h: 3.6e6, d: 8.64e7, w: 6.048e8 };
const SECONDS_BELOW = 1e11;
const DAY = /^\d{4}-\d\d-\d\d$/;

/** Reads a time: ISO 8601, UTC unless it has a zone, an epoch, or `now-15m`. Returns milliseconds. */
function momentOf(value: Json | undefined, now: number): number | undefined {
  const epoch = typeof value === "string" && !/^\d+(?:\.\d+)?$/.test(value) ? Number.NaN : Number(value ?? Number.NaN);
  if (!Number.isNaN(epoch)) return epoch < SECONDS_BELOW ? epoch * 1000 : epoch;
  if (typeof value !== "string") return undefined;
  const relative = /^now(?:-(\d{1,6})([smhdw]))?$/.exec(value);
  if (relative) return now - Number(relative[1] ?? 0) * (UNITS[relative[2] ?? ""] ?? 0);
  const zoned = /[T ]/.test(value) && !/(?:Z|[+-]\d\d:?\d\d)$/i.test(value) ? `${value}Z` : value;
  const time = Date.parse(zoned);
  return Number.isNaN(time) ? undefined : time;
}

/** Writes a time in the form of another one. */
function writeLike(like: Json | undefined, time: number): Json {
  const isMilliseconds = Number(like) >= SECONDS_BELOW;
  const epoch = isMilliseconds ? Math.round(time) : Math.round(time / 1000);
  if (typeof like === "number") return epoch;
  if (typeof like === "string" && /^\d+(?:\.\d+)?$/.test(like)) return String(epoch);
  const iso = new Date(time).toISOString();
  return typeof like === "string" && DAY.test(like) ? iso.slice(0, 10) : iso.replace(/\.\d{3}Z$/, "Z");
}

/** Returns the input without the optional fields that narrow the result. Undefined if there are none. */
export function widenInput(input: Json, facts: Facts | undefined, schema: Json): Json | undefined {
  const required = isObject(schema) ? (schema as JsonObject).required : undefined;
  const needed = new Set(Array.isArray(required) ? required : []);
  const dropped = new Set((facts?.selects ?? []).filter((name) => !needed.has(name)));
  const entries = Object.entries((isObject(input) ? input : {}) as JsonObject);
  const kept = entries.filter(([name]) => !dropped.has(name));
  return kept.length === entries.length ? undefined : Object.fromEntries(kept);
}

/** Escapes the templates of a step, so that recorded text is passed on as it is. */
export function literal(value: Json): Json {
  return mapStrings(value, (text) => text.replaceAll("{{", "{{{{"));
}
