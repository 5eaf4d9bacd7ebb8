import { html, type Markup } from "./markup.ts";

/** Quotes marked in a text, in a time that grows with both and not with their product: both are strangers'. */

/** More of them cost time at every text. */
const MOST_QUOTES = 20;
const MOST_MARKED = 500;

/** The text with the quotes marked that stand in it as they are, but for their white space. */
export function markQuotes(text: string, quotes: ReadonlySet<string>, rest: (piece: string) => Markup): Markup {
  const pieces: Markup[] = [];
  let at = 0;
  for (const { from, to } of spansOf(text, needlesOf(quotes))) {
    pieces.push(rest(text.slice(at, from)), html`<mark>${text.slice(from, to)}</mark>`);
    at = to;
  }
  return pieces.length === 0 ? rest(text) : html`${pieces}${rest(text.slice(at))}`;
}

/** A quote with single blanks. */
interface Needle {
  readonly text: string;
  /** For each number of characters that fit before one that does not: how many of them may begin another place. */
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

/** In their order; those that overlap are one. */
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

/** Of each character of the text with single blanks, where it stands in the text. */
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

/** Where it ends, each place begun behind the one before. */
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
