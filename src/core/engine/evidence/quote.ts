import { type Folded, foldText, markerAt, shownIn } from "./folded.ts";

/** What was quoted: pieces that have to occur in this order, or one whole field. */
export type Quote =
  | { readonly kind: "pieces"; readonly pieces: readonly Folded[] }
  | { readonly kind: "field"; readonly value: string }
  | { readonly kind: "refused"; readonly problem: string };

/** Characters of a quote that is less than a whole field; of each piece between ellipses. */
const LEAST_OF_QUOTE = 8;
const LEAST_OF_PIECE = 4;

/** Ellipses, white space, redaction markers and what does not show count towards no length. */
export function readQuote(text: string): Quote {
  const pieces = text.split(/…|\.{3,}/).filter((piece) => piece.trim() !== "");
  const sizes = pieces.map(sizeOf);
  const size = sizes.reduce((sum, part) => sum + part, 0);
  if (size === 0) return { kind: "refused", problem: "its quote is empty" };
  if (size < LEAST_OF_QUOTE) {
    if (hasMarker(text)) return { kind: "refused", problem: "its quote is little more than what was redacted" };
    return { kind: "field", value: fieldText(text) };
  }
  if (sizes.some((part) => part < LEAST_OF_PIECE)) {
    return { kind: "refused", problem: `a piece of its quote has less than ${LEAST_OF_PIECE} characters` };
  }
  return { kind: "pieces", pieces: pieces.map((piece) => foldText(piece.trim())) };
}

/** A field's value as whole fields are compared; what was redacted is never one. */
export function fieldText(value: string): string {
  return foldText(value.trim()).reduce((text, code) => text + String.fromCharCode(code), "");
}

/** No short quote is as long as this, however it is folded. */
export const MOST_OF_FIELD = 64;

export function hasMarker(text: string): boolean {
  for (let at = text.indexOf("["); at >= 0; at = text.indexOf("[", at + 1)) if (markerAt(text, at)) return true;
  return false;
}

/** Neither what folds to less than was written counts, such as `1.000000`, nor what folds to more, such as `1e9`. */
function sizeOf(text: string): number {
  let written = 0;
  for (let at = 0; at < text.length; ) {
    const marker = text[at] === "[" ? markerAt(text, at) : undefined;
    if (marker === undefined && /\S/.test(text[at] ?? "")) written++;
    at += marker?.length ?? 1;
  }
  return Math.min(written, shownIn(foldText(text)));
}
