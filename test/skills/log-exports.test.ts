import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { gzipSync } from "node:zlib";
import fc from "fast-check";
import type { JsonObject } from "skillflow";
import { toolContext } from "skillflow/testing";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { type Convert, convertCsv } from "../../skills/logs/rows/csv.ts";
import { convertDocuments } from "../../skills/logs/rows/document.ts";
import skill from "../../skills/logs/skill.ts";
import { callTool } from "../contracts/skill.ts";
import { runsOf } from "../harness/long.ts";

let dir = "";

beforeAll(() => {
  dir = mkdtempSync(join(tmpdir(), "log-exports-"));
  for (const [name, { text }] of Object.entries(EXPORTS)) put(name, text);
});
afterAll(() => rmSync(dir, { recursive: true, force: true }));

const OTLP_LOGS = {
  resourceLogs: [
    {
      resource: { attributes: [{ key: "service.name", value: { stringValue: "my.service" } }] },
      scopeLogs: [
        {
          scope: { name: "my.library", version: "1.0.0", attributes: [] },
          logRecords: [
            {
              timeUnixNano: "1544712660300000000",
              observedTimeUnixNano: "1544712660300000000",
              severityNumber: 17,
              severityText: "Error",
              traceId: "5B8EFFF798038103D269B633813FC60C",
              spanId: "EEE19B7EC3C1B174",
              body: { stringValue: "Example log record" },
              attributes: [
                { key: "http.status_code", value: { intValue: "503" } },
                { key: "retry", value: { boolValue: true } },
                { key: "took", value: { doubleValue: 637.704 } },
                { key: "hosts", value: { arrayValue: { values: [{ stringValue: "a" }, { stringValue: "b" }] } } },
                { key: "map", value: { kvlistValue: { values: [{ key: "k", value: { stringValue: "v" } }] } } },
              ],
            },
            { observedTimeUnixNano: "1544712661000000001", severityText: "Info", body: { stringValue: "fine" } },
          ],
        },
      ],
    },
  ],
};

const OTLP_SPANS = {
  resourceSpans: [
    {
      resource: { attributes: [{ key: "service.name", value: { stringValue: "my.service" } }] },
      scopeSpans: [
        {
          scope: { name: "my.library" },
          spans: [
            {
              traceId: "5B8EFFF798038103D269B633813FC60C",
              spanId: "EEE19B7EC3C1B174",
              parentSpanId: "EEE19B7EC3C1B173",
              name: "I'm a server span",
              startTimeUnixNano: "1544712660000000000",
              endTimeUnixNano: "1544712661500000000",
              kind: 2,
              status: { code: 2, message: "boom" },
              attributes: [{ key: "my.span.attr", value: { stringValue: "some value" } }],
              events: [{ timeUnixNano: "1544712660500000000", name: "exception", attributes: [] }],
            },
          ],
        },
      ],
    },
  ],
};

const OTLP_METRICS = {
  resourceMetrics: [
    {
      resource: { attributes: [{ key: "service.name", value: { stringValue: "my.service" } }] },
      scopeMetrics: [
        {
          scope: { name: "my.library" },
          metrics: [
            {
              name: "my.counter",
              unit: "1",
              sum: {
                aggregationTemporality: 1,
                isMonotonic: true,
                dataPoints: [
                  {
                    asDouble: 5,
                    startTimeUnixNano: "1544712660300000000",
                    timeUnixNano: "1544712660300000000",
                    attributes: [{ key: "pool", value: { stringValue: "main" } }],
                  },
                  { asInt: "7", timeUnixNano: "1544712661300000000", attributes: [] },
                ],
              },
            },
            {
              name: "my.histogram",
              histogram: {
                dataPoints: [
                  {
                    timeUnixNano: "1544712660300000000",
                    count: "3",
                    sum: 6,
                    min: 1,
                    max: 3,
                    bucketCounts: ["1", "2"],
                    explicitBounds: [2],
                  },
                ],
              },
            },
          ],
        },
      ],
    },
  ],
};

