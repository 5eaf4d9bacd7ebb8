import { countWhile } from "../values.ts";
import type { Run, View } from "./text-view.ts";

/** Dumps by `xxd`, `hexdump` and `od`: groups of bytes after an offset, next to a column of characters. */

interface Row {
  readonly start: number;
  end: number;
  /** The digits in printed order. */
  readonly digits: string;
  /** With the bytes of each group reversed, because little-endian machines print words that way. */
  readonly reversed: string;
  /** Bytes from cells with characters or octal numbers, four columns wide. */
  readonly cells: string;
}

/** A cell of `od -c`: `   s`, `  \n` or ` 012`. A space is four spaces. */
const CELL = String.raw`(?: {3}\S| {2}\\\S| [0-7]{3}| {4})(?!\S)`;
const CELLS = new RegExp(`(?:${CELL})+`);
const FIRST_ROW =
  /[\da-f]{2}:?[ \t]{1,3}(?:[\da-f]{2}){1,8}(?!\S)|(?: {3}\S(?!\S)| {2}\\\S(?!\S)| [0-7]{3}(?!\S)){2}/gi;
const TOKEN = /\S+/g;
const GROUP = /^[\da-f]{2,16}:?$/i;
const LONGEST_ROW = 512;
/** Largest number of groups before the first byte: a log prefix and the offset. */
const MOST_BEFORE = 3;
/** Number of digits in the shortest secret. */
const LEAST_DIGITS = 16;

export function mayHoldRow(text: string): boolean {
  return text.search(FIRST_ROW) !== -1;
}

/** Finds the dumps in a text, each in every possible byte order. */
export function hexDumps(view: View): readonly Run[] {
  const { text } = view;
  const found: Run[] = [];
  FIRST_ROW.lastIndex = 0;
  for (let first = FIRST_ROW.exec(text); first; first = FIRST_ROW.exec(text)) {
    const rows: Row[] = [];
    let start = text.lastIndexOf("\n", first.index) + 1;
    while (start <= text.length) {
      const lineEnd = text.indexOf("\n", start);
      const end = lineEnd === -1 ? text.length : lineEnd;
      const row = end - start > LONGEST_ROW ? undefined : rowOf(text.slice(start, end).replace(/\r$/, ""), start);
      const before = rows.at(-1);
      // Some programs repeat each row as characters.
      if (before && row?.digits === "" && before.cells === "") before.end = row.end;
      if (row) rows.push(row);
      if (!row && text.slice(start, Math.min(end, start + 9)).trim() !== "*") break;
      start = end + 1;
    }
    const others = (["reversed", "cells"] as const).filter((kind) =>
      rows.some((row) => row[kind] !== (kind === "cells" ? "" : row.digits)),
    );
    for (const kind of ["digits", ...others] as const) {
      const dump = dumpOf(view, rows, kind);
      if (dump.text.length >= LEAST_DIGITS) found.push(dump);
    }
    const end = text.indexOf("\n", Math.max(start, first.index));
    if (end === -1) break;
    FIRST_ROW.lastIndex = end;
  }
  return found;
}

/** Joins the bytes of adjacent rows, read in one byte order. A part of them maps to whole rows. */
function dumpOf({ toSource }: View, rows: readonly Row[], kind: "digits" | "reversed" | "cells"): Run {
  const held = rows.filter((row) => row[kind] !== "");
  const ends: number[] = [];
  for (const row of held) ends.push((ends.at(-1) ?? 0) + row[kind].length);
  const rowAt = (place: number) => held[countWhile(ends, (end) => end <= place)];
  return {
    from: held[0]?.start ?? 0,
    to: held.at(-1)?.end ?? 0,
    text: held.map((row) => row[kind]).join(""),
    toSource: (start, end) => toSource(rowAt(start)?.start ?? 0, rowAt(end - 1)?.end ?? 0),
  };
}

function rowOf(line: string, start: number): Row | undefined {
  const { groups, from, to } = groupsIn(line);
  const found = groups.length > 0 && !line.includes("  ") ? null : CELLS.exec(line);
  const cells = found && line.trimEnd().endsWith(found[0].trimEnd()) ? found[0] : "";
  if (groups.length === 0 && cells === "") return undefined;
  const digits = groups.join("").toLowerCase();
  return {
    start: start + (groups.length > 0 ? from : (found?.index ?? 0)),
    end: start + (cells === "" && line[to + 1] !== " " ? to : line.length),
    digits,
    reversed: groups.some(({ length }) => length > 2) ? groups.map(reverseBytes).join("").toLowerCase() : digits,
    cells: (cells.match(/.{4}/g) ?? []).map(byteOf).join(""),
  };
}

/** Returns the byte groups of a row and their range, without prefix, offset and column of characters. */
function groupsIn(line: string) {
  let groups: string[] = [];
  let from = 0;
  let bytes = 0;
  let end = 0;
  let leastGap = line.length;
  TOKEN.lastIndex = 0;
  for (let found = TOKEN.exec(line); found; found = TOKEN.exec(line)) {
    const [token] = found;
    const gap = found.index - end;
    const areCharacters = groups.length > 0 && gap > Math.max(1, leastGap) && line.length - found.index <= bytes;
    const isGroup = !areCharacters && GROUP.test(token);
    if (areCharacters || (!isGroup && groups.length > 1)) break;
    if (groups.length === 0 || !isGroup || token.endsWith(":")) from = found.index;
    if (!isGroup || token.endsWith(":")) [groups, bytes, leastGap] = [isGroup ? [token] : [], 0, line.length];
    else {
      if (bytes > 0) leastGap = Math.min(leastGap, gap);
      bytes += groups.length === 0 && token.length >= 6 ? 0 : token.length / 2;
      groups.push(token);
    }
    end = found.index + token.length;
  }
  const shown = groups.slice(groups[0]?.endsWith(":") ? 1 : firstGroup(groups));
  const odd = shown.findIndex((group) => group.length % 2 === 1);
  return { groups: odd === -1 ? shown : shown.slice(0, odd), from, to: end };
}

/** Skips an offset without a colon, which is longer than the groups or has an odd number of digits. */
function firstGroup(groups: readonly string[]): number {
  const [only = ""] = groups;
  if (groups.length === 1) return only.length % 2 === 1 || (only.length >= 6 && only.length <= 8) ? 1 : 0;
  const offset = groups.findLastIndex((group, index) => {
    const next = groups[index + 1];
    return index < MOST_BEFORE && group.length >= 6 && next !== undefined && next.length !== group.length;
  });
  return offset + 1;
}

/** Reverses the bytes of a group. Only `od` prints words in octal. */
function reverseBytes(group: string): string {
  const word = /^[01][0-7]{5}$/.test(group) ? Number.parseInt(group, 8).toString(16).padStart(4, "0") : group;
  return (word.match(/../g) ?? []).reverse().join("");
}

const CODES: Readonly<Record<string, string>> = {
  a: "07",
  b: "08",
  f: "0c",
  n: "0a",
  r: "0d",
  t: "09",
  v: "0b",
  "\\": "5c",
};

function byteOf(cell: string): string {
  const [, sign = ""] = /^ {2}\\(\S)$/.exec(cell) ?? [];
  if (sign !== "") return CODES[sign] ?? "00";
  const code = /^ [0-7]{3}$/.test(cell) ? Number.parseInt(cell, 8) : cell.charCodeAt(3);
  return (code & 0xff).toString(16).padStart(2, "0");
}
