import type { Fields } from "./record.ts";
import { isTimeName } from "./timestamp.ts";

/** Numeric field of a record, dotted if nested. */
export interface Measure {
  readonly name: string;
  readonly value: number;
}

const MOST_MEASURES = 30;
const DEEPEST = 4;
const NUMERIC_START = /^[\s\d.+-]/;

/** Returns the numbers that measure something, in the order of the fields: no ids, times, statuses or positions. */
export function measuresOf(
  fields: Fields,
  { prefix = "", depth = DEEPEST }: { readonly prefix?: string; readonly depth?: number } = {},
  found: Measure[] = [],
): readonly Measure[] {
  for (const key of Object.keys(fields)) {
    if (found.length === MOST_MEASURES) break;
    const value = fields[key];
    if (typeof value === "object" && value !== null && !Array.isArray(value)) {
      if (depth > 1) measuresOf(value as Fields, { prefix: `${prefix}${key}.`, depth: depth - 1 }, found);
      continue;
    }
    const isCandidate = typeof value === "number" || (typeof value === "string" && NUMERIC_START.test(value));
    if (!isCandidate || !isMeasure(key)) continue;
    const number = numberOf(value);
    if (number !== undefined) found.push({ name: `${prefix}${key}`, value: number });
  }
  return found;
}

/** Parses a number, optionally followed by a unit as in 812ms. */
export function numberOf(value: unknown): number | undefined {
  if (typeof value === "number") return value;
  if (typeof value !== "string" || value.length > LONGEST_NUMBER) return undefined;
  const match = /^\s*([+-]?(?:\d+(?:\.\d*)?|\.\d+)(?:e[+-]?\d+)?)\s?[a-zµ%]{0,3}\s*$/i.exec(value);
  return match ? Number(match[1]) : undefined;
}

const LONGEST_NUMBER = 60;
const MOST_KNOWN = 2000;
const known = new Map<string, boolean>();

function isMeasure(name: string): boolean {
  const told = known.get(name);
  if (told !== undefined) return told;
  const is = !isTimeName(name) && !NOT_MEASURED.test(name);
  if (known.size < MOST_KNOWN) known.set(name, is);
  return is;
}

/** Names of numbers that identify, order or classify. */
const NOT_MEASURED =
  /(?:^|[._-])(?:id|ids|pid|tid|uid|gid|port|line|lineno|status|code|version|v|seq|sequence|offset|index|severity|level|lvl|year|month|flags|commit|sha|hash|build|pod|host|node|shard|partition|order|claim|invoice|ticket|customer|account)$|[a-z](?:I[dD]|Status|Code|Port|Number)$|status|severity|(?:^|_)(?:line|port)_?(?:no|number)?$/i;
