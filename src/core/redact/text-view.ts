/**
 * A text as a reader sees it who undoes its escapes: of URLs and forms, of JSON and program text, and of base64 that is
 * broken into lines. A view knows where each part of it stands in the text.
 */
export interface View {
  readonly text: string;
  /** The stretch of the source that `start..end` of the view was made from. */
  toSource(start: number, end: number): readonly [start: number, end: number];
}

/** JSON within JSON within a URL. */
const MOST_DEPTH = 3;

/** The text itself, and what is left of it by undoing its escapes, each kind by itself. */
export function viewsOf(text: string): readonly View[] {
  return within({ text, toSource: (start, end) => [start, end] }, MOST_DEPTH);
}

function within(view: View, depth: number): readonly View[] {
  if (depth === 0) return [view];
  const inner = ESCAPES.filter(({ begin }) => view.text.includes(begin)).map((escapes) => undo(view, escapes));
  const shorter = inner.filter(({ text }) => text.length < view.text.length);
  return [view, ...shorter.flatMap((found) => within(found, depth - 1))];
}

/** One way to write a character by others. */
interface Escape {
  readonly begin: string;
  /** How long the code is that begins at a place; zero for none. */
  lengthAt(text: string, at: number): number;
  decode(code: string): string;
}

const ESCAPES: readonly Escape[] = [
  {
    begin: "\\",
    lengthAt(text, at) {
      const kind = text.charCodeAt(at + 1);
      if (kind === 117) return areHex(text, at + 2, 4) ? 6 : 0; // u
      if (kind === 120) return areHex(text, at + 2, 2) ? 4 : 0; // x
      return Object.hasOwn(LETTERS, text.charAt(at + 1)) ? 2 : 0;
    },
    decode: (code) => LETTERS[code.charAt(1)] ?? String.fromCharCode(Number.parseInt(code.slice(2), 16)),
  },
  {
    begin: "%",
    lengthAt(text, at) {
      if (!areHex(text, at + 1, 2)) return 0;
      if (text.charCodeAt(at + 1) < 56) return 3; // below %80
      CHARACTER.lastIndex = at;
      return CHARACTER.exec(text)?.[0].length ?? 0;
    },
    decode: (code) =>
      code.length === 3 ? String.fromCharCode(Number.parseInt(code.slice(1), 16)) : decodeURIComponent(code),
  },
];

const LETTERS: Readonly<Record<string, string>> = {
  '"': '"',
  "'": "'",
  "\\": "\\",
  "/": "/",
  b: "\b",
  f: "\f",
  n: "\n",
  r: "\r",
  t: "\t",
};

/** Beyond ASCII, in UTF-8. */
const CHARACTER =
  /%(?:c[2-9a-f]|d[\da-f])%[89ab][\da-f]|%e(?:0%[ab]|[1-9a-cef]%[89ab]|d%[89])[\da-f]%[89ab][\da-f]|%f(?:0%[9ab]|[1-3]%[89ab]|4%8)[\da-f](?:%[89ab][\da-f]){2}/iy;

function areHex(text: string, from: number, count: number): boolean {
  for (let at = from; at < from + count; at++) {
    const code = text.charCodeAt(at);
    const isHex = (code >= 48 && code <= 57) || (code >= 65 && code <= 70) || (code >= 97 && code <= 102);
    if (!isHex) return false;
  }
  return true;
}

function undo(outer: View, escapes: Escape): View {
  const { text } = outer;
  const pieces: string[] = [];
  let done = 0;
  for (let at = text.indexOf(escapes.begin); at !== -1; at = text.indexOf(escapes.begin, Math.max(at + 1, done))) {
    const length = escapes.lengthAt(text, at);
    if (length === 0) continue;
    pieces.push(text.slice(done, at), escapes.decode(text.slice(at, at + length)));
    done = at + length;
  }
  let changes: readonly Change[] | undefined;
  return {
    text: done === 0 ? text : pieces.join("") + text.slice(done),
    toSource(start, end) {
      changes ??= changesOf(pieces, text, escapes);
      return outer.toSource(placeOf(changes, start, "start"), placeOf(changes, end - 1, "end"));
    },
  };
}