const EXPOSITION = `# HELP http_requests_total The total number of HTTP requests.
# TYPE http_requests_total counter
http_requests_total{method="post",code="200"} 1027 1395066363000
http_requests_total{method="post",code="400"}    3 1395066363000

# Escaping in label values:
msdos_file_access_time_seconds{path="C:\\\\DIR\\\\FILE.TXT",error="Cannot find file:\\n\\"FILE.TXT\\""} 1.458255915e9

# Minimalistic line:
metric_without_timestamp_and_labels 12.47

# A weird metric from before the epoch:
something_weird{problem="division by zero"} +Inf -3982045

# TYPE http_request_duration_seconds histogram
http_request_duration_seconds_bucket{le="0.05"} 24054
http_request_duration_seconds_bucket{le="+Inf"} 144320
http_request_duration_seconds_sum 53423
`;

/** Exports in the formats of common tools, and the expected values of their rows. */
const EXPORTS: Record<string, { text: string | Buffer; format: string; where: object; rows: number; found: object }> = {
  "otel/logs.json": {
    text: JSON.stringify(OTLP_LOGS, undefined, 2),
    format: "otlp",
    where: { "service.name": "my.service", "http.status_code": ">=500" },
    rows: 2,
    found: {
      time: "2018-12-13T14:51:00.300Z",
      severityText: "Error",
      severityNumber: 17,
      body: "Example log record",
      traceId: "5B8EFFF798038103D269B633813FC60C",
      spanId: "EEE19B7EC3C1B174",
      "http.status_code": 503,
      retry: true,
      took: 637.704,
      hosts: ["a", "b"],
      map: { k: "v" },
      "service.name": "my.service",
      scope: "my.library",
    },
  },
  "otel/collector.jsonl": {
    text: [OTLP_LOGS, OTLP_SPANS, OTLP_METRICS].map((each) => `${JSON.stringify(each)}\n`).join(""),
    format: "otlp",
    where: { severityText: "Info" },
    rows: 6,
    found: {
      time: "2018-12-13T14:51:01.000000001Z",
      severityText: "Info",
      body: "fine",
      "service.name": "my.service",
      scope: "my.library",
    },
  },
  "otel/traces.json.gz": {
    text: gzipSync(JSON.stringify(OTLP_SPANS)),
    format: "otlp",
    where: { status: "ERROR", duration_ms: ">1000" },
    rows: 1,
    found: {
      time: "2018-12-13T14:51:00.000Z",
      name: "I'm a server span",
      duration_ms: 1500,
      kind: "SERVER",
      status: "ERROR",
      statusMessage: "boom",
      traceId: "5B8EFFF798038103D269B633813FC60C",
      spanId: "EEE19B7EC3C1B174",
      parentSpanId: "EEE19B7EC3C1B173",
      events: [{ time: "2018-12-13T14:51:00.500Z", name: "exception" }],
      "my.span.attr": "some value",
      "service.name": "my.service",
      scope: "my.library",
    },
  },
  "otel/metrics.json": {
    text: JSON.stringify(OTLP_METRICS),
    format: "otlp",
    where: { pool: "main" },
    rows: 3,
    found: {
      time: "2018-12-13T14:51:00.300Z",
      value: 5,
      metric: "my.counter",
      unit: "1",
      type: "sum",
      pool: "main",
      "service.name": "my.service",
      scope: "my.library",
    },
  },
  "otel/snake.json": {
    text: JSON.stringify({
      resource_logs: [
        { scope_logs: [{ log_records: [{ time_unix_nano: "1544712660300000000", severity_text: "WARN" }] }] },
      ],
    }),
    format: "otlp",
    where: { severityText: "WARN" },
    rows: 1,
    found: { time: "2018-12-13T14:51:00.300Z", severityText: "WARN" },
  },
  "prom/metrics.txt": {
    text: EXPOSITION,
    format: "prometheus",
    where: { code: 200 },
    rows: 8,
    found: {
      time: "2014-03-17T14:26:03.000Z",
      metric: "http_requests_total",
      method: "post",
      code: "200",
      value: 1027,
    },
  },
  "prom/range.json": {
    text: JSON.stringify({
      status: "success",
      data: {
        resultType: "matrix",
        result: [
          {
            metric: { __name__: "up", job: "prometheus" },
            values: [
              [1435781430.781, "1"],
              [1435781445.781, "0"],
            ],
          },
          { metric: { __name__: "up", job: "node" }, values: [[1435781430.781, "0"]] },
        ],
      },
    }),
    format: "json document",
    where: { job: "prometheus", value: 0 },
    rows: 3,
    found: { time: "2015-07-01T20:10:45.781Z", metric: "up", job: "prometheus", value: 0 },
  },
  "prom/instant.json": {
    text: JSON.stringify({
      status: "success",
      data: { resultType: "vector", result: [{ metric: { job: "node" }, value: [1435781451.781, "12.5"] }] },
    }),
    format: "json document",
    where: { job: "node" },
    rows: 1,
    found: { time: "2015-07-01T20:10:51.781Z", job: "node", value: 12.5 },
  },
  "loki.json": {
    text: JSON.stringify({
      status: "success",
      data: {
        resultType: "streams",
        result: [{ stream: { app: "pay" }, values: [["1714557600123456789", '{"level":"error","code":7}']] }],
      },
    }),
    format: "json document",
    where: { "line.level": "error" },
    rows: 1,
    found: { time: "2024-05-01T10:00:00.123Z", app: "pay", line: '{"level":"error","code":7}' },
  },
  "datadog/extract.csv": {
    text: `\ufeffDate,Host,Service,Status,Content
"2024-05-01T10:00:00.123Z","i-0a","checkout","error","Payment failed: ""card declined""
	at pay (pay.js:3)"
"2024-05-01T10:00:01.000Z","i-0b","checkout","info","ok, fine"\r
`,
    format: "csv",
    where: { Status: "error" },
    rows: 2,
    found: {
      Date: "2024-05-01T10:00:00.123Z",
      Host: "i-0a",
      Service: "checkout",
      Status: "error",
      Content: 'Payment failed: "card declined"\n\tat pay (pay.js:3)',
    },
  },
  "latency.tsv": {
    text: "ts\troute\tms\n1714557600\t/pay\t12.5\n1714557601\t/pay\t\n",
    format: "csv",
    where: { ms: "<13" },
    rows: 2,
    found: { ts: 1714557600, route: "/pay", ms: 12.5 },
  },
  "semicolons.csv": {
    text: "sep=;\r\ntime;a,b\r\n2024-05-01 10:00:00;1,5\r\n",
    format: "csv",
    where: { "a,b": "1,5" },
    rows: 1,
    found: { time: "2024-05-01 10:00:00", "a,b": "1,5" },
  },
  "headless.csv": {
    text: "2024-05-01T10:00:00Z,503,/pay\n2024-05-01T10:00:01Z,200,/pay\n",
    format: "csv",
    where: { c2: 503 },
    rows: 2,
    found: { c1: "2024-05-01T10:00:00Z", c2: 503, c3: "/pay" },
  },
  "cloudwatch/filter-log-events.json": {
    text: JSON.stringify(
      {
        events: [
          {
            logStreamName: "i-0a",
            timestamp: 1714557600123,
            message: '{"level":"ERROR","msg":"boom"}',
            ingestionTime: 1714557601000,
            eventId: "38",
          },
          { logStreamName: "i-0a", timestamp: 1714557602000, message: "START RequestId: 1", eventId: "39" },
        ],
        searchedLogStreams: [],
      },
      undefined,
      4,
    ),
    format: "json document",
    where: { "message.level": "ERROR" },
    rows: 2,
    found: {
      logStreamName: "i-0a",
      timestamp: 1714557600123,
      message: '{"level":"ERROR","msg":"boom"}',
      ingestionTime: 1714557601000,
      eventId: "38",
    },
  },
  "cloudwatch/insights.json": {
    text: JSON.stringify({
      results: [
        [
          { field: "@timestamp", value: "2024-05-01 10:00:00.123" },
          { field: "@message", value: "boom" },
        ],
      ],
      statistics: { recordsMatched: 1 },
    }),
    format: "json document",
    where: { "@message": "boom" },
    rows: 1,
    found: { "@timestamp": "2024-05-01 10:00:00.123", "@message": "boom" },
  },
  "cloudwatch/metric-data.json": {
    text: JSON.stringify({
      MetricDataResults: [
        {
          Id: "m1",
          Label: "CPUUtilization",
          Timestamps: ["2024-05-01T10:05:00+00:00", "2024-05-01T10:00:00+00:00"],
          Values: [93.5, 12],
        },
      ],
    }),
    format: "json document",
    where: { value: ">90" },
    rows: 2,
    found: { time: "2024-05-01T10:05:00+00:00", Id: "m1", Label: "CPUUtilization", value: 93.5 },
  },
  "datadog/metrics.json": {
    text: JSON.stringify({
      status: "ok",
      series: [
        {
          metric: "system.cpu",
          scope: "host:a",
          pointlist: [
            [1714557600000, 1.5],
            [1714557620000, null],
          ],
        },
      ],
    }),
    format: "json document",
    where: { value: 1.5 },
    rows: 2,
    found: { time: "2024-05-01T10:00:00.000Z", metric: "system.cpu", scope: "host:a", value: 1.5 },
  },
  "graphite.json": {
    text: JSON.stringify([
      {
        target: "a.b",
        datapoints: [
          [7, 1714557600],
          [8, 1714557660],
        ],
      },
    ]),
    format: "json document",
    where: { value: 8 },
    rows: 2,
    found: { time: "2024-05-01T10:01:00.000Z", target: "a.b", value: 8 },
  },
  "kubectl-events.json": {
    text: JSON.stringify({
      apiVersion: "v1",
      kind: "List",
      items: [
        {
          firstTimestamp: "2024-05-01T10:00:00Z",
          lastTimestamp: "2024-05-01T11:00:00Z",
          reason: "BackOff",
          involvedObject: { kind: "Pod", name: "pay-0" },
        },
      ],
    }),
    format: "json document",
    where: { "involvedObject.name": "pay-0" },
    rows: 1,
    found: {
      firstTimestamp: "2024-05-01T10:00:00Z",
      lastTimestamp: "2024-05-01T11:00:00Z",
      reason: "BackOff",
      involvedObject: { kind: "Pod", name: "pay-0" },
    },
  },
  "cloudtrail.json": {
    text: '{"Records": [\n  {"eventTime": "2024-05-01T10:00:00Z", "id": 12345678901234567890},\n  {"eventTime": "2024-05-01T10:00:01Z", "id": 2}\n]}',
    format: "json document",
    where: { id: 2 },
    rows: 2,
    found: { eventTime: "2024-05-01T10:00:01Z", id: 2 },
  },
  "one-object.json": {
    text: JSON.stringify({ status: "firing", startsAt: "2024-05-01T10:00:00Z", notes: [{ a: 1 }] }, undefined, 2),
    format: "json document",
    where: { status: "firing" },
    rows: 1,
    found: { status: "firing", startsAt: "2024-05-01T10:00:00Z", notes: [{ a: 1 }] },
  },
  "jq-output.log": {
    text: '{\n  "time": 1714557600,\n  "level": "error"\n}\n{\n  "time": 1714557601,\n  "level": "info"\n}\n',
    format: "json document",
    where: { level: "error" },
    rows: 2,
    found: { time: 1714557600, level: "error" },
  },
  "pino.log": {
    text: '{"level":50,"time":1714557600123,"pid":1,"hostname":"h","err":{"type":"TypeError"},"msg":"boom"}\n{"level":30,"time":1714557601000,"msg":"ok"}\n',
    format: "json",
    where: { "err.type": "TypeError", level: ">=50" },
    rows: 2,
    found: { level: 50, time: 1714557600123, pid: 1, hostname: "h", err: { type: "TypeError" }, msg: "boom" },
  },
  "winston.log": {
    text: '{"level":"error","message":"boom","timestamp":"2024-05-01T10:00:00.000Z"}\n',
    format: "json",
    where: { level: "error" },
    rows: 1,
    found: { level: "error", message: "boom", timestamp: "2024-05-01T10:00:00.000Z" },
  },
  "docker-json.log": {
    text: '{"log":"{\\"level\\":\\"warn\\"}\\n","stream":"stdout","time":"2024-05-01T10:00:00.123456789Z"}\n',
    format: "json",
    where: { "log.level": "warn" },
    rows: 1,
    found: { log: '{"level":"warn"}\n', stream: "stdout", time: "2024-05-01T10:00:00.123456789Z" },
  },
};

