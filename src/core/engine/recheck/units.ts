import { isObject, type Json, type JsonObject } from "../../base/values.ts";
import { momentOfEpoch } from "../evidence/moments.ts";
import { isDivided } from "../evidence/records.ts";

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
  return fields.flatMap(([field, value]) => [...valuesIn(value)].map((one) => unitOf(field, one))).slice(0, MOST_UNITS);
}

function unitOf(field: string, value: Json): Unit {
  return { field, value, text: typeof value === "string" ? value : JSON.stringify(value) };
}

function* valuesIn(value: Json): Generator<Json> {
  if (typeof value === "string") yield* value.split("\n").filter((line) => line !== "");
  else if (Array.isArray(value) && isDivided(value as Json[])) yield* value as Json[];
  else if (Array.isArray(value)) for (const item of value as Json[]) yield* valuesIn(item);
  else if (isObject(value)) for (const member of Object.values(value as JsonObject)) yield* valuesIn(member);
  else if (value !== null) yield value;
}

/**
 * Returns the shape of a unit: its texts with their places, without digits and ids. Numbers do not count, so that a
 * series has the same shape whatever its values are.
 */
export function shapeOf({ field, value }: Unit): string {
  const texts = new Set<string>();
  const visit = (part: Json, path: string): void => {
    if (typeof part === "string") texts.add(`${path}=${part.replace(VARYING, "#")}`);
    else if (Array.isArray(part)) {
      const isRow = path === "" && !isDivided(part as Json[]);
      for (const [index, item] of (part as Json[]).entries()) visit(item, isRow ? `${path}.${index}` : `${path}.*`);
    } else if (isObject(part)) {
      for (const [key, member] of Object.entries(part as JsonObject)) visit(member, `${path}.${key}`);
    }
  };
  visit(value, "");
  const told = [...texts].filter((text) => !/=[#TZ:.+\- ]*$/.test(text));
  return JSON.stringify([field, ...told.sort()]);
}

/** Ids and digits, which differ between two occurrences of the same thing. */
const VARYING = /0x[0-9a-f]+|\b(?=[0-9a-f-]*\d)[0-9a-f][0-9a-f-]{6,63}\b|\d+(?:\.\d+)?/gi;

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
