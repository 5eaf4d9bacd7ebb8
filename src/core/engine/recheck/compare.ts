import { sha256 } from "../../base/sha256.ts";
import { isObject, type Json, type JsonObject } from "../../base/values.ts";
import { numbersInQuote, type Quote, readQuote } from "../evidence/quote.ts";
import { findQuotes } from "../evidence/source.ts";
import { likenessTo, nameOf, shapeOf } from "./likeness.ts";
import { type Leaf, MOST_UNITS, momentOfUnit, numbersIn, type Unit, unitsOf } from "./units.ts";

/** Compares what a claim quotes with what the same call returns now. Pure: the same results give the same answer. */

export const ANSWERS = ["held", "not_held", "inconclusive"] as const;
type RecheckAnswer = (typeof ANSWERS)[number];

/** The part of a recorded result that a quote shows. */
interface Symptom {
  readonly quote: string;
  readonly unit: Unit;
  /** The quoted number, and the names of all series of the recorded result. Undefined if the record itself is the symptom. */
  readonly number?: Leaf & { readonly before: number; readonly known?: string[] | undefined };
}

export interface Compared {
  readonly answer: RecheckAnswer;
  readonly reason?: string;
  readonly then: Json;
  readonly now: Json;
  /** The quoted series was not 0, and is now 0 or absent. */
  readonly isSilent?: true;
}

