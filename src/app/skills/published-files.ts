import { readdir, realpath } from "node:fs/promises";
import { join } from "node:path";
import { openInside } from "../../loaders/folder/contain.ts";

/** Files of a skill's folder as other programs get them. Leaves out links, names that begin with a dot, and unreadable files. */

/** Limits of the skills extension of MCP for one skill. */
const MOST_FILES = 512;
const MOST_BYTES = 16 * 1024 * 1024;
const MOST_FOLDERS = 2000;

interface PublishedFile {
  readonly path: string;
  /** Changes when the file is written or replaced. */
  readonly stamp: string;
}

/** Lists the files, sorted by path. Throws if there are too many, or if they are too large together. */
export async function listFiles(directory: string): Promise<readonly PublishedFile[]> {
  const root = await realpath(directory);
  const files: PublishedFile[] = [];
  let [bytes, folders] = [0, 0];
  const visit = async (folder: string): Promise<void> => {
    if (++folders > MOST_FOLDERS) throw new Error(`it has more than ${MOST_FOLDERS} folders`);
    for (const entry of await entriesOf(join(root, folder))) {
      const path = folder === "" ? entry.name : `${folder}/${entry.name}`;
      if (entry.name.startsWith(".")) continue;
      if (entry.isDirectory()) await visit(path);
      const opened = entry.isFile() ? await openFile(root, path) : undefined;
      if (!opened) continue;
      await opened.file.close();
      const { size, mtimeMs, ctimeMs, ino } = opened.stats;
      bytes += size;
      files.push({ path, stamp: [size, mtimeMs, ctimeMs, ino].join(" ") });
      if (files.length > MOST_FILES) throw new Error(`it has more than ${MOST_FILES} files`);
      if (bytes > MOST_BYTES) throw new Error(`its files have more than ${MOST_BYTES} bytes`);
    }
  };
  await visit("");
  return files.sort((a, b) => (a.path < b.path ? -1 : 1));
}

/** Reads listed files, by path. Throws if one has gone. */
export async function readFiles(directory: string, files: readonly PublishedFile[]): Promise<Map<string, Buffer>> {
  const contents = new Map<string, Buffer>();
  for (const { path } of files) contents.set(path, await readFileOf(directory, path));
  return contents;
}

export async function readFileOf(directory: string, path: string): Promise<Buffer> {
  const opened = await openFile(await realpath(directory), path);
  if (!opened) throw new Error(`the file ${path} can no longer be read`);
  try {
    if (opened.stats.size > MOST_BYTES) throw new Error(`the file ${path} has more than ${MOST_BYTES} bytes`);
    return await opened.file.readFile();
  } finally {
    await opened.file.close();
  }
}

async function openFile(root: string, path: string) {
  const opened = await openInside({ inside: true, root, path: join(root, path), relative: path });
  return "inside" in opened ? undefined : opened;
}

async function entriesOf(folder: string) {
  try {
    return await readdir(folder, { withFileTypes: true });
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code === "EACCES" || code === "EPERM" || code === "ENOENT") return [];
    throw error;
  }
}
