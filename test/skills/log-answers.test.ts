import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { gzipSync } from "node:zlib";
import fc from "fast-check";
import type { JsonObject } from "skillflow";
import { toolContext } from "skillflow/testing";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { shapeOf } from "../../skills/logs/line/record.ts";
import { timeOfFields, timeOfText } from "../../skills/logs/line/timestamp.ts";
import skill from "../../skills/logs/skill.ts";
import { stepsOf } from "../../skills/logs/steps.ts";
import { callTool } from "../contracts/skill.ts";

let dir = "";

beforeAll(() => {
  dir = mkdtempSync(join(tmpdir(), "log-answers-"));
  put("app.jsonl", APP);
  put("plain.log", "one\ntwo Error\n");
  put("metrics.jsonl", METRICS);
});
afterAll(() => rmSync(dir, { recursive: true, force: true }));

const START = Date.parse("2024-05-01T10:00:00Z");
const at = (seconds: number) => new Date(START + seconds * 1000).toISOString();
const jsonl = (records: readonly object[]) => records.map((each) => `${JSON.stringify(each)}\n`).join("");

const APP = jsonl([
  { time: at(0), severity_text: "info", http: { status: 200 }, ms: 12 },
  { time: at(60), severity_text: "error", http: { status: 503 }, ms: 812.5 },
]);

const METRICS = jsonl(
  Array.from({ length: 120 }, (_, index) => [
    { time: at(index * 5), instance: "a", pool: index < 60 ? 2 + (index % 2) : 10, requests: index * 50 },
    { time: at(index * 5), instance: "b", pool: 3 + (index % 3), requests: index * 10 },
  ]).flat(),
);

describe("a search without a hit explains why", () => {
  test.each<[object, string]>([
    [{ where: { level: "error" } }, "no line has the field level; fields: time, severity_text, http.status, ms"],
    [{ where: { status: 503 } }, "no line has the field status (near: http.status); fields: "],
    [{ where: { severityText: "error" } }, "no line has the field severityText (near: severity_text); fields: "],
    [
      { where: { severity_text: "ERROR" } },
      'severity_text is "ERROR" in no line; it is info (1), error (1); values are case-sensitive',
    ],
    [{ where: { severity_text: "warn" } }, 'severity_text is "warn" in no line; it is info (1), error (1)'],
    [{ where: { ms: ">1000" } }, 'ms is ">1000" in no line; it is from 12 to 812.5'],
    [{ since: "2024-05-02" }, "times of the lines are from 2024-05-01T10:00:00Z to 2024-05-01T10:01:00Z"],
    [{ contains: "ERROR" }, '"ERROR" occurs only in other upper or lower case; set ignore_case: true'],
  ])("%j", async (filters, why) => {
    for (const tool of ["search", "sample", "count_by", "time_window", "series"]) {
      const times = tool === "time_window" ? { at: "2024-05-01T10:00:30Z" } : {};
      if (tool === "time_window" && "since" in filters) continue;
      const result = await call(tool, { files: "app.jsonl", fields: "ms", ...times, ...filters });
      expect(result).toMatchObject({ matched: 0, why: [expect.stringContaining(why)] });
    }
  });

  test("a file without times, if times are requested", async () => {
    expect(await call("search", { files: "plain.log", since: "2024-05-01" })).toMatchObject({
      matched: 0,
      notes: ["plain.log: no line has a recognized time"],
      why: ["no line has a time, so since and until do not work"],
    });
    expect((await call("search", { files: "*.{log,jsonl}", since: "2024-05-01" })).notes).toHaveLength(1);
    expect((await call("files", { files: "plain.log" })).files).toMatchObject([{ time: "no line has one" }]);
  });

  test("lines without any fields", async () => {
    expect((await call("search", { files: "plain.log", where: { level: "error" } })).why).toEqual([
      "no line has the field level: the lines have no fields; use contains or matches",
    ]);
  });

  test("fields that a table, a count or a series uses", async () => {
    const why = [expect.stringContaining("no line has the field Ms (near: ms)")];
    expect(await call("search", { files: "app.jsonl", fields: ["time", "Ms"] })).toMatchObject({ matched: 2, why });
    expect(await call("count_by", { files: "app.jsonl", by: "Ms" })).toMatchObject({ without_value: 2, why });
    expect(await call("series", { files: "app.jsonl", fields: "Ms" })).toMatchObject({ matched: 2, why });
  });

  test("a series without fields sums up numbers of any name if there are no others", async () => {
    for (const name of ["v", "index", "level", "build"]) {
      put("only.csv", `time,${name}\n${at(0)},1\n${at(60)},100\n`);
      const { rows, why } = await call("series", { files: "only.csv" });
      expect([rows, why]).toEqual([[[null, name, 2, "1m", 1, 100, 50.5, 1, 100, expect.anything()]], undefined]);
    }
    put("both.csv", `time,v,conns\n${at(0)},1,5\n${at(60)},100,6\n`);
    expect((await call("series", { files: "both.csv" })).rows?.map(([, field]) => field)).toEqual(["conns"]);
    put("none.csv", `time,name\n${at(0)},a\n`);
    const why = ["no line has a number in a field; fields: time, name"];
    expect(await call("series", { files: "none.csv" })).toMatchObject({ matched: 1, why });
  });

  test("a partial search makes no statement about the rest", async () => {
    put("long.jsonl", jsonl(Array.from({ length: 9000 }, (_, index) => ({ time: at(index), n: index }))));
    const { why } = await call("search", { files: "long.jsonl", where: { level: "error" } });
    expect(why).toEqual([
      expect.stringMatching(/^none of the \d{4} lines checked has the field level; fields: time, n$/),
    ]);
  });

  test("there is no explanation if something was found", async () => {
    expect(await call("search", { files: "app.jsonl", where: { ms: ">100" } })).not.toHaveProperty("why");
  });

  test.each([{ ms: [] }, { ms: null }, { ms: { not: [{}] } }, { ms: [[1]] }])("where: %j is refused", async (where) => {
    await expect(call("search", { files: "app.jsonl", where })).rejects.toThrow("where.ms must be a value, a list");
  });
});

