import { createHash, hash } from "node:crypto";
import type { RunEvent } from "../core/engine/event/event.ts";

/**
 * Computes a digest of the chain. The line of each event ends with `,"seal":"…"}`: the sha256, in hex, of the previous
 * seal and the line up to there. The run's own line has no seal. The first event starts the chain: its field `record`
 * is the sha256 of that whole line.
 */

export function digestOf(line: string | Uint8Array): string {
  return hash("sha256", line);
}

/** Seals an event. Returns it with its line. */
export function seal(event: RunEvent, before: string): { readonly event: RunEvent; readonly line: string } {
  const body = JSON.stringify(event).slice(0, -1);
  const made = hash("sha256", before + body);
  return { event: Object.assign(event, { seal: made }), line: `${body},"seal":"${made}"}` };
}

/** Returns the seal of a line, or undefined if it has none. */
export function sealOf(line: Buffer): string | undefined {
  return SEAL.exec(line.toString("latin1", bodyLength(line)))?.[1];
}

/** Computes the seal that a line must have after the previous seal. */
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
