import { clip } from "../base/preview.ts";
import { groupBy } from "../base/values.ts";

/** Makes logs of commands and CI jobs readable, and reduces them to the lines that explain a failure. */

const LONGEST_LINE = 500;
const encoder = new TextEncoder();

const ESCAPE = String.fromCharCode(27);
const COLOURS = new RegExp(`${ESCAPE}\\[[0-9;?]{0,40}[A-Za-z]`, "g");
const STAMP = /^\uFEFF?\d{4}-\d\d-\d\dT[\d:.]{8,20}Z (?:\d\d[OE]\+? ?)?/;
const SECTION = /^section_(?:start|end):\d{1,20}:[^ ]{0,500}$/;

/** Removes colors, timestamps and section marks, and keeps only the last state of lines that were overwritten. */
export function readableLog(log: string): string {
  const lines = log.replaceAll(COLOURS, "").split("\n");
  return lines.map(lastState).join("\n").trimEnd();
}

function lastState(line: string): string {
  const plain = line.replace(STAMP, "");
  if (!plain.includes("\r")) return plain;
  const states = plain.split("\r").filter((state) => state !== "" && !SECTION.test(state));
  return states.at(-1) ?? "";
}

const HEAD_SHARE = 0.05;
const TAIL_SHARE = 0.2;
const STEP_SHARE = 0.35;
const BEFORE_ERROR = 2;
const AFTER_ERROR = 4;
/** Errors of one shape beyond this number add nothing. */
const SAME_SHAPE = 3;

/** Lines with which CI systems end a step that failed. */
const STEP_FAILED =
  /^##\[error\]|^ERROR: Job failed|^Error: Process completed with exit code|^make(?:\[\d+\])?: \*\*\*/;
const ERROR_SHAPE =
  /(?:^|[^a-z])(?:errors?|fail(?:ed|ure|ures|s)?|fatal|panic(?:ked)?|exception|traceback|abort(?:ed)?|assert\w*|undefined|unresolved|cannot|can't|could not|unable|not found|no such|denied|refused|timed? ?out|killed|segmentation|expected|unexpected|missing|conflict|exit code [1-9]\d{0,2}|mismatch)(?![a-z])|[a-z](?:Error|Exception|Failure)\b|^\s*[✗✘✖×●] |^\s*(?:E {2}|> \d+ \||--- FAIL)|^npm ERR!|\bFAIL\b/i;

/**
 * Returns the indexes of the lines that explain a failure, in order: head, end of each failed step, lines of error
 * shape with context, the rarest shapes first, and tail. Takes time linear in the log, apart from sorting.
 */
export function reducedLog(lines: readonly string[], most: number): readonly number[] {
  const room = createRoom(lines, most);
  const end = lines.length - 1;
  room.fill(0, 1, most * HEAD_SHARE);
  room.fill(end, -1, most * TAIL_SHARE);
  const ends = lines.flatMap((line, index) => (STEP_FAILED.test(line) ? [index] : []));
  const steps = ends.slice(0, MOST_STEPS);
  for (const at of steps) room.fill(at, -1, (most * STEP_SHARE) / steps.length);
  const seen = lines.map((line) => line.slice(0, LONGEST_LINE));
  const errors = [...seen.keys()].filter((index) => ERROR_SHAPE.test(seen[index] ?? ""));
  const shapes = groupBy(errors, (index) => seen[index]?.replace(/[0-9a-f]{7,64}|\d+/gi, "#").trim());
  // Equally rare shapes keep the order of the log, because later errors often follow from the first one.
  const rare = [...shapes.values()].sort((a, b) => a.length - b.length || (a[0] ?? 0) - (b[0] ?? 0));
  const wanted = rare.flatMap((same) => same.slice(0, SAME_SHAPE));
  for (const at of wanted) room.addAround(at, 0, 0);
  for (const at of wanted) room.addAround(at, BEFORE_ERROR, AFTER_ERROR);
  room.fill(end, -1, most);
  return room.kept();
}

const MOST_STEPS = 5;
/** Size of the mark that stands for missing lines. */
const GAP = 32;

/** Set of lines that fit into a number of bytes. */
export function createRoom(lines: readonly string[], most: number) {
  const kept = new Set<number>();
  let room = most;
  const costOf = (index: number) => encoder.encode(clip(lines[index] ?? "", LONGEST_LINE)).length + 1;
  const add = (index: number): boolean => {
    if (index < 0 || index >= lines.length || kept.has(index)) return true;
    // A line next to no other begins a part, which needs a mark.
    const cost = costOf(index) + (kept.has(index - 1) || kept.has(index + 1) ? 0 : GAP);
    if (cost > room) return false;
    room -= cost;
    kept.add(index);
    return true;
  };
  return {
    /** Adds lines one by one in a direction, up to a number of bytes. */
    fill(from: number, step: 1 | -1, share: number) {
      let left = share;
      for (let index = from; index >= 0 && index < lines.length; index += step) {
        left -= kept.has(index) ? 0 : costOf(index);
        if (left < 0 || !add(index)) return;
      }
    },
    /** Adds a line with its neighbors. Returns false if the line itself does not fit. */
    addAround(at: number, before: number, after: number): boolean {
      if (!add(at)) return false;
      for (let index = at - 1; index >= at - before; index--) if (!add(index)) break;
      for (let index = at + 1; index <= at + after; index++) if (!add(index)) break;
      return true;
    },
    kept: () => [...kept].sort((a, b) => a - b),
  };
}

/** Joins lines, with a mark for each gap. */
export function joinLines(lines: readonly string[], kept: readonly number[]): string {
  const parts: string[] = [];
  let next = 0;
  for (const index of kept) {
    if (index > next) parts.push(`… ${index - next} lines left out`);
    parts.push(clip(lines[index] ?? "", LONGEST_LINE));
    next = index + 1;
  }
  if (kept.length > 0 && next < lines.length) parts.push(`… ${lines.length - next} lines left out`);
  return parts.join("\n");
}
