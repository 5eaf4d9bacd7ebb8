import type { Folded } from "./folded.ts";

/** Searches many quotes in one text. The time grows with text plus quotes, not with their product. */

/** Limit on comparisons per search. After that, quotes count as not found. */
const MOST_LOOKS = 200_000_000;

/** Returns, for each quote, the position of its first piece if the others follow in order, otherwise -1. */
export function placesOf(text: Folded, quotes: readonly (readonly Folded[])[]): number[] {
  const budget = { left: MOST_LOOKS };
  const pieces = distinct(quotes.flat());
  const first = firstPlaces(text, [...pieces.values()], budget);
  const placeOf = (piece: Folded) => first.get(pieces.get(keyOf(piece)) ?? piece) ?? -1;
  return quotes.map((quote) => {
    const [start = -1, ...others] = quote.map(placeOf);
    if (start < 0 || others.some((place) => place < 0)) return -1;
    let end = start + (quote[0]?.length ?? 0);
    for (const [index, place] of others.entries()) {
      const piece = quote[index + 1] as Folded;
      const next = place >= end ? place : placeAfter(text, piece, end, budget);
      if (next < 0) return -1;
      end = next + piece.length;
    }
    return start;
  });
}

function distinct(pieces: readonly Folded[]): Map<string, Folded> {
  return new Map(pieces.map((piece) => [keyOf(piece), piece]));
}

const keys = new WeakMap<Folded, string>();

function keyOf(piece: Folded): string {
  const known = keys.get(piece) ?? piece.join(",");
  keys.set(piece, known);
  return known;
}

/** Number of codes per gram. */
const GRAM = 4;

/** Finds the first position of each piece, by looking only where its rarest gram occurs. */
function firstPlaces(text: Folded, pieces: readonly Folded[], budget: { left: number }): Map<Folded, number> {
  const grams = pieces.reduce((sum, piece) => sum + Math.max(0, piece.length - GRAM + 1), 0);
  const bits = Math.min(22, Math.max(10, Math.ceil(Math.log2(4 * grams + 1))));
  const wanted = new Uint8Array(1 << bits);
  const want = (slot: number) => {
    wanted[slot] = 1;
  };
  for (const piece of pieces) eachGram(piece, bits, want);
  const counts = new Uint32Array(1 << bits);
  eachGram(text, bits, (slot) => {
    if (wanted[slot] === 1) counts[slot] = (counts[slot] ?? 0) + 1;
  });
  const waiting = new Map<number, { readonly piece: Folded; readonly offset: number }[]>();
  wanted.fill(0);
  for (const piece of pieces) {
    const { slot, offset, count } = rarest(piece, bits, counts);
    if (count === 0) continue;
    wanted[slot] = 1;
    const others = waiting.get(slot);
    if (others) others.push({ piece, offset });
    else waiting.set(slot, [{ piece, offset }]);
  }
  const found = new Map<Folded, number>();
  eachGram(text, bits, (slot, at) => {
    if (wanted[slot] !== 1 || budget.left < 0) return;
    const here = waiting.get(slot) ?? [];
    budget.left -= here.length;
    const left = here.filter(({ piece, offset }) => {
      const isHere = standsAt(text, piece, at - offset);
      if (isHere) found.set(piece, at - offset);
      return !isHere;
    });
    if (left.length === here.length) return;
    waiting.set(slot, left);
    if (left.length === 0) wanted[slot] = 0;
  });
  return found;
}

function rarest(piece: Folded, bits: number, counts: Uint32Array) {
  let best = { slot: 0, offset: 0, count: Number.POSITIVE_INFINITY };
  eachGram(piece, bits, (slot, offset) => {
    const count = counts[slot] ?? 0;
    if (count < best.count) best = { slot, offset, count };
  });
  return best.count === Number.POSITIVE_INFINITY ? { ...best, count: 0 } : best;
}

function eachGram(codes: Folded, bits: number, visit: (slot: number, at: number) => void): void {
  const shift = 32 - bits;
  for (let at = 0; at + GRAM <= codes.length; at++) {
    let hash = Math.imul(codes[at] ?? 0, 0x9e3779b1) ^ (codes[at + 1] ?? 0);
    hash = Math.imul(hash, 0x85ebca6b) ^ (codes[at + 2] ?? 0);
    hash = Math.imul(hash, 0xc2b2ae35) ^ (codes[at + 3] ?? 0);
    visit(Math.imul(hash ^ (hash >>> 15), 0x27d4eb2f) >>> shift, at);
  }
}

function standsAt(text: Folded, piece: Folded, place: number): boolean {
  if (place < 0 || place + piece.length > text.length) return false;
  for (let index = 0; index < piece.length; index++) if (text[place + index] !== piece[index]) return false;
  return true;
}

function placeAfter(text: Folded, piece: Folded, from: number, budget: { left: number }): number {
  for (let place = text.indexOf(piece[0] ?? 0, from); place >= 0; place = text.indexOf(piece[0] ?? 0, place + 1)) {
    budget.left -= 1;
    if (budget.left < 0) return -1;
    if (standsAt(text, piece, place)) return place;
  }
  return -1;
}
