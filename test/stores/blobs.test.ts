import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, describe, expect, test } from "vitest";
import { fileBlobs, memoryBlobs } from "../../src/stores/blobs.ts";
import { describeBlobs } from "../contracts/blobs.ts";

const root = mkdtempSync(join(tmpdir(), "blobs-"));
afterAll(() => rmSync(root, { recursive: true }));
let count = 0;
const directory = () => join(root, String(count++));

describeBlobs("memory", (limits) => memoryBlobs(limits));
describeBlobs("files", (limits) => fileBlobs(directory(), limits));

describe("blobs in files", () => {
  test("create no directory until the first one", async () => {
    const path = directory();
    const blobs = fileBlobs(path);
    expect(await blobs.info(`blob:${"0".repeat(32)}`)).toBeUndefined();
    expect(existsSync(path)).toBe(false);
  });

  test("outlive their process, and are files that other programs can read", async () => {
    const path = directory();
    const { blob_id } = await fileBlobs(path).create(Buffer.from("hello"), "text/plain");
    const later = fileBlobs(path);
    expect(await later.info(blob_id)).toMatchObject({ kind: "text/plain", size_bytes: 5 });
    expect(readFileSync(await later.file(blob_id), "utf8")).toBe("hello");
  });

  test("leave no temporary file", async () => {
    const path = directory();
    await fileBlobs(path).create(Buffer.from("hello"), "text/plain");
    expect(readdirSync(path).filter((name) => name.startsWith("."))).toEqual([]);
  });

  test("count existing ones against the quota", async () => {
    const path = directory();
    await fileBlobs(path).create(Buffer.from("x".repeat(500)), "text/plain");
    const later = fileBlobs(path, { mostBytes: 1000, quotaBytes: 700 });
    await expect(later.create(Buffer.from("y".repeat(500)), "text/plain")).rejects.toMatchObject({
      code: "blob.refused",
    });
  });

  test("that could not be written use no quota", async () => {
    const path = directory();
    const blobs = fileBlobs(path, { mostBytes: 10, quotaBytes: 25 });
    writeFileSync(path, "");
    for (let n = 0; n < 5; n++) await expect(blobs.create(Buffer.alloc(10, n), "text/plain")).rejects.toThrow("stored");
    rmSync(path);
    for (const n of [0, 1]) await blobs.create(Buffer.alloc(10, n), "text/plain");
    await expect(blobs.create(Buffer.alloc(10, 2), "text/plain")).rejects.toThrow("together");
  });

  test("that cannot be written are refused with a plain message", async () => {
    const path = directory();
    writeFileSync(path, "a file in the way");
    await expect(fileBlobs(path).create(Buffer.from("x"), "text/plain")).rejects.toMatchObject({
      code: "blob.refused",
      message: expect.stringContaining("could not be stored"),
    });
  });
});
