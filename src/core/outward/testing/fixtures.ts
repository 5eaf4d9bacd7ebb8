import type { Acted } from "../../base/errors.ts";
import { isObject, type Json } from "../../base/values.ts";

/** What stands in for tools: the first row whose `when` fits a call answers it, and none is used up. */

export interface Fixture {
  /** What the input has to be: objects by the keys that are named here, texts with `*` for any characters. Default: anything. */
  readonly when?: Json;
  readonly output?: Json;
  /** In place of `output`: the call fails with it. */
  readonly error?: string;
  /** Whether the failed write may have happened. */
  readonly acted?: Acted;
}

/** By a tool's name as the model sees it (`sentry_get_issue`): the first row that fits answers, and none is used up. */
export type Fixtures = Readonly<Record<string, readonly Fixture[]>>;

export function noFixture(tool: string): string {
  return `no fixture for ${tool}`;
}

export function findFixture(rows: readonly Fixture[], input: Json): Fixture | undefined {
  return rows.find(({ when }) => when === undefined || fits(when, input));
}

function fits(wanted: Json, value: Json | undefined): boolean {
  if (typeof wanted === "string") return typeof value === "string" && fitsGlob(wanted, value);
  if (Array.isArray(wanted)) {
    return Array.isArray(value) && wanted.length === value.length && wanted.every((item, n) => fits(item, value[n]));
  }
  if (!isObject(wanted)) return wanted === value;
  return isObject(value) && Object.entries(wanted).every(([key, item]) => fits(item as Json, value[key] as Json));
}

/** `*` is any characters, `\*` a star. Goes back to the last star alone, so that no pattern takes for ever. */
export function fitsGlob(pattern: string, text: string): boolean {
  const parts = pattern.match(/\\\*|\*|[\s\S]/gu) ?? [];
  const letters = [...text];
  let [part, letter, star, from] = [0, 0, -1, 0];
  while (letter < letters.length) {
    if (parts[part] === "*") [star, from, part] = [part, letter, part + 1];
    else if (part < parts.length && plain(parts[part]) === letters[letter]) [part, letter] = [part + 1, letter + 1];
    else if (star === -1) return false;
    else [part, letter, from] = [star + 1, from + 1, from + 1];
  }
  return parts.slice(part).every((rest) => rest === "*");
}

function plain(part: string | undefined): string | undefined {
  return part === "\\*" ? "*" : part;
}

/** What stands for itself where `*` is any characters. */
export function escapeGlobs(value: Json): Json {
  if (typeof value === "string") return value.replaceAll("*", "\\*");
  if (Array.isArray(value)) return value.map(escapeGlobs);
  if (!isObject(value)) return value;
  return Object.fromEntries(Object.entries(value).map(([key, item]) => [key, escapeGlobs(item as Json)]));
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
