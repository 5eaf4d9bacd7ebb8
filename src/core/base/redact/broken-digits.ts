import { CUT_MARK } from "./cut-edges.ts";
import { areHex } from "./escapes.ts";
import { hexDumps } from "./hex-dumps.ts";
import { lastUpTo, type View } from "./text-view.ts";

/**
 * Joins digits that were split up or written as numbers. Runs are separated by a gap that no secret contains, or by a
 * mark where the text was cut.
 */
export function joinedDigits(view: View, least: number): View | undefined {
  const { text } = view;
  const isCut = text.includes(CUT_MARK);
  const byLines = brokenByLines(text, isCut ? LEAST_CUT : least);
  const byPairs = brokenByPairs(text);
  const inNumbers = bytesInNumbers(text);
  const dumps = hexDumps(text);
  if (byLines.length + byPairs.length + inNumbers.length + dumps.length === 0) return undefined;
  const runs: Run[] = [
    ...byLines,
    ...byPairs,
    ...dumps,
    ...(isCut ? inNumbers.flatMap((run) => withoutHalves(text, run)) : inNumbers),
  ];
  const starts: number[] = [];
  const pieces: string[] = [];
  let length = 0;
  for (const run of runs) {
    const before = isCut && isCutBefore(text, run) ? CUT_MARK : GAP;
    const after = isCut && isCutAfter(text, run) ? CUT_MARK : GAP;
    starts.push(length + before.length);
    pieces.push(before, run.text, after);
    length += before.length + run.text.length + after.length;
  }
  return {
    text: pieces.join(""),
    toSource(start, end) {
      const index = Math.max(
        0,
        lastUpTo(starts.length, (run) => (starts[run] ?? 0) <= start),
      );
      const begin = starts[index] ?? 0;
      const [from, to] = runs[index]?.toText(start - begin, end - begin) ?? [0, 0];
      return view.toSource(from, to);
    },
  };
}

const GAP = "\0";
const LEAST_CUT = 8;

/** Patterns around a cut, which may leave half a number next to it. */
const CUT_AFTER = new RegExp(`^[\\s,;:]{0,4}[\\da-fx]{0,3}\\n?\\[?${CUT_MARK}`, "i");
const CUT_BEFORE = new RegExp(`${CUT_MARK}(?:[^\\n[\\]${CUT_MARK}]*\\]\\n?)?[\\da-fx]{0,3}[\\s,;:]{0,4}$`, "i");
const LONGEST_NOTICE = 120;

function isCutBefore(text: string, { start }: Run): boolean {
  return CUT_BEFORE.test(text.slice(Math.max(0, start - LONGEST_NOTICE), start));
}

function isCutAfter(text: string, { end }: Run): boolean {
  return CUT_AFTER.test(text.slice(end, end + 10));
}

/** Adds a variant without the first or last number, which may be incomplete where the text was cut. */
function withoutHalves(text: string, run: BytesRun): readonly Run[] {
  const first = isCutBefore(text, run) ? 1 : 0;
  const last = isCutAfter(text, run) ? 1 : 0;
  return first + last === 0 ? [run] : [run, run.without(first, last)];
}

/** A range of text, and its digits without separators. */
interface Run {
  readonly start: number;
  readonly end: number;
  readonly text: string;
  /** Maps a range of `text` to the source. */
  toText(start: number, end: number): readonly [start: number, end: number];
}

/** Finds base64 or hexadecimal digits that continue on the next line, at least `least` in all. */
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

/** Finds bytes such as `73:65:63` and `73 65 63`, at least as many as the shortest secret has. */
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
      const place = (index: number) => from + Math.floor(index / 2) * 3 + (index % 2);
      found.push({ start, end, text: digits, toText: (first, last) => [place(first), place(last - 1) + 1] });
    }
    at = Math.max(at, end - PAIRS_STRIDE);
  }
  return found;
}

function pairGapNear(text: string, at: number): number {
  for (let gap = at; gap < at + 3; gap++) if (isPairGap(text, gap) && isPairGap(text, gap + 3)) return gap;
  return -1;
}

