import { cutText } from "../../base/preview.ts";
import { type Json, parseJson } from "../../base/values.ts";
import { Codes, type Folded, stringOf } from "./folded.ts";
import { hasMarker, MOST_OF_FIELD, type Quote } from "./quote.ts";
import { containerOf, type EvidenceRecord, type Form, formsOf, isDivided } from "./records.ts";
import { findPlaces, nearestPlace } from "./search.ts";

/** Records that contain a quote. None if it was found only across records. */
export type Found = readonly EvidenceRecord[];

/**
 * Finds quotes in texts: a result as the model saw it, and its parts that are stored as blobs. Reads each form of a text
 * once, however many quotes there are.
 */
export function findQuotes(texts: readonly string[], quotes: readonly Quote[]): (Found | undefined)[] {
  const found = new Array<Found | undefined>(quotes.length);
  for (const text of texts) {
    findFields(text, quotes, found);
    for (const form of formsOf(text)) {
      const open = quotes.flatMap((quote, index) => {
        return quote.kind === "pieces" && !found[index]?.length ? [{ pieces: quote.pieces, index }] : [];
      });
      if (open.length === 0) break;
      const wanted = open.map(({ pieces }) => pieces);
      const hits = findPlaces(form, wanted);
      for (const [position, { index }] of open.entries()) {
        const { places = [], crosses = false } = hits[position] ?? {};
        if (places.length > 0) found[index] = recordsAt(form, places);
        else if (crosses) found[index] = [];
      }
    }
  }
  return found;
}

/** Length limit of a text in which the nearest text is searched. */
const MOST_OF_NEAREST = 1_000_000;

/** Returns the part of the record that shares most of a quote, if that is enough to be what was meant. */
export function nearestTo(texts: readonly string[], quote: Quote): string | undefined {
  if (quote.kind !== "pieces") return undefined;
  let best = { share: LEAST_SHARE, text: undefined as string | undefined };
  for (const text of texts) {
    const form = text.length > MOST_OF_NEAREST ? undefined : [...formsOf(text)].at(-1);
    const near = form && nearestPlace(form, quote.pieces);
    if (form && near && near.share > best.share) {
      best = { share: near.share, text: form.recordAt(near.start, near.start + 1).text };
    }
  }
  return best.text === undefined ? undefined : partLike(best.text, quote.pieces);
}

const MOST_SHOWN = 300;

/** Returns the 300 characters of a record that share most with the pieces. */
function partLike(text: string, pieces: readonly Folded[]): string {
  if (text.length <= MOST_SHOWN) return text;
  const out = new Codes(text.length + 16);
  const ends: number[] = [];
  for (let at = 0; at < text.length; at += MOST_SHOWN / 2) {
    out.text(text.slice(at, at + MOST_SHOWN / 2));
    ends.push(out.length);
  }
  const near = nearestPlace({ codes: out.taken(), hard: [], soft: ends }, pieces);
  const part = ends.findIndex((end) => end > (near?.start ?? 0));
  const from = Math.max(0, part * (MOST_SHOWN / 2) - MOST_SHOWN / 4);
  const isHalf = /^[\udc00-\udfff]/.test(text.slice(from, from + 1));
  return cutText(text.slice(isHalf ? from + 1 : from), MOST_SHOWN);
}

/** Part of a quote that a record must share with it. */
const LEAST_SHARE = 0.4;

function recordsAt(form: Form, places: readonly { readonly start: number; readonly end: number }[]): EvidenceRecord[] {
  const records = places.map(({ start, end }) => form.recordAt(start, end));
  return [...new Map(records.map((record) => [record.text, record])).values()];
}

/** Most records that are returned for the value of one field. */
const MOST_RECORDS = 100;

/** Finds short quotes that are the whole value of a field, or a whole record. */
function findFields(text: string, quotes: readonly Quote[], found: (Found | undefined)[]): void {
  const wanted = new Set(quotes.flatMap((quote) => (quote.kind === "field" ? quote.value : [])));
  if (wanted.size === 0) return;
  const records = new Map<string, EvidenceRecord[]>();
  const value = /^\s*[[{"\d-]/.test(text) ? parseJson(text) : undefined;
  eachScalar(value ?? text, { record: () => ({ text }), deeper: 1 }, (value, recordOf) => {
    if (value.length > MOST_OF_FIELD || hasMarker(value)) return;
    const folded = stringOf(value);
    if (!wanted.has(folded)) return;
    const known = records.get(folded) ?? [];
    if (known.length < MOST_RECORDS) records.set(folded, [...known, recordOf()]);
  });
  for (const [index, quote] of quotes.entries()) {
    const here = quote.kind === "field" && !found[index] ? records.get(quote.value) : undefined;
    if (here) found[index] = here;
  }
}

/** Checks whether all of a record may be shorter than other quotes must be. */
function isShort(record: Json): boolean {
  const parts = Object.values(record ?? {});
  return parts.length <= 4 && parts.every((part) => typeof part !== "object");
}

/** Record that contains a value, and the number of nested JSON strings that may still be parsed. */
interface Around {
  readonly record: () => EvidenceRecord;
  readonly deeper: number;
}

function eachScalar(
  value: Json,
  { record, deeper }: Around,
  visit: (text: string, record: () => EvidenceRecord) => void,
): void {
  if (typeof value !== "object" || value === null) {
    visit(String(value), record);
    const inner = typeof value === "string" && deeper > 0 ? containerOf(value) : undefined;
    if (inner !== undefined) eachScalar(inner, { record, deeper: deeper - 1 }, visit);
    return;
  }
  const divides = Array.isArray(value) && isDivided(value as readonly Json[]);
  for (const item of Object.values(value) as readonly Json[]) {
    const own = divides ? () => ({ text: JSON.stringify(item), value: item }) : record;
    if (divides && isShort(item)) visit(JSON.stringify(item), own);
    eachScalar(item, { record: own, deeper }, visit);
  }
}
