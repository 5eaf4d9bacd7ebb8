import { createHash, type Hash } from "node:crypto";
import { type FileHandle, lstat, readdir } from "node:fs/promises";
import { dirname, join } from "node:path";
import type { BlobInfo, Blobs } from "../core/base/blobs.ts";
import { messageOf, SkillflowError } from "../core/base/errors.ts";
import { isObject, parseJson } from "../core/base/values.ts";
import { isBlobId } from "../core/engine/tools/blob.ts";
import { openPlain, replaceFile } from "../files/files.ts";

export interface BlobLimits {
  readonly mostBytes: number;
  readonly quotaBytes: number;
}

export const BLOB_LIMITS: BlobLimits = { mostBytes: 256 * 1024 ** 2, quotaBytes: 2 * 1024 ** 3 };

/**
 * Stores blobs as files of a directory, which is created with the first blob. The content's file name is the id, and a
 * JSON file next to it names the kind. A file that was changed or replaced is rejected.
 */
export function fileBlobs(directory: string, limits: BlobLimits = BLOB_LIMITS): Blobs {
  const pathOf = (id: string) => join(directory, id.slice("blob:".length));
  const inRoom = createRoom(limits, () => sizeOfAll(directory));
  /** Stamp of each file when its content was verified. It changes when the file is modified or replaced. */
  const whole = new Map<string, string>();

  const infoOf = async (id: string): Promise<BlobInfo | undefined> => {
    const kept = isBlobId(id) ? await readInfo(`${pathOf(id)}.json`) : undefined;
    return kept && { blob_id: id, ...kept };
  };
  const openWhole = async (id: string) => {
    const info = (await infoOf(id)) ?? unknownBlob(id);
    const opened = await openPlain(pathOf(id)).catch((error: unknown) => changedBlob(id, messageOf(error)));
    try {
      const { dev, ino, size, mtimeMs, ctimeMs } = opened.stats;
      const stand = [dev, ino, size, mtimeMs, ctimeMs].join(" ");
      if (whole.get(id) !== stand) await checkContent(opened.file, info);
      if (Date.now() - ctimeMs > RACY_MS) whole.set(id, stand);
      return { info, file: opened.file };
    } catch (error) {
      await opened.file.close();
      throw error;
    }
  };
  const isKept = async (id: string) => {
    if (!(await infoOf(id))) return false;
    const opened = await openWhole(id).catch(() => undefined);
    await opened?.file.close();
    return opened !== undefined;
  };
  const keep = async (info: BlobInfo, content: Uint8Array): Promise<BlobInfo> => {
    const path = pathOf(info.blob_id);
    if (await isKept(info.blob_id)) return info;
    return inRoom(content.length, async () => {
      await write(path, content);
      await write(`${path}.json`, JSON.stringify(info));
      return info;
    });
  };
  return {
    create: creating(keep),
    info: infoOf,
    async read(id, offset, length) {
      const { info, file } = await openWhole(id);
      try {
        const bytes = Buffer.alloc(Math.max(0, Math.min(length, info.size_bytes - offset)));
        const { bytesRead } = await file.read(bytes, 0, bytes.length, offset);
        return bytes.subarray(0, bytesRead);
      } finally {
        await file.close();
      }
    },
    async file(id) {
      const { file } = await openWhole(id);
      await file.close();
      return pathOf(id);
    },
  };
}

export function memoryBlobs(limits: BlobLimits = BLOB_LIMITS): Blobs {
  const held = new Map<string, { readonly info: BlobInfo; readonly content: Uint8Array }>();
  const known = (id: string) => held.get(id) ?? unknownBlob(id);
  return {
    async create(content, kind) {
      const info = identify(content, kind);
      if (held.has(info.blob_id)) return info;
      const size = [...held.values()].reduce((sum, blob) => sum + blob.content.length, 0);
      refuseBeyond(limits, content.length, size);
      held.set(info.blob_id, { info, content: new Uint8Array(content) });
      return info;
    },
    info: async (id) => held.get(id)?.info,
    read: async (id, offset, length) => known(id).content.slice(offset, offset + length),
    file: async (id) => {
      const { blob_id } = known(id).info;
      throw new SkillflowError(
        "blob.refused",
        `the blob ${blob_id} is kept in memory, where no other program can read it`,
      );
    },
  };
}

