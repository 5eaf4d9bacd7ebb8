import type * as z from "zod";

/** JSON values: the only data that crosses a boundary of this program. */
export type Json = null | boolean | number | string | readonly Json[] | { readonly [key: string]: Json };
export type JsonObject = { readonly [key: string]: Json };
export type JsonSchema = { readonly [key: string]: Json };

/**
 * The values that fit a JSON Schema that is written in place: told from `type`, `properties`, `required`, `items`, `enum` and
 * `const`. What says less, or says it by other keywords, is Json.
 */
type Inferred<Schema> = Schema extends { readonly const: infer Value }
  ? Value
  : Schema extends { readonly enum: readonly (infer Value)[] }
    ? Value
    : Schema extends { readonly type: readonly (infer Name)[] }
      ? OfEach<Name, Schema>
      : Schema extends { readonly type: infer Name }
        ? OfType<Name, Schema>
        : Json;

/** Of the input of a tool, which is an object whether or not its schema says so. */
export type InferredInput<Schema> = Schema extends { readonly type: unknown }
  ? Inferred<Schema>
  : Schema extends { readonly properties: unknown }
    ? OfType<"object", Schema>
    : JsonObject;

/** One name at a time. */
type OfEach<Name, Schema> = Name extends unknown ? OfType<Name, Schema> : never;

type OfType<Name, Schema> = Name extends "string"
  ? string
  : Name extends "number" | "integer"
    ? number
    : Name extends "boolean"
      ? boolean
      : Name extends "null"
        ? null
        : Name extends "array"
          ? readonly ItemOf<Schema>[]
          : Name extends "object"
            ? ObjectOf<Schema>
            : Json;

type ItemOf<Schema> = Schema extends { readonly items: infer Item } ? Inferred<Item> : Json;

type ObjectOf<Schema> = Schema extends { readonly properties: infer Properties }
  ? Flat<
      {
        readonly [Key in keyof Properties as Key extends RequiredOf<Schema> ? Key : never]: Inferred<Properties[Key]>;
      } & {
        readonly [Key in keyof Properties as Key extends RequiredOf<Schema> ? never : Key]?: Inferred<Properties[Key]>;
      } & { readonly [Key in Exclude<RequiredOf<Schema>, keyof Properties>]: Json }
    >
  : JsonObject;

type RequiredOf<Schema> = Schema extends { readonly required: readonly (infer Name extends string)[] } ? Name : never;

/** As people read it in an editor. */
type Flat<Value> = { readonly [Key in keyof Value]: Value[Key] };