/** Length of eight separated pairs. Steps of this stride always land near two of their separators. */
const LEAST_PAIRS = 8 * 3 - 1;
const PAIRS_STRIDE = LEAST_PAIRS - 5;
const PAIR_GAPS = /[^\da-f]/gi;

/** Reports whether a separator is between two pairs of digits. */
function isPairGap(text: string, at: number): boolean {
  return GAPS[text.charCodeAt(at)] === 1 && areHex(text, at - 2, 2) && areHex(text, at + 1, 2);
}

const GAPS = Uint8Array.from({ length: 128 }, (_, code) => (/[\s:,.|_-]/.test(String.fromCharCode(code)) ? 1 : 0));

/** Returns the range of the run that a line end interrupts, and its number of digits. */
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

/** Digits, including the URL-safe base64 alphabet and padding. */
const DIGITS = Uint8Array.from({ length: 128 }, (_, code) => (/[\w+/=-]/.test(String.fromCharCode(code)) ? 1 : 0));

function isDigit(code: number): boolean {
  return DIGITS[code] === 1;
}

function runOf(text: string, pieces: readonly Piece[]): Run {
  let length = 0;
  const starts = pieces.map(({ from, to }) => {
    length += to - from;
    return length - (to - from);
  });
  const place = (at: number) => {
    const index = lastUpTo(starts.length, (piece) => (starts[piece] ?? 0) <= at);
    const { from = 0, to = 0 } = pieces[index] ?? {};
    return Math.min(from + at - (starts[index] ?? 0), to);
  };
  return {
    start: pieces[0]?.from ?? 0,
    end: pieces.at(-1)?.to ?? 0,
    text: pieces.map(({ from, to }) => text.slice(from, to)).join(""),
    toText: (start, end) => [place(start), place(end - 1) + 1],
  };
}

/** Finds bytes such as `115, 101` and `0x73 0x65`, at least as many as the shortest secret has. */
function bytesInNumbers(text: string): readonly BytesRun[] {
  if (text.length < LEAST_LIST) return [];
  const isIn = text.includes("0x") ? IN_ANY_LIST : IN_DECIMAL_LIST;
  const found: BytesRun[] = [];
  let done = 0;
  for (let at = LIST_STRIDE; at < text.length; at += LIST_STRIDE) {
    if (isIn[text.charCodeAt(at)] !== 1) continue;
    if (isIn[text.charCodeAt(at - LIST_STRIDE)] !== 1 && isIn[text.charCodeAt(at + LIST_STRIDE)] !== 1) continue;
    let start = at;
    while (start > done && isIn[text.charCodeAt(start - 1)] === 1) start--;
    done = at + 1;
    while (isIn[text.charCodeAt(done)] === 1) done++;
    if (done - start >= LEAST_LIST) for (const run of runsOfBytes(text, start, done)) found.push(run);
    at = Math.max(at, done - LIST_STRIDE);
  }
  return found;
}

/** Length of eight separated two-digit numbers. Any such list contains two positions of this stride. */
const LEAST_LIST = 8 * 3 - 1;
const LIST_STRIDE = 11;
const IN_DECIMAL_LIST = tableOf(/[\d\s,;]/);
const IN_ANY_LIST = tableOf(/[\d\s,;xa-f]/i);

function tableOf(characters: RegExp): Uint8Array {
  return Uint8Array.from({ length: 128 }, (_, code) => (characters.test(String.fromCharCode(code)) ? 1 : 0));
}

/** Finds the runs of bytes in a range that are long enough. */
function runsOfBytes(text: string, start: number, end: number): readonly BytesRun[] {
  const found: BytesRun[] = [];
  let bytes: number[] = [];
  let from = start;
  let to = start;
  const endRun = () => {
    if (bytes.length >= LEAST_BYTES) found.push(runOfBytes(text, { from, to, bytes }));
    bytes = [];
  };
  eachNumber(text, start, end, (value, first, last) => {
    if (value < 0) return endRun();
    if (bytes.length === 0) from = first;
    to = last;
    bytes.push(value);
  });
  endRun();
  return found;
}

