import { isObject, type Json, type JsonObject } from "../../base/values.ts";
import { resultText } from "../event/prompt.ts";
import { momentOfEpoch } from "../evidence/moments.ts";
import { numbersInQuote, type Quote, readQuote } from "../evidence/quote.ts";
import { isDivided } from "../evidence/records.ts";
import { findQuotes } from "../evidence/source.ts";

/** Compares what a claim quotes with what the same call returns now. Pure: the same results give the same answer. */

export const ANSWERS = ["held", "not_held", "inconclusive"] as const;
export type RecheckAnswer = (typeof ANSWERS)[number];

/** The part of a recorded result that a quote shows. */
export interface Symptom {
  readonly unit: Unit;
  readonly shape: string;
  /** The quoted number. Undefined if the record itself is the symptom. */
  readonly number?: Leaf & { readonly before: number };
}

export interface Compared {
  readonly answer: RecheckAnswer;
  readonly reason?: string;
  readonly then: Json;
  readonly now: Json;
  /** The quoted series was not 0, and is now 0 or absent, without a sign of traffic. */
  readonly isSilent?: true;
}

/** Finds what each quote shows. Undefined if the result does not contain it, such as in a part that is kept as a blob. */
export function readSymptoms(output: Json, quoted: readonly Quoted[]): (Symptom | undefined)[] {
  const units = unitsOf(output);
  const quotes = quoted.map(({ quote }) => readQuote(quote));
  const shown = unitsShowing(isObject(output), units, quotes);
  return quoted.map((one, at) => {
    const unit = shown[at];
    return unit && symptomIn(units, unit, one);
  });
}

/** Returns the first unit that shows each quote. Reads each unit once, however many quotes there are. */
function unitsShowing(isNamed: boolean, units: readonly Unit[], quotes: readonly Quote[]): (Unit | undefined)[] {
  const shown = new Array<Unit | undefined>(quotes.length);
  for (const unit of units) {
    const open = quotes.flatMap((quote, at) => (shown[at] ? [] : [{ quote, at }]));
    if (open.length === 0) break;
    const texts = isNamed ? [unit.text, `${JSON.stringify(unit.field)}:${unit.text}`] : [unit.text];
    const wanted = open.map(({ quote }) => quote);
    const found = findQuotes(texts, wanted);
    for (const [index, { at }] of open.entries()) if (found[index]?.length) shown[at] = unit;
  }
  return shown;
}

function symptomIn(units: readonly Unit[], unit: Unit, { quote, claim }: Quoted): Symptom | undefined {
  const shape = shapeOf(unit);
  const numbers = typeof unit.value === "string" ? [] : numbersIn(unit.value);
  const quoted = numbersInQuote(quote);
  const candidates = numbers.filter((leaf) => quoted.has(leaf.value));
  if (candidates.length === 0) return { unit, shape };
  const number = chooseNumber(candidates, { quote, claim });
  if (!number) return undefined;
  const before = valueBefore(units, { unit, shape }, number);
  return { unit, shape, number: { ...number, before: before === number.value ? 0 : before } };
}

interface Quoted {
  readonly quote: string;
  /** Text of the claim that quotes it. */
  readonly claim: string;
}

/**
 * Returns the number that a claim is about: the last one that its text names, or that the quote has with its key. Undefined if
 * a row without keys has several others.
 */
function chooseNumber(candidates: readonly Leaf[], { quote, claim }: Quoted): Leaf | undefined {
  const named = [...numbersInQuote(claim)].reverse();
  const value = named.find((each) => candidates.some((leaf) => leaf.value === each));
  const claimed = candidates.filter((leaf) => leaf.value === value);
  const among = claimed.length > 0 ? claimed : candidates;
  const keyed = among.find(({ path }) => !isPlace(path) && quote.includes(path.slice(path.lastIndexOf(".") + 1)));
  const isClear = candidates.length === 1 || candidates.some(({ path }) => !isPlace(path));
  return keyed ?? claimed[0] ?? (isClear ? candidates[0] : undefined);
}

function isPlace(path: string): boolean {
  return /\.\d+$/.test(path);
}