/** Wraps `keep` so that concurrent calls with the same content store it once. */
export function creating(keep: (info: BlobInfo, content: Uint8Array) => Promise<BlobInfo>): Blobs["create"] {
  const making = new Map<string, Promise<BlobInfo>>();
  return (content, kind) => {
    const info = identify(content, kind);
    const { blob_id } = info;
    const made = making.get(blob_id) ?? keep(info, content).finally(() => making.delete(blob_id));
    making.set(blob_id, made);
    return made;
  };
}

function identify(content: Uint8Array, kind: string): BlobInfo {
  return { blob_id: idOf(hashOf(kind).update(content)), kind, size_bytes: content.length };
}

function hashOf(kind: string): Hash {
  return createHash("sha256").update(kind).update("\0");
}

function idOf(hash: Hash): string {
  return `blob:${hash.digest("hex").slice(0, 32)}`;
}

/** Reads a blob's description. Returns undefined if the file is missing or malformed. */
async function readInfo(path: string): Promise<Omit<BlobInfo, "blob_id"> | undefined> {
  const opened = await openPlain(path).catch(() => undefined);
  if (!opened) return undefined;
  try {
    const kept = parseJson(await opened.file.readFile("utf8"));
    if (!isObject(kept) || typeof kept.kind !== "string" || typeof kept.size_bytes !== "number") return undefined;
    return { kind: kept.kind, size_bytes: kept.size_bytes };
  } finally {
    await opened.file.close();
  }
}

const CHUNK = 1024 * 1024;

async function checkContent(file: FileHandle, { blob_id, kind, size_bytes }: BlobInfo): Promise<void> {
  const hash = hashOf(kind);
  const chunk = Buffer.alloc(CHUNK);
  let size = 0;
  for (let read = -1; read !== 0 && size <= size_bytes; size += read) {
    read = (await file.read(chunk, 0, CHUNK, size)).bytesRead;
    hash.update(chunk.subarray(0, read));
  }
  if (size !== size_bytes || idOf(hash) !== blob_id) changedBlob(blob_id, "its content changed");
}

/** Minimum age for caching a check: a second change within one clock tick does not alter the file's times. */
const RACY_MS = 2000;

export function changedBlob(id: string, why: string): never {
  throw new SkillflowError("blob.unknown", `the blob ${id} is not what was stored: ${why}`);
}

/** Tracks the quota. Reserves space before a write and frees it if the write fails. */
export function createRoom(limits: BlobLimits, measure: () => Promise<number>) {
  let held = 0;
  let measured: Promise<void> | undefined;
  return async <Value>(size: number, write: () => Promise<Value>): Promise<Value> => {
    measured ??= measure().then((found) => {
      held += found;
    });
    await measured;
    refuseBeyond(limits, size, held);
    held += size;
    try {
      return await write();
    } catch (error) {
      held -= size;
      throw error;
    }
  };
}

function refuseBeyond({ mostBytes, quotaBytes }: BlobLimits, size: number, held: number): void {
  if (size > mostBytes)
    throw new SkillflowError("blob.refused", `a blob holds at most ${mostBytes} bytes, not ${size}`);
  if (held + size > quotaBytes) {
    throw new SkillflowError("blob.refused", `the blobs would hold more than ${quotaBytes} bytes together`);
  }
}

export function unknownBlob(id: string): never {
  throw new SkillflowError("blob.unknown", `there is no blob ${id}`);
}

function missing(error: NodeJS.ErrnoException): undefined {
  if (error.code !== "ENOENT" && error.code !== "ENOTDIR") throw error;
  return undefined;
}

async function sizeOfAll(directory: string): Promise<number> {
  const names = (await readdir(directory).catch(missing)) ?? [];
  const sizes = await Promise.all(
    names.map(async (name) => (await lstat(join(directory, name)).catch(missing))?.size ?? 0),
  );
  return sizes.reduce((sum, size) => sum + size, 0);
}

/** Writes the file atomically, also across a crash. Refuses to write through a link at the blobs' folder. */
async function write(path: string, content: Uint8Array | string): Promise<void> {
  try {
    await replaceFile(path, content, { root: dirname(dirname(path)) });
  } catch (error) {
    throw new SkillflowError("blob.refused", `a blob could not be stored: ${messageOf(error)}`, { cause: error });
  }
}
