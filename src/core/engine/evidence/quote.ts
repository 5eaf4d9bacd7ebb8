import { type Folded, foldText, markerAt, shownIn, stringOf } from "./folded.ts";

/** A parsed quote: pieces that must occur in order, or one whole field. */
export type Quote =
  | { readonly kind: "pieces"; readonly pieces: readonly Folded[] }
  | { readonly kind: "field"; readonly value: string }
  | { readonly kind: "refused"; readonly problem: string };

/** Shortest quote unless it is a whole field, and shortest piece between ellipses. */
const LEAST_OF_QUOTE = 8;
const LEAST_OF_PIECE = 4;

export function numbersInQuote(quote: string): ReadonlySet<number> {
  return new Set([...quote.matchAll(/(?<![\w.])-?\d+(?:\.\d+)?(?:e[+-]?\d+)?/gi)].map(([written]) => Number(written)));
}

/**
 * Parses a quote. Ellipses, white space, redaction marks and invisible characters do not count as length. Backticks
 * around the quote and one full stop or comma at its end do not count at all.
 */
export function readQuote(written: string): Quote {
  const text = bare(written.trim());
  const pieces = text.split(ELLIPSIS).filter((piece) => piece.trim() !== "");
  const sizes = pieces.map(sizeOf);
  const size = sizes.reduce((sum, part) => sum + part, 0);
  if (size === 0) return { kind: "refused", problem: "its quote is empty" };
  if (size < LEAST_OF_QUOTE) {
    if (hasMarker(text)) return { kind: "refused", problem: "its quote is little more than what was redacted" };
    return { kind: "field", value: stringOf(text) };
  }
  if (sizes.some((part) => part < LEAST_OF_PIECE)) {
    return { kind: "refused", problem: `a piece of its quote has less than ${LEAST_OF_PIECE} characters` };
  }
  return { kind: "pieces", pieces: pieces.map((piece) => foldText(piece.trim())) };
}

/** Mark of what a quote leaves out. */
export const ELLIPSIS = /\[(?:…|\.{3,})\]|…|\.{3,}/;

/** Normalizes a claim as quotes are compared. Equal claims give equal strings. */
export function foldedClaim(text: string): string {
  return stringOf(bare(text.trim()).split(ELLIPSIS).join("…"));
}

function bare(written: string): string {
  const text = unended(written);
  const isInTicks = text.length > 2 && text.startsWith("`") && text.endsWith("`");
  return isInTicks ? unended(text.slice(1, -1).trim()) : text;
}

function unended(text: string): string {
  const isEnded = text.endsWith(",") || (text.endsWith(".") && !text.endsWith(".."));
  return isEnded ? text.slice(0, -1) : text;
}

/** Length that no short quote reaches, however it is normalized. */
export const MOST_OF_FIELD = 64;

export function hasMarker(text: string): boolean {
  for (let at = text.indexOf("["); at >= 0; at = text.indexOf("[", at + 1)) if (markerAt(text, at)) return true;
  return false;
}

/** Returns the shorter of the written and the normalized length, since `1.000000` shrinks and `1e9` grows. */
function sizeOf(text: string): number {
  let written = 0;
  for (let at = 0; at < text.length; ) {
    const marker = text[at] === "[" ? markerAt(text, at) : undefined;
    if (marker === undefined && /\S/.test(text[at] ?? "")) written++;
    at += marker?.length ?? 1;
  }
  return Math.min(written, shownIn(foldText(text)));
}
