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

/** Writes events as lines, each with its line end. Adds their seals after the given digest, or none without one. */
export function linesOf(events: readonly RunEvent[], digest: string | undefined): string {
  let before = digest;
  let lines = "";
  for (const event of events) {
    if (before !== undefined && event.seq === 0) Object.assign(event, { record: before });
    const line = JSON.stringify(event);
    if (before === undefined) {
      lines += `${line}\n`;
      continue;
    }
    const body = line.slice(0, -1);
    before = hash("sha256", before + body);
    Object.assign(event, { seal: before });
    lines += `${body},"seal":"${before}"}\n`;
  }
  return lines;
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
