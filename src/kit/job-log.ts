import * as z from "zod";
import { SkillflowError } from "../core/base/errors.ts";
import { createRoom, joinLines, readableLog, reducedLog } from "../core/skill/log-text.ts";
import type { ToolContext } from "../core/skill/skill.ts";

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
  if (offset !== undefined && search === undefined) return fromOffset(text, offset, most);
  const lines = (offset ? fromByte(Buffer.from(text), offset) : text).split("\n");
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
  return { log: fromByte(bytes, offset, stop), ...(stop < bytes.length ? { next_offset: stop } : {}) };
}

/** Returns the text from the character at a byte on. */
function fromByte(bytes: Buffer, offset: number, end = bytes.length): string {
  return bytes.toString("utf8", characterStart(bytes, Math.min(offset, bytes.length)), end);
}

function characterStart(bytes: Buffer, at: number): number {
  let start = at;
  while (start > 0 && start < bytes.length && ((bytes[start] ?? 0) & 0xc0) === 0x80) start--;
  return start;
}
