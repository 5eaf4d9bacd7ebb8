import { describe, expect, test } from "vitest";
import type { Blobs } from "../../src/core/base/blobs.ts";
import type { BlobLimits } from "../../src/stores/blobs.ts";

const text = (bytes: Uint8Array) => Buffer.from(bytes).toString("utf8");

/** The contract of every store of blobs. */
export function describeBlobs(name: string, open: (limits?: BlobLimits) => Blobs): void {
  describe(`blobs in ${name}`, () => {
    const make = (blobs: Blobs, content: string, kind = "text/plain") => blobs.create(Buffer.from(content), kind);

    test("are identified by their content and its type", async () => {
      const blobs = open();
      const first = await make(blobs, "hello");
      expect(first).toEqual({
        blob_id: expect.stringMatching(/^blob:[0-9a-f]{32}$/),
        kind: "text/plain",
        size_bytes: 5,
      });
      expect(await make(blobs, "hello")).toEqual(first);
      expect((await make(blobs, "hello", "text/html")).blob_id).not.toBe(first.blob_id);
      expect((await make(blobs, "hello!")).blob_id).not.toBe(first.blob_id);
      expect(await blobs.info(first.blob_id)).toEqual(first);
    });

    test.each([
      [0, 5, "hello"],
      [1, 3, "ell"],
      [4, 100, "o"],
      [5, 1, ""],
      [99, 1, ""],
      [0, 0, ""],
    ])("return the content at byte %i for %i bytes", async (offset, length, expected) => {
      const blobs = open();
      const { blob_id } = await make(blobs, "hello");
      expect(text(await blobs.read(blob_id, offset, length))).toBe(expected);
    });

    test("may be empty", async () => {
      const blobs = open();
      const { blob_id, size_bytes } = await make(blobs, "");
      expect(size_bytes).toBe(0);
      expect(text(await blobs.read(blob_id, 0, 10))).toBe("");
    });

    test("do not change with the buffer that they were made from", async () => {
      const blobs = open();
      const content = Buffer.from("hello");
      const { blob_id } = await blobs.create(content, "text/plain");
      content.fill(0);
      expect(text(await blobs.read(blob_id, 0, 5))).toBe("hello");
    });

    test.each([
      "",
      "blob:",
      "blob:../../etc/passwd",
      `blob:${"0".repeat(31)}`,
      `blob:${"0".repeat(32)}`,
      "blob:ABC",
      "x\0y",
    ])("do not exist for %j", async (id) => {
      const blobs = open();
      await make(blobs, "hello");
      expect(await blobs.info(id)).toBeUndefined();
      await expect(blobs.read(id, 0, 1)).rejects.toMatchObject({ code: "blob.unknown" });
      await expect(blobs.file(id)).rejects.toMatchObject({ code: "blob.unknown" });
    });

    test("refuse one that is too large, and more than the store may hold", async () => {
      const blobs = open({ mostBytes: 10, quotaBytes: 200 });
      await expect(make(blobs, "x".repeat(11))).rejects.toMatchObject({ code: "blob.refused" });
      const fill = async () => {
        for (let n = 0; n < 100; n++) await make(blobs, `blob ${n}`);
      };
      await expect(fill()).rejects.toMatchObject({ code: "blob.refused" });
      expect(await make(blobs, "blob 0")).toMatchObject({ size_bytes: 6 });
    });

    test("created concurrently stay within what the store may hold", async () => {
      const blobs = open({ mostBytes: 10, quotaBytes: 45 });
      const ends = await Promise.allSettled(
        Array.from({ length: 20 }, (_, n) => make(blobs, String(n).padStart(10, "x"))),
      );
      expect(ends.filter(({ status }) => status === "fulfilled")).toHaveLength(4);
    });

    test("created concurrently are all stored", async () => {
      const blobs = open();
      const contents = Array.from({ length: 50 }, (_, n) => `content ${n % 10}`);
      const infos = await Promise.all(contents.map((content) => make(blobs, content)));
      expect(new Set(infos.map(({ blob_id }) => blob_id)).size).toBe(10);
      const read = await Promise.all(infos.map(async ({ blob_id }) => text(await blobs.read(blob_id, 0, 100))));
      expect(read).toEqual(contents);
    });
  });
}
