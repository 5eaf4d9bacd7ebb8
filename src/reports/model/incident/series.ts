import { isObject, type Json, type JsonObject } from "../../../core/base/values.ts";
import { numbersInQuote } from "../../../core/engine/evidence/quote.ts";
import type { FoundQuote } from "../../../core/engine/finding/quotes.ts";
import type { Account } from "../account.ts";
import { instantIn } from "./chronicle.ts";

/** A metric over time that a claim quotes. */
export interface Series {
  readonly name: string;
  readonly ref: string;
  /** Ascending by time, without gaps. */
  readonly points: readonly Point[];
  /** Quoted points, by the number of the claim. */
  readonly quoted: readonly (Point & { readonly claim: number })[];
}

export interface Point {
  readonly time: number;
  readonly value: number;
}

const MOST_SERIES = 8;
const MOST_POINTS = 2000;
const LEAST_POINTS = 3;

/** Returns the series of which claims quote values, in the order of the claims. */
export function seriesOf({ evidence, every }: Account): Series[] {
  const outputs = new Map(
    every.flatMap(({ calls }) => {
      return calls.flatMap(({ ref, outcome }) => (outcome && "output" in outcome ? [[ref, outcome.output]] : []));
    }),
  );
  const found = new Map<string, Series>();
  for (const [index, { cites }] of evidence.claims.slice(0, evidence.kept).entries()) {
    for (const cite of cites) {
      const quote = evidence.quoteOf(cite);
      const output = outputs.get(cite.ref);
      if (quote?.record === undefined || output === undefined) continue;
      for (const { quoted, ...one } of quotedIn(quote, output)) {
        const key = `${one.ref} ${one.name}`;
        const known = found.get(key) ?? (found.size < MOST_SERIES ? { ...one, quoted: [] } : undefined);
        if (known) found.set(key, { ...known, quoted: [...known.quoted, { ...quoted, claim: index + 1 }] });
      }
    }
  }
  return [...found.values()];
}

type QuotedSeries = Omit<Series, "quoted"> & { readonly quoted: Point };

function quotedIn({ ref, quote, record }: FoundQuote, output: Json): QuotedSeries[] {
  if (!Array.isArray(record?.value)) return [];
  const row = record.value as readonly Json[];
  return record.columns
    ? columnsIn({ ref, quote, row, columns: record.columns }, output)
    : pairsIn({ ref, row }, output);
}

interface Row {
  readonly ref: string;
  readonly quote: string;
  readonly row: readonly Json[];
  readonly columns: readonly string[];
}

/** Returns the numeric columns of a table that a quote of a row contains. */
function columnsIn({ ref, quote, row, columns }: Row, output: Json): QuotedSeries[] {
  const clock = row.findIndex((cell) => typeof cell === "string" && instantIn(cell) !== undefined);
  const at = instantIn(row[clock]);
  const wanted = JSON.stringify(columns);
  const table = objectsIn(output).find((each) => JSON.stringify(each.columns) === wanted && Array.isArray(each.rows));
  if (at === undefined || !table) return [];
  const rows = (table.rows as readonly Json[])
    .slice(0, MOST_POINTS)
    .filter((each): each is readonly Json[] & Json => Array.isArray(each));
  const groups = columns.flatMap((_, index) => (index !== clock && isGroup(rows, index) ? [index] : []));
  const own = rows.filter((each) => groups.every((index) => each[index] === row[index]));
  const label = groups.map((index) => ` ${String(row[index])}`).join("");
  const quoted = numbersInQuote(quote);
  return columns.flatMap((column, index): QuotedSeries[] => {
    const value = row[index];
    if (typeof value !== "number" || !quoted.has(value)) return [];
    const points = pointsOf(own.map((each) => [each[clock] ?? null, each[index] ?? null]));
    if (points.length < LEAST_POINTS) return [];
    return [{ ref, name: `${column}${label}`, points, quoted: { time: at, value } }];
  });
}

/** Reports whether a column divides the rows into groups, as a name of an instance does. */
function isGroup(rows: readonly (readonly Json[])[], index: number): boolean {
  const values = new Set(rows.map((row) => row[index]));
  return values.size <= rows.length / 2 && [...values].every((value) => typeof value === "string");
}

/** Returns the series whose `points` contain a quoted pair of time and value. */
function pairsIn({ ref, row }: Pick<Row, "ref" | "row">, output: Json): QuotedSeries[] {
  const [quoted] = pointsOf([row]);
  if (row.length !== 2 || !quoted) return [];
  const pair = JSON.stringify(row);
  return objectsIn(output).flatMap(({ points: pairs, ...about }): QuotedSeries[] => {
    if (!Array.isArray(pairs) || !pairs.some((each) => JSON.stringify(each) === pair)) return [];
    const points = pointsOf(pairs as readonly Json[]);
    return points.length < LEAST_POINTS ? [] : [{ ref, name: nameOf(about), points, quoted }];
  });
}

function nameOf({ labels, metric, scope, expression, name, by }: JsonObject): string {
  const texts = [name, metric ?? expression, scope, labels ?? by].filter((each) => each !== undefined && each !== null);
  return texts.map((each) => (typeof each === "string" ? each : JSON.stringify(each))).join(" ") || "value";
}

function pointsOf(pairs: readonly Json[]): Point[] {
  const points = pairs.slice(0, MOST_POINTS).flatMap((pair): Point[] => {
    const [at, value] = Array.isArray(pair) ? (pair as readonly Json[]) : [];
    const time = instantIn(at);
    return time === undefined || typeof value !== "number" || !Number.isFinite(value) ? [] : [{ time, value }];
  });
  return points.sort((a, b) => a.time - b.time);
}

const MOST_OBJECTS = 2000;

/** Returns the objects in a value, those nearest to the root first. */
function objectsIn(root: Json): JsonObject[] {
  const left: Json[] = [root];
  for (let at = 0; at < left.length && left.length < MOST_OBJECTS; at++) {
    const value = left[at];
    if (typeof value !== "object" || value === null) continue;
    for (const each of Object.values(value)) if (typeof each === "object" && each !== null) left.push(each as Json);
  }
  return left.filter((each): each is JsonObject => isObject(each));
}
