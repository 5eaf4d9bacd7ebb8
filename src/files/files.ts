import { randomUUID } from "node:crypto";
import {
  closeSync,
  constants,
  fstatSync,
  lstatSync,
  mkdirSync,
  openSync,
  readFileSync,
  readSync,
  realpathSync,
  type Stats,
} from "node:fs";
import { type FileHandle, open, rename, rm, writeFile } from "node:fs/promises";
import { basename, dirname, join, resolve, sep } from "node:path";

/** How we open what others may have put in a file's place, and how we write what is ours (trust 8). */

/** Neither a link is followed nor a named pipe waited for. */
export const PLAIN_FILE = (constants.O_NOFOLLOW ?? 0) | (constants.O_NONBLOCK ?? 0);

/** Opens a regular file for reading; throws for a link, a folder or a pipe in its place. The caller closes it. */
export async function openPlain(path: string): Promise<{ readonly file: FileHandle; readonly stats: Stats }> {
  const file = await open(path, constants.O_RDONLY | PLAIN_FILE).catch((error) => refuseLink(path, error));
  try {
    const stats = await file.stat();
    checkPlain(path, stats);
    return { file, stats };
  } catch (error) {
    await file.close();
    throw error;
  }
}

/** The same at once, and for writing too where that is said. */
export function openPlainNow(path: string, access: "r" | "r+" = "r"): { readonly file: number; readonly stats: Stats } {
  const file = openDescriptor(path, access === "r" ? constants.O_RDONLY : constants.O_RDWR);
  try {
    const stats = fstatSync(file);
    checkPlain(path, stats);
    return { file, stats };
  } catch (error) {
    closeSync(file);
    throw error;
  }
}

/** Files that a process named for itself, such as `<(…)` of a shell. No checkout brings them. */
const OWN_STREAM = /^\/(?:dev\/stdin|(?:dev|proc\/self)\/fd\/\d+)$/;
const LEAST_READ = 64 * 1024;

/**
 * Reads a file that an untrusted author may have put there. Throws for a device, a pipe or a folder, also behind a link,
 * and for a file of more than `most` bytes.
 */
export function readRegular(path: string, most = Number.POSITIVE_INFINITY): Buffer {
  if (OWN_STREAM.test(path)) return readFileSync(path);
  const file = openSync(path, constants.O_RDONLY | (constants.O_NONBLOCK ?? 0));
  try {
    const stats = fstatSync(file);
    if (!stats.isFile()) throw new Error("it is not a regular file");
    if (stats.size > most) throw new Error(`it is larger than ${most} bytes`);
    // Files of /proc have no size, and some have no end.
    const content = Buffer.alloc(Math.max(stats.size, LEAST_READ));
    let length = 0;
    for (let read = -1; read !== 0 && length < content.length; length += read) {
      read = readSync(file, content, length, content.length - length, null);
    }
    return content.subarray(0, length);
  } finally {
    closeSync(file);
  }
}

const SMALL = 1024 * 1024;

/** Reads a regular file of at most 1 MB; undefined if there is none, or none that can be read. */
export function readSmall(path: string): string | undefined {
  try {
    return readRegular(path, SMALL).toString("utf8");
  } catch {
    return undefined;
  }
}

function openDescriptor(path: string, access: number): number {
  try {
    return openSync(path, access | PLAIN_FILE);
  } catch (error) {
    return refuseLink(path, error);
  }
}

function refuseLink(path: string, error: unknown): never {
  const isLink = (error as NodeJS.ErrnoException).code === "ELOOP";
  throw isLink ? new Error(`${path} is a link`, { cause: error }) : error;
}

function checkPlain(path: string, stats: Stats): void {
  if (!stats.isFile()) throw new Error(`${path} is not a regular file`);
}

interface FolderOptions {
  /** What lies in it by its path must lie in it by its real path too. */
  readonly root?: string | undefined;
  /** Of the folders that are made: ours alone unless told. */
  readonly mode?: number;
}

/**
 * Puts a file in its place as a whole, readable by its owner alone unless told; gives its real path. A link in its place
 * is replaced, and what that led to stays as it is. Throws what keeps it from being written.
 */
export async function replaceFile(
  path: string,
  content: Uint8Array | string,
  { fileMode = 0o600, ...options }: Pick<FolderOptions, "root"> & { readonly fileMode?: number } = {},
): Promise<string> {
  const folder = makeFolder(dirname(path), options);
  const draft = join(folder, `.${randomUUID()}`);
  const place = join(folder, basename(path));
  try {
    await writeFile(draft, content, { flag: "wx", mode: fileMode, flush: true });
    await rename(draft, place);
    return place;
  } catch (error) {
    await rm(draft, { force: true });
    throw error;
  }
}

/** Makes a folder with those around it that are missing; gives its real path. Those that are there stay as they are. */
export function makeFolder(path: string, { root, mode = 0o700 }: FolderOptions = {}): string {
  realFolder(path, root);
  makeMissing(path, mode);
  return realFolder(path, root);
}

/** The real path of a folder, or of the nearest around it that is there. Throws where a link leads out of the root. */
export function realFolder(path: string, root: string | undefined): string {
  const real = realpathSync.native(nearest(resolve(path)));
  if (root !== undefined && isWithin(resolve(root), resolve(path)) && !isWithin(realpathSync.native(root), real)) {
    throw new Error(`${path} is, or is behind, a link that leads out of ${root}`);
  }
  return real;
}

/** Also a link that leads nowhere is there. */
function nearest(path: string): string {
  return lstatSync(path, { throwIfNoEntry: false }) ? path : nearest(dirname(path));
}

/** One by one: Node's own way never ends where the system says that nothing can be made (/proc). */
function makeMissing(path: string, mode: number, parentIsThere = false): void {
  try {
    mkdirSync(path, { mode });
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code === "EEXIST") return;
    if (code !== "ENOENT" || parentIsThere) throw error;
    makeMissing(dirname(path), mode);
    makeMissing(path, mode, true);
  }
}

/** Whether a path is a root or lies below it: compared with a separator, so that `/a-b` is not in `/a`. */
export function isWithin(root: string, path: string): boolean {
  return path === root || path.startsWith(root.endsWith(sep) ? root : root + sep);
}
