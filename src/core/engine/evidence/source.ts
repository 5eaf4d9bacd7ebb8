import { isObject, type Json, type JsonObject, parseJson } from "../../base/values.ts";
import { stringOf } from "./folded.ts";
import { hasMarker, MOST_OF_FIELD, type Quote } from "./quote.ts";
import { containerOf, type EvidenceRecord, type Form, formsOf } from "./records.ts";
import { findPlaces, nearestPlace } from "./search.ts";

/** Text to search for quotes: a result as the model saw it, and its parts that are stored as blobs. */
export interface Source {
  readonly texts: readonly string[];
}

/** A quote that was found, with the records that contain it, or that was found only across records. */
export type Found = { readonly records: readonly EvidenceRecord[] } | { readonly crosses: true };

/** Finds quotes in a source. Reads each form of the source once, however many quotes there are. */
export function findQuotes({ texts }: Source, quotes: readonly Quote[]): (Found | undefined)[] {
  const found = new Array<Found | undefined>(quotes.length);
  const isOpen = (index: number) => {
    const one = found[index];
    return one === undefined || "crosses" in one;
  };
  for (const text of texts) {
    findFields(text, quotes, found);
    for (const form of formsOf(text)) {
      const open = quotes.flatMap((quote, index) => {
        return quote.kind === "pieces" && isOpen(index) ? [{ pieces: quote.pieces, index }] : [];
      });
      if (open.length === 0) break;
      const hits = findPlaces(
        form,
        open.map(({ pieces }) => pieces),
      );
      for (const [position, { index }] of open.entries()) {
        const { places = [], crosses = false } = hits[position] ?? {};
        if (places.length > 0) found[index] = { records: recordsAt(form, places) };
        else if (crosses) found[index] = { crosses };
      }
    }
  }
  return found;
}

/** Returns the record that shares most of a quote with it, if that is enough to be what was meant. */
export function nearestTo({ texts }: Source, quote: Quote): string | undefined {
  if (quote.kind !== "pieces") return undefined;
  let best = { share: LEAST_SHARE, text: undefined as string | undefined };
  for (const text of texts) {
    const form = [...formsOf(text)].at(-1);
    const near = form && nearestPlace(form, quote.pieces);
    if (form && near && near.share > best.share) {
      best = { share: near.share, text: form.recordAt(near.start, near.start + 1).text };
    }
  }
  return best.text;
}

/** Part of a quote that a record must share with it. */
const LEAST_SHARE = 0.4;

function recordsAt(form: Form, places: readonly { readonly start: number; readonly end: number }[]): EvidenceRecord[] {
  const records = places.map(({ start, end }) => form.recordAt(start, end));
  return [...new Map(records.map((record) => [record.text, record])).values()];
}

/** Most records that are returned for the value of one field. */
const MOST_RECORDS = 100;

/** Finds quotes that are the whole value of a field. */
function findFields(text: string, quotes: readonly Quote[], found: (Found | undefined)[]): void {
  const wanted = new Set(quotes.flatMap((quote) => (quote.kind === "field" ? quote.value : [])));
  if (wanted.size === 0) return;
  const records = new Map<string, EvidenceRecord[]>();
  eachScalar({ value: jsonOf(text) ?? text, record: () => ({ text }), deeper: 1 }, (value, recordOf) => {
    if (value.length > MOST_OF_FIELD || hasMarker(value)) return;
    const folded = stringOf(value);
    if (!wanted.has(folded)) return;
    const known = records.get(folded) ?? [];
    if (known.length < MOST_RECORDS) records.set(folded, [...known, recordOf()]);
  });
  for (const [index, quote] of quotes.entries()) {
    const here = quote.kind === "field" && !found[index] ? records.get(quote.value) : undefined;
    if (here) found[index] = { records: here };
  }
}

function jsonOf(text: string): Json | undefined {
  return /^\s*[[{"\d-]/.test(text) ? parseJson(text) : undefined;
}

interface Scalars {
  readonly value: Json;
  /** Returns the record that contains the value. */
  readonly record: () => EvidenceRecord;
  /** Number of nested JSON strings that may still be parsed. */
  readonly deeper: number;
}

function eachScalar(
  { value, record, deeper }: Scalars,
  visit: (text: string, record: () => EvidenceRecord) => void,
): void {
  if (Array.isArray(value)) {
    const divides = value.some((item) => typeof item === "object" && item !== null);
    for (const item of value as readonly Json[]) {
      const own = divides ? () => ({ text: JSON.stringify(item), value: item }) : record;
      eachScalar({ value: item, record: own, deeper }, visit);
    }
  } else if (isObject(value)) {
    for (const member of Object.values(value as JsonObject)) eachScalar({ value: member, record, deeper }, visit);
  } else {
    visit(String(value), record);
    const inner = typeof value === "string" && deeper > 0 ? containerOf(value) : undefined;
    if (inner !== undefined) eachScalar({ value: inner, record, deeper: deeper - 1 }, visit);
  }
}
