import { lstatSync, readdirSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { ProcessMark } from "../../core/ports.ts";
import { temporaryOwner } from "../../core/temporary-name.ts";

interface Sweeper {
  readonly self: ProcessMark;
  readonly isAlive: (mark: ProcessMark) => boolean;
  /** Undefined where users have no number. */
  readonly uid: number | undefined;
}

/** Removes the temporary folders that killed processes of ours left; what cannot be removed stays. */
export function sweepTemporaries(sweeper: Sweeper): void {
  for (const directory of new Set([tmpdir(), "/tmp"])) sweepFolder(directory, sweeper);
}

export function sweepFolder(directory: string, { self, isAlive, uid }: Sweeper): void {
  const left = namesIn(directory).filter((name) => {
    const owner = temporaryOwner(name, self);
    return owner !== undefined && !isAlive(owner);
  });
  for (const name of left) {
    const path = join(directory, name);
    const stats = lstatSync(path, { throwIfNoEntry: false });
    if (stats?.isDirectory() && (uid === undefined || uid === 0 || stats.uid === uid)) remove(path);
  }
}

function namesIn(directory: string): string[] {
  try {
    return readdirSync(directory);
  } catch {
    return [];
  }
}

function remove(path: string): void {
  try {
    rmSync(path, { recursive: true, force: true });
  } catch (error) {
    if (!(error instanceof Error)) throw error;
  }
}
