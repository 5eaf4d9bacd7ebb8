import { type Dirent, promises } from "node:fs";
import { lstat } from "node:fs/promises";
import { join } from "node:path";
import type { Parts } from "./run-git.ts";

/**
 * Throws an Error if a repository inside the working directory uses data from outside. All parts that git reads must be
 * regular files or directories, not links, and it must not borrow objects.
 */
export async function checkOwn({ gitDir, commonDir }: Parts, name: string, signal: AbortSignal): Promise<void> {
  const files = [join(gitDir, "HEAD"), ...["config", "packed-refs", "shallow"].map((file) => join(commonDir, file))];
  const folders = ["objects", "refs"].map((folder) => join(commonDir, folder));
  const kinds = await Promise.all([...files, ...folders].map((path) => lstat(path).catch(() => undefined)));
  if (!kinds.every((stats) => stats === undefined || stats.isFile() || stats.isDirectory())) throw elsewhere(name);
  const alternates = await lstat(join(commonDir, "objects/info/alternates")).catch(() => undefined);
  if (alternates && alternates.size > 0) throw elsewhere(name);
  for (const folder of folders) await checkFolder(folder, name, signal);
}

export function elsewhere(name: string): Error {
  return new Error(
    `${name} has symbolic links, or parts of its repository are elsewhere. The operator can set GIT_REPOSITORY to allow it`,
  );
}

const MOST_ENTRIES = 1_000_000;

async function checkFolder(top: string, name: string, signal: AbortSignal): Promise<void> {
  const folders = [top];
  let entries = 0;
  for (let folder = folders.pop(); folder !== undefined; folder = folders.pop()) {
    signal.throwIfAborted();
    const found: readonly Dirent[] = await promises.readdir(folder, { withFileTypes: true });
    entries += found.length;
    if (entries > MOST_ENTRIES) throw new Error(`${name} has more than ${MOST_ENTRIES} loose objects. Run git gc`);
    for (const entry of found) {
      if (entry.isDirectory()) folders.push(join(folder, entry.name));
      else if (!entry.isFile()) throw elsewhere(name);
    }
  }
}
