/**
 * A text as a reader sees it who undoes its escapes: of URLs and forms, of JSON and program text, of HTML and of mail, and
 * of digits that are broken up. A view knows where each part of it stands in the text.
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
  const whole: View = { text, toSource };
  if (!ESCAPES.some((escapes) => isIn(text, escapes))) return [whole];
  const views = new Map<string, View>();
  const look = (view: View, depth: number) => {
    if (views.has(view.text)) return;
    views.set(view.text, view);
    for (const escapes of ESCAPES) {
      if (escapes.depth > depth || !isIn(view.text, escapes)) continue;
      const inner = undo(view, escapes);
      if (inner.text.length < view.text.length) look(inner, depth - escapes.depth);
    }
  };
  look(whole, MOST_DEPTH);
  return [...views.values()];
}

const toSource: View["toSource"] = (start, end) => [start, end];

function isIn(text: string, { begin, only }: Escape): boolean {
  return text.includes(begin) && (only === undefined || only.test(text));
}

/** One way to write a character by others. */
interface Escape {
  readonly begin: string;
  /** What of `MOST_DEPTH` it takes: the rarer ones are looked for with one other around or within. */
  readonly depth: number;
  /** What a text holds that is written so, where `begin` alone stands in many others. */
  readonly only?: RegExp;
  /** How long the code is that begins at a place; zero for none. */
  lengthAt(text: string, at: number): number;
  decode(code: string): string;
}

/** Beyond ASCII, in UTF-8. */
const CHARACTER =
  /%(?:c[2-9a-f]|d[\da-f])%[89ab][\da-f]|%e(?:0%[ab]|[1-9a-cef]%[89ab]|d%[89])[\da-f]%[89ab][\da-f]|%f(?:0%[9ab]|[1-3]%[89ab]|4%8)[\da-f](?:%[89ab][\da-f]){2}/;

/** Assignments in a log are none. */
const QUOTED_PRINTABLE = /=(?:3D|\r?\n)|(?:=[\dA-F]{2}){2}/i;

