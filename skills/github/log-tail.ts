import { clip, jsonSize } from "skillflow";

const MOST_BYTES_READ = 50_000_000;
const BYTES_KEPT = 256_000;
const LONGEST_LINE = 500;

/** Returns the last lines of a log that fit into `budget` bytes of JSON, without colors and timestamps. */
export async function tailOf(stream: unknown, budget: number) {
  if (!(stream instanceof ReadableStream)) throw new TypeError("a log is a stream of bytes");
  const { text, lines: total, isWhole } = await readEnd(stream);
  const lines = readable(text).split("\n");
  const shown: string[] = [];
  let room = budget;
  for (const line of lines.reverse()) {
    const clipped = clip(line, LONGEST_LINE);
    room -= jsonSize(clipped);
    if (room < 0) break;
    shown.unshift(clipped);
  }
  return { log_tail: shown.join("\n"), ...(isWhole ? partOf(shown.length, total) : BROKEN_OFF) };
}

const BROKEN_OFF = { truncated: `the log is longer than ${MOST_BYTES_READ} bytes: this is not its end` };

function partOf(shown: number, total: number): { readonly truncated?: string } {
  return shown < total ? { truncated: `the last ${shown} of ${total} lines` } : {};
}

/** Reads to the end of a log but keeps only its last bytes in memory. */
async function readEnd(stream: ReadableStream<Uint8Array>) {
  let end = Buffer.alloc(0);
  let read = 0;
  let breaks = 0;
  for await (const chunk of stream) {
    end = Buffer.concat([end, chunk]).subarray(-BYTES_KEPT);
    read += chunk.length;
    for (const byte of chunk) if (byte === LINE_BREAK) breaks++;
    if (read > MOST_BYTES_READ) return { text: end.toString("utf8"), lines: breaks, isWhole: false };
  }
  const lines = breaks + (read > 0 && end.at(-1) !== LINE_BREAK ? 1 : 0);
  return { text: end.toString("utf8"), lines, isWhole: true };
}

const LINE_BREAK = 10;

function readable(log: string): string {
  const colour = new RegExp(`${String.fromCharCode(27)}\\[[0-9;]*[A-Za-z]`, "g");
  return log
    .replaceAll(colour, "")
    .replaceAll(/^\uFEFF?\d{4}-\d{2}-\d{2}T[\d:.]+Z ?/gm, "")
    .replaceAll("\r", "")
    .trimEnd();
}
