import fc from "fast-check";
import { toolContext } from "skillflow/testing";
import { describe, expect, test } from "vitest";
import { workflowTools } from "../../skills/github/workflows.ts";
import { pipelineTools } from "../../skills/gitlab/pipelines.ts";
import { readableLog, reducedLog } from "../../src/core/skill/log-text.ts";
import { endOfStream, JOB_LOG_RESULT, readJobLog } from "../../src/kit/job-log.ts";
import { ANY_CHARACTER } from "../harness/any-character.ts";

const ESCAPE = String.fromCharCode(27);
const context = toolContext({});

test.each([
  ["a timestamp and a color", `2026-05-01T10:00:00.1234567Z ${ESCAPE}[31mred${ESCAPE}[0m\n`, "red"],
  ["GitLab's timestamp", "2026-05-01T10:00:00.123456Z 00O made\n", "made"],
  ["a section", `section_start:1777629600:step_script\r${ESCAPE}[0Ktext\n`, "text"],
  ["an overwritten line", " 10%\r 50%\r100%\n", "100%"],
  ["a Windows line end", "one\r\ntwo\r\n", "one\ntwo"],
])("%s is removed", (_name, log, expected) => {
  expect(readableLog(log)).toBe(expected);
});

describe("a reduced log", () => {
  const noise = (count: number, word: string) =>
    Array.from({ length: count }, (_, line) => `${word} step ${line} is done`);

  test.each<[string, string[], string[]]>([
    [
      "a compiler error far above the end",
      [...noise(3000, "build"), "src/a.ts(3,7): error TS2322: Type 'x' is not assignable", ...noise(3000, "clean up")],
      ["src/a.ts(3,7): error TS2322: Type 'x' is not assignable"],
    ],
    [
      "the end of the failed step",
      [
        ...noise(3000, "test"),
        "assertion of total",
        "##[error]Process completed with exit code 1.",
        ...noise(3000, "upload"),
      ],
      ["assertion of total", "##[error]Process completed with exit code 1."],
    ],
    [
      "a rare error among many of one shape",
      [...noise(5000, "warning: failed attempt"), "FATAL: disk is full", ...noise(5000, "warning: failed attempt")],
      ["FATAL: disk is full"],
    ],
    [
      "the lines after an error",
      [...noise(3000, "a"), "Traceback (most recent call last):", "  File x", "KeyError: 'id'", ...noise(3000, "b")],
      ["  File x", "KeyError: 'id'"],
    ],
  ])("keeps %s", (_name, lines, wanted) => {
    const kept = reducedLog(lines, 16_000).map((index) => lines[index]);
    expect(kept).toEqual(expect.arrayContaining([lines[0], ...wanted, lines.at(-1)]));
  });
});

test("every part of any log stays within its size, and offsets lead through the whole log", async () => {
  const line = fc.oneof(
    fc.string({ maxLength: 80, unit: ANY_CHARACTER }),
    fc.constantFrom("Error: no", "##[error]x", "ok", "é".repeat(900)),
  );
  await fc.assert(
    fc.asyncProperty(fc.array(line, { maxLength: 200 }), fc.integer({ min: 1000, max: 4000 }), async (lines, most) => {
      const log = lines.join("\n");
      const text = readableLog(log);
      for (const input of [{}, { search: "error" }, { offset: 7 }]) {
        const part = await readJobLog(log, { ...input, max_bytes: most }, context);
        expect(Buffer.byteLength(part.log)).toBeLessThanOrEqual(most + 3);
        expect(part.log_bytes).toBe(Buffer.byteLength(text));
      }
      let whole = "";
      for (let offset: number | undefined = 0; offset !== undefined; ) {
        const part = await readJobLog(log, { offset, max_bytes: most }, context);
        whole += part.log;
        offset = part.next_offset;
      }
      expect(whole).toBe(Buffer.from(text).toString());
    }),
    { numRuns: 60 },
  );
});

test("a search with an offset finds the lines from there on", async () => {
  const log = ["step one: error", ...Array(20).fill("fine"), "step two: error"].join("\n");
  const matched = async (offset: number) => (await readJobLog(log, { search: "error", offset }, context)).matched;
  expect([await matched(0), await matched(20), await matched(9999)]).toEqual([2, 1, 0]);
});

test("the longest part of a log is a result that the model sees in full", async () => {
  const log = 'said "x"\n'.repeat(10_000);
  const result = await readJobLog(log, { offset: 0, max_bytes: 64_000 }, context);
  expect(result.log.length).toBeGreaterThan(63_000);
  expect(JSON.stringify(result).length).toBeLessThan(JOB_LOG_RESULT);
  const tools = [...workflowTools, ...pipelineTools].filter(({ name }) => name === "get_job_log");
  expect(tools.map(({ most_result }) => most_result)).toEqual([JOB_LOG_RESULT, JOB_LOG_RESULT]);
});

test("a log is stored in full unless it is shown in full", async () => {
  const { blobs } = context;
  expect(await readJobLog("short", {}, context)).toEqual({ log: "short", log_bytes: 5, log_lines: 1 });
  const long = "all is well\n".repeat(5000).trimEnd();
  const { blob_id = "", lines_left_out } = await readJobLog(long, {}, context);
  expect(lines_left_out).toBeGreaterThan(3000);
  expect(Buffer.from(await blobs.read(blob_id, 0, long.length)).toString()).toBe(long);
});

test("the end of a long stream is kept, from a full line on", async () => {
  const text = Array.from({ length: 5000 }, (_, line) => `line ${line}\n`).join("");
  const stream = () => new Blob([text]).stream();
  expect(await endOfStream(stream(), context.signal)).toBe(text);
  const end = await endOfStream(stream(), context.signal, 100);
  expect(end).toMatch(/^line \d+\n/);
  expect(text.endsWith(end)).toBe(true);
  await expect(endOfStream(stream(), AbortSignal.abort(new Error("enough")))).rejects.toThrow("enough");
});
