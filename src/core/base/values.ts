import type * as z from "zod";

/** JSON values, the only data that crosses a boundary of this program. */
export type Json = null | boolean | number | string | readonly Json[] | { readonly [key: string]: Json };
export type JsonObject = { readonly [key: string]: Json };
export type JsonSchema = { readonly [key: string]: Json };

/**
 * Values of an inline JSON Schema, inferred from `type`, `properties`, `required`, `items`, `enum` and `const`.
 * Everything else becomes Json.
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

/** A tool's input, which is an object even if its schema does not say so. */
export type InferredInput<Schema> = Schema extends { readonly type: unknown }
  ? Inferred<Schema>
  : Schema extends { readonly properties: unknown }
    ? OfType<"object", Schema>
    : JsonObject;

/** Distributes over the names of a union. */
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

/** Merges an intersection into one object type, which editors display better. */
type Flat<Value> = { readonly [Key in keyof Value]: Value[Key] };

export function isObject(value: unknown): value is { readonly [key: string]: unknown } {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

export function isTexts(value: unknown): value is readonly string[] {
  return Array.isArray(value) && value.every((each) => typeof each === "string");
}

/** Compares deeply: ignores key order, treats NaN as equal to NaN, and `{a: undefined}` as different from `{}`. */
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

/** Deepest nesting that JSON writers can handle. */
const MOST_DEPTH = 500;
/** Matches JSON that may be nested more deeply. */
const MANY_BRACKETS = new RegExp(`^(?:[^[{]*[[{]){${MOST_DEPTH}}`);

/** Parses untrusted JSON. Returns undefined if it is invalid or nested too deeply to be written again. */
export function parseJson(text: string): Json | undefined {
  try {
    const value = JSON.parse(text) as Json;
    return MANY_BRACKETS.test(text) && isNestedBeyond(MOST_DEPTH, value) ? undefined : value;
  } catch {
    return undefined;
  }
}

/** Checks the depth level by level, without recursion. Visits each container once per level. */
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
 * Converts a handler's result to JSON: undefined becomes null, a BigInt its digits, a Date its ISO string, NaN null, -0
 * zero. Throws a TypeError for a function, a symbol, a Map or a Set, and with the path of a cycle, or of a value that is
 * nested too deeply. Omits functions in objects, as `JSON.stringify` does.
 */
export function toJson(value: unknown): Json {
  if (typeof value === "function" || typeof value === "symbol") throw notJson(`a ${typeof value}`, []);
  return convert(value, [], []);
}

/** Converts one value. `around` holds the enclosing containers, and `keys` the path to the value. */
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
  if (Array.isArray(value)) return mapped(value, (item, index) => member(index, item));
  if (value instanceof Map || value instanceof Set) throw notJson(value instanceof Map ? "a Map" : "a Set", keys);
  if ("toJSON" in value && typeof value.toJSON === "function") return convert(value.toJSON(), around, keys);
  const converted: { [key: string]: Json } = {};
  for (const [key, item] of Object.entries(value)) {
    if (item !== undefined && typeof item !== "function") setOwn(converted, key, member(key, item));
  }
  return converted;
}

function notJson(what: string, keys: readonly (string | number)[]): TypeError {
  return new TypeError(`the value is not JSON: it has ${what} at ${placeOf(keys) || "its root"}`);
}

function placeOf(keys: readonly (string | number)[]): string {
  return keys.map((key) => (typeof key === "number" ? `[${key}]` : `.${key}`)).join("");
}

/** Sets an own property, even one named `__proto__`. */
function setOwn(object: { [key: string]: Json }, key: string, value: Json): void {
  if (key !== "__proto__") object[key] = value;
  else Object.defineProperty(object, key, { value, enumerable: true, configurable: true, writable: true });
}

export function copyJson(value: Json): Json {
  if (typeof value !== "object" || value === null) return value;
  if (Array.isArray(value)) return mapped(value, copyJson);
  const copy: { [key: string]: Json } = {};
  for (const [key, item] of Object.entries(value)) setOwn(copy, key, copyJson(item));
  return copy;
}

const texts = new WeakMap<object, string>();

/** Serializes a value that never changes, and caches the JSON text. */
export function jsonOnce(value: object): string {
  const known = texts.get(value);
  if (known !== undefined) return known;
  const text = JSON.stringify(value);
  texts.set(value, text);
  return text;
}

const UNITS: Readonly<Record<string, number>> = { ms: 1, s: 1000, m: 60_000, h: 3_600_000, d: 86_400_000 };

/** Longest time of a timer, in milliseconds. Node fires a timer with a longer one at once. */
export const LONGEST_TIMER_MS = 2 ** 31 - 1;

/** Duration: a positive amount and a unit, seconds by default. */
export const DURATION_PATTERN = /^(?=.*[1-9])(\d+(?:\.\d+)?)(ms|s|m|h|d)?$/;

/** Parses a duration to milliseconds: a positive number of seconds, or `500ms`, `90s`, `10m`, `2h`, `14d`. */
export function parseDuration(value: unknown): number | undefined {
  const match = typeof value === "string" ? DURATION_PATTERN.exec(value) : undefined;
  const amount = typeof value === "number" ? value : Number(match?.[1] ?? Number.NaN);
  const milliseconds = amount * (UNITS[match?.[2] ?? "s"] ?? Number.NaN);
  return Number.isFinite(milliseconds) && milliseconds > 0 ? milliseconds : undefined;
}

