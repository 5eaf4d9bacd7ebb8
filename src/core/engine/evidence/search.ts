import { countWhile, groupBy } from "../../base/values.ts";
import type { Folded } from "./folded.ts";
import type { Form } from "./records.ts";

/** Searches many quotes in one text. The time grows with text plus quotes, not with their product. */

/** Limit on comparisons per search. After that, quotes count as not found. */
const MOST_LOOKS = 200_000_000;

/** Most places that are returned for one quote. */
const MOST_PLACES = 100;

/** Positions in the normalized text. */
export interface Place {
  readonly start: number;
  readonly end: number;
}

/** Search for one quote. `crosses`: it was found, but only across records. */
interface Search {
  readonly pieces: readonly Folded[];
  readonly places: Place[];
  crosses: boolean;
}

/** Finds each quote, whose pieces must follow in order within one record. */
export function findPlaces(form: Form, quotes: readonly (readonly Folded[])[]): readonly Search[] {
  const budget = { left: MOST_LOOKS };
  const searches = quotes.map((pieces): Search => ({ pieces, places: [], crosses: false }));
  const distinct = groupBy(searches, ({ pieces }) => pieces.map((piece) => piece.join(",")).join(";"));
  const firsts = [...distinct.values()].flatMap(([first]) => first ?? []);
  eachPlace(form.codes, firsts, budget, (search, start) => placeAt(form, search, start, budget));
  for (const [first, ...others] of distinct.values()) for (const other of others) Object.assign(other, first);
  return searches;
}

/** Notes a quote whose first piece is at `start`. Returns true if no further place is wanted. */
function placeAt({ codes, hard, soft }: Form, search: Search, start: number, budget: Budget): boolean {
  const [first, ...others] = search.pieces;
  const end = start + (first?.length ?? 0);
  const isWhole = !isCrossed(hard, start, end) && (others.length === 0 || !isCrossed(soft, start, end));
  const limit = Math.min(nextAfter(hard, end), nextAfter(soft, end), codes.length);
  const last = isWhole ? endOf(codes, others, end, others.length === 0 ? end : limit, budget) : -1;
  if (last >= 0) search.places.push({ start, end: last });
  if (last >= 0 || search.crosses) return search.places.length >= MOST_PLACES;
  // Pieces that do not follow here do not follow a later place either.
  search.crosses = endOf(codes, others, end, codes.length, budget) >= 0;
  return !search.crosses;
}

/** Returns the end of the last of the pieces, which follow in order from a position on, or -1. */
function endOf(codes: Folded, pieces: readonly Folded[], from: number, limit: number, budget: Budget): number {
  let end = from;
  for (const piece of pieces) {
    const place = placeAfter(codes.subarray(end, limit), piece, budget);
    if (place < 0) return -1;
    end += place + piece.length;
  }
  return end;
}

/** Reports whether a position between records is within an interval. A separator at its ends does not count. */
function isCrossed(separators: readonly number[], start: number, end: number): boolean {
  return nextAfter(separators, start + 1) < end - 1;
}

/** Returns the first separator at or after a position, or infinity. */
function nextAfter(separators: readonly number[], position: number): number {
  return separators[countWhile(separators, (each) => each < position)] ?? Number.POSITIVE_INFINITY;
}

/** Returns the record with the largest share of the grams of the pieces, by the position of the first of them. */
export function nearestPlace({ codes, hard, soft }: Omit<Form, "recordAt">, pieces: readonly Folded[]) {
  /** Each gram of the quote, with the end of the record that it was last seen in. */
  const seen = new Map<number, number>();
  for (const piece of pieces) eachGram(piece, 32, (gram) => seen.set(gram, -1));
  let best = { start: -1, count: 0 };
  let record = { start: -1, count: 0, end: -1 };
  eachGram(codes, 32, (gram, at) => {
    const last = seen.get(gram);
    if (last === undefined) return;
    if (at >= record.end) {
      record = { start: at, count: 0, end: Math.min(nextAfter(hard, at), nextAfter(soft, at)) };
    }
    if (last === record.end) return;
    seen.set(gram, record.end);
    record.count += 1;
    if (record.count > best.count) best = record;
  });
  return best.count === 0 ? undefined : { start: best.start, share: best.count / seen.size };
}

interface Budget {
  left: number;
}

/** Number of codes per gram. */
const GRAM = 4;

/** Visits each position of each search's first piece, by looking only where its rarest gram occurs. */
function eachPlace(
  text: Folded,
  searches: readonly Search[],
  budget: Budget,
  visit: (search: Search, start: number) => boolean,
): void {
  const grams = searches.reduce((sum, { pieces }) => sum + Math.max(0, (pieces[0]?.length ?? 0) - GRAM + 1), 0);
  const bits = Math.min(22, Math.max(10, Math.ceil(Math.log2(4 * grams + 1))));
  const waiting = waitingBySlot(text, searches, bits);
  const wanted = new Uint8Array(1 << bits);
  for (const slot of waiting.keys()) wanted[slot] = 1;
  eachGram(text, bits, (slot, at) => {
    if (wanted[slot] !== 1 || budget.left < 0) return;
    const here = waiting.get(slot) ?? [];
    budget.left -= here.length;
    const left = here.filter(({ search, piece, offset }) => {
      return !standsAt(text, piece, at - offset, budget) || !visit(search, at - offset);
    });
    if (left.length === here.length) return;
    waiting.set(slot, left);
    if (left.length === 0) wanted[slot] = 0;
  });
}

/** Groups the searches by the rarest gram of their first piece. Leaves out pieces that the text cannot contain. */
function waitingBySlot(text: Folded, searches: readonly Search[], bits: number) {
  const wanted = new Uint8Array(1 << bits);
  const want = (slot: number) => {
    wanted[slot] = 1;
  };
  for (const { pieces } of searches) if (pieces[0]) eachGram(pieces[0], bits, want);
  const counts = new Uint32Array(1 << bits);
  eachGram(text, bits, (slot) => {
    if (wanted[slot] === 1) counts[slot] = (counts[slot] ?? 0) + 1;
  });
  const placed = searches.flatMap((search) => {
    const [piece] = search.pieces;
    const found = piece && rarest(piece, bits, counts);
    return found && found.count > 0 ? [{ search, piece, ...found }] : [];
  });
  return groupBy(placed, ({ slot }) => slot);
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

function standsAt(text: Folded, piece: Folded, place: number, budget: Budget): boolean {
  if (place < 0 || place + piece.length > text.length) return false;
  for (let index = 0; index < piece.length; index++) {
    if (text[place + index] === piece[index]) continue;
    budget.left -= index;
    return false;
  }
  return true;
}

/** Returns the first position of a piece in a text, or -1. */
function placeAfter(text: Folded, piece: Folded, budget: Budget): number {
  const [first = 0] = piece;
  for (let place = text.indexOf(first); place >= 0 && budget.left >= 0; place = text.indexOf(first, place + 1)) {
    budget.left -= 1;
    if (standsAt(text, piece, place, budget)) return place;
  }
  budget.left -= text.length >> 4;
  return -1;
}
