import type { Acted } from "../../base/errors.ts";
import { type Fitting, isObject, type Json, mapStrings } from "../../base/values.ts";
import { canonicalJson } from "../../engine/event/operation.ts";
import { matchesWords } from "../../skill/glob.ts";
import type { fixture } from "./test-file.ts";

/**
 * Fixtures replace tools: the first row whose `when` matches a call answers it. Rows can be used repeatedly, except that
 * rows with an equal `when` answer one call each, in order, and the last of them all further calls.
 */

/** A row. `when` matches the input: objects by the keys given there, strings may use `*`. It gives an output or an error. */
export type Fixture = Fitting<typeof fixture>;

/** Rows by the tool name that the model sees (`sentry_get_issue`). */
export type Fixtures = Readonly<Record<string, readonly Fixture[]>>;

export function noFixture(tool: string): string {
  return `no fixture for ${tool}`;
}

export function findFixture(rows: readonly Fixture[], input: Json): Fixture | undefined {
  return rows.find(({ when }) => when === undefined || fits(when, input));
}

/** Opens the rows of a tool for one run. Returns the row that answers the next call. */
export function openFixtures(rows: readonly Fixture[]): (input: Json) => Fixture | undefined {
  const left = new Map<string, readonly Fixture[]>();
  const keyOf = ({ when }: Fixture) => (when === undefined ? "" : canonicalJson(when));
  return (input) => {
    const first = findFixture(rows, input);
    if (!first) return undefined;
    const key = keyOf(first);
    const alike = left.get(key) ?? rows.filter((other) => keyOf(other) === key);
    left.set(key, alike.length > 1 ? alike.slice(1) : alike);
    return alike[0];
  };
}

function fits(wanted: Json, value: Json | undefined): boolean {
  if (typeof wanted === "string") return typeof value === "string" && fitsGlob(wanted, value);
  if (Array.isArray(wanted)) {
    return Array.isArray(value) && wanted.length === value.length && wanted.every((item, n) => fits(item, value[n]));
  }
  if (!isObject(wanted)) return wanted === value;
  return isObject(value) && Object.entries(wanted).every(([key, item]) => fits(item as Json, value[key] as Json));
}

/** Matches a pattern in which `*` is any characters and `\*` a star. */
export function fitsGlob(pattern: string, text: string): boolean {
  const parts = pattern.match(/\\\*|\*|[\s\S]/gu) ?? [];
  const any = parts.map((part) => (part === "*" ? "**" : part.replace("\\*", "*")));
  return matchesWords(any, [...text]);
}

/** Escapes stars, so that a value matches only itself. */
export function escapeGlobs(value: Json): Json {
  return mapStrings(value, (text) => text.replaceAll("*", "\\*"));
}

interface Nature {
  readonly effect: "read" | "write";
  readonly idempotent?: boolean | undefined;
}

/** Whether a call that fails with a row may have written: as the row states, else as far as the tool's nature shows. */
export function actedIn(row: Fixture, tool: Nature | undefined): Acted {
  if (tool?.effect === "read") return "no";
  return row.acted ?? (tool?.idempotent ? "no" : "unknown");
}