/** Returns the value before the incident: the first of the record's series or of the records of its shape, or else 0. */
function valueBefore(units: readonly Unit[], { unit, shape }: Pick<Symptom, "unit" | "shape">, { path }: Leaf): number {
  const first = isObject(unit.value) ? (unit.value as JsonObject).first : undefined;
  const own = isObject(first) ? (first as JsonObject).value : first;
  if (typeof own === "number") return own;
  const points = numbersIn(unit.value).filter(({ path: other }) => isPoint(other));
  if (points[0]) return points[0].value;
  const earliest = units.find((other) => other !== unit && shapeOf(other) === shape);
  const isEarlier = earliest !== undefined && units.indexOf(earliest) < units.indexOf(unit);
  return (isEarlier && numbersIn(earliest.value).find((leaf) => leaf.path === path)?.value) || 0;
}

function isPoint(path: string): boolean {
  return /\.\*\.1$/.test(path);
}

interface Repeated {
  readonly now: Json;
  /** Result without the selecting fields, if it was asked for. */
  readonly wider: Json | undefined;
  /** Start of the repeated range, in milliseconds. Some tools also return records from before it: they do not count. */
  readonly since: number;
  /** End of the recorded range, if it had one. */
  readonly until?: number | undefined;
}

export function compare(symptom: Symptom, { now, wider, since, until }: Repeated): Compared {
  const { unit, shape, number } = symptom;
  const units = unitsSince(now, since).filter(({ field }) => field === unit.field);
  const alike = units.filter((other) => shapeOf(other) === shape);
  const isBusy = wider !== undefined && hasTraffic(unitsSince(wider, since), unit.field);
  const quiet = isBusy ? undefined : noTraffic(number?.value ?? unit.value, { now, wider, since });
  if (number && alike.length === 0 && isCut(now)) return partOnly(number.value);
  if (number)
    return compareNumber(symptom, number, { alike, quiet: hasTraffic(units, unit.field) ? undefined : quiet });
  const then = unit.value;
  const quoted = momentOfUnit(unit);
  const again = alike.filter((other) => {
    const moment = momentOfUnit(other);
    return moment === undefined || quoted === undefined || moment > quoted;
  });
  const latest = again.findLast((other) => !((momentOfUnit(other) ?? Number.NaN) <= (until ?? Number.NaN)));
  if (latest) return { answer: "not_held", reason: "the quoted record occurs again", then, now: latest.value };
  if (again.length > 0) {
    const reason =
      "it occurs only in the recorded range, which the window overlaps: recheck later, or with a shorter window";
    return { answer: "inconclusive", reason, then, now: again.at(-1)?.value ?? null };
  }
  if (isCut(now)) return partOnly(then);
  return units.length > 0 || !quiet ? { answer: "held", then, now: null } : quiet;
}

/** Checks whether a result says that it lacks something that was found. */
function isCut(output: Json): boolean {
  if (!isObject(output)) return false;
  const { truncated, left_out } = output as JsonObject;
  return truncated === true || (typeof left_out === "number" && left_out > 0);
}

function partOnly(then: Json): Compared {
  const reason = "the repeated call returns only a part of what it found: recheck with a shorter window";
  return { answer: "inconclusive", reason, then, now: null };
}

function unitsSince(output: Json, since: number): Unit[] {
  return unitsOf(output).filter((unit) => (momentOfUnit(unit) ?? since) >= since);
}

