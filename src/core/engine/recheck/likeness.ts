import { isObject, type Json, type JsonObject } from "../../base/values.ts";
import { momentAt } from "../evidence/moments.ts";
import { ELLIPSIS } from "../evidence/quote.ts";
import type { Unit } from "./units.ts";

/** Finds out whether two units are about the same thing, whose ids, times and numbers differ. */

/** A text in a unit, and the keys that lead to it. */
type Part = readonly [path: string, text: string];

/** Returns the shape of a record: its texts with their places, without digits and ids. */
export function shapeOf({ field, value }: Unit): string {
  return signature(field, plainParts(textsIn(value)));
}

/** Identity of a series: as written, and without digits and ids, which differ after a restart. */
export interface Name {
  readonly exact: string;
  readonly plain: string;
}

/**
 * Returns the identity of a series: its texts outside of lists, without times. Of a row only the cells before its first
 * number, which is where a table has its groups: others describe the values, such as the interval between them.
 */
export function nameOf({ field, value, isRow }: Unit): Name {
  const cells = isRow || Array.isArray(value) ? Object.entries(value as JsonObject) : undefined;
  const first = cells?.findIndex(([, cell]) => typeof cell === "number") ?? 0;
  const named = cells ? Object.fromEntries(first > 0 ? cells.slice(0, first) : cells) : value;
  const parts = textsIn(named).filter(([path, text]) => !path.includes(".*") && !isMeasured(text));
  return { exact: signature(field, parts), plain: signature(field, plainParts(parts)) };
}

/** Checks whether a text is a time, or a number that JSON cannot hold. */
function isMeasured(text: string): boolean {
  return /^(?:NaN|[+-]?Inf(?:inity)?)$/.test(text) || momentAt(text, 0)?.end === text.length;
}

function signature(field: string, parts: readonly Part[]): string {
  return JSON.stringify([field, ...[...new Set(parts.map(([path, text]) => `${path}=${text}`))].sort()]);
}

function plainParts(parts: readonly Part[]): Part[] {
  return parts.map(([path, text]) => [path, plainText(text)] as const).filter(([, text]) => hasLetter(text));
}

function textsIn(value: Json, path = ""): Part[] {
  if (typeof value === "string") return [[path, value]];
  if (Array.isArray(value)) return (value as Json[]).flatMap((item) => textsIn(item, `${path}.*`));
  if (!isObject(value)) return [];
  return Object.entries(value as JsonObject).flatMap(([key, member]) => textsIn(member, `${path}.${key}`));
}

const WORD = /[\p{L}\p{N}_]+(?:[-.][\p{L}\p{N}_]+)*/gu;

/** Replaces numbers and ids, which differ between two occurrences of the same thing: words from the part with a digit on. */
function plainText(text: string): string {
  return text.replace(WORD, (word) => {
    const digit = word.search(/\d/);
    if (digit < 0) return word;
    const before = word.slice(0, digit);
    const start = Math.max(before.lastIndexOf("-"), before.lastIndexOf(".")) + 1;
    return /^[\da-f-]{7,}$/i.test(word) ? "#" : `${before.slice(0, start)}#`;
  });
}

function hasLetter(text: string): boolean {
  return /\p{L}/u.test(text);
}

/** A record shows a quote again, or only most of its words. */
type Likeness = "again" | "near" | undefined;

/** Shortest piece of a quote that may begin or end within a word. */
const LEAST_OF_PIECE = 8;

/** Returns a function that compares records with a quote, by its words without digits and ids. */
export function likenessTo(quote: string): (unit: Unit) => Likeness {
  const pieces = quote
    .split(ELLIPSIS)
    .map((piece) => wordsOf(piece).join(" "))
    .filter(hasLetter);
  // Names of fields are in all records.
  const wanted = new Set(wordsOf(quote.replace(FIELD, " ")).filter(hasLetter));
  return ({ value }) => {
    const words = wordsOf(writtenOf(value));
    if (pieces.length > 0 && containsAll(` ${words.join(" ")} `, pieces)) return "again";
    const own = new Set(words);
    return [...wanted].filter((word) => own.has(word)).length * 2 > wanted.size ? "near" : undefined;
  };
}

const FIELD = /[\p{L}\p{N}_.@-]{1,64}(?:=|\\?"\s{0,4}:)/gu;

function containsAll(text: string, pieces: readonly string[]): boolean {
  let from = 0;
  return pieces.every((piece) => {
    const found = text.indexOf(piece.length < LEAST_OF_PIECE ? ` ${piece} ` : piece, from);
    from = found + piece.length;
    return found >= 0;
  });
}

function wordsOf(text: string): readonly string[] {
  return (
    plainText(text.normalize("NFKC"))
      .toLowerCase()
      .match(/[\p{L}\p{N}_#]+/gu) ?? []
  );
}

/** Returns the keys, texts and numbers of a value in their order. */
function writtenOf(value: Json): string {
  if (Array.isArray(value)) return value.map((item) => writtenOf(item as Json)).join(" ");
  if (!isObject(value)) return String(value);
  return Object.entries(value as JsonObject)
    .map(([key, member]) => `${key} ${writtenOf(member)}`)
    .join(" ");
}