describe("exports become rows with fields", () => {
  test.each(Object.keys(EXPORTS))("%s", async (name) => {
    const { format, where, rows, found } = EXPORTS[name] ?? { format: "", where: {}, rows: 0, found: {} };
    const { files } = await call("files", { files: name });
    expect(files).toEqual([expect.objectContaining({ format, lines: rows, fields: expect.any(Array) })]);
    const result = await call("search", { files: name, where });
    expect(Object.values(result.lines)).toEqual([found]);
    if (name.startsWith("prom/metrics")) return;
    expect(files[0]).toHaveProperty("first");
    expect((await call("search", { files: name, since: "2000-01-01" })).matched).toBe(rows);
  });

  test("the neighbours of a row are rows", async () => {
    const found = await call("search", { files: "datadog/extract.csv", contains: "ok, fine" });
    const [place = ""] = Object.keys(found.lines);
    const offset = Number(place.split("@")[1]);
    const around = await call("around", { file: "datadog/extract.csv", offset, before: 1, fields: ["time", "Status"] });
    expect(around.rows.map((row) => row.slice(1))).toEqual([
      ["2024-05-01T10:00:00.123Z", "error"],
      ["2024-05-01T10:00:01Z", "info"],
    ]);
  });

  test("a number that would lose digits keeps them", async () => {
    const { lines } = await call("search", { files: "cloudtrail.json", limit: 1 });
    expect(Object.values(lines)).toEqual(['{"eventTime": "2024-05-01T10:00:00Z", "id": 12345678901234567890}']);
  });

  test("lines that only start like a document remain lines", async () => {
    const cases = {
      "cut.jsonl": '{"time":"2024-05-01T10:00:00Z","msg":"cut he\n{"a":1}\n{"a":2}\n',
      "array.log": "[2024-05-01 10:00:00] INFO x\n[{main}] y\n",
      "brace.log": "{main} started\n{main} stopped\n",
      "one.jsonl": '{"events":[{"a":1},{"a":2}]}\n',
    };
    for (const [name, text] of Object.entries(cases)) {
      put(name, text);
      expect((await call("search", { files: name })).matched).toBe(text.trim().split("\n").length);
    }
  });

  test("the rest of a damaged document is shown unchanged", async () => {
    put("damaged.json", '[{"a":1},\n{"a":2}]\nthen somebody appended this\nand this\n');
    const { matched, lines } = await call("search", { files: "damaged.json" });
    expect([matched, Object.values(lines)]).toEqual([
      4,
      [{ a: 1 }, { a: 2 }, "then somebody appended this", "and this"],
    ]);
    put("cut.json", '{"events":[{"a":1},{"a":');
    expect((await call("search", { files: "cut.json", contains: '"a":1' })).matched).toBe(1);
  });

  test("a document of many megabytes is read in pieces, with the context of each record", async () => {
    const records = Array.from({ length: 40_000 }, (_, index) => ({
      timeUnixNano: `${1714557600000 + index}000000`,
      severityText: index === 39_999 ? "ERROR" : "INFO",
      body: { stringValue: `line ${index} ${"x".repeat(40)}` },
    }));
    const document = { resourceLogs: [{ ...OTLP_LOGS.resourceLogs[0], scopeLogs: [{ logRecords: records }] }] };
    put("large-otlp.json", JSON.stringify(document, undefined, 1));
    const { matched, lines } = await call("search", { files: "large-otlp.json", where: { severityText: "ERROR" } });
    expect([matched, Object.values(lines)]).toEqual([
      1,
      [expect.objectContaining({ time: "2024-05-01T10:00:39.999Z", "service.name": "my.service" })],
    ]);
    put("large.json", `{"meta":{"n":[1,2]},"events":${JSON.stringify(records)},"next":"x"}`);
    expect((await call("count_by", { files: "large.json", by: "severityText" })).rows).toEqual([
      ["INFO", 39_999],
      ["ERROR", 1],
    ]);
  });
});

