import { countWhile } from "../values.ts";
import { CUT_MARK } from "./cut-edges.ts";
import type { Codes } from "./escapes.ts";
import { hexDumps } from "./hex-dumps.ts";
import { partOf, type Run, undo, type View } from "./text-view.ts";

/**
 * Joins digits that were split up or written as numbers. Runs are separated by a gap that no secret contains, or by a
 * mark where the text was cut.
 */
export function joinedDigits(view: View, least: number): View | undefined {
  const isCut = view.text.includes(CUT_MARK);
  const numbers = runsIn(view, NUMBERS);
  const halved = isCut ? numbers.flatMap((run) => withoutHalves(view, run)) : [];
  const found = [...runsIn(view, LINES), ...runsIn(view, PAIRS), ...hexDumps(view), ...numbers, ...halved];
  const runs = found.filter(({ text }) => text.length >= (isCut ? LEAST_CUT : least));
  if (runs.length === 0) return undefined;
  const starts: number[] = [];
  const pieces: string[] = [];
  let length = 0;
  for (const run of runs) {
    const before = isCut && isCutBefore(view.text, run) ? CUT_MARK : GAP;
    const after = isCut && isCutAfter(view.text, run) ? CUT_MARK : GAP;
    starts.push(length + before.length);
    pieces.push(before, run.text, after);
    length += before.length + run.text.length + after.length;
  }
  return {
    text: pieces.join(""),
    toSource(start, end) {
      const index = Math.max(0, countWhile(starts, (each) => each <= start) - 1);
      const begin = starts[index] ?? 0;
      return runs[index]?.toSource(start - begin, end - begin) ?? [0, 0];
    },
  };
}

const GAP = "\0";
const LEAST_CUT = 8;

/** Patterns around a cut, which may leave half a number next to it. */
const CUT_AFTER = new RegExp(`^[\\s,;:]{0,4}[\\da-fx]{0,3}\\n?\\[?${CUT_MARK}`, "i");
const CUT_BEFORE = new RegExp(`${CUT_MARK}(?:[^\\n[\\]${CUT_MARK}]*\\]\\n?)?[\\da-fx]{0,3}[\\s,;:]{0,4}$`, "i");
const LONGEST_NOTICE = 120;

function isCutBefore(text: string, { from }: Run): boolean {
  return CUT_BEFORE.test(text.slice(Math.max(0, from - LONGEST_NOTICE), from));
}

function isCutAfter(text: string, { to }: Run): boolean {
  return CUT_AFTER.test(text.slice(to, to + 10));
}

/** Returns a variant without the first or last number, which may be incomplete where the text was cut. */
function withoutHalves(view: View, run: Run): readonly Run[] {
  const list = view.text.slice(run.from, run.to);
  const first = isCutBefore(view.text, run) ? (/^\w+[\s,;]+/.exec(list)?.[0].length ?? 0) : 0;
  const last = isCutAfter(view.text, run) ? (list.slice(-LONGEST_NUMBER).split(/\W/).at(-1)?.length ?? 0) : 0;
  return first + last === 0 ? [] : [joined(view, NUMBERS, run.from + first, run.to - last)];
}

/** A form in which digits are split up or bytes are written as numbers. */
interface Split {
  /** Matches the least that counts. A group matches what belongs to it before the match. */
  readonly first: RegExp;
  /** Matches what may follow. Repetitions are limited, because the stack of a pattern is. */
  readonly more: RegExp;
  /** Undone one after another. */
  readonly codes: readonly Codes[];
}

/** Digits of base64 or hexadecimal that continue on the next line, found by its beginning. */
const LINES: Split = {
  first: /\n(?<=([\w+/=-]+[ \t\r]*)\n)[ \t\r]*[\w+/=-]+/g,
  more: /(?:[ \t\r]*\n[ \t\r]*[\w+/=-]+){1,1000}/y,
  codes: [{ codes: /\s+/g }],
};

/** Bytes such as `73:65:63` and `73 65 63`, at least as many as the shortest secret has. */
const PAIRS: Split = {
  first: /[\da-f]{2}(?:[\s:,.|_-][\da-f]{2}){7}/gi,
  more: /(?:[\s:,.|_-][\da-f]{2}){1,1000}/iy,
  codes: [{ codes: /[^\da-f]/gi }],
};

export const LEAST_BYTES = 8;
const LONGEST_NUMBER = 4;

/** A number from 9 to 255, which can be a byte of text. */
const BYTE = String.raw`(?:0x(?:[1-9a-f][\da-f]|0?[9a-f])|1\d\d|2[0-4]\d|25[0-5]|0?[1-9]\d|0{0,2}9)`;

/** Bytes such as `115, 101` and `0x73 0x65`. A byte that is not UTF-8 becomes one character. */
const NUMBERS: Split = {
  first: new RegExp(`(?<!\\d)${BYTE}(?:[\\s,;]+${BYTE}){${LEAST_BYTES - 1}}(?!\\d)`, "gi"),
  more: new RegExp(`(?:[\\s,;]+${BYTE}){1,1000}(?!\\d)`, "iy"),
  codes: [
    { codes: /\w+|[\s,;]+/g, decode: (code) => (/\d/.test(code) ? String.fromCharCode(Number(code)) : "") },
    {
      codes: /[\xc2-\xdf][\x80-\xbf]|[\xe0-\xef][\x80-\xbf]{2}|[\xf0-\xf4][\x80-\xbf]{3}/g,
      decode: (code) => new TextDecoder().decode(Uint8Array.from(code, (byte) => byte.charCodeAt(0))),
    },
  ],
};

function runsIn(view: View, split: Split): readonly Run[] {
  const { first, more } = split;
  const { text } = view;
  const runs: Run[] = [];
  first.lastIndex = 0;
  for (let found = first.exec(text); found; found = first.exec(text)) {
    let to = first.lastIndex;
    for (more.lastIndex = to; more.test(text); ) to = more.lastIndex;
    runs.push(joined(view, split, found.index - (found[1] ?? "").length, to));
    first.lastIndex = to;
  }
  return runs;
}

function joined(view: View, { codes }: Split, from: number, to: number): Run {
  return { from, to, ...codes.reduce(undo, partOf(view, from, to)) };
}

/** Reports whether a number can be a byte of text. */
export function isByte(value: unknown): value is number {
  return typeof value === "number" && value >= 9 && value <= 255 && Number.isInteger(value);
}
