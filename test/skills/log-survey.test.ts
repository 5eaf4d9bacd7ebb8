import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import fc from "fast-check";
import type { JsonObject } from "skillflow";
import { toolContext } from "skillflow/testing";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { parseRecord } from "../../skills/logs/line/record.ts";
import skill from "../../skills/logs/skill.ts";
import { isError } from "../../skills/logs/survey/severity.ts";
import { fitSections } from "../../skills/logs/survey/survey.ts";
import { callTool } from "../contracts/skill.ts";
import { ANY_CHARACTER } from "../harness/any-character.ts";
import { runsOf } from "../harness/long.ts";

let dir = "";
const START = Date.parse("2026-05-01T10:00:00Z");
const at = (minutes: number) => new Date(START + minutes * 60_000).toISOString().replace(".000Z", "Z");

beforeAll(() => {
  dir = mkdtempSync(join(tmpdir(), "log-survey-"));
  const lines = Array.from({ length: 120 }, (_, minute) => {
    const isBad = minute >= 60;
    const failed = { level: "error", msg: `charge failed after ${3000 + minute}ms` };
    return [
      { time: at(minute), level: "info", service: "cart", msg: "added", duration_ms: 20 + (minute % 3) },
      {
        time: at(minute),
        service: "pay",
        duration_ms: isBad ? 900 : 30,
        ...(isBad ? failed : { level: "info", msg: "charged" }),
      },
    ];
  }).flat();
  put(
    "app.jsonl",
    [...lines]
      .reverse()
      .map((line) => `${JSON.stringify(line)}\n`)
      .join(""),
  );
  put("app.log", `${at(58)} INFO deployed pay v2.4.1 by ci\n${at(59)} INFO 0 errors\n${at(3)} INFO ok\n`);
  put("flags.csv", `time,flag,enabled\n${at(57)},fast-pay,true\n`);
  put(
    "cpu.json",
    JSON.stringify({ metric: "cpu", host: "a", timestamps: [at(55), at(60), at(61)], values: [1.1, 50, 96] }),
  );
});
afterAll(() => rmSync(dir, { recursive: true, force: true }));

