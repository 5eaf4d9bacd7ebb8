import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it, test } from "vitest";
import type { EventBody } from "../../src/core/engine/event/event.ts";
import type { RecordCheck } from "../../src/core/engine/ports.ts";
import { fileStore } from "../../src/stores/file/store.ts";
import { checkRecord } from "../../src/stores/record-check.ts";
import { codeOf, does, warning } from "../contracts/store.ts";
import { recordOf } from "../contracts/triage.ts";
import { LONG } from "../harness/long.ts";

const END: EventBody = { type: "workflow:end", results: {}, status: "succeeded", reason: "" };

describe.each(["skillflow.run/1", "skillflow.run/2"] as const)("format %s", (schema) => {
  const isFirst = schema === "skillflow.run/1";
  const recordNow = () => ({ ...recordOf("a"), schema });
  const directory = mkdtempSync(join(tmpdir(), "chain-"));
  const path = join(directory, "a.jsonl");
  const store = fileStore({ directory, self: { pid: 1, host: "here", started: "" }, isAlive: () => true });
  let written: Buffer;
  let lines: readonly string[];
  beforeAll(async () => {
    const journal = await store.create(recordNow());
    await journal.record("one", does(warning("1 ä")));
    await journal.record("two", does(warning("2"), warning("3 \ud800 🚒")));
    await journal.record("three", does(warning("4")));
    await journal.record("four", does(END));
    await journal.close();
    written = readFileSync(path);
    lines = written.toString("utf8").split("\n").slice(0, -1);
  });
  afterAll(() => rmSync(directory, { recursive: true }));

  const ended = ({ run }: RecordCheck) => run?.events.at(-1)?.type === "workflow:end";
  const check = (changed: readonly string[], tail = "\n") => checkRecord(Buffer.from(changed.join("\n") + tail));
  const places = ({ problems }: RecordCheck) => problems.map(({ record, line }) => [record, line]);

  describe("a record of a run", () => {
    it("as written has no problem", () => {
      expect(checkRecord(written)).toMatchObject({
        problems: [],
        records: 5,
        isAltered: false,
        length: written.length,
      });
      const seals = lines.map((line) => /,"seal":"[0-9a-f]{64}"\}$/.test(line));
      expect(seals).toEqual([false, true, isFirst, true, true, true]);
    });

    it("reports every changed byte with its line, or the first line of its record", () => {
      const lineOf = (offset: number) => written.subarray(0, offset).filter((byte) => byte === 10).length + 1;
      const flips = [1, 2, 128, 255];
      let cut = 0;
      for (let offset = 0; offset < written.length; offset++) {
        if (!LONG && offset % (lineOf(offset) === 1 ? 9 : 4) !== 0 && written[offset] !== 10) continue;
        const flipped = Buffer.from(written);
        flipped[offset] = (written[offset] ?? 0) ^ (flips[offset % flips.length] ?? 1);
        const found = checkRecord(flipped);
        if (found.isAltered) {
          const inRecord = !isFirst && lineOf(offset) === 4 ? [3, 4] : [lineOf(offset)];
          expect(inRecord, `byte ${offset}`).toContain(found.problems[0]?.line);
          continue;
        }
        // The rest looks like the torn line of a crash: it is dropped, and the run has no end.
        cut += 1;
        expect(lineOf(offset), `byte ${offset}`).toBe(6);
        expect(ended(found), `byte ${offset}`).toBe(false);
      }
      expect(cut).toBeLessThan(5);
    });

    it("reports lines that were removed, exchanged, repeated, added or recreated", () => {
      for (let index = 1; index < lines.length - 1; index++) {
        const without = check(lines.toSpliced(index, 1));
        expect(without.isAltered && without.problems[0]?.line, `without line ${index + 1}`).toBe(index + 1);
        const [one = "", two = ""] = lines.slice(index);
        const exchanged = check(lines.toSpliced(index, 2, two, one));
        expect(exchanged.isAltered && exchanged.problems[0]?.line, `exchanged line ${index + 1}`).toBe(index + 1);
        const repeated = check(lines.toSpliced(index, 0, one));
        expect(repeated.isAltered && repeated.problems[0]?.line, `repeated line ${index + 1}`).toBe(index + 2);
      }
      const last = JSON.parse(lines.at(-1) ?? "") as object;
      const added = [
        lines.at(-1) ?? "",
        JSON.stringify({ ...last, seq: 5 }),
        JSON.stringify({ ...last, seal: undefined, seq: 5 }),
      ];
      const repeated = lines[2] ?? "";
      for (const line of [...added, "garbage", "{}", repeated])
        expect(places(check([...lines, line]))[0], line).toEqual([6, 7]);
    });

    it("drops complete lines that a crash left of a record", () => {
      const left = check(lines.slice(0, 3));
      expect(left).toMatchObject({ problems: [], records: 2, length: Buffer.byteLength(`${lines[0]}\n${lines[1]}\n`) });
    });

    it("names the changed line and no other, and what was done to it", () => {
      const changed = check(lines.with(3, (lines[3] ?? "").replace("🚒", "🚑")));
      const place = isFirst
        ? { record: 3, line: 4, what: "it was changed" }
        : { record: 3, line: 3, what: "a line of its record was changed" };
      expect(changed.problems).toEqual([place]);
      const beginning = check(lines.with(0, (lines[0] ?? "").replace('"run":"a"', '"run":"b"')));
      expect(beginning.problems).toEqual([{ record: 1, line: 1, what: "it was changed" }]);
      const garbled = check(lines.with(2, "garbage"));
      expect(garbled.problems[0]).toEqual({ record: 3, line: 3, what: expect.stringContaining("no longer an event") });
      const bare = check(lines.with(4, (lines[4] ?? "").replace(/,"seal":"\w+"/, "")));
      expect(bare.problems[0]).toEqual({ record: 4, line: 5, what: expect.stringContaining("its seal is missing") });
      const moved = check(lines.toSpliced(2, 1));
      expect(moved.problems[0]).toEqual({ record: 3, line: 3, what: expect.stringContaining("out of order") });
    });

    it("whose end was cut off is valid and without an end, wherever the cut is", () => {
      for (let length = (lines[0] ?? "").length + 1; length < written.length; length += LONG ? 3 : 13) {
        const { problems, ...cut } = checkRecord(written.subarray(0, length));
        expect(problems, `${length} bytes`).toEqual([]);
        expect(ended({ problems, ...cut }), `${length} bytes`).toBe(false);
      }
    });

    it("that ends in the zeros of a power failure, with or without the end of its line, has lost only that part", () => {
      const torn = Buffer.concat([written.subarray(0, -40), Buffer.alloc(39), Buffer.from("\n")]);
      for (const zeros of [Buffer.concat([written, Buffer.alloc(99)]), torn])
        expect(checkRecord(zeros).problems).toEqual([]);
      expect(ended(checkRecord(torn))).toBe(false);
    });

    it("without any digest is unchained, and valid as far as can be checked", () => {
      const bare = lines.map((line) => line.replace(/(?:,"record":"\w{64}")?(?:,"seal":"\w{64}")?\}$/, "}"));
      expect(check(bare)).toMatchObject({ digest: undefined, problems: [], records: 5, isAltered: false });
      expect(check(bare.toSpliced(2, 1))).toMatchObject({ problems: [{ record: 3, line: 3 }], isAltered: false });
      expect(check(bare.with(3, lines[3] ?? "")).isAltered).toBe(true);
    });

    it("that was rewritten as a whole differs in its last digest alone", async () => {
      const other = fileStore({
        directory: mkdtempSync(join(directory, "other-")),
        self: { pid: 1, host: "here", started: "" },
        isAlive: () => true,
      });
      const journal = await other.create(recordNow());
      await journal.record("four", does(END));
      const { digest, problems } = await other.verify("a");
      expect(problems).toEqual([]);
      expect(digest).not.toBe(checkRecord(written).digest);
    });
  });

  test("an altered record is neither read nor resumed, and stays unchanged", async () => {
    const changed = lines.with(3, (lines[3] ?? "").replace("🚒", "🚑")).join("\n");
    writeFileSync(path, `${changed}\n`);
    for (const work of [store.read("a"), store.open("a")]) {
      await expect(work).rejects.toMatchObject({
        code: "run.altered",
        message: expect.stringContaining(`line ${isFirst ? 4 : 3} (record 3)`),
      });
    }
    expect((await store.verify("a")).problems).toHaveLength(1);
    expect((await store.skim("a")).events).toHaveLength(5);
    expect(readFileSync(path, "utf8")).toBe(`${changed}\n`);
  });

  test("a record that lost its beginning is reported as altered, and an invalid file as not a record", async () => {
    writeFileSync(path, `${["{}", ...lines.slice(1)].join("\n")}\n`);
    expect(await codeOf(store.read("a"))).toBe("run.altered");
    expect((await store.verify("a")).problems[0]).toMatchObject({ record: 1, line: 1 });
    writeFileSync(path, "{}\n{}\n");
    expect(await codeOf(store.read("a"))).toBe("recording.invalid");
    expect((await store.verify("a")).problems).toEqual([{ record: 1, line: 1, what: "it is not a run's record" }]);
  });

  test("a run that was recorded without digests is continued without", async () => {
    const bare = lines.slice(0, -1).map((line) => line.replace(/(?:,"record":"\w{64}")?(?:,"seal":"\w{64}")?\}$/, "}"));
    writeFileSync(path, `${bare.join("\n")}\n`);
    const { journal } = await store.open("a");
    for (const key of ["one", "two", "three"]) await journal.record(key, does());
    await journal.record("four", does(END));
    await journal.close();
    expect(readFileSync(path, "utf8")).not.toContain("seal");
    expect(await store.verify("a")).toMatchObject({ digest: undefined, problems: [], records: 5 });
  });

  test("a line that a crash left half written is removed, and the chain continues from the one before it", async () => {
    for (const left of [1, 40]) {
      writeFileSync(path, written.subarray(0, written.length - left));
      const { journal } = await store.open("a");
      for (const key of ["one", "two", "three"]) await journal.record(key, does());
      await journal.record("four", does(END));
      await journal.close();
      expect(await store.verify("a")).toMatchObject({ problems: [], records: 5 });
    }
  });
});
