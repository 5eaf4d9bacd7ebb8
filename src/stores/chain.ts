import { createHash, hash } from "node:crypto";
import type { RunEvent } from "../core/engine/event/event.ts";

/**
 * The chain of a run's record (trust 15). The line of each event ends with `,"seal":"…"}`: the sha256, in hex, of the seal
 * before it and of the line up to there. The run's own line has none: the first event begins the chain with the
 * sha256 of that whole line, as its field `record`.
 */

export function digestOf(line: string | Uint8Array): string {
  return hash("sha256", line);
}

/** An event with its seal, and its line. */
export function seal(event: RunEvent, before: string): { readonly event: RunEvent; readonly line: string } {
  const body = JSON.stringify(event).slice(0, -1);
  const made = hash("sha256", before + body);
  return { event: Object.assign(event, { seal: made }), line: `${body},"seal":"${made}"}` };
}

/** The seal that a line carries; undefined where it carries none. */
export function sealOf(line: Buffer): string | undefined {
  return SEAL.exec(line.toString("latin1", bodyLength(line)))?.[1];
}

/** The seal that a sealed line has to carry behind the one before. */
export function sealFor(line: Buffer, before: string): string {
  return createHash("sha256")
    .update(before)
    .update(line.subarray(0, bodyLength(line)))
    .digest("hex");
}

const SEAL = /^,"seal":"([0-9a-f]{64})"\}$/;
const SEAL_LENGTH = ',"seal":""}'.length + 64;

function bodyLength(line: Buffer): number {
  return Math.max(0, line.length - SEAL_LENGTH);
}