const ENTITY = /&(?:#\d{1,7}|#x[\da-f]{1,6}|(?:amp|lt|gt|quot|apos)(?=;));?/iy;
const ENTITIES: Readonly<Record<string, string>> = {
  "&amp;": "&",
  "&lt;": "<",
  "&gt;": ">",
  "&quot;": '"',
  "&apos;": "'",
};

const ESCAPES: readonly Escape[] = [
  {
    begin: "\\",
    depth: 1,
    lengthAt(text, at) {
      const kind = text.charCodeAt(at + 1);
      if (kind === 117) return areHex(text, at + 2, 4) ? 6 : 0; // u
      if (kind === 120) return areHex(text, at + 2, 2) ? 4 : 0; // x
      return Object.hasOwn(LETTERS, text.charAt(at + 1)) ? 2 : 0;
    },
    decode: (code) => LETTERS[code.charAt(1)] ?? String.fromCharCode(Number.parseInt(code.slice(2), 16)),
  },
  { begin: "%", depth: 1, ...byBytes("%") },
  {
    begin: "&",
    depth: 2,
    lengthAt(text, at) {
      ENTITY.lastIndex = at;
      return ENTITY.exec(text)?.[0].length ?? 0;
    },
    decode(code) {
      const [, digits = "", hexadecimal = ""] = /^&#(?:(\d+)|x(.+?));?$/i.exec(code) ?? [];
      if (digits + hexadecimal === "") return ENTITIES[code.toLowerCase()] ?? code;
      const point = digits === "" ? Number.parseInt(hexadecimal, 16) : Number(digits);
      return point > 0x10ffff ? "\ufffd" : String.fromCodePoint(point);
    },
  },
  { begin: "=", depth: 2, only: QUOTED_PRINTABLE, ...quotedPrintable() },
];

/** Bytes of UTF-8, each as two hexadecimal digits behind a mark. */
function byBytes(mark: string): Pick<Escape, "lengthAt" | "decode"> {
  const character = new RegExp(CHARACTER.source.replaceAll("%", mark), "iy");
  return {
    lengthAt(text, at) {
      if (!areHex(text, at + 1, 2)) return 0;
      if (text.charCodeAt(at + 1) < 56) return 3; // below 80
      character.lastIndex = at;
      return character.exec(text)?.[0].length ?? 0;
    },
    decode: (code) =>
      code.length === 3
        ? String.fromCharCode(Number.parseInt(code.slice(1), 16))
        : decodeURIComponent(code.replaceAll(mark, "%")),
  };
}

/** As mail has it: bytes, and ends of lines that are none. */
function quotedPrintable(): Pick<Escape, "lengthAt" | "decode"> {
  const { lengthAt, decode } = byBytes("=");
  return {
    lengthAt: (text, at) =>
      text.startsWith("\n", at + 1) ? 2 : text.startsWith("\r\n", at + 1) ? 3 : lengthAt(text, at),
    decode: (code) => (code.endsWith("\n") ? "" : decode(code)),
  };
}

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

function areHex(text: string, from: number, count: number): boolean {
  for (let at = from; at < from + count; at++) {
    const code = text.charCodeAt(at);
    const isHex = (code >= 48 && code <= 57) || (code >= 65 && code <= 70) || (code >= 97 && code <= 102);
    if (!isHex) return false;
  }
  return true;
}

/** Pieces of a view that are joined at a time: so many live for a moment only, however long the text is. */
const JOINED = 256;

function undo(outer: View, escapes: Escape): View {
  const { text } = outer;
  const blocks: string[] = [];
  let pieces: string[] = [];
  let done = 0;
  for (let at = text.indexOf(escapes.begin); at !== -1; at = text.indexOf(escapes.begin, Math.max(at + 1, done))) {
    const length = escapes.lengthAt(text, at);
    if (length === 0) continue;
    pieces.push(text.slice(done, at), escapes.decode(text.slice(at, at + length)));
    done = at + length;
    if (pieces.length < JOINED) continue;
    blocks.push(pieces.join(""));
    pieces = [];
  }
  let changes: readonly Change[] | undefined;
  return {
    text: done === 0 ? text : blocks.join("") + pieces.join("") + text.slice(done),
    toSource(start, end) {
      changes ??= changesOf(text, escapes);
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

/** Asked for only where something was found. */
function changesOf(text: string, escapes: Escape): readonly Change[] {
  const changes: Change[] = [];
  let done = 0;
  let end = 0;
  for (
    let from = text.indexOf(escapes.begin);
    from !== -1;
    from = text.indexOf(escapes.begin, Math.max(from + 1, done))
  ) {
    const length = escapes.lengthAt(text, from);
    if (length === 0) continue;
    const start = end + from - done;
    done = from + length;
    end = start + escapes.decode(text.slice(from, done)).length;
    changes.push({ from, to: done, start, end });
  }
  return changes;
}

/** Where the character at a place of the view starts or ends in the outer text. */
function placeOf(changes: readonly Change[], at: number, edge: "start" | "end"): number {
  const last = changes[lastUpTo(changes.length, (index) => (changes[index]?.start ?? 0) <= at)];
  if (last && at < last.end) return edge === "start" ? last.from : last.to;
  return at + (last ? last.to - last.end : 0) + (edge === "start" ? 0 : 1);
}

/** The last of `count` places for which something holds that holds for those before it too; -1 for none. */
function lastUpTo(count: number, holds: (index: number) => boolean): number {
  let low = 0;
  for (let high = count; low < high; ) {
    const middle = (low + high) >> 1;
    if (holds(middle)) low = middle + 1;
    else high = middle;
  }
  return low - 1;
}

/** Digits that somebody broke up, without what stands between them; one after the other, with a gap that no secret has. */
export function joinedDigits(view: View, least: number): View | undefined {
  const runs = [...brokenByLines(view.text, least), ...brokenByPairs(view.text)];
  if (runs.length === 0) return undefined;
  const starts: number[] = [];
  let length = 0;
  for (const { text } of runs) {
    starts.push(length);
    length += text.length + GAP.length;
  }
  const place = (at: number): number => {
    const index = lastUpTo(starts.length, (run) => (starts[run] ?? 0) <= at);
    return runs[index]?.place(at - (starts[index] ?? 0)) ?? 0;
  };
  return {
    text: runs.map(({ text }) => text).join(GAP),
    toSource: (start, end) => view.toSource(place(start), place(end - 1) + 1),
  };
}

const GAP = "\0";

/** The digits of one stretch of text, and where each of them stands. */
interface Run {
  readonly text: string;
  place(at: number): number;
}

/** Runs of base64 or hexadecimal digits, of `least` at least, that go on in the next line. */
function brokenByLines(text: string, least: number): readonly Run[] {
  const found: Run[] = [];
  let done = 0;
  for (let at = text.indexOf("\n"); at !== -1; at = text.indexOf("\n", Math.max(at + 1, done))) {
    const run = runAround(text, at, done);
    if (run.end > at && run.length >= least) found.push(runOf(text, piecesOf(text, run.start, run.end)));
    done = run.end;
  }
  return found;
}

/** Bytes as `73:65:63` and `73 65 63`, as many as the shortest secret has. */
function brokenByPairs(text: string): readonly Run[] {
  const found: Run[] = [];
  for (let at = 0; at < text.length; at += PAIRS_STRIDE) {
    const gap = pairGapNear(text, at);
    if (gap === -1) continue;
    let start = gap - 2;
    while (isPairGap(text, start - 1)) start -= 3;
    let end = gap + 3;
    while (isPairGap(text, end)) end += 3;
    if (end - start >= LEAST_PAIRS) {
      const from = start;
      const digits = text.slice(start, end).replace(PAIR_GAPS, "");
      found.push({ text: digits, place: (index) => from + Math.floor(index / 2) * 3 + (index % 2) });
    }
    at = Math.max(at, end - PAIRS_STRIDE);
  }
  return found;
}

function pairGapNear(text: string, at: number): number {
  for (let gap = at; gap < at + 3; gap++) if (isPairGap(text, gap) && isPairGap(text, gap + 3)) return gap;
  return -1;
}

/** Eight pairs with a mark between each: wherever one looks in them at this stride, two of the marks are near. */
const LEAST_PAIRS = 8 * 3 - 1;
const PAIRS_STRIDE = LEAST_PAIRS - 5;
const PAIR_GAPS = /[^\da-f]/gi;

/** Whether a mark stands at a place between two digits and two digits. */
function isPairGap(text: string, at: number): boolean {
  return GAPS[text.charCodeAt(at)] === 1 && areHex(text, at - 2, 2) && areHex(text, at + 1, 2);
}

const GAPS = Uint8Array.from({ length: 128 }, (_, code) => (/[\s:,.|_-]/.test(String.fromCharCode(code)) ? 1 : 0));

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

function runOf(text: string, pieces: readonly Piece[]): Run {
  return {
    text: pieces.map(({ from, to }) => text.slice(from, to)).join(""),
    place(at) {
      let left = at;
      for (const { from, to } of pieces) {
        if (left < to - from) return from + left;
        left -= to - from;
      }
      return pieces.at(-1)?.to ?? 0;
    },
  };
}
