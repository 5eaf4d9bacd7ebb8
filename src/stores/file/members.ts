import { type Json, parseJson } from "../../core/base/values.ts";

/**
 * Reads some members of a large JSON object without parsing the others, as a list of runs needs them: the results at the
 * end of a run and its skills are most of its record.
 */

const QUOTE = 34;
const COMMA = 44;
const COLON = 58;
const BACKSLASH = 92;
/** Brackets and braces differ in this bit only. */
const KIND = 32;
const OPENING = 123;
const CLOSING = 125;

/**
 * Returns the wanted members of the object that `JSON.stringify` wrote from `start` to `end`. Returns undefined if it is
 * written otherwise, or if a wanted member is not JSON. Members that are not wanted are only skipped.
 */
export function membersOf(
  bytes: Buffer,
  start: number,
  end: number,
  isWanted: (name: string) => boolean,
): Record<string, Json> | undefined {
  const last = end - 1;
  if (bytes[start] !== OPENING || bytes[last] !== CLOSING) return undefined;
  const members: Record<string, Json> = {};
  for (let at = start; at < last; ) {
    const name = at + 1;
    if (bytes[name] !== QUOTE) return undefined;
    const value = endOfText(bytes, name, last);
    const next = bytes[value] === COLON ? endOfValue(bytes, value + 1, last) : last;
    if (next !== last && bytes[next] !== COMMA) return undefined;
    const key = bytes.toString("latin1", name + 1, value - 1);
    if (isWanted(key)) {
      const member = parseJson(bytes.toString("utf8", value + 1, next));
      if (member === undefined) return undefined;
      members[key] = member;
    }
    at = next;
  }
  return members;
}

/** Returns the place after the value, at most `last`. */
function endOfValue(bytes: Buffer, start: number, last: number): number {
  let depth = 0;
  for (let at = start; at < last; ) {
    const sign = bytes[at] as number;
    if (sign === QUOTE) {
      at = endOfText(bytes, at, last);
      continue;
    }
    if (sign === COMMA && depth === 0) return at;
    if ((sign | KIND) === OPENING) depth++;
    else if ((sign | KIND) === CLOSING) depth--;
    at++;
  }
  return last;
}

function endOfText(bytes: Buffer, start: number, last: number): number {
  for (let at = start + 1; at < last; at++) {
    const sign = bytes[at];
    if (sign === QUOTE) return at + 1;
    if (sign === BACKSLASH) at++;
  }
  return last;
}
