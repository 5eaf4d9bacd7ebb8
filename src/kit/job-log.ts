import * as z from "zod";
import { SkillflowError } from "../core/base/errors.ts";
import { groupBy } from "../core/base/values.ts";
import type { ToolContext } from "../core/skill/skill.ts";
import { clip } from "./http.ts";

/** Reads logs of CI jobs: whole, reduced to what explains a failure, or the parts with a word. */

/** Parameters of a job log for a tool's input schema. Without `search` and `offset` a call gets the reduced log. */
export const jobLogInput = {
  search: z.string().min(1).max(200).optional().describe("Word; its lines with three around each."),
  offset: z.int().min(0).optional().describe("Byte to read on from: next_offset of the call before."),
  max_bytes: z.int().min(1000).max(64_000).optional().describe("Default 16000."),
};
interface JobLog {
  readonly log: string;
  readonly log_bytes: number;
  readonly log_lines: number;
  readonly matched?: number;
  readonly lines_left_out?: number;
  readonly next_offset?: number;
  /** The whole log, if it is not shown whole. */
  readonly blob_id?: string;
}

export type JobLogInput = z.infer<z.ZodObject<typeof jobLogInput>>;

/** Members of a job log for a result's schema. `next_offset` continues a part that was read by offset. */
export const jobLogShape = `log log_bytes:number log_lines:number matched:number lines_left_out:number
  next_offset:number blob_id`;

const JOB_LOG_BYTES = 16_000;
/** Room in characters for the longest part of a log as JSON, where line ends and quotation marks are longer. */
export const JOB_LOG_RESULT = 140_000;
/** Number of bytes kept of a log, from its end. */
const LONGEST_LOG = 20_000_000;
const LONGEST_LINE = 500;
const AROUND_HIT = 3;

/** Returns the wanted part of a log, and stores the whole log as a blob unless it is shown whole. */
export async function readJobLog(
  raw: string,
  input: JobLogInput,
  context: Pick<ToolContext, "blobs" | "signal">,
): Promise<JobLog> {
  const text = readableLog(raw);
  context.signal.throwIfAborted();
  const part = partOf(text, input);
  return {
    ...part,
    log_bytes: Buffer.byteLength(text),
    log_lines: text === "" ? 0 : text.split("\n").length,
    ...(part.log === text ? {} : await stored(text, context)),
  };
}

/** Stores a log. Without room for it the part alone is the result. */
async function stored(text: string, { blobs }: Pick<ToolContext, "blobs">): Promise<{ readonly blob_id?: string }> {
  try {
    return { blob_id: (await blobs.create(Buffer.from(text), "text/plain")).blob_id };
  } catch (error) {
    if (error instanceof SkillflowError && error.code === "blob.refused") return {};
    throw error;
  }
}

/** Reads a stream to its end and returns its last bytes as text. Starts at a whole line if the stream is longer. */
export async function endOfStream(
  stream: AsyncIterable<Uint8Array>,
  signal: AbortSignal,
  most: number = LONGEST_LOG,
): Promise<string> {
  const pieces: Uint8Array[] = [];
  let size = 0;
  let dropped = 0;
  for await (const piece of stream) {
    signal.throwIfAborted();
    pieces.push(piece);
    size += piece.length;
    // The front is dropped in halves, so that every byte is moved once at most.
    if (size <= 2 * most) continue;
    const end = Buffer.concat(pieces.splice(0)).subarray(-most);
    dropped += size - end.length;
    pieces.push(end);
    size = end.length;
  }
  const text = Buffer.concat(pieces).subarray(-most).toString("utf8");
  return dropped + size > most ? text.slice(text.indexOf("\n") + 1) : text;
}

function partOf(text: string, { search, offset, max_bytes: most = JOB_LOG_BYTES }: JobLogInput) {
  if (offset !== undefined) return fromOffset(text, offset, most);
  const lines = text.split("\n");
  if (search === undefined) {
    const kept = reducedLog(lines, most);
    return { log: joinLines(lines, kept), ...leftOut(lines, kept) };
  }
  const word = search.toLowerCase();
  const hits = lines.flatMap((line, index) => (line.toLowerCase().includes(word) ? [index] : []));
  const room = createRoom(lines, most);
  for (const hit of hits) if (!room.addAround(hit, AROUND_HIT, AROUND_HIT)) break;
  const kept = room.kept();
  return { log: joinLines(lines, kept), matched: hits.length, ...leftOut(lines, kept) };
}

function leftOut(lines: readonly string[], kept: readonly number[]) {
  return kept.length < lines.length ? { lines_left_out: lines.length - kept.length } : {};
}

/** Returns whole lines from a byte on, or a part of a line that is longer than the room. */
function fromOffset(text: string, offset: number, most: number) {
  const bytes = Buffer.from(text);
  const end = Math.min(bytes.length, offset + most);
  const lineEnd = end < bytes.length ? bytes.lastIndexOf(10, end - 1) : end - 1;
  const stop = lineEnd > offset ? lineEnd + 1 : characterStart(bytes, end);
  const log = bytes.toString("utf8", characterStart(bytes, Math.min(offset, bytes.length)), stop);
  return { log, ...(stop < bytes.length ? { next_offset: stop } : {}) };
}

/** Returns the start of the character at a byte. */
function characterStart(bytes: Buffer, at: number): number {
  let start = at;
  while (start > 0 && start < bytes.length && ((bytes[start] ?? 0) & 0xc0) === 0x80) start--;
  return start;
}

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
function createRoom(lines: readonly string[], most: number) {
  const kept = new Set<number>();
  let room = most;
  const costOf = (index: number) => Buffer.byteLength(clip(lines[index] ?? "", LONGEST_LINE)) + 1;
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
function joinLines(lines: readonly string[], kept: readonly number[]): string {
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
