import {
  constants,
  type Dirent,
  lstatSync,
  readdirSync,
  readlinkSync,
  realpathSync,
  type Stats,
  statSync,
} from "node:fs";
import { dirname } from "node:path";
import { attempt } from "../../core/base/errors.ts";

export type Sight = ReturnType<typeof openSight>;

/** Time in which a second change may leave a file's stamp as it is, because clocks of file systems are coarse. */
const COARSE_MS = 2000;

/** With this many missing names in one folder, it is cheaper to watch the folder. */
const MANY = 4;

/**
 * Opens a view of the file system that remembers every question. As long as the answers would be the same, nothing that
 * was read through it has to be read again.
 */
export function openSight() {
  const openedAt = Date.now();
  const watched = new Map<string, Watch>();
  const missing = new Map<string, Set<string>>();
  const find = (path: string): Stats | undefined => {
    const stats = targetOf(path);
    if (!stats) noteMissing(path, missing);
    else if (!watched.has(path)) watched.set(path, watchOf(path, stats, false));
    return stats;
  };
  const noteContent = (path: string) => {
    const stats = ownOf(path);
    if (stats) watched.set(path, watchOf(path, stats, true));
  };
  return {
    exists: (path: string) => find(path) !== undefined,
    isFolder: (path: string) => find(path)?.isDirectory() === true,
    /** Returns the real path of a file or folder, or undefined for anything else. */
    real(path: string) {
      const stats = find(path);
      const isPlace = stats?.isFile() === true || stats?.isDirectory() === true;
      return isPlace ? attempt(() => realpathSync.native(path)) : undefined;
    },
    /** Lists a folder by name. Returns nothing if it cannot be read, because then it cannot run either. */
    list(folder: string): readonly Dirent[] {
      noteContent(folder);
      const entries = attempt(() => readdirSync(folder, { withFileTypes: true })) ?? [];
      return entries.sort((a, b) => (a.name < b.name ? -1 : 1));
    },
    link(path: string) {
      noteContent(path);
      return attempt(() => readlinkSync(path)) ?? "";
    },
    /** Notes that the caller is about to read a file. */
    note: noteContent,
    /**
     * Returns a cheap check that the answers are still the same. Returns undefined if something changed so recently
     * that a further change could not be noticed.
     */
    keep() {
      for (const [folder, paths] of missing) watchMissing(folder, [...paths], watched);
      const all = [...watched.values()];
      const isConclusive = all.every(({ changedMs }) => changedMs === undefined || openedAt - changedMs > COARSE_MS);
      return isConclusive ? () => all.every(isSame) : undefined;
    },
  };
}

interface Watch {
  readonly path: string;
  /** Undefined if the path does not exist. */
  readonly stamp: string | undefined;
  /** Only for files and folders whose content counts. Their links are not followed. */
  readonly changedMs: number | undefined;
}

function watchOf(path: string, stats: Stats, isContent: boolean): Watch {
  return { path, stamp: stampOf(stats, isContent), changedMs: isContent ? stats.ctimeMs : undefined };
}

/** Includes the type, because a new file may get the inode of a folder that was removed. */
function stampOf({ ino, dev, mode, size, ctimeMs }: Stats, isContent: boolean): string {
  return [ino, dev, mode & constants.S_IFMT, ...(isContent ? [size, ctimeMs] : [])].join(" ");
}

function isSame({ path, stamp, changedMs }: Watch): boolean {
  const isContent = changedMs !== undefined;
  const stats = isContent ? ownOf(path) : targetOf(path);
  return (stats && stampOf(stats, isContent)) === stamp;
}

/** Notes the topmost part of a path that does not exist, below the folder that does. */
function noteMissing(path: string, missing: Map<string, Set<string>>): void {
  let top = path;
  while (dirname(top) !== top && !missing.has(dirname(top)) && !targetOf(dirname(top))) top = dirname(top);
  const folder = dirname(top);
  missing.set(folder, (missing.get(folder) ?? new Set()).add(top));
}

function watchMissing(folder: string, paths: readonly string[], watched: Map<string, Watch>): void {
  const stats = paths.length < MANY ? undefined : ownOf(folder);
  // A link's own stamp does not change with its target.
  if (stats?.isDirectory()) watched.set(folder, watchOf(folder, stats, true));
  else for (const path of paths) watched.set(path, { path, stamp: undefined, changedMs: undefined });
}

function ownOf(path: string): Stats | undefined {
  return attempt(() => lstatSync(path, { throwIfNoEntry: false }));
}

function targetOf(path: string): Stats | undefined {
  return attempt(() => statSync(path, { throwIfNoEntry: false }));
}