/** A stretch of the outer text, and the one of the view that stands for it. */
interface Change {
  readonly from: number;
  readonly to: number;
  readonly start: number;
  readonly end: number;
}

/** Asked for only where something was found. Of the pieces, every other one was decoded. */
function changesOf(pieces: readonly string[], text: string, escapes: Escape): readonly Change[] {
  const changes: Change[] = [];
  let from = 0;
  let start = 0;
  for (let index = 0; index < pieces.length; index += 2) {
    from += pieces[index]?.length ?? 0;
    start += pieces[index]?.length ?? 0;
    const to = from + escapes.lengthAt(text, from);
    const end = start + (pieces[index + 1]?.length ?? 0);
    changes.push({ from, to, start, end });
    from = to;
    start = end;
  }
  return changes;
}

/** Where the character at a place of the view starts or ends in the outer text. */
function placeOf(changes: readonly Change[], at: number, edge: "start" | "end"): number {
  let low = 0;
  for (let high = changes.length; low < high; ) {
    const middle = (low + high) >> 1;
    if ((changes[middle]?.start ?? 0) <= at) low = middle + 1;
    else high = middle;
  }
  const last = changes[low - 1];
  if (last && at < last.end) return edge === "start" ? last.from : last.to;
  return at + (last ? last.to - last.end : 0) + (edge === "start" ? 0 : 1);
}

/** Runs of base64 or hexadecimal digits that go on in the next line, each as if it were one line of `least` characters. */
export function joinedLines(view: View, least: number): readonly View[] {
  const { text } = view;
  const found: View[] = [];
  let done = 0;
  for (let at = text.indexOf("\n"); at !== -1; at = text.indexOf("\n", Math.max(at + 1, done))) {
    const run = runAround(text, at, done);
    if (run.end > at && run.length >= least) found.push(joined(view, piecesOf(text, run.start, run.end)));
    done = run.end;
  }
  return found;
}

/** Where the run begins and ends that the end of a line breaks, and how many digits it has. */
function runAround(text: string, lineEnd: number, done: number) {
  let before = lineEnd;
  while (before > done && isBlank(text.charCodeAt(before - 1))) before--;
  let start = before;
  while (start > done && isDigit(text.charCodeAt(start - 1))) start--;
  let end = before;
  let length = before - start;
  if (length === 0) return { start, end, length };
  for (let next = lineEnd; text.charCodeAt(next) === LINE_END; ) {
    const from = skip(text, next + 1, isBlank);
    const to = skip(text, from, isDigit);
    if (from === to) break;
    length += to - from;
    end = to;
    next = skip(text, to, isBlank);
  }
  return { start, end, length };
}

const LINE_END = 10;

function skip(text: string, from: number, isSkipped: (code: number) => boolean): number {
  let at = from;
  while (isSkipped(text.charCodeAt(at))) at++;
  return at;
}

interface Piece {
  readonly from: number;
  readonly to: number;
}

function piecesOf(text: string, start: number, end: number): readonly Piece[] {
  const pieces: Piece[] = [];
  for (let from = start; from < end; ) {
    const to = skip(text, from, isDigit);
    pieces.push({ from, to });
    from = skip(text, to, (code) => isBlank(code) || code === LINE_END);
  }
  return pieces;
}

function isBlank(code: number): boolean {
  return code === 32 || code === 9 || code === 13;
}

/** Of base64, the URL's alphabet and padding too. */
const DIGITS = Uint8Array.from({ length: 128 }, (_, code) => (/[\w+/=-]/.test(String.fromCharCode(code)) ? 1 : 0));

function isDigit(code: number): boolean {
  return DIGITS[code] === 1;
}

function joined(view: View, pieces: readonly Piece[]): View {
  const place = (at: number): number => {
    let left = at;
    for (const { from, to } of pieces) {
      if (left < to - from) return from + left;
      left -= to - from;
    }
    return pieces.at(-1)?.to ?? 0;
  };
  return {
    text: pieces.map(({ from, to }) => view.text.slice(from, to)).join(""),
    toSource: (start, end) => view.toSource(place(start), place(end - 1) + 1),
  };
}