describe("survey", () => {
  test.each([{ around: at(60) }, {}])("returns files, errors, changes, series and events with %j", async (input) => {
    const result = await survey({ files: "*", ...input });
    expect(result["files"]).toContainEqual({
      file: "app.jsonl",
      bytes: expect.any(Number),
      format: "json",
      records: 240,
      errors: 60,
      first: at(0),
      last: at(119),
    });
    const whole = (result["whole"] as { file: string }[]).map(({ file }) => file);
    expect(whole).toEqual(["app.log", "cpu.json", "flags.csv"]);
    expect(result["errors"]).toMatchObject([{ count: 60, first: at(60), last: at(119) }]);
    expect((result["errors"] as { example: string }[])[0]?.example).toContain("charge failed after 3060ms");
    expect(result["changes"]).toContainEqual({
      by: "service",
      name: "pay",
      lines: [30, 30],
      errors: [0, 30],
      since: at(60),
    });
    const series = result["series"] as { series: string; steps: string[] }[];
    expect(series.map(({ series: name }) => name)).toEqual(["duration_ms service=pay", "cpu host=a"]);
    expect(series[0]?.steps).toEqual([`${at(60)} 30 → 900`]);
    expect(result["events"]).toMatchObject([
      { time: at(58), text: expect.stringContaining("v2.4.1") },
      { time: at(57) },
    ]);
    expect(result["left_out"]).toEqual({});
  });

  test("shows new lines of any level, the statuses of a route and rare lines, with counts before and since", async () => {
    const sql = (brand: string) => `SELECT * FROM products WHERE brand = '${brand}' LIMIT 20`;
    const lines = Array.from({ length: 60 }, (_, minute) => [
      `${at(minute)} LOG:  checkpoint complete: wrote ${minute} buffers`,
      ...(minute === 29 ? [`${at(minute)} LOG:  DROP INDEX products_brand_idx`] : []),
      ...(minute >= 30 ? [`${at(minute)} LOG:  slow: ${sql(["Wyld", "Tarn", "O''Neil"][minute % 3] ?? "")}`] : []),
    ]).flat();
    put("l/postgres.log", lines.map((line) => `${line}\n`).join(""));
    const request = (minute: number, status: number) =>
      `10.0.0.${minute} - - [01/May/2026:${at(minute).slice(11, 19)} +0000] "POST /claims/${minute}/scans?x=1 HTTP/1.1" ${status} 7 "-" "curl"\n`;
    put("l/access.log", Array.from({ length: 60 }, (_, minute) => request(minute, minute < 30 ? 201 : 413)).join(""));
    const result = await survey({ files: "l/*", around: at(40) });
    expect(result["errors"]).toEqual([]);
    const changes = result["changes"] as JsonObject[];
    expect(changes.slice(0, 3)).toEqual([
      {
        by: "route",
        name: "POST /claims/:id/scans",
        lines: [20, 30],
        status: { "413": [0, 30], "201": [20, 0] },
        since: at(30),
        at: expect.stringMatching(/^access\.log@\d+$/),
        example: request(30, 413).trimEnd(),
      },
      {
        by: "line",
        name: `${at(30)} LOG:  slow: ${sql("Wyld")}`,
        lines: [0, 30],
        since: at(30),
        at: expect.stringMatching(/^postgres\.log@\d+$/),
      },
      expect.objectContaining({ name: `${at(29)} LOG:  DROP INDEX products_brand_idx`, lines: [0, 1], since: at(29) }),
    ]);
    expect(JSON.stringify(changes)).not.toContain("checkpoint");
  });

  test("names a place by its file's name, and by its path if two files have the name", async () => {
    const error = (second: number, service: string) => `${at(second)} ERROR ${service} failed\n`;
    put("n/one/app.log", error(1, "orders"));
    put("n/two/app.log", error(2, "stock"));
    put("n/two/gateway.log", error(3, "gateway"));
    const { errors } = await survey({ files: "n/**/*.log" });
    expect((errors as JsonObject[]).map((error) => error["at"]).sort()).toEqual([
      "gateway.log@0",
      "n/one/app.log@0",
      "n/two/app.log@0",
    ]);
  });

  test("a file without times has a head, and the fields that are not always numbers", async () => {
    const rows = Array.from(
      { length: 200 },
      (_, row) => `NB-${row},${row % 2 ? '"39,80"' : "653.20"},${"x".repeat(9)}`,
    );
    put("h/feed.csv", ["sku,price,note", ...rows].join("\n"));
    const [file] = (await survey({ files: "h/*" }))["files"] as JsonObject[];
    expect(file).toMatchObject({
      head: ["sku,price,note", ...rows.slice(0, 3)].join("\n"),
      odd: ["price: 100 of 200 not numeric, such as 39,80"],
    });
  });

  test("focus narrows errors and series, not the files", async () => {
    const result = await survey({ files: "*", focus: "CART" });
    expect(result).toMatchObject({ errors: [], series: [] });
    expect(result["files"]).toHaveLength(4);
  });

  test("an example can be looked up at its position", async () => {
    const [error] = (await survey({ files: "app.jsonl" }))["errors"] as { at: string; example: string }[];
    const [file = "", offset] = error?.at.split("@") ?? [];
    const around = await callTool(skill, "around", { file, offset: Number(offset), before: 0, after: 0 }, context());
    expect(Object.values((around as { lines: object }).lines)).toEqual([JSON.parse(error?.example ?? "")]);
  });

  test("an aborted survey ends", async () => {
    const signal = AbortSignal.abort(new Error("enough"));
    const call = callTool(skill, "survey", { files: "*" }, toolContext({ workDir: dir, signal }));
    await expect(call).rejects.toThrow("enough");
  });

  test("a result has at most 12,000 characters, and counts what is left out", async () => {
    const many = Array.from({ length: 900 }, (_, index) => {
      const word = `w${String.fromCharCode(97 + (index % 26), 97 + Math.floor(index / 26))}"\\`;
      return `${JSON.stringify({ time: at(index), level: "error", service: word, msg: `deploy ${word} ${'é"\n'.repeat(300)}`, [word]: index })}\n`;
    });
    for (let file = 0; file < 40; file++)
      put(`many/${"n".repeat(100)}${file}.jsonl`, many.slice(file, file + 30).join(""));
    const result = await survey({ files: "many/*" });
    expect(JSON.stringify(result).length).toBeLessThanOrEqual(12_000);
    expect(Object.keys(result)).toEqual(["files", "whole", "errors", "changes", "series", "events", "left_out"]);
    expect(result["left_out"]).toMatchObject({ files: expect.any(Number), errors: expect.any(Number) });
    expect(await survey({ files: "many/*" })).toEqual(result);
  });
});

