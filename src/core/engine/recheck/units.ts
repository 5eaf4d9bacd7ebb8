import { isObject, type Json, type JsonObject } from "../../base/values.ts";
import { resultText } from "../event/prompt.ts";
import { momentOfEpoch } from "../evidence/moments.ts";
import { columnsOf, isDivided } from "../evidence/records.ts";

/** Unit of a result that is compared: an element of a list of records, a line, or a single value. */
export interface Unit {
  /** Field of the result that holds it. Empty if the result is not an object. */
  readonly field: string;
  /** Rows of a table have their cells by column. */
  readonly value: Json;
  readonly text: string;
  readonly isRow?: true;
}

/** Most units of a result that are compared. */
export const MOST_UNITS = 10_000;

/** Lists the units of a result, in order. Elements of nested lists belong to the outermost one. */
export function unitsOf(output: Json): Unit[] {
  const fields: [string, Json][] = isObject(output) ? Object.entries(output as JsonObject) : [["", output]];
  const columns = isObject(output) ? columnsOf(output as JsonObject) : undefined;
  const places = new Map(columns?.map((name, place) => [name, place]));
  const keys = columns?.map((name, place) => (places.get(name) === place ? name : String(place)));
  const units = fields.flatMap(([field, inner]) =>
    [...valuesIn(inner)].map((value): Unit => {
      const unit = { field, value, text: resultText(value) };
      if (!keys || field !== "rows" || !Array.isArray(value)) return unit;
      const cells = (value as Json[]).map((cell, place) => [keys[place] ?? String(place), cell] as const);
      return { ...unit, value: Object.fromEntries(cells), isRow: true };
    }),
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
