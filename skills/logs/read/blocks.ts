import type { FileHandle } from "node:fs/promises";
import { setImmediate } from "node:timers/promises";
import { createGunzip } from "node:zlib";

/** The part of a line that is looked at; the rest is only measured. */
export const LINE_KEPT = 64 * 1024;

/** Consecutive whole lines of a file, or one line too long to be held whole. */
export interface Block {
  /** Each line ends with `\n`, except the last of the file and a cut one. */
  readonly bytes: Buffer;
  /** Where the first byte lies in the file (in the unpacked text of a packed one). */
  readonly offset: number;
  /** Length of the line of which `bytes` is the beginning, when it was cut. */
  readonly cutFrom?: number;
}

/** Puts the next bytes at the start of `into` and tells how many; 0 at the end. */
export type Fill = (into: Buffer) => Promise<number>;

const CHUNK = 1024 * 1024;
const PACKED_CHUNK = 16 * 1024;
/** Lines of one block, so that a chunk of short lines does not occupy the process for long. */
const BLOCK_LINES = 10_000;

/** Lets timers and signals be handled, and stops if the call was aborted meanwhile. */
export async function takeTurn(signal: AbortSignal): Promise<void> {
  await setImmediate();
  signal.throwIfAborted();
}

/**
 * A file's text as blocks of whole lines, in memory that does not grow with the file. A block's bytes are valid until the
 * next block is asked for. The next chunk is read while a block is looked at.
 */
export async function* blocksOf(
  fill: Fill,
  signal: AbortSignal,
  { kept = LINE_KEPT, chunk = CHUNK, offset = 0 } = {},
): AsyncGenerator<Block> {
  // The unfinished line at a chunk's end is copied right before the place of the next chunk, so that both are one run.
  let front = Buffer.allocUnsafe(kept + chunk);
  let back = Buffer.allocUnsafe(kept + chunk);
  let begin = kept;
  let position = offset;
  let cut: Cut | undefined;
  let pending = fill(front.subarray(kept));
  try {
    for (let read = await pending; read > 0; read = await pending) {
      await takeTurn(signal);
      pending = fill(back.subarray(kept));
      const end = kept + read;
      if (cut) {
        const stop = newlineIn(front, kept, end);
        cut.length += (stop ?? end) - kept;
        begin = stop === undefined ? end : stop + 1;
        if (stop !== undefined) {
          yield asBlock(cut);
          cut = undefined;
        }
      }
      const next = endOfLines(front, begin, end);
      for (let stop = begin; begin < next; begin = stop) {
        stop = endOfBlock(front, begin, next);
        yield { bytes: front.subarray(begin, stop), offset: position + begin - kept };
        if (stop < next) await takeTurn(signal);
      }
      const tail = end - next;
      if (tail > kept) {
        cut = { head: Buffer.from(front.subarray(next, next + kept)), length: tail, offset: position + next - kept };
      }
      begin = cut ? kept : kept - front.copy(back, kept - tail, next, end);
      position += read;
      [front, back] = [back, front];
    }
    signal.throwIfAborted();
    if (cut) yield asBlock(cut);
    else if (begin < kept) yield { bytes: front.subarray(begin, kept), offset: position + begin - kept };
  } finally {
    await Promise.allSettled([pending]);
  }
}

interface Cut {
  readonly head: Buffer;
  readonly offset: number;
  length: number;
}

function asBlock(cut: Cut): Block {
  return { bytes: cut.head, offset: cut.offset, cutFrom: cut.length };
}

function newlineIn(buffer: Buffer, from: number, to: number): number | undefined {
  const at = buffer.indexOf(10, from);
  return at >= 0 && at < to ? at : undefined;
}

/** Where the last whole line of a range ends; the range's start if it holds none. */
function endOfLines(buffer: Buffer, from: number, to: number): number {
  return to > from ? Math.max(from, buffer.lastIndexOf(10, to - 1) + 1) : from;
}

/** Returns where the block of whole lines that begins at `from` ends. */
function endOfBlock(buffer: Buffer, from: number, to: number): number {
  let end = from;
  for (let lines = 0; lines < BLOCK_LINES && end < to; lines++) end = buffer.indexOf(10, end) + 1;
  return end;
}

/** Reads a file up to the size it had, so that a file that grows does not keep the reader for ever. */
export function readPlain(file: FileHandle, from: number, size: number): Fill {
  let position = from;
  return async (into) => {
    const length = Math.min(into.length, size - position);
    if (length <= 0) return 0;
    const { bytesRead } = await file.read(into, 0, length, position);
    position += bytesRead;
    return bytesRead;
  };
}

/** Reads what comes in pieces of any size. */
export function readPieces(pieces: AsyncGenerator<Buffer>): Fill {
  let rest: Buffer = Buffer.alloc(0);
  return async (into) => {
    let filled = 0;
    while (filled < into.length) {
      if (rest.length === 0) {
        const next = await pieces.next();
        if (next.done) break;
        rest = next.value;
      }
      const taken = rest.copy(into, filled);
      rest = rest.subarray(taken);
      filled += taken;
    }
    return filled;
  };
}

/**
 * The unpacked text. What is damaged or cut off ends it early and is told to `onDamage`. Small packed pieces, each unpacked
 * whole before the next: what came before some damage is kept, and memory is bounded.
 */
export async function* unpacked(packed: Fill, onDamage: (reason: string) => void): AsyncGenerator<Buffer> {
  const gunzip = createGunzip();
  const closed = new Promise<void>((resolve) => gunzip.once("close", resolve));
  // Damage closes the stream, and then a write is never answered.
  let answered: (() => void) | undefined;
  gunzip.once("close", () => answered?.());
  const pieces: Buffer[] = [];
  let damage: Error | undefined;
  gunzip.on("data", (piece: Buffer) => pieces.push(piece));
  gunzip.on("error", (error) => {
    damage ??= error;
  });
  try {
    const buffer = Buffer.allocUnsafe(PACKED_CHUNK);
    for (let read = await packed(buffer); read > 0 && !damage; read = await packed(buffer)) {
      await new Promise<void>((resolve) => {
        answered = resolve;
        gunzip.write(buffer.subarray(0, read), () => resolve());
      });
      yield* pieces.splice(0);
    }
    gunzip.end();
    await closed;
    yield* pieces.splice(0);
    if (damage) onDamage(damage.message);
  } finally {
    gunzip.destroy();
  }
}