function compareNumber(
  { unit }: Symptom,
  { value: then, path, before }: NonNullable<Symptom["number"]>,
  { alike, quiet }: { readonly alike: readonly Unit[]; readonly quiet: Compared | undefined },
): Compared {
  const extremes = extremesBeside(path);
  const values = alike.flatMap(({ value }) => {
    const leaves = numbersIn(value);
    const valuesAt = (isIt: (path: string) => boolean) =>
      leaves.flatMap((leaf) => (isIt(leaf.path) ? [leaf.value] : []));
    return [...valuesAt((at) => extremes.includes(at)), ...valuesAt((at) => at === path || isPoint(at))];
  });
  const isTotal = path === "" && typeof unit.value === "number";
  const nothing = values.length === 0 || (isTotal && values.every((value) => value === 0));
  if (nothing && then !== 0) {
    const now = values[0] ?? null;
    return { ...(quiet ?? { answer: "held", then }), now, isSilent: true };
  }
  const middle = (then + before) / 2;
  const isGone = (value: number) => (then > before ? value < middle : value > middle);
  const worst = values.find((value) => !isGone(value));
  const silent = then !== 0 && values.every((value) => value === 0) ? { isSilent: true as const } : {};
  if (worst === undefined) return { answer: "held", then, now: values.at(-1) ?? null, ...silent };
  const reason = `the value is not beyond ${middle}, the middle between ${then} and ${before}, for the whole window`;
  return { answer: "not_held", reason, then, now: worst };
}

/** Returns where the least and the greatest value of a series are, if a value is of its summary. Its points are means. */
function extremesBeside(path: string): string[] {
  const [, series, end = ""] = /^(.*)\.(?:min|max|avg|mean|first|last)(\.value)?$/.exec(path) ?? [];
  return series === undefined ? [] : ["min", "max"].map((name) => `${series}.${name}${end}`);
}

function noTraffic(then: Json, { now, wider, since }: Repeated): Compared {
  const moments = unitsOf(wider ?? now).flatMap((unit) => momentOfUnit(unit) ?? []);
  const isOld = moments.length > 0 && moments.every((moment) => moment < since);
  const reason = isOld
    ? "all records that it returns now are older than the window"
    : wider === undefined
      ? "the repeated call returns nothing"
      : "there is no traffic: the call without filters is empty";
  return { answer: "inconclusive", reason, then, now: null };
}

/** Reports whether a result has anything but zeros in a field. */
function hasTraffic(units: readonly Unit[], field: string): boolean {
  return units.some((unit) => unit.field === field && unit.value !== 0 && unit.value !== false);
}

/** Returns the conditions under which a repeated call found nothing: its fields that hold what the quotes show. */
export function emptyCondition(step: string, output: Json, symptoms: readonly Symptom[]) {
  const fields = new Set(symptoms.map(({ unit }) => unit.field));
  const total = isObject(output) ? TOTALS.find((name) => typeof (output as JsonObject)[name] === "number") : undefined;
  const path = total ?? [...fields][0] ?? "";
  if (path === "" || !/^[A-Za-z_][\w-]*$/.test(path)) return undefined;
  return { output_matches: [{ path: `again.${step}.${path}`, in: [[], {}, 0, ""] }] };
}

/** Fields in which results count what they found, which are there even if that is nothing. */
const TOTALS = ["matched", "matching", "total", "row_count", "total_count", "series_total"];

/** Joins answers: one that did not hold decides, then one that is inconclusive. None is inconclusive. */
export function joinAnswers(answers: readonly RecheckAnswer[]): RecheckAnswer {
  if (answers.includes("not_held")) return "not_held";
  return answers.length === 0 || answers.includes("inconclusive") ? "inconclusive" : "held";
}

/** Unit of a result that is compared: an element of a list of records, a line, or a single value. */
export interface Unit {
  /** Field of the result that holds it. Empty if the result is not an object. */
  readonly field: string;
  readonly value: Json;
  readonly text: string;
}

const MOST_UNITS = 10_000;

/** Lists the units of a result, in order. Elements of nested lists belong to the outermost one. */
export function unitsOf(output: Json): Unit[] {
  const fields: [string, Json][] = isObject(output) ? Object.entries(output as JsonObject) : [["", output]];
  const units = fields.flatMap(([field, inner]) =>
    [...valuesIn(inner)].map((value) => ({ field, value, text: resultText(value) })),
  );
  return units.slice(0, MOST_UNITS);
}

function* valuesIn(value: Json): Generator<Json> {
  if (typeof value === "string") yield* linesOf(value);
  else if (Array.isArray(value) && isDivided(value as Json[])) for (const item of value as Json[]) yield* partsOf(item);
  else if (Array.isArray(value)) for (const item of value as Json[]) yield* valuesIn(item);
  else if (isObject(value)) for (const member of Object.values(value as JsonObject)) yield* valuesIn(member);
  else if (value !== null) yield value;
}

