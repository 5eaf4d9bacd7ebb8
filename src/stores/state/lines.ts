import { SkillflowError } from "../../core/base/errors.ts";
import { isObject, type Json, parseJson, textAt } from "../../core/base/values.ts";
import type { StateEntry } from "../../core/engine/event/record.ts";
import { entryLine, parseEntry } from "../../core/engine/state/entries.ts";
import { FEEDBACK } from "../../core/engine/state/feedback.ts";

export const MOST_BYTES = 256 * 1024 * 1024;

/** File name of a state. Names of built-in states begin with an underscore, such as `_days`. */
const FILE = /^(_?[A-Za-z0-9][A-Za-z0-9_.-]{0,63})\.jsonl$/;

export function fileOf(state: string): string {
  return `${state}.jsonl`;
}

export function stateOf(file: string): string | undefined {
  return FILE.exec(file)?.[1];
}

export function writeState(state: string, entries: readonly StateEntry[]): string {
  return entries.map(state === FEEDBACK ? plainEntry : entryLine).join("");
}

export function readState(state: string, text: string, place: string): StateEntry[] {
  return state === FEEDBACK ? plainLines(text) : readLines(text, place);
}

/** Writes an entry as its data alone. Text is a line that could not be read, and is kept as it was. */
function plainEntry({ data }: StateEntry): string {
  return `${typeof data === "string" ? data : JSON.stringify(data)}\n`;
}

/** Reads lines of plain data. Their keys are their numbers, because other programs append lines too. */
function plainLines(text: string): StateEntry[] {
  return text.split("\n").flatMap((line, index) => {
    if (line.trim() === "") return [];
    const data = parseJson(line);
    const said = textAt(data, "at") ?? "";
    const at = Number.isFinite(Date.parse(said)) ? said : new Date(0).toISOString();
    const counts = { first_seen: at, last_seen: at, runs: 1, seen: 1 };
    return [{ key: String(index + 1), ...counts, data: isObject(data) ? (data as Json) : line }];
  });
}

/** Reads the entries. Drops an incomplete last line, left by a killed writer. Throws for any other malformed line. */
function readLines(text: string, place: string): StateEntry[] {
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
