import { hash, randomUUID } from "node:crypto";
import {
  accessSync,
  closeSync,
  constants,
  fstatSync,
  lstatSync,
  mkdirSync,
  openSync,
  readdirSync,
  readFileSync,
  readSync,
  realpathSync,
  type Stats,
  statSync,
} from "node:fs";
import { type FileHandle, open, rename, rm, writeFile } from "node:fs/promises";
import { basename, dirname, join, resolve, sep } from "node:path";
import { attempt, hasCode } from "../core/base/errors.ts";

/** Safe opening of files that others may have replaced, and safe writing of our own. */

/** Open flags that refuse links and do not wait for the writer of a named pipe. */
export const PLAIN_FILE = (constants.O_NOFOLLOW ?? 0) | (constants.O_NONBLOCK ?? 0);

/** Opens a regular file for reading. Throws for a link, a folder or a pipe. The caller closes it. */
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

/** Opens a regular file synchronously, like `openPlain`, optionally for writing. */
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

/** Reads a regular file that is not a link. Throws for a file of more than `most` bytes. */
export function readPlainNow(path: string, most = Number.POSITIVE_INFINITY): Buffer {
  const { file, stats } = openPlainNow(path);
  try {
    if (stats.size > most) throw new Error(`it is larger than ${most / 1024 / 1024} MB`);
    return readFileSync(file);
  } finally {
    closeSync(file);
  }
}

/** Streams that the process itself passed as paths, such as `<(…)` in a shell. A checkout cannot contain them. */
const OWN_STREAM = /^\/(?:dev\/stdin|(?:dev|proc\/self)\/fd\/\d+)$/;
const LEAST_READ = 64 * 1024;

/**
 * Reads a file that an untrusted author may have put there. Throws for a device, a pipe or a folder, also behind a
 * link, and for a file of more than `most` bytes.
 */
export function readRegular(path: string, most = Number.POSITIVE_INFINITY): Buffer {
  if (OWN_STREAM.test(path)) return readFileSync(path);
  const file = openSync(path, constants.O_RDONLY | (constants.O_NONBLOCK ?? 0));
  try {
    const stats = fstatSync(file);
    if (!stats.isFile()) throw new Error("it is not a regular file");
    if (stats.size > most) throw new Error(`it is larger than ${most} bytes`);
    // Files in /proc have size 0, and some never end.
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

/** Reads a regular file of at most 1 MB. Returns undefined if that fails. */
export function readSmall(path: string): string | undefined {
  return attempt(() => readRegular(path, SMALL).toString("utf8"));
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

/** Checks for a file that this process may run, or use in another `mode`. */
export function isProgram(path: string, mode = constants.X_OK): boolean {
  const isFile = attempt(() => {
    accessSync(path, mode);
    return statSync(path).isFile();
  });
  return isFile === true;
}

interface FolderOptions {
  /** Folder that must contain the real path of everything whose path is below it. */
  readonly root?: string | undefined;
  /** Mode of created folders. Defaults to access for the owner only. */
  readonly mode?: number;
}

/**
 * Writes a file atomically and returns its real path. By default only the owner can read it. Replaces a link in its
 * place, without touching the link's target.
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

/** Creates a folder and its missing parents, and returns its real path. Leaves existing folders unchanged. */
export function makeFolder(path: string, { root, mode = 0o700 }: FolderOptions = {}): string {
  realFolder(path, root);
  makeMissing(path, mode);
  return realFolder(path, root);
}

/** Returns the real path of a folder or of its nearest existing parent. Throws if a link leads out of the root. */
export function realFolder(path: string, root: string | undefined): string {
  const real = realpathSync.native(nearest(resolve(path)));
  if (root !== undefined && isWithin(resolve(root), resolve(path)) && !isWithin(realpathSync.native(root), real)) {
    throw new Error(`${path} is, or is behind, a link that leads out of ${root}`);
  }
  return real;
}

/** Returns the nearest existing path. A broken link counts as existing. */
function nearest(path: string): string {
  return lstatSync(path, { throwIfNoEntry: false }) ? path : nearest(dirname(path));
}

/** Creates missing folders one by one, because Node's recursive mkdir never ends in /proc. */
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

/** Returns an absolute folder and those above it, lowest first. */
export function foldersUp(folder: string): string[] {
  const above = dirname(folder);
  return [folder, ...(above === folder ? [] : foldersUp(above))];
}

/** Returns the names in a folder, or none if it does not exist. */
export function namesIn(folder: string): string[] {
  try {
    return readdirSync(folder);
  } catch (error) {
    if (hasCode(error, "ENOENT")) return [];
    throw error;
  }
}

/** Returns the path of a name in a folder whose path is normal. `join` would normalize all of it again. */
export const inFolder = (folder: string, name: string) => (folder.endsWith(sep) ? folder : folder + sep) + name;

/** Returns the sha256 of a content in hexadecimal. */
export function digestOf(content: string | Uint8Array): string {
  return hash("sha256", content);
}

/** Checks whether a path is a root or below it. Compares whole segments, so `/a-b` is not in `/a`. */
export function isWithin(root: string, path: string): boolean {
  return path === root || path.startsWith(root.endsWith(sep) ? root : root + sep);
}
