import { lstatSync, readdirSync, statfsSync } from "node:fs";
import { join } from "node:path";
import { attempt } from "../../core/base/errors.ts";

/**
 * Returns a check for more than `most` bytes written to the folders since the call. The kernel's write counters miss
 * processes that no parent waits for, so the check compares free disk space. Other programs use the disk too, so if
 * much is gone it measures the changed files.
 */
export function watchDisk(folders: readonly string[], most: number): () => boolean {
  const since = Date.now() - CLOCK_MS;
  const before = folders.map(freeBytes);
  let gone = most;
  return () => {
    if (!folders.some((folder, i) => (before[i] ?? 0) - freeBytes(folder) > gone)) return false;
    gone += most / 4;
    return folders.reduce((sum, folder) => sum + changedBytes(folder, since), 0) > most;
  };
}

/** Margin for file times, which are as coarse as the system clock. */
const CLOCK_MS = 100;

function freeBytes(folder: string): number {
  const { bavail, bsize } = statfsSync(folder);
  return bavail * bsize;
}

function changedBytes(folder: string, since: number): number {
  let bytes = 0;
  for (const entry of attempt(() => readdirSync(folder, { withFileTypes: true })) ?? []) {
    const path = join(folder, entry.name);
    const found = lstatSync(path, { throwIfNoEntry: false });
    if (found && found.ctimeMs >= since) bytes += found.blocks * 512;
    if (entry.isDirectory()) bytes += changedBytes(path, since);
  }
  return bytes;
}
