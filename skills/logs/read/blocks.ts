import type { FileHandle } from "node:fs/promises";
import { setImmediate } from "node:timers/promises";
import { createGunzip } from "node:zlib";

/** Number of bytes of a line that are examined. The rest is only measured. */
export const LINE_KEPT = 64 * 1024;

/** Consecutive whole lines of a file, or the beginning of one overlong line. */
export interface Block {
  /** Lines that each end with `\n`, except the last of the file and a cut one. */
  readonly bytes: Buffer;
  /** Offset of the first byte in the file, or in the uncompressed text. */
  readonly offset: number;
  /** Full length of the line if it was cut. */
  readonly cutFrom?: number;
}

/** Fills `into` from the start and returns the number of bytes, 0 at the end. */
export type Fill = (into: Buffer) => Promise<number>;

const CHUNK = 1024 * 1024;
const PACKED_CHUNK = 16 * 1024;
/** Maximum number of lines in a block, so that short lines do not block the event loop. */
const BLOCK_LINES = 10_000;

/** Yields to timers and signals. Throws if the call was aborted. */
export async function takeTurn(signal: AbortSignal): Promise<void> {
  await setImmediate();
  signal.throwIfAborted();
}

/**
 * Reads a file as blocks of whole lines in constant memory. A block's bytes are valid until the next block is
 * requested. The next chunk is read in the background.
 */
export async function* blocksOf(
  fill: Fill,
  signal: AbortSignal,
  { kept = LINE_KEPT, chunk = CHUNK, offset = 0 } = {},
): AsyncGenerator<Block> {
  // The incomplete line of a chunk is copied directly in front of the next chunk, so that both are contiguous.
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

/** Returns the end of the last whole line in a range, or the start of the range if there is none. */
function endOfLines(buffer: Buffer, from: number, to: number): number {
  return to > from ? Math.max(from, buffer.lastIndexOf(10, to - 1) + 1) : from;
}

/** Returns the end of the block of whole lines that starts at `from`. */
function endOfBlock(buffer: Buffer, from: number, to: number): number {
  let end = from;
  for (let lines = 0; lines < BLOCK_LINES && end < to; lines++) end = buffer.indexOf(10, end) + 1;
  return end;
}

/** Reads a file up to its size at opening, so that reading a growing file ends. */
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

/** Reads from pieces of any size. */
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
 * Decompresses gzip. Damaged or incomplete input ends the text early and calls `onDamage`. Small compressed pieces,
 * unpacked one by one, limit memory and keep what precedes the damage.
 */
export async function* unpacked(packed: Fill, onDamage: (reason: string) => void): AsyncGenerator<Buffer> {
  const gunzip = createGunzip();
  const closed = new Promise<void>((resolve) => gunzip.once("close", resolve));
  // Damage closes the stream, and a pending write would never complete.
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