export const LEAST_BYTES = 8;

/** Reports whether a number can be a byte of text. */
export function isByte(value: unknown): value is number {
  return typeof value === "number" && value >= 9 && value <= 255 && Number.isInteger(value);
}

interface BytesRun extends Run {
  without(first: number, last: number): Run;
}

function runOfBytes(
  text: string,
  { from, to, bytes }: { readonly from: number; readonly to: number; readonly bytes: readonly number[] },
): BytesRun {
  const stretches = () => {
    const found: (readonly [start: number, end: number])[] = [];
    eachNumber(text, from, to, (_, first, last) => found.push([first, last]));
    return found;
  };
  // Computed on the first match, and then used often.
  let read: { readonly places: readonly number[]; readonly numbers: ReturnType<typeof stretches> } | undefined;
  const readPlaces = () => {
    const places: number[] = [];
    readBytes(bytes, places);
    return { places, numbers: stretches() };
  };
  return {
    start: from,
    end: to,
    text: readBytes(bytes).join(""),
    toText(start, end) {
      read ??= readPlaces();
      const { places, numbers } = read;
      return [numbers[places[start] ?? 0]?.[0] ?? from, numbers[(places[end] ?? bytes.length) - 1]?.[1] ?? to];
    },
    without(first, last) {
      const numbers = stretches().slice(first, bytes.length - last);
      const [start = from, end = to] = [numbers[0]?.[0], numbers.at(-1)?.[1]];
      return runOfBytes(text, { from: start, to: end, bytes: bytes.slice(first, bytes.length - last) });
    },
  };
}

/** Decodes UTF-8. An invalid byte becomes one character. `places` receives the index of each character's first byte. */
function readBytes(bytes: readonly number[], places: number[] = []): readonly string[] {
  const characters: string[] = [];
  for (let at = 0; at < bytes.length; ) {
    const byte = bytes[at] ?? 0;
    const length = byte < 0xc2 ? 1 : byte < 0xe0 ? 2 : byte < 0xf0 ? 3 : 4;
    const isWhole = bytes.slice(at + 1, at + length).filter((next) => next >> 6 === 2).length === length - 1;
    const point = isWhole ? pointOf(bytes.slice(at, at + length)) : byte;
    const character = String.fromCodePoint(point);
    for (let unit = 0; unit < character.length; unit++) places.push(at);
    characters.push(character);
    at += isWhole ? length : 1;
  }
  return characters;
}

function pointOf([lead = 0, ...more]: readonly number[]): number {
  const point = more.reduce(
    (sum, byte) => (sum << 6) | (byte & 63),
    more.length === 0 ? lead : lead & (63 >> more.length),
  );
  return point > 0x10ffff ? 0xfffd : point;
}

/** Calls `on` for each number of a list, with -1 if it cannot be a byte of text. */
function eachNumber(
  text: string,
  start: number,
  end: number,
  on: (value: number, start: number, end: number) => void,
): void {
  for (let at = start; at < end; ) {
    const first = at;
    let value = 0;
    let code = text.charCodeAt(at);
    for (; at < end && code >= 48 && code <= 57; code = text.charCodeAt(++at)) value = value * 10 + code - 48;
    const isAlone = at === end || !isOfWord(code);
    if (at > first && isAlone) on(at - first <= 3 && isByte(value) ? value : -1, first, at);
    if (isAlone) {
      at++;
      continue;
    }
    while (at < end && isOfWord(text.charCodeAt(at))) at++;
    const hex = at - first <= 4 ? HEXADECIMAL.exec(text.slice(first, at))?.[1] : undefined;
    value = hex === undefined ? -1 : Number.parseInt(hex, 16);
    on(isByte(value) ? value : -1, first, at);
  }
}

const HEXADECIMAL = /^0x([\da-f]{1,2})$/i;

function isOfWord(code: number): boolean {
  return (code >= 97 && code <= 120) || (code >= 48 && code <= 57) || (code >= 65 && code <= 88);
}