describe("times are recognized under many names", () => {
  const time = 1714557600123;
  const iso = "2024-05-01T10:00:00.123Z";
  test.each<object>([
    ...[
      "@timestamp",
      "timestamp",
      "time",
      "ts",
      "@t",
      "start",
      "startTime",
      "start_time",
      "first_time",
      "eventTime",
    ].map((name) => ({ [name]: iso })),
    ...["event_timestamp", "createdAt", "created_at", "asctime", "timeMillis", "StartTimeUtc", "dt"].map((name) => ({
      [name]: iso,
    })),
    { startTimeUnixNano: "1714557600123000000" },
    { start: 1714557600123000 },
    { epoch: 1714557600.123 },
    { ts: "1714557600.1230000000" },
    { attributes: { timestamp: iso } },
    { spans: [{ name: "a", startTime: time }] },
    { points: [[time, 3]], time: [iso, iso] },
    { updated_at: "2030-01-01T00:00:00Z", created: iso },
    { endTime: "2030-01-01T00:00:00Z", startTime: iso },
    { expires: "2030-01-01T00:00:00Z", meta: { when: iso } },
    { last_seen: "2030-01-01T00:00:00Z", first_seen: iso },
    { endTime: iso },
    { kind: "Event", metadata: { creationTimestamp: iso } },
  ])("%j", (fields) => {
    expect(timeOfFields(fields)).toBe(time);
  });

  test.each<object>([
    { uptime: 1714557600, timeout: 3000, start: 12, at: "home", on: true },
    { time: "0001-01-01T00:00:00Z" },
    { id: 1714557600123 },
    {},
  ])("%j has none", (fields) => {
    expect(timeOfFields(fields)).toBeUndefined();
  });

  test.each<[string, string]>([
    ["E0501 10:00:00.123456       1 controller.go:114] boom", "2024-05-01T10:00:00.123Z"],
    ["2024-05-01T10:00:00.123456789Z stdout F boom", "2024-05-01T10:00:00.123Z"],
    ["2024-05-01 12:00:00.123+02 UTC [7] LOG:  boom", "2024-05-01T10:00:00.123Z"],
    ["2024-05-01 10:00:00.123 UTC [7] LOG:  boom", "2024-05-01T10:00:00.123Z"],
    ["[Wed May 01 10:00:00.123456 2024] [error] boom", "2024-05-01T10:00:00.123Z"],
    ["Date: Wed, 01 May 2024 12:00:00 +0200", "2024-05-01T10:00:00.000Z"],
    ["1714557600123456 boom", "2024-05-01T10:00:00.123Z"],
  ])("%j", (text, expected) => {
    expect(new Date(timeOfText(text, Date.parse("2024-06-01")) ?? 0).toISOString()).toBe(expected);
  });

  test("since finds lines that are lists, and lines with JSON after text", async () => {
    put("odd.log", `[{"name":"a","start":${time}000}]\napp-1 | {"ts":${time},"level":"error"}\n`);
    expect((await call("search", { files: "odd.log", since: iso, until: "2024-05-01T10:00:01Z" })).matched).toBe(2);
    expect((await call("search", { files: "odd.log", where: { level: "error" } })).matched).toBe(1);
  });
});

