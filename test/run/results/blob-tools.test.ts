import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { blobsIn, wholeText } from "../../../src/core/engine/tools/blob.ts";
import { readBlob, searchBlob } from "../../../src/run/results/blob-tools.ts";
import { memoryBlobs } from "../../../src/stores/blobs.ts";

const hold = async (content: string, kind = "text/plain") => {
  const blobs = memoryBlobs();
  const { blob_id } = await blobs.create(Buffer.from(content), kind);
  return { blobs, blob_id };
};
const LOG = Array.from(
  { length: 100_000 },
  (_, n) => `line ${n + 1}${n === 77_776 ? " ERROR disk is full: /var" : ""}`,
).join("\n");

describe("reading on in a blob", () => {
  test.each<[string, object, object]>([
    ["its beginning", { max_bytes: 6 }, { offset: 0, next_offset: 6, text: "line 1" }],
    ["a byte", { offset: 5, max_bytes: 1 }, { offset: 5, text: "1" }],
    ["its end", { offset: -6, max_bytes: 100 }, { text: "100000", next_offset: null }],
    ["before its beginning", { offset: -1e9, max_bytes: 4 }, { offset: 0, text: "line" }],
    ["behind its end", { offset: 1e9 }, { text: "", next_offset: null }],
    ["a line", { line: 77_777, max_bytes: 16 }, { text: "line 77777 ERROR" }],
    ["its first line", { line: 1, max_bytes: 6 }, { offset: 0, text: "line 1" }],
    ["a line behind its last", { line: 100_001 }, { text: "", next_offset: null }],
  ])("may start at %s", async (_, wanted, expected) => {
    const { blobs, blob_id } = await hold(LOG);
    expect(await readBlob(blobs, { blob_id, ...wanted })).toMatchObject(expected);
  });

  test("with its next_offset returns every character once, for any size of the piece", async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.string({ unit: "grapheme", maxLength: 60 }),
        fc.integer({ min: 4, max: 20 }),
        async (text, max_bytes) => {
          const { blobs, blob_id } = await hold(text);
          let read = "";
          for (let offset: unknown = 0; typeof offset === "number"; ) {
            const piece = await readBlob(blobs, { blob_id, offset, max_bytes });
            read += piece.text;
            offset = piece.next_offset;
          }
          expect(read).toBe(Buffer.from(text).toString("utf8"));
        },
      ),
    );
  });

  test("ends even if a piece is smaller than a character, or the bytes are not text", async () => {
    const { blobs, blob_id } = await hold("🙂🙂");
    expect(await readBlob(blobs, { blob_id, max_bytes: 1 })).toMatchObject({ next_offset: 1 });
    const { blob_id: binary } = await blobs.create(Uint8Array.of(0xff, 0xfe, 0xc0, 0x80), "application/octet-stream");
    expect(await readBlob(blobs, { blob_id: binary })).toMatchObject({ next_offset: null });
  });

  test("needs an existing blob", async () => {
    await expect(readBlob(memoryBlobs(), { blob_id: `blob:${"0".repeat(32)}` })).rejects.toThrow("there is no blob");
  });
});

describe("searching in a blob", () => {
  test("finds the one line, and its position", async () => {
    const { blobs, blob_id } = await hold(LOG);
    const found = await searchBlob(blobs, { blob_id, query: "ERROR" });
    const offset = LOG.indexOf("line 77777");
    expect(found).toEqual({
      blob_id,
      total: 1,
      matches: [{ line: 77_777, offset, text: "line 77777 ERROR disk is full: /var" }],
    });
  });

  test("shows the text around a match", async () => {
    const { blobs, blob_id } = await hold(LOG);
    expect(await searchBlob(blobs, { blob_id, query: "ERROR", context: 2 })).toMatchObject({
      matches: [{ before: ["line 77775", "line 77776"], after: ["line 77778", "line 77779"] }],
    });
  });

  test.each<[string, object, number]>([
    ["text, as it is written", { query: "error" }, 0],
    ["text in any case", { query: "error", ignore_case: true }, 1],
    ["a pattern", { query: "ERROR .* full: \\S+$", regex: true }, 1],
    ["a pattern in any case", { query: "^LINE 7{5}\\b", regex: true, ignore_case: true }, 1],
    ["a pattern's signs as text", { query: "ERROR.*" }, 0],
  ])("accepts %s", async (_, wanted, total) => {
    const { blobs, blob_id } = await hold(LOG);
    expect(await searchBlob(blobs, { blob_id, query: "", ...wanted })).toMatchObject({ total });
  });

  test("counts all matches and shows the first", async () => {
    const { blobs, blob_id } = await hold(LOG);
    const found = await searchBlob(blobs, { blob_id, query: "line", max_matches: 3 });
    expect(found).toMatchObject({ total: 100_000, matches: [{ line: 1 }, { line: 2 }, { line: 3 }] });
  });

  test("reports what is wrong with a pattern", async () => {
    const { blobs, blob_id } = await hold("x");
    await expect(searchBlob(blobs, { blob_id, query: "(", regex: true })).rejects.toThrow("not a regular expression");
  });

  test("limits what it shows of one endless line", async () => {
    const { blobs, blob_id } = await hold(`${"x".repeat(5_000_000)}NEEDLE${"y".repeat(5_000_000)}`);
    const found = await searchBlob(blobs, { blob_id, query: "NEEDLE" });
    expect(found).toMatchObject({ total: 1, matches: [{ line: 1, text: expect.stringContaining("NEEDLE") }] });
    expect(JSON.stringify(found).length).toBeLessThan(1000);
  });

  test("agrees with a search of the whole text, for any positions of the chunks", async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(fc.string({ unit: "grapheme", maxLength: 8 }), { maxLength: 30 }), async (parts) => {
        const text = parts.map((part) => part.replaceAll("\n", "")).join("\n");
        const { blobs, blob_id } = await hold(text);
        const whole = Buffer.from(text).toString("utf8");
        const expected = whole.split("\n").filter((line) => line.includes("a")).length;
        expect(await searchBlob(blobs, { blob_id, query: "a" })).toMatchObject({ total: expected });
      }),
    );
  });
});

describe("the text of bytes", () => {
  test("holds only complete characters", () => {
    const bytes = Buffer.from("é🙂é");
    for (let from = 0; from <= bytes.length; from++) {
      for (let to = from; to <= bytes.length; to++) {
        const { text, start, end } = wholeText(bytes.subarray(from, to));
        expect("é🙂é").toContain(text);
        expect(bytes.subarray(from + start, from + end).toString()).toBe(text);
      }
    }
  });
});

describe("the blobs of a result", () => {
  test("are found at any depth, each once", () => {
    const info = { blob_id: `blob:${"a".repeat(32)}`, kind: "text/plain", size_bytes: 1 };
    expect(
      blobsIn({ a: [info, { b: { ...info, head: "x" } }], c: { blob_id: "blob:x", kind: "k", size_bytes: 1 } }),
    ).toEqual([info]);
    expect(blobsIn("text")).toEqual([]);
  });
});