/** Finds what quotes show. Leaves out those that the result does not contain, such as in a part that is kept as a blob. */
export function readSymptoms(output: Json, quoted: readonly Quoted[]): Symptom[] {
  const units = unitsOf(output);
  const quotes = quoted.map(({ quote }) => readQuote(quote));
  const shown = unitsShowing(isObject(output), units, quotes);
  return quoted.flatMap((one, at) => {
    const unit = shown[at];
    return (unit && symptomIn(units, unit, one)) ?? [];
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
  const numbers = typeof unit.value === "string" ? [] : numbersIn(unit.value);
  const quoted = numbersInQuote(quote);
  const candidates = numbers.filter((leaf) => quoted.has(leaf.value));
  if (candidates.length === 0) return { quote, unit };
  const number = chooseNumber(candidates, { quote, claim, isRow: unit.isRow === true });
  if (!number) return undefined;
  const before = valueBefore(units, unit, number);
  const series = units.filter((other) => other.field === unit.field && readingsOf(other, number.path).length > 0);
  const known = series.length > MOST_KNOWN ? [] : [...new Set(series.map((other) => keyOf(nameOf(other).exact)))];
  return { quote, unit, number: { ...number, before: before === number.value ? 0 : before, known } };
}

/** Series whose names are kept for the comparison. If there are more, all that are found later count as new. */
const MOST_KNOWN = 2000;

function keyOf(name: string): string {
  return sha256(name).slice(0, 12);
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
function chooseNumber(
  candidates: readonly Leaf[],
  { quote, claim, isRow }: Quoted & { readonly isRow: boolean },
): Leaf | undefined {
  const isKeyed = ({ path }: Leaf) => !isRow && !/\.\d+$/.test(path);
  const named = [...numbersInQuote(claim)].reverse();
  const value = named.find((each) => candidates.some((leaf) => leaf.value === each));
  const equal = candidates.filter((leaf) => leaf.value === value);
  const summarized = equal.filter(({ path }) => extremesBeside(path).length > 0);
  const claimed = summarized.length > 0 ? summarized : equal;
  const among = claimed.length > 0 ? claimed : candidates;
  const keyed = among.find((leaf) => isKeyed(leaf) && quote.includes(leaf.path.slice(leaf.path.lastIndexOf(".") + 1)));
  const isClear = candidates.length === 1 || candidates.some(isKeyed);
  return keyed ?? claimed[0] ?? (isClear ? candidates[0] : undefined);
}

/** Returns the value before the incident: the first of the series, or of its earlier records, or else 0. */
function valueBefore(units: readonly Unit[], unit: Unit, { path }: Leaf): number {
  const first = isObject(unit.value) ? (unit.value as JsonObject).first : undefined;
  const own = isObject(first) ? (first as JsonObject).value : first;
  if (typeof own === "number" && (isPoint(path) || extremesBeside(path).length > 0)) return own;
  const points = numbersIn(unit.value).filter(({ path: other }) => isPoint(other));
  if (points[0]) return points[0].value;
  const name = nameOf(unit).exact;
  const earliest = units.slice(0, units.indexOf(unit)).find((other) => nameOf(other).exact === name);
  return (earliest && numbersIn(earliest.value).find((leaf) => leaf.path === path)?.value) || 0;
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

export function compare(symptom: Symptom, repeated: Repeated): Compared {
  const { unit, number } = symptom;
  const { since } = repeated;
  const isCompared = (one: Unit) => one.field === unit.field && (momentOfUnit(one) ?? since) >= since;
  const inField = (output: Json) => unitsOf(output).filter(isCompared);
  const found = {
    units: inField(repeated.now),
    wider: inField(repeated.wider ?? null),
    isPart: isPart(repeated.now, unit.field),
  };
  const compared = number ? compareNumber(unit, number, found) : compareRecord(symptom, found, repeated.until);
  if (compared === "quiet") return noTraffic(number?.value ?? unit.value, repeated);
  // A record with a time is an event: its number, such as a duration, may differ each time.
  const isEvent = number && compared.answer === "held" && momentOfUnit(unit) !== undefined;
  const again = isEvent ? found.units.findLast(sameAs(symptom)) : undefined;
  if (!again) return compared;
  const reason = "the quoted record occurs again with another number";
  return { ...compared, answer: "inconclusive", reason, now: again.value };
}

/** Returns a function that finds records with the quote or of the shape of a symptom. */
function sameAs({ unit, quote }: Symptom): (other: Unit) => boolean {
  const [shape, likeness] = [shapeOf(unit), likenessTo(quote)];
  return (other) => shapeOf(other) === shape || likeness(other) === "again";
}

interface Found {
  readonly units: readonly Unit[];
  /** Units of the call without its selecting fields. */
  readonly wider: readonly Unit[];
  /** The result says that it lacks something that was found. */
  readonly isPart: boolean;
}

function isPart(output: Json, field: string): boolean {
  if (unitsOf(output).length === MOST_UNITS) return true;
  const { truncated, left_out } = (isObject(output) ? output : {}) as JsonObject;
  const count = isObject(left_out) ? (left_out as JsonObject)[field] : left_out;
  return truncated === true || (typeof count === "number" && count > 0);
}

const PART_ONLY = "the repeated call returns only a part of what it found: recheck with a shorter window";
const OVERLAP =
  "it occurs only in the recorded range, which the window overlaps: recheck later, or with a shorter window";

const CHANGES_ONLY = "the series is not among those that changed, which is all that the call lists";

const NEW_ONLY = "the series is gone, and a new one with a similar name may be another one";

/** Reports whether a unit is a series in a list of those that changed, with its steps. Tables list all series. */
function isChange({ value, isRow }: Unit): boolean {
  const steps = isObject(value) && !isRow ? (value as JsonObject).steps : undefined;
  return Array.isArray(steps) && steps.length > 0;
}

function compareRecord(symptom: Symptom, found: Found, until: number | undefined): Compared | "quiet" {
  const { unit, quote } = symptom;
  const then = unit.value;
  const unknown = (reason: string, now: Json): Compared => ({ answer: "inconclusive", reason, then, now });
  const [isAgain, likeness, name] = [sameAs(symptom), likenessTo(quote), nameOf(unit).exact];
  const isNear = (other: Unit) => isAgain(other) || likeness(other) === "near" || nameOf(other).exact === name;
  const end = Math.max(until ?? Number.NEGATIVE_INFINITY, momentOfUnit(unit) ?? Number.NEGATIVE_INFINITY);
  const again = found.units.filter(isAgain);
  const latest = again.findLast((other) => (momentOfUnit(other) ?? Number.POSITIVE_INFINITY) > end);
  if (latest) return { answer: "not_held", reason: "the quoted record occurs again", then, now: latest.value };
  if (again.length > 0) return unknown(OVERLAP, again.at(-1)?.value ?? null);
  if (found.isPart) return unknown(PART_ONLY, null);
  const near = [...found.units, ...found.wider].findLast(isNear);
  if (near) return unknown("a similar record occurs, which may show the same symptom", near.value);
  return hasTraffic([...found.units, ...found.wider]) ? { answer: "held", then, now: null } : "quiet";
}

/** Lists the numbers of a unit that are compared with the one at a path. */
function readingsOf({ value }: Unit, path: string): number[] {
  const extremes = extremesBeside(path);
  const isOne = (at: string) => at === path || isPoint(at);
  const leaves = numbersIn(value);
  const shown = [
    ...leaves.filter((leaf) => extremes.includes(leaf.path)),
    ...leaves.filter((leaf) => isOne(leaf.path)),
  ];
  return shown.map((leaf) => leaf.value);
}

function compareNumber(
  unit: Unit,
  { value: then, path, before, known = [] }: NonNullable<Symptom["number"]>,
  { units, wider, isPart }: Found,
): Compared | "quiet" {
  const middle = (then + before) / 2;
  const isGone = (value: number) => (then > before ? value < middle : value > middle);
  const [name, old] = [nameOf(unit), new Set(known)];
  const series = units.map((of) => ({ of, name: nameOf(of), values: readingsOf(of, path) }));
  // A new series that differs by digits and ids alone is the same one, as after a restart. One that was there before is not.
  const own = series.filter((one) => {
    return one.name.exact === name.exact || (one.name.plain === name.plain && !old.has(keyOf(one.name.exact)));
  });
  const values = own.flatMap((one) => one.values);
  const isZero = values.every((value) => value === 0);
  const silent = then !== 0 && isZero ? { isSilent: true as const } : {};
  const unknown = (reason: string, now: Json): Compared => ({ answer: "inconclusive", reason, then, now, ...silent });
  const judged = (all: readonly number[], what: string): Compared => {
    const worst = all.find((value) => !isGone(value));
    if (worst === undefined) return { answer: "held", then, now: values.at(-1) ?? null, ...silent };
    const reason = `${what} is not beyond ${middle}, the middle between ${then} and ${before}, for the whole window`;
    return { answer: "not_held", reason, then, now: worst, ...silent };
  };
  // A total of 0 is like a result without the series: it counted nothing.
  const isNothing = values.length === 0 || (isZero && then !== 0 && path === "");
  if (!isNothing) {
    const compared = judged(values, "the value");
    const isSure = isGone(0) || own.some((one) => one.name.exact === name.exact);
    return compared.answer !== "held" || isSure ? compared : unknown(NEW_ONLY, compared.now);
  }
  if (isPart) return unknown(PART_ONLY, null);
  const measured = series.filter((one) => one.values.length > 0);
  if (own.some((one) => one.values.length === 0) || (units.length > 0 && measured.length === 0)) {
    return unknown("the repeated call does not return the quoted number", null);
  }
  if (!hasTraffic([...measured.map(({ of }) => of), ...wider])) return "quiet";
  if ([unit, ...measured.map(({ of }) => of)].every(isChange)) return unknown(CHANGES_ONLY, null);
  const worse = measured.find((one) => !old.has(keyOf(one.name.exact)) && !one.values.every(isGone));
  if (worse && isGone(0)) return unknown("the series is gone, but a new one may show the same symptom", worse.of.value);
  return judged([0], "the series is gone, which counts as 0: it");
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

/** Reports whether units are anything but zeros. */
function hasTraffic(units: readonly Unit[]): boolean {
  return units.some(({ value }) => value !== 0 && value !== false);
}

/** Returns the conditions under which a repeated call found nothing: its field that holds what the quotes show, or the whole result. */
export function emptyCondition(step: string, output: Json, symptoms: readonly Symptom[]) {
  const fields = new Set(symptoms.map(({ unit }) => unit.field));
  const total = isObject(output) ? TOTALS.find((name) => typeof (output as JsonObject)[name] === "number") : undefined;
  const field = total ?? [...fields][0] ?? "";
  const isNamed = isObject(output);
  if (isNamed && !/^[A-Za-z_][\w-]*$/.test(field)) return undefined;
  const path = isNamed ? `again.${step}.${field}` : `again.${step}`;
  return { output_matches: [{ path, in: [[], {}, 0, ""] }] };
}

/** Fields in which results count what they found, which are there even if that is nothing. */
const TOTALS = ["matched", "matching", "total", "row_count", "total_count", "series_total"];

/** Joins answers: one that did not hold decides, then one that is inconclusive. None is inconclusive. */
export function joinAnswers(answers: readonly RecheckAnswer[]): RecheckAnswer {
  if (answers.includes("not_held")) return "not_held";
  return answers.length === 0 || answers.includes("inconclusive") ? "inconclusive" : "held";
}