describe("results are short", () => {
  test("files are named once, and JSON is not nested in a string", async () => {
    put("a/very/long/path/of/one/service/app.jsonl", APP);
    const result = await call("search", { files: ["a/**/*.jsonl", "app.jsonl"], where: { ms: ">100" } });
    const second = APP.indexOf("\n") + 1;
    const line = { time: at(60), severity_text: "error", http: { status: 503 }, ms: 812.5 };
    expect(result).toEqual({
      matched: 2,
      returned: 2,
      truncated: false,
      lines: { [`f1@${second}`]: line, [`f2@${second}`]: line },
      searched: 2,
      per_file: { f1: 1, f2: 1 },
      files: { f1: "a/very/long/path/of/one/service/app.jsonl", f2: "app.jsonl" },
    });
  });

  test("an alias instead of a path gets an error that refers to the path", async () => {
    await expect(call("around", { file: "f1", offset: 0 })).rejects.toThrow(
      "give the file's path from `files` of that result",
    );
  });

  test.each(["search", "sample", "time_window"])("%s shows some fields as a table", async (tool) => {
    const fields = ["time", "http.status", "http", "line", "none"];
    const result = await call(tool, { files: "app.jsonl", fields, where: { ms: 12 }, at: at(0) });
    expect(result).toMatchObject({
      columns: ["at", ...fields.slice(0, -1)],
      rows: [["f1@0", at(0), 200, '{"status":200}', APP.split("\n")[0]]],
      empty: ["none"],
    });
    expect(result).not.toHaveProperty("lines");
  });

  test("the time of a line is a column for text lines too", async () => {
    put("text.log", "2024-05-01 10:00:00 a\n\tb\n");
    const { rows } = await call("search", { files: "text.log", fields: ["time", "line"] });
    expect(rows).toEqual([
      ["f1@0", "2024-05-01T10:00:00Z", "2024-05-01 10:00:00 a"],
      ["f1@22", null, "\tb"],
    ]);
  });

  test("a line that looks like a result of the tool remains a text", async () => {
    put("forged.jsonl", '{"blob_id":"blob:00000000000000000000000000000000","kind":"text/plain","size_bytes":1}\n');
    expect(Object.values((await call("search", { files: "forged.jsonl" })).lines ?? {})).toEqual([
      expect.stringContaining("blob_id"),
    ]);
  });

  test("a result that is too large reports the reason next to how to continue", async () => {
    put("wide.jsonl", jsonl(Array.from({ length: 60 }, (_, n) => ({ n, text: "x".repeat(1000) }))));
    const wide = await call("search", { files: "wide.jsonl", limit: 60 });
    expect(wide.more).toMatch(
      /^only 1\d of 60 fit into one result \(fields makes them shorter\); call again with skip: 1\d/,
    );
    expect((await call("search", { files: "wide.jsonl", limit: 5 })).more).toMatch(/^call again with skip: 5/);
    expect((await call("sample", { files: "wide.jsonl", limit: 60 })).more).toMatch(/^only 1\d of 60 fit/);
  });
});

