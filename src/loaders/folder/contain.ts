import { constants, realpathSync, type Stats } from "node:fs";
import { type FileHandle, lstat, open, realpath } from "node:fs/promises";
import { relative, resolve, sep } from "node:path";
import { isWithin, PLAIN_FILE } from "../../files/files.ts";

export interface Inside {
  readonly inside: true;
  /** Real path of the root. */
  readonly root: string;
  /** Real path of the target: below the root, or the root itself. */
  readonly path: string;
  /** `path` relative to the root, with `/`. Empty for the root itself. */
  readonly relative: string;
}

export interface Refused {
  readonly inside: false;
  readonly reason: "outside" | "missing" | "unreadable";
  /** Clause that follows the path in a message: `leads out of the directory`. */
  readonly message: string;
}

/**
 * Resolves an untrusted path to its real path below `root`, or explains why it is refused. Refuses NUL, `\`, `..`
 * segments, absolute paths outside the root, and links that lead out.
 */
export async function resolveInside(root: string, path: string): Promise<Inside | Refused> {
  return resolveInsideNow(root, path);
}

export function resolveInsideNow(root: string, path: string): Inside | Refused {
  try {
    const realRoot = realpathSync(root);
    const fault = faultOf(path);
    if (fault) return outside(fault);
    const wanted = resolve(root, path);
    if (![resolve(root), realRoot].some((each) => isWithin(each, wanted)))
      return outside("is outside of the directory");
    const real = realpathSync(wanted);
    if (!isWithin(realRoot, real)) return outside("is a link that leads out of the directory");
    return { inside: true, root: realRoot, path: real, relative: relative(realRoot, real).split(sep).join("/") };
  } catch (error) {
    return failed(error);
  }
}

/**
 * Opens a resolved path for reading and checks it again: it must still be a regular file below the root. The caller
 * closes it.
 */
export async function openInside(
  place: Inside,
): Promise<{ readonly file: FileHandle; readonly stats: Stats } | Refused> {
  let file: FileHandle | undefined;
  try {
    file = await open(place.path, constants.O_RDONLY | PLAIN_FILE);
    const stats = await file.stat();
    const refusal = stats.isFile() ? await lookAgain(place, stats) : unreadable("is not a regular file");
    if (!refusal) return { file, stats };
    await file.close();
    return refusal;
  } catch (error) {
    await file?.close();
    return failed(error);
  }
}

/** Reads at most `most` bytes of a resolved file. `size` is that of the whole file. */
export async function readPlace(
  place: Inside | Refused,
  most: number,
): Promise<{ readonly bytes: Buffer; readonly size: number } | Refused> {
  const opened = place.inside ? await openInside(place) : place;
  if ("inside" in opened) return opened;
  const { file, stats } = opened;
  try {
    const { buffer, bytesRead } = await file.read(Buffer.alloc(Math.min(stats.size, most)), 0);
    return { bytes: buffer.subarray(0, bytesRead), size: stats.size };
  } finally {
    await file.close();
  }
}

function faultOf(path: string): string | undefined {
  if (path.includes("\0")) return "contains a NUL character";
  if (path.includes("\\")) return "contains a backslash; separate folders with /";
  if (path.split("/").includes("..")) return "contains `..`";
  return undefined;
}

async function lookAgain(place: Inside, opened: Stats): Promise<Refused | undefined> {
  const real = await realpath(place.path);
  if (!isWithin(place.root, real)) return outside("is a link that leads out of the directory");
  const now = await lstat(real);
  return now.ino === opened.ino && now.dev === opened.dev ? undefined : unreadable("was replaced while it was opened");
}

function failed(error: unknown): Refused {
  const code = error instanceof Error && "code" in error ? String(error.code) : String(error);
  if (code === "ENOENT" || code === "ENOTDIR") return { inside: false, reason: "missing", message: "does not exist" };
  return unreadable(`cannot be read (${code})`);
}

function outside(message: string): Refused {
  return { inside: false, reason: "outside", message };
}

function unreadable(message: string): Refused {
  return { inside: false, reason: "unreadable", message };
}