describe("a survey of deploys, counters and flips", () => {
  const lines = (rows: readonly object[]) => rows.map((row) => `${JSON.stringify(row)}\n`).join("");

  test("returns each deploy once, the latest before the instant first", async () => {
    const deploys = [10, 50, 58, 70].map((minute) => ({ time: at(minute), service: "pay", version: `v${minute}` }));
    put("e/deploys.jsonl", lines(deploys));
    const result = await survey({ files: "e/*", around: at(60) });
    const events = result["events"] as { time: string; text: string }[];
    expect(events.map(({ time }) => time)).toEqual([58, 50, 10, 70].map(at));
    expect(events[0]?.text).toBe(JSON.stringify(deploys[2]));
    expect(result["whole"]).toEqual([]);
    const many = Array.from({ length: 14 }, (_, minute) => ({ time: at(minute), v: minute }));
    put("e/deploys.jsonl", lines(many));
    const more = await survey({ files: "e/*", around: at(60) });
    expect(more["whole"]).toHaveLength(1);
    expect(more["events"]).toHaveLength(12);
    expect(more["left_out"]).toEqual({ events: 2 });
    put("e/deploys.jsonl", lines(Array.from({ length: 501 }, (_, index) => ({ time: at(index), v: index }))));
    expect((await survey({ files: "e/*", around: at(60) }))["events"]).toEqual([]);
  });

  test("does not count samples of counters as errors, and shows their increase by status", async () => {
    const sample = (minute: number, status: string, value: number) => ({
      time: at(minute),
      metric: "http_requests_total",
      status,
      value,
    });
    const rows = Array.from({ length: 40 }, (_, minute) => [
      sample(minute, "200", minute * 600),
      sample(minute, "502", minute < 20 ? 3 : 3 + (minute - 19) * 120),
    ]).flat();
    put("c/metrics.jsonl", lines(rows));
    const result = await survey({ files: "c/*", around: at(20) });
    expect(result["errors"]).toEqual([]);
    expect(result["files"]).toMatchObject([{ errors: 0 }]);
    expect(result["series"]).toMatchObject([
      { series: "http_requests_total status=502", per: "second", min: 0, max: 2, steps: [`${at(20)} 0 → 2`] },
    ]);
  });

  test("a gauge with a counter's name that falls is not a counter", async () => {
    const rows = Array.from({ length: 20 }, (_, minute) => ({
      time: at(minute),
      metric: "queue_count",
      value: minute < 10 ? 40 - (minute % 2) : 4 + (minute % 2),
    }));
    put("g/metrics.jsonl", lines(rows));
    const [series] = (await survey({ files: "g/*", around: at(10) }))["series"] as JsonObject[];
    expect(series).toMatchObject({ series: "queue_count", first: 40, last: 5 });
    expect(series).not.toHaveProperty("per");
  });

  test("shows each flip, and the strongest series of each metric first", async () => {
    const rows = Array.from({ length: 30 }, (_, minute) => [
      { time: at(minute), instance: "a", up: [12, 13, 20].includes(minute) ? 0 : 1, load: minute < 12 ? 10 : 14 },
      { time: at(minute), instance: "b", up: 1, load: minute < 12 ? 10 : 12 },
    ]).flat();
    put("u/metrics.csv", ["time,instance,up,load", ...rows.map((row) => Object.values(row).join(","))].join("\n"));
    const series = (await survey({ files: "u/*", around: at(12) }))["series"] as { series: string; steps: string[] }[];
    expect(series.map(({ series: name }) => name)).toEqual(["up instance=a", "load instance=a", "load instance=b"]);
    expect(series[0]?.steps).toEqual([`${at(12)} 1 → 0`, `${at(14)} 0 → 1`, `${at(20)} 1 → 0`, `${at(21)} 0 → 1`]);
  });
});

test("lists of any size fit, and what is missing is counted", () => {
  const list = fc.array(fc.record({ text: fc.string({ maxLength: 600, unit: ANY_CHARACTER }) }), { maxLength: 60 });
  fc.assert(
    fc.property(fc.record({ a: list, b: list, c: list }), (sections) => {
      const fit = fitSections(sections, {});
      expect(JSON.stringify(fit).length).toBeLessThanOrEqual(12_000);
      for (const name of ["a", "b", "c"] as const) {
        expect(fit[name]).toEqual(sections[name].slice(0, fit[name].length));
        expect(fit[name].length + (fit.left_out[name] ?? 0)).toBe(sections[name].length);
      }
    }),
    { numRuns: runsOf(100) },
  );
});

test.each<[string, boolean]>([
  ['{"level":"error","msg":"x"}', true],
  ['{"level":"info","msg":"error budget"}', false],
  ['{"level":50,"msg":"x"}', true],
  ['{"level":30,"err":"x"}', false],
  ['{"severity_number":17,"body":"x"}', true],
  ['{"msg":"x","http":{"status":503}}', true],
  ['{"msg":"x","status":200}', false],
  ['{"msg":"x","error":null}', false],
  ["level=fatal msg=x a=b", true],
  ["2026-05-01 10:00:00 INFO 0 errors, failed: 0", false],
  ["2026-05-01 10:00:00 [error] connect() refused", true],
  ["E0501 10:00:00.123456 1 x.go:3] gone", true],
  ['10.0.0.1 - - [01/May/2026:10:00:00 +0000] "GET / HTTP/1.1" 502 12', true],
  ['pod/x 10.0.0.1 - - [01/May/2026:10:00:00 +0000] "GET / HTTP/1.1" 502 12', true],
  ['10.0.0.1 - - [01/May/2026:10:00:00 +0000] "GET /error HTTP/1.1" 413 12', false],
  ["java.lang.IllegalStateException: no", true],
  ["\tat com.example.Error.run(Error.java:3)", false],
  ["all is well", false],
])("%s is an error: %s", (text, expected) => {
  expect(isError(parseRecord(text), text)).toBe(expected);
});

const context = () => toolContext({ workDir: dir });

async function survey(input: object): Promise<JsonObject> {
  return (await callTool(skill, "survey", input as JsonObject, context())) as JsonObject;
}

function put(name: string, text: string): void {
  mkdirSync(dirname(join(dir, name)), { recursive: true });
  writeFileSync(join(dir, name), text);
}
