import { mkdtemp, readdir } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { BlobInfo, Blobs } from "../../core/base/blobs.ts";
import type { ProcessMark } from "../../core/engine/ports.ts";
import { isBlobId } from "../../core/engine/tools/blob.ts";
import { replaceFile } from "../../files/files.ts";
import { temporaryName } from "../../files/temporary-name.ts";
import { BLOB_LIMITS, type BlobLimits, changedBlob, createRoom, creating, unknownBlob } from "../blobs.ts";
import type { Database } from "./database.ts";

/** Creates a run's blob store in the database. Content that was changed there is rejected. */
export function databaseBlobs(
  database: Database,
  run: string,
  { self, limits = BLOB_LIMITS }: { readonly self: ProcessMark; readonly limits?: BlobLimits },
): Blobs {
  const inRoom = createRoom(limits, async () => {
    const [held] = await database.rows<{ readonly size: string }>(HELD, run);
    return Number(held?.size ?? 0);
  });
  const whole = new Set<string>();
  let folder: Promise<string> | undefined;

  const infoOf = async (id: string): Promise<BlobInfo | undefined> => {
    if (!isBlobId(id)) return undefined;
    const [row] = await database.rows<Row>(INFO, run, id);
    return row && { blob_id: id, kind: row.kind, size_bytes: Number(row.size) };
  };
  const keep = async (info: BlobInfo, content: Uint8Array): Promise<BlobInfo> => {
    if (await infoOf(info.blob_id)) return info;
    return inRoom(content.length, async () => {
      await database.rows(KEEP, run, info.blob_id, info.kind, info.size_bytes, Buffer.from(content));
      return info;
    });
  };
  const readPart = async (id: string, offset: number, length: number): Promise<Buffer> => {
    const wanted = [run, isBlobId(id) ? id : "", offset + 1, Math.max(0, length)];
    const [row] = await database.rows<Row & { readonly part: Buffer }>(READ, ...wanted);
    if (!row) return unknownBlob(id);
    if (!whole.has(`${id} ${row.version}`)) {
      const [found] = await database.rows<{ readonly digest: string }>(DIGEST, run, id);
      if (`blob:${found?.digest.slice(0, 32)}` !== id) changedBlob(id, "its content changed");
      whole.add(`${id} ${row.version}`);
    }
    return row.part;
  };
  return {
    create: creating(keep),
    info: infoOf,
    read: readPart,
    async file(id) {
      const { blob_id, size_bytes } = (await infoOf(id)) ?? unknownBlob(id);
      folder ??= mkdtemp(join(tmpdir(), temporaryName("blobs", self)));
      const [directory, name] = [await folder, blob_id.slice("blob:".length)];
      const path = join(directory, name);
      if (!(await readdir(directory)).includes(name)) {
        await replaceFile(path, await readPart(id, 0, size_bytes), { root: directory });
      }
      return path;
    },
  };
}

interface Row {
  readonly kind: string;
  readonly size: string;
  readonly version: string;
}

const HELD = "select coalesce(sum(size), 0) as size from skillflow.blobs where run = $1";
const INFO = "select kind, size, xmin::text as version from skillflow.blobs where run = $1 and id = $2";
const KEEP = `
  insert into skillflow.blobs (run, id, kind, size, content) values ($1, $2, $3, $4, $5) on conflict do nothing`;
const READ = `
  select kind, size, xmin::text as version, substring(content from $3 for $4) as part
  from skillflow.blobs where run = $1 and id = $2`;
const DIGEST = `
  select encode(sha256(convert_to(kind, 'UTF8') || '\\x00'::bytea || content), 'hex') as digest
  from skillflow.blobs where run = $1 and id = $2`;
