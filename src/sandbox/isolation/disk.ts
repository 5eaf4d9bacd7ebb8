import { type Dirent, lstatSync, readdirSync, statfsSync } from "node:fs";
import { join } from "node:path";

/**
 * Whether more than so many bytes were taken in folders since this was made. The kernel counts what a process writes, but
 * not for one whose parent does not wait for its end. So the disk itself is asked, which costs little, and the files only
 * when that much of it is gone, which others may have taken.
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

/** A file's times are no finer than the system's clock. */
const CLOCK_MS = 100;

function freeBytes(folder: string): number {
  const { bavail, bsize } = statfsSync(folder);
  return bavail * bsize;
}

/** On disk, of the files below that were changed or made since then. */
function changedBytes(folder: string, since: number): number {
  let bytes = 0;
  for (const entry of entriesOf(folder)) {
    const path = join(folder, entry.name);
    const found = lstatSync(path, { throwIfNoEntry: false });
    if (found && found.ctimeMs >= since) bytes += found.blocks * 512;
    if (entry.isDirectory()) bytes += changedBytes(path, since);
  }
  return bytes;
}

/** Empty for what is gone, or closed to us. */
function entriesOf(folder: string): Dirent[] {
  try {
    return readdirSync(folder, { withFileTypes: true });
  } catch {
    return [];
  }
}