describe("pieces", () => {
  const cell = fc.string({ unit: fc.constantFrom("a", "é", '"', ",", "\n", " ", "1"), maxLength: 5 });

  test("a table is the same wherever its text is split", () => {
    const rows = fc.array(fc.array(cell, { minLength: 2, maxLength: 3 }), { minLength: 1, maxLength: 5 });
    fc.assert(
      fc.property(rows, fc.integer({ min: 1, max: 9 }), (cells, size) => {
        const quoted = cells.map((row) => row.map((each) => `"${each.replaceAll('"', '""')}"`).join(","));
        const text = ["first,second,third", ...quoted].join("\n");
        const expected = cells.map((row) => row.filter((each) => each !== ""));
        const found = inPieces(convertCsv("a.csv"), text, size).map((line) =>
          Object.values(JSON.parse(line)).map(String),
        );
        expect(found).toEqual(expected);
      }),
      { numRuns: runsOf(500) },
    );
  });

  test("documents are the same wherever their text is split", () => {
    const documents = fc.array(fc.dictionary(fc.string({ maxLength: 4 }), fc.jsonValue({ maxDepth: 2 })), {
      minLength: 1,
    });
    fc.assert(
      fc.property(documents, fc.integer({ min: 1, max: 9 }), fc.integer({ min: 0, max: 2 }), (values, size, indent) => {
        const text = JSON.stringify(values, undefined, indent);
        expect(inPieces(convertDocuments(), text, size)).toEqual(inPieces(convertDocuments(), text, text.length));
      }),
      { numRuns: runsOf(500) },
    );
  });
});