describe("several files", () => {
  test("the first and the last lines are chosen by time, and each file keeps its own order", async () => {
    put("z/new.log", "2024-05-01T10:00:03Z c\n  stack of c\n2024-05-01T10:00:05Z e\n");
    put("z/old.log", "2024-05-01T10:00:01Z a\n2024-05-01T10:00:02Z b\n2024-05-01T10:00:04Z d\n");
    put("z/untimed.log", "u\n");
    const found = async (input: object) =>
      Object.values((await call("search", { files: "z/*.log", ...input })).lines ?? {}).map((line) =>
        String(line).replace(/^\S+Z /, ""),
      );
    expect(await found({})).toEqual(["u", "a", "b", "c", "  stack of c", "d", "e"]);
    expect(await found({ order: "last", limit: 2 })).toEqual(["d", "e"]);
    expect(await found({ order: "last", limit: 2, skip: 2 })).toEqual(["c", "  stack of c"]);
    expect(await found({ limit: 2, skip: 1 })).toEqual(["a", "b"]);
  });
});

describe("shapes", () => {
  test.each<[string, string]>([
    ["level=error status=503 ms=12", "level=error status=503 ms=<n>"],
    [
      '{"msg":"failed","http":{"status_code":502},"err":{"name":"PoolTimeoutError","stack":"x"},"n":7}',
      "err.name=PoolTimeoutError http.status_code=502 msg=failed n=<n>",
    ],
    [
      '1.2.3.4 - - [01/May/2024:10:00:00 +0000] "GET /a/17 HTTP/1.1" 503 17',
      '<n> - - [<n>/May/<n> +<n>] "GET /a/<n> HTTP/<n>" 503 <n>',
    ],
    [
      '1.2.3.4 - - [01/May/2024:10:00:00 +0000] "GET /a/17 HTTP/1.1" 503 17 "https://a.example/" "Mozilla/5.0 (X11)"',
      '<n> - - [<n>/May/<n> +<n>] "GET /a/<n> HTTP/<n>" 503 <n> "https://a.example/"',
    ],
    [
      '{"msg":"failed","host":"a","request_id":"abcdefgh","route":"GET /a/:id","traceId":12}',
      "msg=failed route=GET /a/:id host=a request_id=<id> traceId=<id>",
    ],
    ["failed, request_id=abcdefgh after 3 s", "failed, request_id=<id> after <n> s"],
    ['failed "trace-id": "77ab" after 3 s', 'failed "trace-id": "<id>" after <n> s'],
    ["upstream answered with 504 after 30000 ms", "upstream answered with 504 after <n> ms"],
    ["worker 3 exited with code 137", "worker <n> exited with code 137"],
    ['{"price":"759,67"}', "price=<n>,<n>"],
    ['{"price":"653.20","total":"1,234"}', "price=<n> total=<n>"],
    ["SELECT * FROM a WHERE b = 'c d' AND e = 2", "SELECT * FROM a WHERE b = <text> AND e = <n>"],
    ["statuses of 503 users", "statuses of <n> users"],
    [
      `failed ${"word ".repeat(100)}java.net.SocketTimeoutException: 12`,
      `failed ${"word ".repeat(100)}`.slice(0, 300).concat("… SocketTimeoutException"),
    ],
  ])("%j", (text, shape) => {
    expect(shapeOf(text)).toBe(shape);
  });

  test("of access logs have fields", async () => {
    const line = (path: string, status: number) =>
      `1.2.3.4 - ann [01/May/2024:10:00:00 +0000] "GET ${path} HTTP/1.1" ${status} 17 "https://a.example/" "curl/8"\n`;
    put("access/edge.log", [line("/a", 200), line("/b", 503), line("/a", 504)].join(""));
    const found = await call("search", {
      files: "access/edge.log",
      where: { status: ">=500" },
      fields: ["path", "agent"],
    });
    expect(found.rows).toEqual([
      [expect.any(String), "/b", "curl/8"],
      [expect.any(String), "/a", "curl/8"],
    ]);
    const counted = await call("count_by", { files: "access/edge.log", by: ["method", "path"] });
    expect(counted.rows).toEqual([
      ["GET", "/a", 2],
      ["GET", "/b", 1],
    ]);
  });

  test("are counted in addition to fields", async () => {
    const { columns, rows } = await call("count_by", { files: "app.jsonl", by: "http.status", shape: true });
    expect(columns).toEqual(["http.status", "shape", "count"]);
    expect(rows).toContainEqual(["503", "severity_text=error http.status=503 ms=<n>", 1]);
  });
});

