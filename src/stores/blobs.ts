import { createHash, randomUUID } from "node:crypto";
import { mkdir, open, readdir, readFile, rename, rm, stat, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { isBlobId } from "../core/blob.ts";
import { messageOf, SkillflowError } from "../core/errors.ts";
import type { BlobInfo, Blobs } from "../core/ports.ts";
import { isObject } from "../core/values.ts";

export interface BlobLimits {
  /** Of one blob, in bytes. */
  readonly mostBytes: number;
  /** Of all blobs together, in bytes. */
  readonly quotaBytes: number;
}

export const BLOB_LIMITS: BlobLimits = { mostBytes: 256 * 1024 ** 2, quotaBytes: 2 * 1024 ** 3 };

/** Blobs as files of a directory, which is made with the first one: content under its id, its kind beside it. */
export function fileBlobs(directory: string, limits: BlobLimits = BLOB_LIMITS): Blobs {
  const pathOf = (id: string) => join(directory, id.slice("blob:".length));
  const infoOf = async (id: string): Promise<BlobInfo | undefined> => {
    if (!isBlobId(id)) return undefined;
    const text = await readFile(`${pathOf(id)}.json`, "utf8").catch(missing);
    const kept: unknown = text === undefined ? undefined : JSON.parse(text);
    return isObject(kept) && typeof kept.kind === "string" && typeof kept.size_bytes === "number"
      ? { blob_id: id, kind: kept.kind, size_bytes: kept.size_bytes }
      : undefined;
  };
  const known = async (id: string) => (await infoOf(id)) ?? unknownBlob(id);
  let held: Promise<number> | undefined;
  return {
    async create(content, kind) {
      const info = identify(content, kind);
      if (await infoOf(info.blob_id)) return info;
      held ??= sizeOfAll(directory);
      refuseBeyond(limits, content.length, await held);
      held = held.then((size) => size + content.length);
      await writeWhole(directory, pathOf(info.blob_id), content);
      await writeWhole(directory, `${pathOf(info.blob_id)}.json`, JSON.stringify(info));
      return info;
    },
    info: infoOf,
    async read(id, offset, length) {
      const { size_bytes } = await known(id);
      const file = await open(pathOf(id), "r");
      try {
        const bytes = Buffer.alloc(Math.max(0, Math.min(length, size_bytes - offset)));
        const { bytesRead } = await file.read(bytes, 0, bytes.length, offset);
        return bytes.subarray(0, bytesRead);
      } finally {
        await file.close();
      }
    },
    file: async (id) => pathOf((await known(id)).blob_id),
  };
}

/** Blobs in memory: gone with their owner. */
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
    file: async (id) => unknownBlob(known(id).info.blob_id),
  };
}

function identify(content: Uint8Array, kind: string): BlobInfo {
  const digest = createHash("sha256").update(kind).update("\0").update(content).digest("hex");
  return { blob_id: `blob:${digest.slice(0, 32)}`, kind, size_bytes: content.length };
}

function refuseBeyond({ mostBytes, quotaBytes }: BlobLimits, size: number, held: number): void {
  if (size > mostBytes)
    throw new SkillflowError("blob.refused", `a blob holds at most ${mostBytes} bytes, not ${size}`);
  if (held + size > quotaBytes) {
    throw new SkillflowError("blob.refused", `the blobs would hold more than ${quotaBytes} bytes together`);
  }
}

function unknownBlob(id: string): never {
  throw new SkillflowError("blob.unknown", `there is no blob ${id}`);
}

function missing(error: NodeJS.ErrnoException): undefined {
  if (error.code !== "ENOENT" && error.code !== "ENOTDIR") throw error;
  return undefined;
}

async function sizeOfAll(directory: string): Promise<number> {
  const names = (await readdir(directory).catch(missing)) ?? [];
  const sizes = await Promise.all(
    names.map(async (name) => (await stat(join(directory, name)).catch(missing))?.size ?? 0),
  );
  return sizes.reduce((sum, size) => sum + size, 0);
}

/** Whole or not at all, also after a crash. */
async function writeWhole(directory: string, path: string, content: Uint8Array | string): Promise<void> {
  const draft = join(directory, `.${randomUUID()}`);
  try {
    await mkdir(directory, { recursive: true });
    await writeFile(draft, content, { flush: true });
    await rename(draft, path);
  } catch (error) {
    await rm(draft, { force: true }).catch(missing);
    throw new SkillflowError("blob.refused", `a blob could not be kept: ${messageOf(error)}`, { cause: error });
  }
}
