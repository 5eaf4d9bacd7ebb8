import { deepEqual, isObject, type Json, type JsonObject, parseJson } from "../../base/values.ts";
import { type Moment, momentAt, momentOfEpoch } from "./moments.ts";

/**
 * Removes from a result what happened after a time. A record's time is the earliest of its members that are times as a
 * whole. Times without a zone count as UTC, and times of day need the result's `day`.
 */

/** Time limit, and the UTC day of times of day. */
interface Limit {
  readonly asOf: number;
  readonly day: string | undefined;
}

/** Returns the result without later records and members. Undefined if all of it is later. */
export function cutLater(output: Json, asOf: number): Json | undefined {
  return cut(output, { asOf, day: undefined });
}

/** Removes the later lines of a text, or the later records of a JSON text. */
export function cutLaterText(text: string, asOf: number): string {
  const value = /^\s*[[{]/.test(text) ? parseJson(text) : undefined;
  if (value === undefined) return cutLines(text, { asOf, day: undefined });
  const kept = cutLater(value as Json, asOf);
  return deepEqual(kept, value) ? text : JSON.stringify(kept ?? null);
}

function cut(value: Json, limit: Limit): Json | undefined {
  // A single line is kept: the list or object that contains it decides.
  if (typeof value === "string") return value.includes("\n") ? cutLines(value, limit) : value;
  if (Array.isArray(value)) return cutList(value as readonly Json[], limit, false);
  return isObject(value) ? cutObject(value as JsonObject, limit) : value;
}

/** A row or point is later as a whole: a list that begins with a time, or a list in a list with a later time in any cell. */
function cutList(items: readonly Json[], limit: Limit, isInList: boolean): Json | undefined {
  const [first] = items;
  const rowTime = items.length > 1 && isTimed(first) && !items.slice(1).every(isTimed) ? first : undefined;
  if (rowTime !== undefined && isLater(wholeTime(rowTime, limit), limit)) return undefined;
  const isRow = isInList && items.some((item) => textTime(item, limit) === undefined);
  if (isRow && items.some((item) => isLater(textTime(item, limit), limit))) return undefined;
  return items.flatMap((item): Json[] => {
    if (isLater(textTime(item, limit), limit)) return [];
    const left = Array.isArray(item) ? cutList(item as readonly Json[], limit, true) : cut(item, limit);
    return left === undefined ? [] : [left];
  });
}

function cutObject(object: JsonObject, outer: Limit): Json | undefined {
  const { day } = object;
  const limit = typeof day === "string" && /^\d{4}-\d{2}-\d{2}$/.test(day) ? { ...outer, day } : outer;
  if (isLater(earliestMember(object, limit), limit)) return undefined;
  const members = Object.entries(object);
  const kept = members.flatMap(([name, member]): [string, Json][] => {
    const times = [timeOfMember(name, member, limit), textTime(member, limit), wholeTime(name, limit)];
    if (times.some((time) => isLater(time, limit))) return [];
    const left = cut(member, limit);
    return left === undefined ? [] : [[name, left]];
  });
  return Object.fromEntries(kept);
}

/** A number is a time only under a name for times, because it may be a size. */
const TIME_NAME = /(?:^|[_@.-])(?:ts|time|timestamp|at|date|start|end)$|(?:At|Time|Timestamp|Date)$/;

function timeOfMember(name: string, member: Json, limit: Limit): number | undefined {
  if (typeof member === "string") return wholeTime(member, limit);
  return typeof member === "number" && TIME_NAME.test(name) ? epochTime(member) : undefined;
}

function isTimed(value: Json | undefined): value is string | number {
  if (typeof value === "number") return epochTime(value) !== undefined;
  return typeof value === "string" && wholeTime(value, { asOf: 0, day: "2000-01-01" }) !== undefined;
}

/** Returns the time that a text is as a whole, in milliseconds. */
function wholeTime(value: Json, { day }: Limit): number | undefined {
  if (typeof value === "number") return epochTime(value);
  if (typeof value !== "string" || value.length > MOST_TIME || !/^[\dA-Z]/.test(value)) return undefined;
  const found = momentAt(value, 0);
  if (found) return found.end === value.length ? timeOf(found.moment, day) : undefined;
  return /^\d{10}(?:\d{3})?$/.test(value) ? epochTime(Number(value)) : undefined;
}

const MOST_TIME = 40;
const OPENING = /^[\s[("]*/;

function earliestMember(object: JsonObject, limit: Limit): number | undefined {
  const times = Object.entries(object).flatMap(([name, member]) => timeOfMember(name, member, limit) ?? []);
  // A call of Math.min with each as an argument would run out of stack.
  return times.length === 0 ? undefined : times.reduce((one, other) => Math.min(one, other));
}

/** Returns the time of a text that is one line. */
function textTime(value: Json, limit: Limit): number | undefined {
  return typeof value === "string" && !value.includes("\n") ? lineTime(value, limit) : undefined;
}

/** Returns the time at the beginning of a line: as text, or in its JSON. */
function lineTime(line: string, limit: Limit): number | undefined {
  const value = /^\s*\{/.test(line) ? parseJson(line) : undefined;
  if (isObject(value)) return earliestMember(value as JsonObject, limit);
  const found = momentAt(line, OPENING.exec(line)?.[0].length ?? 0);
  return found && timeOf(found.moment, limit.day);
}

/** Lines without a time, such as those of a stack trace, go with the line before them. */
function cutLines(text: string, limit: Limit): string {
  let isCut = false;
  const kept = text.split("\n").filter((line) => {
    const time = lineTime(line, limit);
    if (time !== undefined) isCut = isLater(time, limit);
    return !isCut;
  });
  return kept.join("\n");
}

function epochTime(value: number): number | undefined {
  const moment = momentOfEpoch(value);
  return moment && timeOf(moment, undefined);
}

/** Returns a moment in milliseconds. Undefined without a date or a time of day. */
function timeOf({ date, seconds, offset = 0 }: Moment, day: string | undefined): number | undefined {
  if (seconds === undefined) return undefined;
  if (date) return date[0] === undefined ? undefined : Date.UTC(date[0], date[1] - 1, date[2]) + ms(seconds, offset);
  return day === undefined ? undefined : Date.parse(day) + ms(seconds, offset);
}

function ms(seconds: number, offset: number): number {
  return Math.round(seconds * 1000) - offset * 60_000;
}

function isLater(time: number | undefined, { asOf }: Limit): boolean {
  return time !== undefined && time > asOf;
}