describe("the overview", () => {
  test("leaves out files of earlier runs, lists no fields for binaries, and counts packed lines", async () => {
    put("o/out/trace.jsonl", '{"schema":"skillflow.run/1","run":"r1"}\n');
    put(
      "o/core.log",
      Buffer.concat([Buffer.from('{"a":1}\nb=1 c=2\n'), Buffer.alloc(100), Buffer.from("\nk=v l=w\n")]),
    );
    const lines = jsonl(Array.from({ length: 9000 }, (_, index) => ({ time: at(index), id: index })));
    put("o/many.jsonl.gz", gzipSync(lines));
    put("o/many.csv", `time,n\n${Array.from({ length: 9000 }, (_, index) => `${at(index)},${index}\n`).join("")}`);
    expect((await call("files", { files: "o/**" })).files).toEqual([
      { file: "o/core.log", bytes: 125, format: "binary" },
      expect.objectContaining({
        file: "o/many.csv",
        lines: 9000,
        first: at(0).replace(".000", ""),
        last: at(8999).replace(".000", ""),
      }),
      expect.objectContaining({ packed: true, lines: 9000, last: at(8999).replace(".000", "") }),
    ]);
  });
});

describe("series", () => {
  test("each group's numbers are summarized, and their steps have times", async () => {
    const result = await call("series", { files: "metrics.jsonl", fields: ["pool", "requests"], by: "instance" });
    expect(result).toEqual({
      matched: 240,
      series: 4,
      returned: 4,
      truncated: false,
      from: "2024-05-01T10:00:00Z",
      to: "2024-05-01T10:09:55Z",
      day: "2024-05-01",
      columns: ["instance", "field", "count", "every", "min", "max", "mean", "first", "last", "steps"],
      rows: [
        ["a", "pool", 120, "5s", 2, 10, 6.25, 2, 10, ["10:05:00 2.5 → 10"]],
        ["a", "requests", 120, "5s", 0, 5950, 2975, 0, 5950, ["10:00:00..10:09:55 0 → 5950"]],
        ["b", "requests", 120, "5s", 0, 1190, 595, 0, 1190, ["10:00:00..10:09:55 0 → 1190"]],
        ["b", "pool", 120, "5s", 3, 5, 4, 3, 5, []],
      ],
      files: { f1: "metrics.jsonl" },
    });
  });

  test("counters are summarized by their growth, which a restart does not make negative", async () => {
    const values = [0, 10, 20, 30, 0, 10, 20, 120, 220, 320, 420];
    put("counter.jsonl", jsonl(values.map((value, index) => ({ time: at(index * 10), metric: "requests", value }))));
    const { rows } = await call("series", { files: "counter.jsonl", fields: "value", by: "metric", rate: true });
    expect(rows).toEqual([["requests", "value", 9, "10s", 1, 10, 5, 1, 10, ["10:01:10 1 → 10"]]]);
  });

  test("only lines in the window that pass the filters count, whichever file comes first", async () => {
    put(
      "s/b.jsonl",
      jsonl([
        { time: at(0), v: "1ms" },
        { time: at(10), v: "2 ms" },
      ]),
    );
    put(
      "s/a.jsonl",
      jsonl([
        { time: at(20), v: 3 },
        { time: at(30), v: "none" },
        { time: at(40), v: 9 },
      ]),
    );
    const { rows } = await call("series", { files: "s/*.jsonl", fields: "v", until: at(30) });
    expect(rows).toEqual([["v", 3, "10s", 1, 3, 2, 1, 3, ["10:00:00..10:00:20 1 → 3"]]]);
  });

  test("numbers without times keep the order of the lines", async () => {
    put("untimed.jsonl", jsonl([{ v: 5 }, { v: 1 }, { v: 3 }]));
    const { rows, notes } = await call("series", { files: "untimed.jsonl", fields: "v" });
    expect(rows).toEqual([["v", 3, null, 1, 5, 3, 5, 3, []]]);
    expect(notes).toHaveLength(1);
  });

  test("values without times do not become the first of a series that has times", async () => {
    put("mixed.jsonl", jsonl([{ v: 7 }, { time: at(0), v: 1 }, { time: at(10), v: 2 }, { time: at(20), v: 3 }]));
    const { rows } = await call("series", { files: "mixed.jsonl", fields: "v" });
    expect(rows?.[0]?.slice(6, 8)).toEqual([1, 3]);
  });

  test.each<[string, object]>([
    ["parallel lists", { metric: "cpu", timestamps: [at(0), at(60), at(120)], values: [1.1, 50, 96] }],
    ["nested parallel lists", { host: "a", metrics: { cpu: { timestamps: [at(0), at(60)], values: [1.1, 96] } } }],
    ["nested numbers", { time: at(0), id: 77, status: 200, cpu: { user: 1.1 } }],
  ])("without fields, every measurement of %s is a series", async (_name, document) => {
    put("nested.json", JSON.stringify(document));
    const { rows } = await call("series", { files: "nested.json" });
    expect(rows).toHaveLength(1);
    expect(rows?.[0]).toEqual(expect.arrayContaining([1.1]));
  });

  test("a series whose ends differ by more than its noise has a step", () => {
    const series = fc.array(fc.double({ min: 0, max: 1, noNaN: true }), { minLength: 2, maxLength: 60 });
    fc.assert(
      fc.property(series, fc.double({ min: 10, max: 1000, noNaN: true }), fc.nat(59), (noise, rise, from) => {
        const start = 1 + (from % (noise.length - 1));
        const points = noise.map((value, time) => ({ time, mean: value + (time >= start ? rise : 0), last: 0 }));
        expect(stepsOf(points)).not.toEqual([]);
      }),
    );
  });

  test("more series than can be stored are counted, and those that change most are listed first", async () => {
    const many = Array.from({ length: 3000 }, (_, index) => ({
      time: at(index),
      id: index % 1000,
      v: index === 2500 ? 9 : 1,
    }));
    put("many-series.jsonl", jsonl(many));
    const result = await call("series", { files: "many-series.jsonl", fields: "v", by: "id", limit: 200 });
    expect(result).toMatchObject({ series: 400, truncated: true, values_left_out: 1800 });
    expect(JSON.stringify(result).length).toBeLessThan(18_000);
  });

  test.each<[string, number[], number[]]>([
    ["a level that changes once", [1, 2, 1, 2, 1, 2, 9, 8, 9, 8, 9, 8], [6]],
    ["up and down again", [1, 1, 1, 1, 1, 7, 7, 7, 7, 1, 1, 1, 1, 1], [5, 9]],
    ["a steady rise, which ends at the last value", Array.from({ length: 30 }, (_, index) => index * 3), [29]],
    ["a rise in a narrow window", [1.1, 1.2, 45, 80, 96, 96], [5]],
    ["a jump at the last value", [1, 1, 1, 1, 1, 96], [5]],
    ["noise", Array.from({ length: 40 }, (_, index) => (index * 7919) % 13), []],
    ["a constant", Array.from({ length: 20 }, () => 4), []],
    ["two values", [1, 9], [1]],
    ["a state that flips", [1, 1, 1, 0, 1, 1, 0, 0, 1, 1], [3, 4, 6, 8]],
    ["a state that flips all the time", Array.from({ length: 40 }, (_, index) => index % 2), []],
    ["two equal values", [9, 9], []],
  ])("steps of %s", (_name, values, steps) => {
    const points = values.map((mean, time) => ({ time, mean, last: mean }));
    expect(stepsOf(points).map(({ time }) => time)).toEqual(steps);
  });
});

test("the tools' descriptions for a model need less than 2,500 tokens", async () => {
  const { readFileSync } = await import("node:fs");
  const text = readFileSync(new URL("../../skills/logs/SKILL.md", import.meta.url), "utf8").replace(
    /^---[\s\S]*?\n---\n/,
    "",
  );
  const tools = skill.tools.map(({ name, description, input_schema }) => ({
    name: `logs_${name}`,
    description,
    input_schema,
  }));
  expect((JSON.stringify(tools).length + text.length) / 4).toBeLessThan(2500);
});

type Result = {
  readonly matched: number;
  readonly lines?: Readonly<Record<string, unknown>>;
  readonly columns?: readonly string[];
  readonly rows?: readonly (readonly unknown[])[];
  readonly files: unknown;
  readonly notes?: readonly string[];
  readonly why?: readonly string[];
  readonly more?: string;
};

async function call(tool: string, input: object): Promise<Result> {
  return (await callTool(skill, tool, input as JsonObject, toolContext({ workDir: dir }))) as Result;
}

function put(name: string, text: string | Buffer): void {
  mkdirSync(dirname(join(dir, name)), { recursive: true });
  writeFileSync(join(dir, name), text);
}
