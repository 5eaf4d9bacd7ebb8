import { isObject, type Json, type JsonObject, parseJson } from "../../base/values.ts";
import { type Folded, foldText, placeInText } from "./folded.ts";
import { fieldText, hasMarker, MOST_OF_FIELD, type Quote } from "./quote.ts";
import { placesOf } from "./search.ts";

/** Text to search for quotes: a result as the model saw it, and its parts that are stored as blobs. */
export interface Source {
  readonly texts: readonly string[];
}

/** A quote that was found, and its position. -1 means that it is a whole field. */
export interface Found {
  readonly text: string;
  readonly at: number;
}

/** Finds quotes in a source. Reads each form of the source once, however many quotes there are. */
export function findQuotes({ texts }: Source, quotes: readonly Quote[]): (Found | undefined)[] {
  const found = new Array<Found | undefined>(quotes.length);
  for (const text of texts) {
    const json = jsonOf(text);
    findFields(text, json, quotes, found);
    for (const form of formsOf(text, json)) {
      const open = quotes.flatMap((quote, index) => {
        return quote.kind === "pieces" && !found[index] ? [{ pieces: quote.pieces, index }] : [];
      });
      if (open.length === 0) break;
      findPieces(form, open, found);
    }
  }
  return found;
}

function findPieces(
  form: string,
  open: readonly { readonly pieces: readonly Folded[]; readonly index: number }[],
  found: (Found | undefined)[],
): void {
  const places = placesOf(
    foldText(form),
    open.map(({ pieces }) => pieces),
  );
  for (const [position, { index }] of open.entries()) {
    const at = places[position] ?? -1;
    if (at >= 0) found[index] = { text: form, at };
  }
}

function findFields(
  text: string,
  json: Json | undefined,
  quotes: readonly Quote[],
  found: (Found | undefined)[],
): void {
  if (!quotes.some((quote, index) => quote.kind === "field" && !found[index])) return;
  const fields = new Set<string>();
  eachScalar(json ?? text, 1, (value) => {
    if (value.length <= MOST_OF_FIELD && !hasMarker(value)) fields.add(fieldText(value));
  });
  for (const [index, quote] of quotes.entries()) {
    if (quote.kind === "field" && !found[index] && fields.has(quote.value)) found[index] = { text, at: -1 };
  }
}

/** Yields the text, then with its JSON strings unescaped, then with nested JSON unescaped too. */
function* formsOf(text: string, json: Json | undefined): Generator<string> {
  yield text;
  if (json === undefined || !text.includes("\\")) return;
  const once = unescaped(json, false);
  yield once;
  const twice = unescaped(json, true);
  if (twice !== once) yield twice;
}

function jsonOf(text: string): Json | undefined {
  return /^\s*[[{"\d-]/.test(text) ? parseJson(text) : undefined;
}

/** Formats JSON with unescaped strings. */
function unescaped(root: Json, isDeep: boolean): string {
  const parts: string[] = [];
  const write = (value: Json, isInner: boolean): void => {
    if (typeof value === "string") {
      const inner = isDeep && !isInner ? containerIn(value) : undefined;
      if (inner === undefined) parts.push('"', value, '"');
      else write(inner, true);
    } else if (value === null || typeof value !== "object") {
      parts.push(String(value));
    } else if (Array.isArray(value)) {
      for (const [index, item] of value.entries()) {
        parts.push(index === 0 ? "[" : ",");
        write(item as Json, isInner);
      }
      parts.push(value.length === 0 ? "[]" : "]");
    } else {
      const members = Object.entries(value as JsonObject);
      for (const [index, [key, member]] of members.entries()) {
        parts.push(index === 0 ? '{"' : ',"', key, '":');
        write(member, isInner);
      }
      parts.push(members.length === 0 ? "{}" : "}");
    }
  };
  write(root, false);
  return parts.join("");
}

function containerIn(text: string): Json | undefined {
  if (!/^\s*[[{]/.test(text)) return undefined;
  const value = parseJson(text);
  return isObject(value) || Array.isArray(value) ? (value as Json) : undefined;
}

/** Visits all scalars. `deeper` is the number of nested JSON strings that may still be parsed. */
function eachScalar(value: Json, deeper: number, visit: (text: string) => void): void {
  if (Array.isArray(value)) {
    for (const item of value) eachScalar(item as Json, deeper, visit);
  } else if (isObject(value)) {
    for (const member of Object.values(value as JsonObject)) eachScalar(member, deeper, visit);
  } else {
    visit(String(value));
    const inner = typeof value === "string" && deeper > 0 ? containerIn(value) : undefined;
    if (inner !== undefined) eachScalar(inner, deeper - 1, visit);
  }
}

/** Returns an excerpt that starts at the line of the first quote, or shortly before the quote in a long line. */
export function excerptOf(found: readonly Found[], most: number): string {
  const [first] = found;
  if (!first) return "";
  const { text } = first;
  const folded = Math.min(...found.filter((other) => other.text === text).map(({ at }) => Math.max(0, at)));
  const place = placeInText(text, folded);
  const line = text.lastIndexOf("\n", place) + 1;
  const start = place - line < most / 2 ? line : place - Math.floor(most / 4);
  const end = start + most;
  return `${start > line ? "…" : ""}${text.slice(start, end)}${end < text.length ? "…" : ""}`;
}
