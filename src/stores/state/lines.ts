import { SkillflowError } from "../../core/base/errors.ts";
import type { StateEntry } from "../../core/engine/event/state-entry.ts";
import { entryLine, parseEntry } from "../../core/engine/state/entries.ts";

/** State files, with one JSON line per entry. */

/** Maximum size of a state file. */
export const MOST_BYTES = 256 * 1024 * 1024;

/** File name of a state. Names of built-in states begin with an underscore, such as `_days`. */
const FILE = /^(_?[A-Za-z0-9][A-Za-z0-9_.-]{0,63})\.jsonl$/;

export function fileOf(state: string): string {
  return `${state}.jsonl`;
}

/** Returns the state that a file holds, or undefined for other files. */
export function stateOf(file: string): string | undefined {
  return FILE.exec(file)?.[1];
}

export function writeLines(entries: readonly StateEntry[]): string {
  return entries.map(entryLine).join("");
}

/** Reads the entries. Drops an incomplete last line, left by a killed writer. Throws for any other malformed line. */
export function readLines(text: string, place: string): StateEntry[] {
  const entries = new Map<string, StateEntry>();
  let from = 0;
  for (let number = 1; from < text.length; number++) {
    const end = text.indexOf("\n", from);
    const line = text.slice(from, end === -1 ? text.length : end);
    from = end === -1 ? text.length : end + 1;
    const entry = parseEntry(line);
    if (entry) entries.set(entry.key, entry);
    else if (end !== -1 && line.trim() !== "") throw brokenLine(place, number);
  }
  return [...entries.values()];
}

function brokenLine(place: string, line: number): SkillflowError {
  return new SkillflowError("store.failed", `${place}:${line}: the line is not an entry of a state`, {
    hint: "repair or delete the line: until then, the state is neither read nor written",
  });
}

export function tooLarge(place: string, size: number): SkillflowError {
  const [is, most] = [size, MOST_BYTES].map((bytes) => `${Math.ceil(bytes / 1024 / 1024)} MiB`);
  return new SkillflowError("store.failed", `${place} has ${is}: a state has at most ${most}`, {
    hint: "declare max_entries or keep, and delete entries that are not needed",
  });
}
