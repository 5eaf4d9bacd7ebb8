import { compileSelector, type Line } from "../selector.ts";
import type { OpenLog } from "./files.ts";

/** Part of a file, read to learn about the whole. */
export interface Excerpt {
  readonly lines: readonly Line[];
  /** Number of bytes read. */
  readonly bytes: number;
  /** True if the excerpt reaches the end of the file. */
  readonly isEnd: boolean;
}

const EXCERPT = 64 * 1024;

/** Reads lines from an offset on, each with its time. */
async function readExcerpt(log: OpenLog, from = 0): Promise<Excerpt> {
  const selection = compileSelector({}, { times: true }).begin(log.modified);
  const lines: Line[] = [];
  let bytes = 0;
  for await (const block of log.blocks(from)) {
    const part = block.bytes.subarray(0, EXCERPT);
    const selected = selection.take({ ...block, bytes: part });
    for (let index = 0; index < selected.count; index++) lines.push(selected.line(index));
    bytes += block.cutFrom ?? part.length;
    if (bytes >= EXCERPT) return { lines, bytes, isEnd: false };
  }
  return { lines, bytes, isEnd: true };
}

/** Reads the beginning of a file and, if the file is seekable, its end. */
export async function readEnds(log: OpenLog): Promise<readonly Excerpt[]> {
  const head = await readExcerpt(log);
  if (head.isEnd || !log.seekable || log.size <= head.bytes) return [head];
  return [head, await readExcerpt(log, Math.max(head.bytes, log.size - EXCERPT))];
}