/** Writes a number of milliseconds as a duration with the largest unit that divides it, such as `10m`. */
export function spellDuration(ms: number): string {
  const [unit, size] = Object.entries(UNITS).findLast(([, each]) => ms % each === 0) ?? ["ms", 1];
  return `${ms / size}${unit}`;
}

/** Returns the closest candidate to a misspelled word, for "did you mean". Returns undefined if none is close. */
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

/** Suggests the nearest known name, in the given quotation marks. Undefined if none is near. */
export function didYouMean(given: string, known: Iterable<string>, quote: '"' | "" = ""): string | undefined {
  const near = nearest(given, known);
  return near === undefined ? undefined : `did you mean ${quote}${near}${quote}?`;
}

/** Counts edits: letters added, removed, changed, or two neighbors swapped. */
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

/**
 * Maps a list like `map`, for code that runs at each step. Once V8 has optimized a caller of `map`, the results have
 * another internal type than before, which invalidates all the optimized code that reads them.
 */
export function mapped<From, To>(list: readonly From[], to: (item: From, index: number) => To): To[] {
  const results: To[] = [];
  for (let index = 0; index < list.length; index++) results.push(to(list[index] as From, index));
  return results;
}

/** Groups items by key, in the order of their first items. */
export function groupBy<Key, Item>(items: Iterable<Item>, keyOf: (item: Item) => Key): Map<Key, Item[]> {
  const groups = new Map<Key, Item[]>();
  for (const item of items) {
    const key = keyOf(item);
    const group = groups.get(key);
    if (group) group.push(item);
    else groups.set(key, [item]);
  }
  return groups;
}

/** Counts the items before the first one that does not pass, by halving: the items that pass must come first. */
export function countWhile<Item>(items: readonly Item[], passes: (item: Item) => boolean): number {
  let low = 0;
  let high = items.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (passes(items[middle] as Item)) low = middle + 1;
    else high = middle;
  }
  return low;
}

export function stringsIn(value: Json): string[] {
  if (typeof value === "string") return [value];
  return typeof value === "object" && value !== null ? Object.values(value).flatMap(stringsIn) : [];
}

/** Replaces the strings in a value. Replaces the keys only if `rename` is given. */
export function mapStrings(value: Json, change: (text: string) => Json, rename?: (key: string) => string): Json {
  if (typeof value === "string") return change(value);
  if (Array.isArray(value)) return value.map((item) => mapStrings(item, change, rename));
  if (!isObject(value)) return value;
  const keys = Object.keys(value);
  const names = rename ? distinctNames(keys, rename) : keys;
  const members = Object.values(value as JsonObject).map((member) => mapStrings(member, change, rename));
  return Object.fromEntries(members.map((member, index) => [names[index], member]));
}

/** Renames keys. Numbers the new names that are already taken, such as `[removed:email] (2)`. */
function distinctNames(keys: readonly string[], rename: (key: string) => string): string[] {
  const renamed = keys.map((key) => rename(key));
  const taken = new Set(keys.filter((key, index) => renamed[index] === key));
  const counts = new Map<string, number>();
  return renamed.map((name, index) => {
    if (name === keys[index]) return name;
    let count = counts.get(name) ?? 0;
    let free: string;
    do {
      count += 1;
      free = count === 1 ? name : `${name} (${count})`;
    } while (taken.has(free));
    counts.set(name, count);
    taken.add(free);
    return free;
  });
}

/** Casts a value that was checked against its schema to the type that the schema describes. */
export function checkedAs<Shape>(value: Json): Shape {
  return value as Shape;
}

const NONE = Object.freeze({});

/** Returns an object with the key, or an empty object if the value is undefined. */
export function defined<Key extends string, Value>(key: Key, value: Value | undefined): { [K in Key]?: Value } {
  if (value === undefined) return NONE;
  // Assigned, because V8 creates an object with a computed key much more slowly.
  const object: { [K in Key]?: Value } = {};
  object[key] = value;
  return object;
}

/** Returns the value at keys of nested objects. Undefined if there is none. */
export function memberAt(value: unknown, ...keys: readonly string[]): unknown {
  return keys.reduce((at, key) => (isObject(at) && Object.hasOwn(at, key) ? at[key] : undefined), value);
}

/** Returns the string at keys of nested objects. Undefined if there is none, or an empty one. */
export function textAt(value: unknown, ...keys: readonly string[]): string | undefined {
  const found = memberAt(value, ...keys);
  return typeof found === "string" && found !== "" ? found : undefined;
}

/** Returns the JSON Schema type of a value. Integers are numbers. */
export function typeOf(value: unknown): string {
  if (Array.isArray(value)) return "array";
  return value === null ? "null" : typeof value;
}

/** Decodes percent-encoded text. Returns other text unchanged. */
export function percentDecoded(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}

/** Creates a value on first use. A command needs only a few of our schemas, and creating all of them takes time. */
export function lazy<Value>(make: () => Value): () => Value {
  let made: { readonly value: Value } | undefined;
  return () => {
    made ??= { value: make() };
    return made.value;
  };
}

export function memo<Key, Value>(make: (key: Key) => Value): (key: Key) => Value {
  const made = new Map<Key, Value>();
  return (key) => {
    const value = made.has(key) ? (made.get(key) as Value) : make(key);
    made.set(key, value);
    return value;
  };
}

/** Type of the values that match a lazy schema. */
export type Fitting<Schema extends () => z.ZodType> = z.infer<ReturnType<Schema>>;

/** Zod options for documents. A process reads only a few, so compiling validators does not pay off. */
export const PARSED_ONCE = { jitless: true } as const;