const TIMES = ["last", "last_seen", "time", "timestamp", "@timestamp", "at", "date", "ts"];
const STARTS_WITH_TIME = /^[\s[("]*(\d{4}-\d\d-\d\d[T ]\d\d:\d\d(?::\d\d(?:[.,]\d{1,9})?)?(?: ?Z|[+-]\d\d:?\d\d)?)/;
const SECONDS_BELOW = 1e11;

/** Returns the time of a record, in milliseconds: the latest of fields that are named like one, or the start of its line. */
export function momentOfUnit({ value, text }: Unit): number | undefined {
  if (typeof value === "string") return instantOf(STARTS_WITH_TIME.exec(text.slice(0, 80))?.[1]);
  if (!isObject(value)) return undefined;
  const times = TIMES.flatMap((name) => instantOf((value as JsonObject)[name]) ?? []);
  return times.length === 0 ? undefined : Math.max(...times);
}

function instantOf(value: Json | undefined): number | undefined {
  if (typeof value === "number" && momentOfEpoch(value)) return value < SECONDS_BELOW ? value * 1000 : value;
  if (typeof value !== "string" || !/^\d{4}-\d\d-\d\d/.test(value)) return undefined;
  const time = Date.parse(/[+-]\d\d:?\d\d$|Z$/.test(value.slice(10)) ? value : `${value.replace(",", ".")}Z`);
  return Number.isNaN(time) ? undefined : time;
}

/** Lists an element of a list of records. Its texts of several lines are records of their own. */
function* partsOf(element: Json): Generator<Json> {
  if (!isObject(element)) return yield element;
  const members = Object.entries(element as JsonObject);
  const isText = ([, member]: [string, Json]) => typeof member === "string" && member.includes("\n");
  for (const [, text] of members.filter(isText)) yield* linesOf(String(text));
  yield Object.fromEntries(members.filter((member) => !isText(member)));
}

function linesOf(text: string): string[] {
  return text.split("\n").filter((line) => line !== "");
}

/**
 * Returns the shape of a unit: its texts with their places, without digits and ids. Numbers do not count, so that a
 * series has the same shape whatever its values are.
 */
export function shapeOf({ field, value }: Unit): string {
  const texts = new Set<string>();
  const visit = (part: Json, path: string): void => {
    if (typeof part === "string") {
      const plain = part.replace(VARYING, "#");
      if (!/^[#TZ:.+\- ]*$/.test(plain)) texts.add(`${path}=${plain}`);
    } else if (Array.isArray(part)) {
      const isRow = path === "" && !isDivided(part as Json[]);
      for (const [index, item] of (part as Json[]).entries()) visit(item, isRow ? `${path}.${index}` : `${path}.*`);
    } else if (isObject(part)) {
      for (const [key, member] of Object.entries(part as JsonObject)) visit(member, `${path}.${key}`);
    }
  };
  visit(value, "");
  return JSON.stringify([field, ...[...texts].sort()]);
}

/** Ids and digits, which differ between two occurrences of the same thing. */
const VARYING = /0x[0-9a-f]+|\b(?=[0-9a-f-]{0,63}\d)[0-9a-f][0-9a-f-]{6,63}\b|\d+(?:\.\d+)?/gi;

/** A number in a unit, and the keys that lead to it. */
export interface Leaf {
  readonly path: string;
  readonly value: number;
}

/** Lists the numbers of a unit that are not times. */
export function numbersIn(value: Json, path = ""): Leaf[] {
  if (typeof value === "number") return momentOfEpoch(value) ? [] : [{ path, value }];
  if (Array.isArray(value)) {
    const isPoint = value.length === 2 && typeof value[1] === "number";
    return (value as Json[]).flatMap((item, index) => {
      if (isPoint && index === 0) return [];
      return numbersIn(item, `${path}.${isDivided(value as Json[]) ? "*" : index}`);
    });
  }
  return isObject(value)
    ? Object.entries(value as JsonObject).flatMap(([key, member]) => numbersIn(member, `${path}.${key}`))
    : [];
}
