import {
  closeSync,
  mkdirSync,
  mkdtempSync,
  openSync,
  rmSync,
  symlinkSync,
  utimesSync,
  writeFileSync,
  writeSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { gzipSync } from "node:zlib";
import fc from "fast-check";
import type { JsonObject } from "skillflow";
import { toolContext } from "skillflow/testing";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { requiredLiteral } from "../../skills/logs/line/pattern.ts";
import { parseInstant, timeOfFields, timeOfText } from "../../skills/logs/line/timestamp.ts";
import { blocksOf } from "../../skills/logs/read/blocks.ts";
import { matchesGlob } from "../../skills/logs/read/glob.ts";
import skill from "../../skills/logs/skill.ts";
import { callTool } from "../contracts/skill.ts";
import { runsOf } from "../harness/long.ts";

let root = "";
let dir = "";

beforeAll(() => {
  root = mkdtempSync(join(tmpdir(), "logs-test-"));
  dir = join(root, "work");
  put("app.log", APP);
  put("api/api.jsonl", API);
  put("api/old/api.jsonl.gz", gzipSync(API));
  put(
    "fmt.log",
    'ts=2024-05-01T10:00:00Z level=error msg="no \\"way\\" out" code=7\nts=2024-05-01T10:00:01Z level=info msg=ok\n',
  );
  put("outside.txt", "secret\n", root);
  symlinkSync(join(root, "outside.txt"), join(dir, "leak.log"));
  symlinkSync(root, join(dir, "updir"));
});
afterAll(() => rmSync(root, { recursive: true, force: true }));

const APP = [
  "2024-05-01 10:00:00,000 INFO start",
  "2024-05-01 10:00:05,500 ERROR pay failed: timeout after 3000ms",
  "java.lang.IllegalStateException: timeout",
  "\tat com.example.Pay.run(Pay.java:12)",
  "2024-05-01 10:01:00,000 WARN slow query took 812ms",
  "2024-05-01 10:02:00,000 ERROR pay failed: timeout after 1000ms",
  "2024-05-01 10:03:00,000 INFO stop",
]
  .join("\r\n")
  .concat("\r\n");

const API = [
  { time: "2024-05-01T10:00:06Z", level: "error", http: { status: 502, path: "/pay" }, tags: ["a", "b"] },
  { time: "2024-05-01T10:00:07Z", level: "info", http: { status: 200, path: "/502" }, tags: [] },
  { time: "2024-05-01T10:01:07Z", level: "error", http: { status: 502, path: "/pay" } },
]
  .map((record) => `${JSON.stringify(record)}\n`)
  .join("");

describe("search", () => {
  test.each<[string, object, number]>([
    ["text", { contains: "ERROR" }, 2],
    ["several texts, all of them", { contains: ["ERROR", "3000"] }, 1],
    ["text in any case", { contains: "error PAY", ignore_case: true }, 2],
    ["text that must not be there", { contains: "ERROR", excludes: "3000" }, 1],
    ["a pattern", { matches: "took \\d{3}ms$" }, 1],
    ["a pattern in any case", { matches: "^.*warn", ignore_case: true }, 1],
    ["a pattern with a choice", { matches: "start|stop" }, 2],
    ["a time, with the stack trace below it", { since: "2024-05-01T10:00:05Z", until: "2024-05-01T10:00:59Z" }, 3],
    ["a time and a text in a line without time", { contains: "Pay.java", since: "2024-05-01T10:00:05Z" }, 1],
    ["a time too late for that line", { contains: "Pay.java", since: "2024-05-01T10:00:06Z" }, 0],
    ["nothing but the file", {}, 7],
  ])("finds lines by %s", async (_name, selector, matched) => {
    const result = await call("search", { files: "app.log", ...selector });
    expect(result).toMatchObject({ matched, returned: matched, truncated: false });
  });

  test.each<[object, number]>([
    [{ level: "error" }, 2],
    [{ "http.status": 502 }, 2],
    [{ "http.status": "502", "http.path": "/pay" }, 2],
    [{ "http.status": [200, 404] }, 1],
    [{ tags: "b" }, 1],
    [{ http: { status: 502, path: "/pay" } }, 2],
    [{ "http.status": ">=500" }, 2],
    [{ "http.status": "500..599" }, 2],
    [{ "http.status": "<500" }, 1],
    [{ "http.status": ["<300", ">501"] }, 3],
    [{ "http.status": { not: 502 } }, 1],
    [{ "http.status": { not: [200, ">501"] } }, 0],
    [{ "http.status": { not: "500..599" } }, 1],
    [{ user: { not: "ada" } }, 3],
    [{ time: ">2024-05-01T10:00:06Z" }, 2],
    [{ time: "2024-05-01T10:00:00Z..2024-05-01T10:00:59Z" }, 2],
    [{ level: ">error" }, 0],
    [{ "http.path": "<none>" }, 0],
    [{ constructor: "x" }, 0],
    [{ "toString.name": "toString" }, 0],
  ])("finds JSON lines whose fields are %j", async (where, matched) => {
    expect((await call("search", { files: "api/api.jsonl", where })).matched).toBe(matched);
    expect((await call("search", { files: "api/old/*.gz", where })).matched).toBe(matched);
  });

  test("finds logfmt lines by a quoted value with escapes", async () => {
    expect((await call("search", { files: "fmt.log", where: { msg: 'no "way" out' } })).matched).toBe(1);
    expect((await call("search", { files: "fmt.log", where: { level: "error", code: 7 } })).matched).toBe(1);
  });

  test("a line is returned without its line end, with the position where it starts", async () => {
    const { lines } = await call("search", { files: "app.log", contains: "WARN" });
    expect(lines).toEqual([
      { at: `app.log@${APP.indexOf("2024-05-01 10:01")}`, text: "2024-05-01 10:01:00,000 WARN slow query took 812ms" },
    ]);
  });

  test("pages forward with skip, and the last lines are returned in order", async () => {
    const input = { files: ["app.log", "api/*.jsonl"], limit: 3 };
    const first = await call("search", input);
    expect(first).toMatchObject({
      matched: 10,
      returned: 3,
      truncated: true,
      more: expect.stringContaining("skip: 3"),
    });
    const second = await call("search", { ...input, skip: 3 });
    const all = await call("search", { ...input, limit: 50 });
    expect([...first.lines, ...second.lines]).toEqual(all.lines.slice(0, 6));
    expect((await call("search", { ...input, order: "last" })).lines).toEqual(all.lines.slice(-3));
    expect((await call("search", { ...input, order: "last", skip: 3 })).lines).toEqual(all.lines.slice(-6, -3));
    expect((await call("search", { ...input, skip: 9 })).truncated).toBe(false);
  });

  test("order and the ends of a file depend on time, also if the newest line comes first", async () => {
    const line = (minute: number) => `2024-05-01 10:0${minute}:00 m${minute}\n`;
    put("reverse.log", [5, 4, 3, 2, 1].map(line).join(""));
    const texts = async (input: object) =>
      (await call("search", { files: "reverse.log", ...input })).lines.map(({ text }) => text.slice(-2));
    expect(await texts({ limit: 2 })).toEqual(["m1", "m2"]);
    expect(await texts({ limit: 2, skip: 2 })).toEqual(["m3", "m4"]);
    expect(await texts({ limit: 2, order: "last" })).toEqual(["m4", "m5"]);
    expect((await call("files", { files: "reverse.log" })).files).toMatchObject([
      { first: "2024-05-01T10:01:00Z", last: "2024-05-01T10:05:00Z" },
    ]);
  });

  test("a last line without a line end, an empty file and empty lines are handled", async () => {
    put("edge.log", "one\n\n\ntwo");
    put("empty.log", "");
    expect((await call("search", { files: "edge.log" })).lines.map((line) => line.text)).toEqual([
      "one",
      "",
      "",
      "two",
    ]);
    expect((await call("search", { files: "empty.log" })).matched).toBe(0);
  });

  test("a byte-order mark, invalid UTF-8, NUL and colours cause no errors", async () => {
    put(
      "odd.log",
      Buffer.concat([
        Buffer.from("\u001b[31mred\u001b[0m \u0007bell "),
        Buffer.from([0xff, 0, 0, 0x80]),
        Buffer.from(" end\n"),
      ]),
    );
    const { lines } = await call("search", { files: "odd.log", contains: "end" });
    expect(lines.map((line) => line.text)).toEqual(["red \ufffdbell \ufffd\ufffd\ufffd end"]);
  });
});

describe("bounds", () => {
  test("a result stays small however much matches", async () => {
    put("wide.log", `${"needle ".repeat(100_000)}\n`.repeat(20));
    const result = await call("search", { files: "wide.log", contains: "needle", limit: 200 });
    expect(result).toMatchObject({ matched: 20, truncated: true, more: expect.stringContaining("only 7 of 20 fit") });
    expect(JSON.stringify(result).length).toBeLessThan(18_000);
    expect(result.lines[0]?.text).toMatch(/… \[cut; the line has 700000 bytes\]$/);
  });

  test("only the start of a huge line is searched, wherever chunks end", async () => {
    put(
      "huge.log",
      `${"a".repeat(70_000)}needle\n${"b".repeat(3_000_000)}needle\nneedle ${"c".repeat(3_000_000)}\nneedle\n`,
    );
    expect((await call("search", { files: "huge.log", contains: "needle" })).matched).toBe(2);
    expect((await call("search", { files: "huge.log", matches: "needle" })).matched).toBe(2);
    expect((await call("search", { files: "huge.log" })).matched).toBe(4);
  });

  test("a file of NULs and no line end is one line", async () => {
    put("nul.log", Buffer.alloc(5_000_000));
    const result = await call("search", { files: "nul.log" });
    expect([result.matched, result.lines[0]?.text]).toEqual([1, expect.stringContaining("5000000 bytes")]);
    expect((await call("files", { files: "nul.log" })).files[0]).toMatchObject({ format: "binary" });
  });

  test("distinct values are limited and the rest is counted", async () => {
    put("ids.log", Array.from({ length: 12_000 }, (_, index) => `id=${index}\n`).join(""));
    const result = await call("count_by", { files: "ids.log", by: "id", limit: 5 });
    expect(result).toMatchObject({ matched: 12_000, distinct: 10_000, returned: 5, truncated: true, other: 11_995 });
  });

  test("too many time buckets are refused with a hint", async () => {
    put(
      "years.log",
      Array.from({ length: 600 }, (_, index) => `${new Date(index * 864e5 + 1.6e12).toISOString()} x\n`).join(""),
    );
    await expect(call("count_by", { files: "years.log", bucket: "1d" })).rejects.toThrow("use a longer bucket");
  });
});

describe("count_by", () => {
  test.each<[object, string[], unknown[]]>([
    [
      { by: "http.status" },
      ["http.status", "count"],
      [
        ["502", 2],
        ["200", 1],
      ],
    ],
    [{ pattern: '"path":"(\\/[a-z]+)' }, ["pattern", "count"], [["/pay", 2]]],
    [{ contains: "error" }, ["count"], [[2]]],
    [
      { by: ["level", "http.path"] },
      ["level", "http.path", "count"],
      [
        ["error", "/pay", 2],
        ["info", "/502", 1],
      ],
    ],
    [{ by: ["level", "tags"], limit: 1 }, ["level", "tags", "count"], [["error", "a", 1]]],
    [
      { by: "level", bucket: "1m", limit: 1 },
      ["level", "count", "buckets"],
      [["error", 2, { "10:00": 1, "10:01": 1 }]],
    ],
  ])("counts by %j", async (input, columns, rows) => {
    expect(await call("count_by", { files: "api/api.jsonl", ...input })).toMatchObject({ columns, rows });
  });

  test("bucket names are as short as their common prefix allows", async () => {
    const dayAndBuckets = async (bucket: string, files = "api/api.jsonl") => {
      const { day, rows } = await call("count_by", { files, bucket });
      return [day, rows?.[0]?.[1]];
    };
    expect(await dayAndBuckets("30s")).toEqual(["2024-05-01", { "10:00:00": 2, "10:01:00": 1 }]);
    expect(await dayAndBuckets("1h")).toEqual(["2024-05-01", { "10:00": 3 }]);
    expect(await dayAndBuckets("1d")).toEqual([undefined, { "2024-05-01": 3 }]);
    put("nights.log", "2024-05-01T23:59:00Z a\n2024-05-02T00:01:00Z b\n");
    expect(await dayAndBuckets("1m", "nights.log")).toEqual([
      undefined,
      { "2024-05-01T23:59": 1, "2024-05-02T00:01": 1 },
    ]);
  });

  test("groups lines that differ only in numbers and ids", async () => {
    const { rows } = await call("count_by", { files: "app.log", contains: "ERROR", shape: true });
    expect(rows).toEqual([["<n> <n> ERROR pay failed: timeout after <n>ms", 2]]);
  });
});

describe("orientation and neighbourhood", () => {
  test("files lists format, times and fields", async () => {
    const { files } = await call("files", { files: "api/**" });
    expect(files).toEqual([
      expect.objectContaining({
        file: "api/api.jsonl",
        lines: 3,
        format: "json",
        first: "2024-05-01T10:00:06Z",
        last: "2024-05-01T10:01:07Z",
        fields: ["time", "level", "http.status", "http.path", "tags"],
      }),
      expect.objectContaining({ file: "api/old/api.jsonl.gz", packed: true, lines: 3, format: "json" }),
    ]);
  });

  test("an empty file is text", async () => {
    put("clock/empty.log", "");
    expect((await call("files", { files: "clock/empty.log" })).files[0]).toMatchObject({ lines: 0, format: "text" });
  });

  test("files without a name finds files that look like a log, and no link targets outside", async () => {
    const names = (await call("files", { limit: 100 })).files.map((each) => each.file);
    expect(names).toEqual(expect.arrayContaining(["app.log", "fmt.log", "api/api.jsonl", "api/old/api.jsonl.gz"]));
    expect(names).not.toContain("leak.log");
  });

  test("around returns the neighbours of a line, in packed files too", async () => {
    const { lines } = await call("search", { files: "app.log", contains: "Illegal" });
    const offset = Number(lines[0]?.at.split("@")[1]);
    const result = await call("around", { file: "app.log", offset, before: 1, after: 1 });
    expect(result.lines.map((line) => line.text.slice(-10))).toEqual(["ter 3000ms", "n: timeout", "y.java:12)"]);
    const packed = await call("around", { file: "api/old/api.jsonl.gz", offset: 200, before: 0, after: 0 });
    expect(packed.lines).toHaveLength(1);
  });

  test("around finds a line deep in a large file, and one position in the middle of it", async () => {
    const text = Array.from({ length: 40_000 }, (_, index) => `line ${index} ${"x".repeat(30)}`).join("\n");
    put("deep.log", text);
    put("deep.log.gz", gzipSync(text));
    const offset = text.indexOf("line 30000 ");
    for (const file of ["deep.log", "deep.log.gz"]) {
      for (const inside of [0, 7]) {
        const result = await call("around", { file, offset: offset + inside, before: 2, after: 2 });
        expect(result.lines.map((line) => line.text.split(" ")[1])).toEqual([
          "29998",
          "29999",
          "30000",
          "30001",
          "30002",
        ]);
      }
    }
    await expect(call("around", { file: "deep.log", offset: 1e9 })).rejects.toThrow("ends before offset");
  });

  test("no tool reads beyond the clock of a backtest, and lines without a time stay", async () => {
    put("clock/plain.txt", "no time here\n");
    const past = (tool: string, input: object) => call(tool, input, { now: () => Date.parse("2024-05-01T10:01:30Z") });
    const files = "app.log";
    expect(await past("search", { files })).toMatchObject({ matched: 5 });
    expect(await past("search", { files: "clock/*" })).toMatchObject({ matched: 1 });
    expect(await past("search", { files, contains: "STOP" })).not.toHaveProperty("why");
    expect(await past("sample", { files })).toMatchObject({ matched: 5 });
    expect(await past("count_by", { files, pattern: "timeout after" })).toMatchObject({ rows: [["timeout after", 1]] });
    expect(await past("series", { files, contains: "INFO" })).toMatchObject({ matched: 1 });
    expect(await past("time_window", { files, at: "2024-05-01T10:01:30Z" })).toMatchObject({ matched: 1 });
    expect((await past("around", { file: files, offset: 0 })).lines).toHaveLength(5);
    expect(await past("survey", { files })).toMatchObject({ errors: [{ count: 1 }, {}] });
  });

  test.each<[string, string, string | undefined]>([
    ["access.log", '- - - [01/May/2024:10:00:00 +0000] "GET /a HTTP/1.1" 200 1\n', "- - - [01/May/2024:10:00:00"],
    ["fmt.log", "level=info ts=2024-05-01T10:00:00Z msg=fine\n", "level=info ts=2024-05-01T10:00:00Z msg=fine"],
    ["list.json", '[{"time":"2024-05-01T10:00:00Z","n":1}]', '{"time":"2024-05-01T10:00:00Z","n":1}'],
    ["later.log", "", undefined],
  ])("a survey shows %s without the lines after the clock of a backtest", async (name, line, kept) => {
    const later = line.replaceAll("10:00:00", "11:00:00") || "level=info ts=2024-05-01T11:00:00Z msg=late\n".repeat(99);
    put(`late/${name}`, name === "list.json" ? `${line.slice(0, -1)},${later.slice(1)}` : line + later);
    const result = await call("survey", { files: `late/${name}` }, { now: () => Date.parse("2024-05-01T10:30:00Z") });
    expect(result).toMatchObject({ whole: kept ? [{ text: expect.stringContaining(kept) }] : [] });
    expect(JSON.stringify(result)).not.toContain("11:00:00");
    expect(JSON.stringify(await call("survey", { files: `late/${name}` }))).toContain("11:00:00");
  });

  test("time_window merges files by time and counts", async () => {
    const result = await call("time_window", {
      files: ["app.log", "api/api.jsonl"],
      at: "2024-05-01T10:00:06Z",
      seconds: 2,
    });
    expect(result).toMatchObject({ matched: 5, returned: 5, truncated: false, from: "2024-05-01T10:00:04Z" });
    expect(result.lines.map((line) => line.at.split("@")[0])).toEqual([
      "app.log",
      "app.log",
      "app.log",
      "api/api.jsonl",
      "api/api.jsonl",
    ]);
    const nearest = await call("time_window", {
      files: ["app.log", "api/api.jsonl"],
      at: "2024-05-01T10:00:06Z",
      seconds: 2,
      limit: 1,
    });
    expect(nearest.lines[0]?.text).toContain("10:00:06Z");
  });

  test("sample spreads its lines over the whole file", async () => {
    put("many.log", Array.from({ length: 1000 }, (_, index) => `${index}\n`).join(""));
    const numbers = (await call("sample", { files: "many.log", limit: 10 })).lines.map((line) => Number(line.text));
    expect(numbers).toHaveLength(10);
    const gaps = numbers.slice(1).map((number, index) => number - (numbers[index] ?? 0));
    expect([numbers[0], Math.min(...gaps) > 40, Math.max(...gaps) < 160]).toEqual([0, true, true]);
  });
});

describe("timestamps", () => {
  const latest = Date.parse("2024-05-02T00:00:00Z");
  test.each<[string, string | undefined]>([
    ["2024-05-01T10:00:00Z x", "2024-05-01T10:00:00.000Z"],
    ["[2024-05-01 10:00:00.123456789 +0200] x", "2024-05-01T08:00:00.123Z"],
    ["2024/05/01 10:00:00 [error] x", "2024-05-01T10:00:00.000Z"],
    ['1.2.3.4 - - [10/Oct/2000:13:55:36 -0700] "GET /"', "2000-10-10T20:55:36.000Z"],
    ["May  1 10:00:00 host app: x", "2024-05-01T10:00:00.000Z"],
    ["<34>Dec 31 23:59:59 host app: x", "2023-12-31T23:59:59.000Z"],
    ["1714557600 x", "2024-05-01T10:00:00.000Z"],
    ["1714557600123 x", "2024-05-01T10:00:00.123Z"],
    ["order 1714557600 x", undefined],
    ["2024-13-41 10:00:00 x", undefined],
    ["12024-05-01 10:00:00 x", undefined],
  ])("%j is at %s", (text, expected) => {
    const time = timeOfText(text, latest);
    expect(time === undefined ? undefined : new Date(time).toISOString()).toBe(expected);
  });

  test.each<[Record<string, unknown>, string | undefined]>([
    [{ ts: 1714557600.5 }, "2024-05-01T10:00:00.500Z"],
    [{ time: 1714557600123 }, "2024-05-01T10:00:00.123Z"],
    [{ "@timestamp": "2024-05-01T10:00:00+02:00" }, "2024-05-01T08:00:00.000Z"],
    [{ time: "soon", ts: "1714557600" }, "2024-05-01T10:00:00.000Z"],
    [{ time: 12 }, undefined],
  ])("the fields %j are at %s", (fields, expected) => {
    const time = timeOfFields(fields);
    expect(time === undefined ? undefined : new Date(time).toISOString()).toBe(expected);
  });

  test("a date alone is the start of that day", () => {
    expect(parseInstant("2024-05-01")).toBe(Date.parse("2024-05-01T00:00:00Z"));
    expect(parseInstant("tomorrow")).toBeUndefined();
  });

  test("a syslog file is dated by its last change", async () => {
    put("sys.log", "Dec 31 23:59:59 host a\nJan  1 00:00:01 host b\n");
    utimesSync(join(dir, "sys.log"), latest / 1000, Date.parse("2024-01-01T00:01:00Z") / 1000);
    expect((await call("search", { files: "sys.log", since: "2023-12-31", until: "2024-01-02" })).matched).toBe(2);
  });
});

describe("hostile input", () => {
  test.each([
    ["../outside.txt", "`..`"],
    ["/etc/passwd", "outside"],
    ["leak.log", "leads out"],
    ["updir/outside.txt", "leads out"],
    ["a\0.log", "NUL"],
    ["..\\outside.txt", "backslash"],
    ["../*.txt", "`..`"],
    ["/etc/*", "absolute"],
    ["updir/*.txt", "leads out"],
    ["nope.log", "Files: "],
    ["*.nope", "no file matches"],
    ["{a,b}{a,b}{a,b}{a,b}{a,b}{a,b}{a,b}", "more than 64 brace choices"],
    ["api", "is not a regular file"],
  ])("the file %j is refused", async (files, reason) => {
    for (const tool of ["search", "files", "sample", "count_by"]) {
      await expect(call(tool, { files })).rejects.toThrow(reason);
    }
  });

  test("a glob skips links that lead out", async () => {
    const result = await call("search", { files: "*.log", contains: "secret" });
    expect(result.matched).toBe(0);
  });

  test("LOGS_ROOT is a second place to read from", async () => {
    put("var/log/sys.log", "hello\n", root);
    const config = { LOGS_ROOT: join(root, "var/log") };
    expect((await call("search", { files: "sys*.log", contains: "hello" }, { config })).lines).toEqual([
      { at: "sys.log@0", text: "hello" },
    ]);
    expect((await call("search", { files: join(root, "var/log/sys.log") }, { config })).matched).toBe(1);
  });

  test.each(["(a+)+$", "(\\w+\\s?)*x", "([a-z]*)*", "(?:x+y*)+", "((a+))+"])(
    "the pattern %j is refused",
    async (matches) => {
      await expect(call("search", { files: "app.log", matches })).rejects.toThrow("has nested repetition");
    },
  );

  test.each(["(\\.\\w+)+", "(?:\\d{1,3}\\.){3}\\d+", "\\bat\\b", "[(+]+", "a{2}b+", "(?<year>\\d{4})-"])(
    "the pattern %j is accepted",
    async (matches) => {
      await expect(call("search", { files: "app.log", matches })).resolves.toHaveProperty("matched");
    },
  );

  test("a pattern that takes forever is stopped", async () => {
    put("slow.log", `${"a".repeat(5000)}!\n`);
    await expect(call("search", { files: "slow.log", matches: "a*a*a*a*a*[bc]" })).rejects.toThrow("takes too long");
    await expect(call("count_by", { files: "slow.log", pattern: "(?:a|a)*[bc]" })).rejects.toThrow("takes too long");
  });

  test.each(["(", "[z-a]", "a**"])("the pattern %j is reported as invalid", async (matches) => {
    await expect(call("search", { files: "app.log", matches })).rejects.toThrow("not a regular expression");
  });

  test("a damaged packed file is read up to the damage, with a note", async () => {
    const text = Array.from({ length: 20_000 }, (_, index) => `line ${index} ${Math.sin(index)}\n`).join("");
    put("cut.gz", gzipSync(text).subarray(0, 100_000));
    const result = await call("search", { files: "cut.gz", contains: "line 99 " });
    expect(result).toMatchObject({ matched: 1, notes: [expect.stringContaining("damaged or truncated")] });
    const broken = gzipSync(text);
    broken.fill(0xff, 60_000, 60_100);
    put("broken.gz", broken);
    expect((await call("search", { files: "broken.gz", contains: "line 99 " })).notes).toHaveLength(1);
    put("fake.gz", "not packed at all\n");
    expect((await call("search", { files: "fake.gz", contains: "packed" })).matched).toBe(1);
  });

  test("several packed parts in one file are all read", async () => {
    put("parts.gz", Buffer.concat([gzipSync("one\n"), gzipSync("two\n")]));
    expect(await call("search", { files: "parts.gz" })).toMatchObject({ matched: 2 });
  });

  test("an aborted search ends as aborted in the middle of a file", async () => {
    const file = join(dir, "sparse.log");
    const handle = openSync(file, "w");
    writeSync(handle, "x\n", 4 * 1024 ** 3);
    closeSync(handle);
    const controller = new AbortController();
    const pending = call("search", { files: "sparse.log", contains: "x" }, { signal: controller.signal });
    setImmediate(() => controller.abort());
    await expect(pending).rejects.toThrow(/abort/i);
    rmSync(file);
  });

  test("concurrent searches do not affect each other", async () => {
    const one = () => call("search", { files: "*.log", contains: "ERROR", matches: "timeout after (\\d+)" });
    const results = await Promise.all([one(), one(), one()]);
    expect(results.map((result) => result.matched)).toEqual([2, 2, 2]);
  });
});

describe("pieces", () => {
  test("blocks hold exactly the lines of the file, whatever the chunks", async () => {
    const line = fc.string({ unit: fc.constantFrom("a", "é", "\r", "\0", "x".repeat(9)), maxLength: 8 });
    const property = fc.asyncProperty(
      fc.array(line),
      fc.infiniteStream(fc.integer({ min: 1, max: 12 })),
      async (lines, sizes) => {
        const bytes = Buffer.from(lines.join("\n"));
        const found: { text: string; offset: number; length: number }[] = [];
        const options = { kept: 16, chunk: 12 };
        for await (const block of blocksOf(inPieces(bytes, sizes), new AbortController().signal, options)) {
          let offset = block.offset;
          for (const text of block.bytes.toString("latin1").replace(/\n$/, "").split("\n")) {
            found.push({ text: text.slice(0, 16), offset, length: block.cutFrom ?? text.length });
            offset += text.length + 1;
          }
        }
        expect(found).toEqual(plainLines(bytes));
      },
    );
    await fc.assert(property, { numRuns: runsOf(500) });
  });

  test("the glob matcher agrees with a regular expression", () => {
    const unit = fc.constantFrom("a", "b", "*", "?", "/", "**", ".", "a*b");
    const path = fc.string({ unit: fc.constantFrom("a", "b", "/", "."), maxLength: 8 });
    fc.assert(
      fc.property(fc.string({ unit, maxLength: 6 }), path, (glob, text) => {
        expect(matchesGlob(glob, text)).toBe(globPattern(glob).test(`/${text}`));
      }),
      { numRuns: runsOf(3000) },
    );
  });

  test.each([
    ["**/*.log", "a.log", true],
    ["**/*.log", "a/b/c.log", true],
    ["*.log", "a/b.log", false],
    ["a/**", "a/b/c", true],
    ["*.{log,txt}", "a.txt", true],
    ["{a,b/{c,d}}/x", "b/d/x", true],
    ["app-?.log", "app-1.log", true],
    ["*", ".hidden", false],
    [".*", ".hidden", true],
    ["**", ".git/config", false],
    ["a[1].log", "a[1].log", true],
  ])("the glob %j on %j returns %s", (glob, path, expected) => {
    expect(matchesGlob(glob, path)).toBe(expected);
  });

  test("every match of a pattern contains the literal that is searched for first", () => {
    const unit = fc.constantFrom(
      "a",
      "b",
      "\\.",
      "\\d",
      ".",
      "*",
      "+",
      "?",
      "(",
      ")",
      "|",
      "[ab]",
      "{2}",
      "{0,1}",
      "^",
      "\\x61",
      "1",
      "(?:",
      "(?!a)",
    );
    fc.assert(
      fc.property(
        fc.string({ unit, maxLength: 8 }),
        fc.string({ unit: fc.constantFrom("a", "b", ".", "1"), maxLength: 8 }),
        (source, text) => {
          const pattern = compiled(source);
          if (pattern?.test(text)) expect(text).toContain(requiredLiteral(source));
        },
      ),
      { numRuns: runsOf(5000) },
    );
  });

  test.each([
    ["timeout after \\d+ms", "timeout after "],
    ["(GET|POST) /pay", " /pay"],
    ["colou?r", "colo"],
    ["a|b", ""],
    ["example\\.org", "example.org"],
  ])("the literal of %j is %j", (source, literal) => {
    expect(requiredLiteral(source)).toBe(literal);
  });
});

/** The parts of all tools' results that are checked. */
type Result = {
  readonly matched: number;
  readonly returned: number;
  readonly truncated: boolean;
  /** The lines with their full positions, as text. */
  readonly lines: readonly { readonly at: string; readonly text: string }[];
  readonly files: readonly { readonly file: string }[];
  readonly columns?: readonly string[];
  readonly rows?: readonly (readonly unknown[])[];
  readonly day?: string;
  readonly notes?: readonly string[];
};

async function call(tool: string, input: object, parts: Parameters<typeof toolContext>[0] = {}): Promise<Result> {
  const result = (await callTool(skill, tool, input as JsonObject, toolContext({ workDir: dir, ...parts }))) as Result;
  const files = result.files as unknown as Record<string, string>;
  const lines = Object.entries(result.lines ?? {}).map(([place, content]) => {
    const [alias = "", offset] = place.split("@");
    return { at: `${files[alias]}@${offset}`, text: typeof content === "string" ? content : JSON.stringify(content) };
  });
  return { ...result, lines };
}

function put(name: string, content: string | Buffer, folder = dir): void {
  mkdirSync(dirname(join(folder, name)), { recursive: true });
  writeFileSync(join(folder, name), content);
}

function inPieces(bytes: Buffer, sizes: fc.Stream<number>) {
  let position = 0;
  return async (into: Buffer) => {
    const size = sizes.next().value ?? 1;
    const read = bytes.copy(into, 0, position, position + size);
    position += read;
    return read;
  };
}

/** The expected blocks, computed in a slow and simple way. */
function plainLines(bytes: Buffer) {
  const lines = bytes.toString("latin1").split("\n");
  if (lines.at(-1) === "") lines.pop();
  let offset = 0;
  return lines.map((text) => {
    const line = { text: text.slice(0, 16), offset, length: text.length };
    offset += text.length + 1;
    return line;
  });
}

/** The meaning of a glob, as a regular expression on `/path`. */
function globPattern(glob: string): RegExp {
  const segments = glob.split("/").map((segment) => {
    if (segment === "**") return "(?:/(?!\\.)[^/]*)*";
    const name = segment.replace(/[.]/g, "\\.").replace(/\*+/g, "[^/]*").replace(/\?/g, "[^/]");
    return `/${segment.startsWith(".") ? "" : "(?!\\.)"}${name}`;
  });
  return new RegExp(`^${segments.join("")}$`);
}

function compiled(source: string): RegExp | undefined {
  try {
    return new RegExp(source);
  } catch (error) {
    if (error instanceof SyntaxError) return undefined;
    throw error;
  }
}
