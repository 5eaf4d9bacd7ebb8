import { shortText } from "../../base/preview.ts";
import { faultOfPattern, PATTERN_TOO_SLOW, withinSecond } from "../../base/schema/time-bound.ts";
import { deepEqual, isObject, type Json, type JsonObject, nearest } from "../../base/values.ts";

/** Compares actual with expected values: deeply, or by matchers. */

const MATCHERS = ["equals", "in", "matches", "not", "at_least", "at_most", "length", "exists"] as const;
type Name = (typeof MATCHERS)[number];
type Matcher = { readonly [Key in Name]?: Json };

/** Reports whether an object is a matcher: it is if all its keys are names of matchers. */
function isMatcher(expected: Json | undefined): expected is Matcher & JsonObject {
  if (!isObject(expected)) return false;
  const keys = Object.keys(expected);
  return keys.length > 0 && keys.every((key) => (MATCHERS as readonly string[]).includes(key));
}

/** How objects are compared: by all keys, or only by the keys of the expected object. */
export type Comparing = "whole" | "named";

/** Explains why a value differs. Returns undefined if it matches. A missing value is undefined. */
export function complaintAbout(
  expected: Json,
  actual: Json | undefined,
  comparing: Comparing = "whole",
  place = "",
): string | undefined {
  const told = (text: string) => (place === "" ? text : `${place}: ${text}`);
  if (isMatcher(expected)) {
    const complaint = unmatched(expected, actual, comparing);
    return complaint === undefined ? undefined : told(complaint);
  }
  if (actual === undefined) return told(`is missing, expected ${shown(expected)}`);
  if (Array.isArray(expected)) {
    if (!Array.isArray(actual)) return told(`${shown(actual)} is not a list`);
    if (actual.length !== expected.length) return told(`${actual.length} items, expected ${expected.length}`);
    return first(expected.map((item, n) => complaintAbout(item, actual[n], comparing, `${place}[${n}]`)));
  }
  if (!isObject(expected)) return deepEqual(expected, actual) ? undefined : told(mismatch(expected, actual));
  if (!isObject(actual)) return told(`${shown(actual)} is not a map`);
  const at = (key: string) => (place === "" ? key : `${place}.${key}`);
  const extra = comparing === "named" ? undefined : Object.keys(actual).find((key) => !Object.hasOwn(expected, key));
  const inside = Object.entries(expected as JsonObject).map(([key, item]) => {
    const member = Object.hasOwn(actual, key) ? (actual[key] as Json) : undefined;
    return complaintAbout(item, member, comparing, at(key));
  });
  return first(inside) ?? (extra === undefined ? undefined : `${at(extra)}: is unexpected`);
}

function first(complaints: readonly (string | undefined)[]): string | undefined {
  return complaints.find((complaint) => complaint !== undefined);
}

function mismatch(expected: Json, actual: Json | undefined): string {
  return `${shown(actual)} is not ${shown(expected)}`;
}

function shown(value: Json | undefined): string {
  return value === undefined ? "nothing" : shortText(JSON.stringify(value), 120);
}

/** Explains why a matcher fails. All its conditions must hold. With other keys, `not: true` negates them. */
function unmatched({ not, ...rest }: Matcher, actual: Json | undefined, comparing: Comparing): string | undefined {
  const names = Object.keys(rest) as Exclude<Name, "not">[];
  const complaint = first(names.map((name) => TESTS[name](rest[name] as Json, actual, comparing)));
  if (not === true && names.length > 0) {
    if (complaint?.startsWith(PATTERN_TOO_SLOW)) return complaint;
    return complaint === undefined ? `${shown(actual)} must not be ${shown(rest as JsonObject)}` : undefined;
  }
  if (complaint !== undefined || not === undefined) return complaint;
  const excluded = complaintAbout(not, actual, comparing);
  if (excluded?.includes(PATTERN_TOO_SLOW)) return excluded;
  return excluded === undefined ? `${shown(actual)} must not be ${shown(not)}` : undefined;
}

type Test = (wanted: Json, actual: Json | undefined, comparing: Comparing) => string | undefined;

const TESTS: Readonly<Record<Exclude<Name, "not">, Test>> = {
  equals: (wanted, actual) => (deepEqual(wanted, actual) ? undefined : mismatch(wanted, actual)),
  in(wanted, actual, comparing) {
    const isAllowed = (one: Json) => complaintAbout(one, actual, comparing) === undefined;
    return Array.isArray(wanted) && wanted.some(isAllowed)
      ? undefined
      : `${shown(actual)} is not one of ${shown(wanted)}`;
  },
  matches(wanted, actual) {
    if (actual === undefined) return `nothing matches ${String(wanted)}`;
    const pattern = new RegExp(String(wanted));
    const text = typeof actual === "string" ? actual : JSON.stringify(actual);
    const isMatch = withinSecond(() => pattern.test(text));
    if (isMatch === undefined) return `${PATTERN_TOO_SLOW}: ${String(wanted)}`;
    return isMatch ? undefined : `${shown(actual)} does not match ${String(wanted)}`;
  },
  at_least: (wanted, actual) =>
    typeof actual === "number" && actual >= Number(wanted) ? undefined : `${shown(actual)} is not at least ${wanted}`,
  at_most: (wanted, actual) =>
    typeof actual === "number" && actual <= Number(wanted) ? undefined : `${shown(actual)} is not at most ${wanted}`,
  length(wanted, actual, comparing) {
    const length = lengthOf(actual);
    if (length === undefined) return `${shown(actual)} has no length`;
    const complaint = complaintAbout(wanted, length, comparing);
    return complaint === undefined ? undefined : `length ${complaint}`;
  },
  exists(wanted, actual) {
    const isThere = actual !== undefined && actual !== null;
    return isThere === wanted ? undefined : isThere ? `${shown(actual)} exists` : "is missing";
  },
};