export function isObject(value: unknown): value is { readonly [key: string]: unknown } {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

/** Deep equality: key order is ignored, NaN equals NaN, `{a: undefined}` differs from `{}` (workflow-format N18). */
export function deepEqual(a: unknown, b: unknown): boolean {
  if (Object.is(a, b) || a === b) return true;
  if (Array.isArray(a) && Array.isArray(b)) {
    return a.length === b.length && a.every((item, index) => deepEqual(item, b[index]));
  }
  if (!isObject(a) || !isObject(b)) return false;
  const keys = Object.keys(a);
  if (keys.length !== Object.keys(b).length) return false;
  return keys.every((key) => Object.hasOwn(b, key) && deepEqual(a[key], b[key]));
}

/** What is nested deeper than this, JSON writers may fail to follow. */
const MOST_DEPTH = 500;

/** JSON from outside; undefined when the text is none, or is nested too deep to be written again. */
export function parseJson(text: string): Json | undefined {
  try {
    const value = JSON.parse(text) as Json;
    return isNestedBeyond(MOST_DEPTH, value) ? undefined : value;
  } catch {
    return undefined;
  }
}

/** Level by level, without recursion; what stands in several places of a level is looked at once. */
export function isNestedBeyond(most: number, root: unknown): boolean {
  const containersOf = (values: readonly unknown[]) =>
    new Set(values.filter((value): value is object => typeof value === "object" && value !== null));
  let level = containersOf([root]);
  for (let depth = 0; level.size > 0; depth++) {
    if (depth >= most) return true;
    level = containersOf([...level].flatMap((container) => Object.values(container) as unknown[]));
  }
  return false;
}

/**
 * What a handler returned, as JSON: undefined becomes null, a BigInt its digits, a Date its ISO text, NaN null, -0 zero.
 * Throws a TypeError that names the place of a cycle, or of what is nested deeper than JSON writers can follow.
 */
export function toJson(value: unknown): Json {
  return convert(value, [], []);
}

/** Where conversion is: the containers around a value, and the keys that lead to it. */
function convert(value: unknown, around: unknown[], keys: (string | number)[]): Json {
  if (typeof value === "string" || typeof value === "boolean" || value === null) return value;
  if (typeof value === "number") return Number.isFinite(value) ? value + 0 : null;
  if (typeof value === "bigint") return value.toString();
  if (typeof value !== "object") return null;
  if (around.includes(value)) throw new TypeError(`the value refers to itself at ${placeOf(keys) || "its root"}`);
  if (around.length >= MOST_DEPTH) {
    throw new TypeError(`the value is nested more than ${MOST_DEPTH} levels deep at ${placeOf(keys).slice(0, 80)}…`);
  }
  around.push(value);
  const converted = convertContainer(value, around, keys);
  around.pop();
  return converted;
}

function convertContainer(value: object, around: unknown[], keys: (string | number)[]): Json {
  const member = (key: string | number, item: unknown) => {
    keys.push(key);
    const converted = convert(item, around, keys);
    keys.pop();
    return converted;
  };
  if (Array.isArray(value)) return Array.from(value, (item, index) => member(index, item));
  if ("toJSON" in value && typeof value.toJSON === "function") return convert(value.toJSON(), around, keys);
  const converted: { [key: string]: Json } = {};
  for (const [key, item] of Object.entries(value)) {
    if (item !== undefined && typeof item !== "function") setOwn(converted, key, member(key, item));
  }
  return converted;
}

function placeOf(keys: readonly (string | number)[]): string {
  return keys.map((key) => (typeof key === "number" ? `[${key}]` : `.${key}`)).join("");
}

/** Sets a member of its own, whatever it is called. */
function setOwn(object: { [key: string]: Json }, key: string, value: Json): void {
  if (key !== "__proto__") object[key] = value;
  else Object.defineProperty(object, key, { value, enumerable: true, configurable: true, writable: true });
}

/** A value that may be changed without the one it was copied from. */
export function copyJson(value: Json): Json {
  if (typeof value !== "object" || value === null) return value;
  if (Array.isArray(value)) return value.map(copyJson);
  const copy: { [key: string]: Json } = {};
  for (const [key, item] of Object.entries(value)) setOwn(copy, key, copyJson(item));
  return copy;
}

const texts = new WeakMap<object, string>();

/** The JSON text of a value that is written often and never changes. */
export function jsonOnce(value: object): string {
  const known = texts.get(value);
  if (known !== undefined) return known;
  const text = JSON.stringify(value);
  texts.set(value, text);
  return text;
}

const UNITS: Readonly<Record<string, number>> = { ms: 1, s: 1000, m: 60_000, h: 3_600_000, d: 86_400_000 };

/** A duration's text: an amount above zero and its unit, seconds unless told. */
export const DURATION_PATTERN = /^(?=.*[1-9])(\d+(?:\.\d+)?)(ms|s|m|h|d)?$/;

/** Milliseconds of a duration: a positive number of seconds, or `500ms`, `90s`, `10m`, `2h`, `14d`; undefined if it is none (O1). */
export function parseDuration(value: unknown): number | undefined {
  const match = typeof value === "string" ? DURATION_PATTERN.exec(value) : undefined;
  const amount = typeof value === "number" ? value : Number(match?.[1] ?? Number.NaN);
  const milliseconds = amount * (UNITS[match?.[2] ?? "s"] ?? Number.NaN);
  return Number.isFinite(milliseconds) && milliseconds > 0 ? milliseconds : undefined;
}

/** The candidate nearest to a mistyped word, for "did you mean"; undefined when none is near. */
export function nearest(word: string, candidates: Iterable<string>): string | undefined {
  const words = [...candidates];
  let best = words.find((candidate) => word.length > 3 && candidate.startsWith(word));
  if (best !== undefined) return best;
  let bestDistance = Math.max(1, Math.floor(word.length / 3)) + 1;
  for (const candidate of words) {
    const distance = editDistance(word.toLowerCase(), candidate.toLowerCase(), bestDistance);
    if (distance < bestDistance) [best, bestDistance] = [candidate, distance];
  }
  return best;
}

/** Letters added, left out, changed, or two neighbours swapped. */
function editDistance(a: string, b: string, limit: number): number {
  if (Math.abs(a.length - b.length) >= limit) return limit;
  let before: number[] = [];
  let row = Array.from({ length: b.length + 1 }, (_, index) => index);
  for (let i = 1; i <= a.length; i++) {
    const next = [i];
    for (let j = 1; j <= b.length; j++) {
      const substitution = (row[j - 1] ?? 0) + (a[i - 1] === b[j - 1] ? 0 : 1);
      const isSwapped = i > 1 && j > 1 && a[i - 1] === b[j - 2] && a[i - 2] === b[j - 1];
      const swap = isSwapped ? (before[j - 2] ?? 0) + 1 : limit;
      next.push(Math.min(substitution, swap, (row[j] ?? 0) + 1, (next[j - 1] ?? 0) + 1));
    }
    before = row;
    row = next;
  }
  return row[b.length] ?? limit;
}

/** A value whose schema was checked, as the type that the schema describes. */
export function checkedAs<Shape>(value: Json): Shape {
  return value as Shape;
}

/** A member that is there only when it has a value. */
export function defined<Key extends string, Value>(key: Key, value: Value | undefined): { [K in Key]?: Value } {
  return value === undefined ? {} : ({ [key]: value } as { [K in Key]: Value });
}

/** The JSON Schema type of a value; an integer is a number. */
export function typeOf(value: unknown): string {
  if (Array.isArray(value)) return "array";
  return value === null ? "null" : typeof value;
}

/** Its beginning, where it is longer than `most` characters. */
export function shorten(text: string, most: number): string {
  return text.length > most ? `${text.slice(0, most - 1)}…` : text;
}

/** Its head and its tail, where it is longer than `most` characters. Only of what was redacted: half a secret is none (trust 5). */
export function cutText(text: string, most: number): string {
  if (text.length <= most) return text;
  const head = Math.floor(most * 0.75);
  const tail = most - head - 100;
  return `${text.slice(0, head)}\n[… ${text.length - head - tail} characters left out …]\n${text.slice(-tail)}`;
}

/** What is made when it is first asked for: a command needs few of our schemas, and to make them all takes its time. */
export function lazy<Value>(make: () => Value): () => Value {
  let made: { readonly value: Value } | undefined;
  return () => {
    made ??= { value: make() };
    return made.value;
  };
}

/** What fits such a schema. */
export type Fitting<Schema extends () => z.ZodType> = z.infer<ReturnType<Schema>>;

/** How a document is parsed: a process reads few, and compiling validators would take longer than they save. */
export const PARSED_ONCE = { jitless: true } as const;
