import { html, type Markup } from "./markup.ts";

/** Marks quotes in linear time, because both the text and the quotes come from untrusted authors. */

/** Limit for quotes, because each one takes time for each text. */
const MOST_QUOTES = 20;
const MOST_MARKED = 500;

/** Marks the quotes that occur in a text. Ignores differences in white space. */
export function markQuotes(text: string, quotes: ReadonlySet<string>, rest: (piece: string) => Markup): Markup {
  const pieces: Markup[] = [];
  let at = 0;
  for (const { from, to } of spansOf(text, needlesOf(quotes))) {
    pieces.push(rest(text.slice(at, from)), html`<mark>${text.slice(from, to)}</mark>`);
    at = to;
  }
  return pieces.length === 0 ? rest(text) : html`${pieces}${rest(text.slice(at))}`;
}

/** Quote with white space collapsed to single spaces. */
interface Needle {
  readonly text: string;
  /** Failure function of the Knuth-Morris-Pratt search. */
  readonly falls: Uint16Array;
}

const prepared = new WeakMap<ReadonlySet<string>, readonly Needle[]>();

function needlesOf(quotes: ReadonlySet<string>): readonly Needle[] {
  const known = prepared.get(quotes);
  if (known) return known;
  const texts = [...quotes].slice(0, MOST_QUOTES).map((quote) => quote.trim().replace(/\s+/g, " "));
  const needles = texts
    .filter((text) => text !== "" && text.length <= MOST_MARKED)
    .map((text) => ({ text, falls: fallsOf(text) }));
  prepared.set(quotes, needles);
  return needles;
}

function fallsOf(text: string): Uint16Array {
  const falls = new Uint16Array(text.length + 1);
  for (let at = 1, fit = 0; at < text.length; at++) {
    while (fit > 0 && text[at] !== text[fit]) fit = falls[fit] ?? 0;
    if (text[at] === text[fit]) fit += 1;
    falls[at + 1] = fit;
  }
  return falls;
}

interface Span {
  readonly from: number;
  readonly to: number;
}

/** Finds the quotes in order and merges those that overlap. */
function spansOf(text: string, needles: readonly Needle[]): Span[] {
  if (!needles.some((needle) => needle.text.length <= text.length)) return [];
  const places = placesOf(text);
  const single = text.replace(/\s+/g, " ");
  const found = needles.flatMap((needle) =>
    endsOf(single, needle).map((end): Span => {
      return { from: places[end - needle.text.length] ?? 0, to: (places[end - 1] ?? 0) + 1 };
    }),
  );
  const spans: Span[] = [];
  for (const span of found.sort((a, b) => a.from - b.from)) {
    const last = spans.at(-1);
    if (!last || span.from >= last.to) spans.push(span);
    else if (span.to > last.to) spans[spans.length - 1] = { from: last.from, to: span.to };
  }
  return spans;
}

/** Maps each character of the text with collapsed white space to its position in the original. */
function placesOf(text: string): Uint32Array {
  const places = new Uint32Array(text.length);
  let length = 0;
  let wasBlank = false;
  for (let at = 0; at < text.length; at++) {
    const isBlank = /\s/.test(text.charAt(at));
    if (!isBlank || !wasBlank) places[length++] = at;
    wasBlank = isBlank;
  }
  return places;
}

/** Returns the end positions of all occurrences that do not overlap. */
function endsOf(text: string, { text: wanted, falls }: Needle): number[] {
  const ends: number[] = [];
  for (let at = 0, fit = 0; at < text.length; at++) {
    while (fit > 0 && text[at] !== wanted[fit]) fit = falls[fit] ?? 0;
    if (text[at] === wanted[fit]) fit += 1;
    if (fit < wanted.length) continue;
    ends.push(at + 1);
    fit = 0;
  }
  return ends;
}