function lengthOf(value: Json | undefined): number | undefined {
  if (typeof value === "string" || Array.isArray(value)) return value.length;
  return isObject(value) ? Object.keys(value).length : undefined;
}

/** Returns the new expected value: the actual value, except where a matcher is used. */
export function accepted(expected: Json, actual: Json, comparing: Comparing = "whole"): Json {
  if (isMatcher(expected)) return expected;
  if (Array.isArray(expected) && Array.isArray(actual) && expected.length === actual.length) {
    return actual.map((item, n) => accepted(expected[n] as Json, item, comparing));
  }
  if (!isObject(expected) || !isObject(actual)) return actual;
  const keys = Object.keys(actual).filter((key) => comparing === "whole" || Object.hasOwn(expected, key));
  const former = expected as JsonObject;
  return Object.fromEntries(
    keys.map((key) => {
      const item = actual[key] as Json;
      return [key, Object.hasOwn(former, key) ? accepted(former[key] as Json, item, comparing) : item];
    }),
  );
}

/** Returns both sides for display. Values that match a matcher look equal, and ignored keys are left out. */
export function sides(
  expected: Json,
  actual: Json | undefined,
  comparing: Comparing = "whole",
): [Json, Json | undefined] {
  if (actual === undefined) return [expected, actual];
  if (isMatcher(expected)) {
    return complaintAbout(expected, actual, comparing) === undefined ? [actual, actual] : [expected, actual];
  }
  if (Array.isArray(expected) && Array.isArray(actual)) {
    const pairs = actual.map((item, n) =>
      n < expected.length ? sides(expected[n] as Json, item, comparing) : undefined,
    );
    return [expected.map((item, n) => pairs[n]?.[0] ?? item), actual.map((item, n) => pairs[n]?.[1] ?? item)];
  }
  if (!isObject(expected) || !isObject(actual)) return [expected, actual];
  const left: Record<string, Json> = {};
  const right: Record<string, Json> = {};
  for (const [key, item] of Object.entries(expected as JsonObject)) {
    const [wanted, came] = sides(item, Object.hasOwn(actual, key) ? (actual[key] as Json) : undefined, comparing);
    left[key] = wanted;
    if (came !== undefined) right[key] = came;
  }
  if (comparing === "whole") for (const key of Object.keys(actual)) right[key] ??= actual[key] as Json;
  return [left, right];
}

interface MatcherProblem {
  readonly path: readonly (string | number)[];
  readonly message: string;
  readonly hint?: string;
}

export function matcherProblems(expected: Json, path: readonly (string | number)[]): MatcherProblem[] {
  if (Array.isArray(expected)) return expected.flatMap((item, n) => matcherProblems(item, [...path, n]));
  if (!isObject(expected)) return [];
  const entries = Object.entries(expected as JsonObject);
  if (isMatcher(expected)) return entries.flatMap(([name, wanted]) => wrongUse(name as Name, wanted, [...path, name]));
  const near = entries.map(([key]) => nearest(key, MATCHERS));
  // Short keys such as `id` are near a matcher by chance.
  const isMeant = entries.some(([key], n) => near[n] === key || key.length > 4);
  if (isMeant && near.every((name) => name !== undefined)) {
    return entries.flatMap(([key], n) => {
      if (near[n] === key) return [];
      return [{ path: [...path, key], message: `unknown matcher "${key}"`, hint: `did you mean ${near[n]}?` }];
    });
  }
  return entries.flatMap(([key, item]) => matcherProblems(item, [...path, key]));
}

function wrongUse(name: Name, wanted: Json, path: readonly (string | number)[]): MatcherProblem[] {
  const wrong = (message: string) => [{ path, message: `${name} ${message}` }];
  if (name === "in") return Array.isArray(wanted) ? matcherProblems(wanted, path) : wrong("must be a list");
  if (name === "exists") return typeof wanted === "boolean" ? [] : wrong("must be true or false");
  if (name === "at_least" || name === "at_most") return typeof wanted === "number" ? [] : wrong("must be a number");
  if (name === "length" && typeof wanted !== "number" && !isMatcher(wanted))
    return wrong("must be a number or a matcher");
  if (name === "matches") {
    if (typeof wanted !== "string") return wrong("must be a pattern");
    const fault = faultOfPattern(wanted);
    return fault === undefined ? [] : wrong(`is not a pattern: ${fault}`);
  }
  return name === "equals" ? [] : matcherProblems(wanted, path);
}
