import { fstatSync, lstatSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { attempt } from "../../core/base/errors.ts";
import type { RunSummary } from "../../core/engine/record/run-summary.ts";
import { digestOf, replaceFile } from "../../files/files.ts";
import { VERSION } from "../../files/own-files.ts";
import { reading } from "./run-lines.ts";

interface Entry {
  readonly stamp: string | undefined;
  readonly summary: RunSummary;
}

/** Not a run's file: a run's id does not begin with a dot. */
export const SUMMARIES = ".summaries.jsonl";

/**
 * Reads the summaries of ended runs that an earlier list saved, so that a list does not read those runs again. A summary
 * counts while its run's file is unchanged. Call it before runs are read: one that continues meanwhile then differs.
 */
export function readSummaries(directory: string, uid: number | undefined, runs: readonly string[]) {
  const path = join(directory, SUMMARIES);
  const stamps = new Map(runs.map((run) => [run, stampOf(join(directory, `${run}.jsonl`))]));
  const entries = attempt(() => readEntries(path, uid)) ?? [];
  // A checkout can contain any text here, but no stamp of its own files.
  const isValid = ({ stamp, summary }: Entry) => stamp !== undefined && stamps.get(summary.id) === stamp;
  const valid = attempt(() => entries.filter(isValid)) ?? [];
  const known = new Map(valid.map(({ summary }) => [summary.id, summary]));
  return {
    known,
    /** Saves more summaries. Not a few: writing takes longer than reading runs. Ignores failures, as of a full disk. */
    async add(summaries: readonly RunSummary[]): Promise<void> {
      const added = summaries.flatMap((summary) => {
        const stamp = stamps.get(summary.id);
        return stamp === undefined || summary.endedAt === null || known.has(summary.id) ? [] : { stamp, summary };
      });
      if (added.length < 50 && valid.length === entries.length) return;
      const lines = [...valid, ...added].map((entry) => JSON.stringify(entry)).join("\n");
      await replaceFile(path, `${headOf(lines)}\n${lines}`).catch(() => undefined);
    },
  };
}

/** Identifies the content of a file. Undefined if it is not a regular file, or so new that its time may stay the same. */
function stampOf(path: string): string | undefined {
  const stats = attempt(() => lstatSync(path, { bigint: true }));
  if (!stats?.isFile() || Date.now() - Number(stats.ctimeMs) <= 2000) return undefined;
  return [stats.size, stats.mtimeNs, stats.ctimeNs, stats.ino].join(" ");
}

/** Returns nothing unless this user and this version of the program wrote the whole file. */
function readEntries(path: string, uid: number | undefined): readonly Entry[] {
  return reading(path, (file) => {
    const { uid: owner, mode } = fstatSync(file);
    if (uid !== undefined && (owner !== uid || (mode & 0o022) !== 0)) return [];
    const [head, ...lines] = readFileSync(file, "utf8").split("\n");
    return head === headOf(lines.join("\n")) ? lines.map((line) => JSON.parse(line)) : [];
  });
}

/** Returns the first line. Its number changes with the meaning of a summary. */
function headOf(lines: string): string {
  return JSON.stringify({ schema: "skillflow.summaries/1", program: VERSION, digest: digestOf(lines) });
}
