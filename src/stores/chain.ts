import { createHash, hash } from "node:crypto";
import type { RunEvent } from "../core/engine/event/event.ts";
import type { RunRecord } from "../core/engine/event/record.ts";

/**
 * Computes a digest of the chain. The last line of each record ends with `,"seal":"…"}`: the sha256, in hex, of the
 * previous seal and the record's lines up to there. The run's own line has no seal. The first event starts the chain:
 * its field `record` is the sha256 of that whole line. In format 1, each event is sealed like a record.
 */

/** Writes whole records as lines, each with its line end. Adds seals after the given digest, or none without one. */
export function linesOf(
  events: readonly RunEvent[],
  { digest, schema }: { readonly digest: string | undefined; readonly schema: RunRecord["schema"] },
): string {
  let before = digest;
  let lines = "";
  let unsealed = "";
  for (const event of events) {
    if (before !== undefined && event.seq === 0) Object.assign(event, { record: before });
    const line = JSON.stringify(event);
    if (before === undefined || (event.more && schema !== "skillflow.run/1")) {
      unsealed += `${line}\n`;
      continue;
    }
    const body = unsealed + line.slice(0, -1);
    before = hash("sha256", before + body);
    Object.assign(event, { seal: before });
    lines += `${body},"seal":"${before}"}\n`;
    unsealed = "";
  }
  return lines + unsealed;
}

export function sealOf(line: Buffer): string | undefined {
  return SEAL.exec(line.toString("latin1", bodyLength(line)))?.[1];
}

/** Computes the seal that lines must have after the previous seal. The last of them ends with a seal. */
export function sealFor(lines: Buffer, before: string): string {
  return createHash("sha256")
    .update(before)
    .update(lines.subarray(0, bodyLength(lines)))
    .digest("hex");
}

const SEAL = /^,"seal":"([0-9a-f]{64})"\}$/;
const SEAL_LENGTH = ',"seal":""}'.length + 64;

function bodyLength(line: Buffer): number {
  return Math.max(0, line.length - SEAL_LENGTH);
}