type Result = {
  readonly matched: number;
  readonly lines: Readonly<Record<string, unknown>>;
  readonly rows: readonly (readonly unknown[])[];
  readonly files: readonly object[];
};

describe("input that is meant to be slow or to break", () => {
  const DEEP = 20_000;
  const nest = "[".repeat(DEEP) + "]".repeat(DEEP);

  test.each([
    ["deep.json", nest],
    ["deep-rows.json", `[{"a": 1}, ${nest}]`],
    ["deep.jsonl", `{"a": 1}\n{"a": ${nest}}\n`],
  ])("JSON that is nested too deep to be serialized again remains text: %s", async (name, text) => {
    put(name, text);
    await expect(call("search", { files: name, where: { a: 2 } })).resolves.toMatchObject({ matched: 0 });
    await expect(call("count_by", { files: name, by: "a" })).resolves.toBeDefined();
    await expect(call("files", { files: name })).resolves.toMatchObject({ matched: 1 });
  });

  test("a table of a hundred thousand columns is read, with distinct names for columns with one name", () => {
    const names = Array.from({ length: 100_000 }, (_, index) => `column${index % 99_999}`);
    const convert = convertCsv("a.csv");
    const rows = [...convert.push(`${names.join(",")}\n${"1,".repeat(99_999)}2\n`), ...convert.end()];
    expect(rows.map((row) => JSON.parse(row))).toMatchObject([{ column0: 1, column99998: 1, "column0#100000": 2 }]);
  });

  test("a line of a table is scanned once, in however many pieces it arrives", () => {
    const convert = convertCsv("a.csv");
    const piece = `${"x".repeat(1000)},`.repeat(10);
    const rows = [...convert.push("a,b\n")];
    for (let index = 0; index < 2000; index++) rows.push(...convert.push(piece));
    rows.push(...convert.push("end\n"), ...convert.end());
    expect(rows).toHaveLength(1);
    expect(Object.keys(JSON.parse(rows[0] ?? ""))).toHaveLength(20_001);
  });
});

async function call(tool: string, input: object): Promise<Result> {
  return (await callTool(skill, tool, input as JsonObject, toolContext({ workDir: dir }))) as Result;
}

function put(name: string, text: string | Buffer): void {
  mkdirSync(dirname(join(dir, name)), { recursive: true });
  writeFileSync(join(dir, name), text);
}

function inPieces({ push, end }: Convert, text: string, size: number): string[] {
  const rows: string[] = [];
  for (let at = 0; at < text.length; at += size) rows.push(...push(text.slice(at, at + size)));
  return [...rows, ...end()];
}
