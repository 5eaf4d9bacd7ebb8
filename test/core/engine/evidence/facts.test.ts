import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { createFactCheck, factsIn } from "../../../../src/core/engine/evidence/facts.ts";

const missing = (claim: string, ...texts: string[]) => createFactCheck()(claim, texts);

describe("the facts of a claim", () => {
  test.each<[claim: string, facts: string[]]>([
    ["the pool ran dry", []],
    ["three of four requests failed", []],
    ["5xx on pod-42, the 3rd time, 2x slower, see src/pool.js:53 and r7", []],
    ["12 % of 1,200 requests took 1.5 s", ["12 %", "1,200", "1.5 s"]],
    ["1 h 5 min and 2m30s", ["1 h 5 min", "2m30s"]],
    ["since 14:05 UTC on 2026-11-22", ["14:05 UTC", "2026-11-22"]],
    ["from Dec 2026 to Jan 3, may 12 requests", ["Dec 2026", "Jan 3", "may 12"]],
    ["commit 04fa1ae1e6d7, defaced, 1234567", ["04fa1ae1e6d7", "1234567"]],
    ["v1.4.2 at 10.0.0.12", ["v1.4.2", "10.0.0.12"]],
    ['`pool.size` is "exhausted"', ["pool.size", "exhausted"]],
    ["as `r7` shows", []],
    ["version 18.1, release 18.10, and version: 3 at 18.1 s", ["18.1", "18.10", "3", "18.1 s"]],
    ["the release 1.5 h ago, release 1.5 million", ["1.5 h", "1.5 million"]],
    ["web-1, s3, utf-8, us-east-1, http/2, HTTP/1.1, k8s, r7:53, r7@90, /api/v2/orders, top-10, step #2", []],
    [
      "src/a.js:12, a.js:12:4, http://localhost:8080/x, CVE-2026-12345, range:10-20, error:5xx, the commit is defaced",
      [],
    ],
    ["app:9.9.9, app@9.9.8, app-9.9.7, app/9.9.6, commit:9f8e7d7aa", ["9.9.9", "9.9.8", "9.9.7", "9.9.6", "9f8e7d7aa"]],
    [
      "PR #4512, latency:900ms, status:503, db.wait:5s, at:14:05, commit deadbeef",
      ["4512", "900ms", "503", "5s", "14:05", "deadbeef"],
    ],
    ["fails with 'disk is full' (‘no space’)", ["disk is full", "no space"]],
    ["the pool doesn't free Wren's or the users' connections, isn't it", []],
  ])("%s", (claim, facts) => {
    expect(factsIn(claim).map(({ text }) => text)).toEqual(facts);
  });
});

describe("a claim whose facts are in the record", () => {
  test.each<[claim: string, record: string]>([
    ["after 1500 ms", "after 1500 ms"],
    ["after 1.5 s", "after 1500 ms"],
    ["after 1.5 seconds", '{"duration_ms":1500}'],
    ["took 1.23 s", '{"duration_ms":1234}'],
    ["took 90 minutes", "took 1h30m"],
    ["took 1 h 5 min", '{"seconds":3900}'],
    ["12 %", '{"ratio":0.1187}'],
    ["0.12", "12.0%"],
    ["97 percent", "cpu 96.8 %"],
    ["97 per cent of calls", "cpu 96.8 %"],
    ["a ratio of .25", "ratio=0.25"],
    ["0.25 of them", "share: .25"],
    ["about 40", '{"p50":39.72}'],
    ["1,200 requests", '{"count":1200}'],
    ["1.2k requests", '{"count":1187}'],
    ["1.5M rows", "rows 1500000"],
    ["512 MiB", '{"bytes":536870912}'],
    ["10 MB", "9.54 MiB"],
    ["64 KB", "65536 bytes"],
    ["dropped by 5", '{"delta":-5}'],
    ["at 14:05", "2026-11-22T14:05:31.250Z ERROR"],
    ["at 14:05 UTC", "2026-11-22T16:05:31+02:00 ERROR"],
    ["at 16:05", "2026-11-22T16:05:31+02:00 ERROR"],
    ["at 2026-11-22T14:05:31Z", '{"ts":1795356331}'],
    ["at 14:05:31", '{"ts":1795356331250}'],
    ["at 14:05:31", "Nov 22 14:05:31 host app: x"],
    ["on Nov 22", "22/Nov/2026:14:05:31 +0000"],
    ["since Nov 2026", "22/Nov/2026:14:05:31 +0000"],
    ["in November, 2026", "2026-11-22T14:05:31Z"],
    ["in Dec 2026", "2027-01-01T00:30:00+01:00 and Dec 2026"],
    ["in Nov 2026", "Date:   Sun Nov 22 14:05:31 2026 +0000"],
    ["at 15:05+01:00 on 22 Nov 2026", "Sun Nov 22 14:05:31 UTC 2026"],
    ["in Nov 2026", '{"month":"2026-11","cost":12}'],
    ["on 22 November 2026", "2026-11-22 14:05:31"],
    ["at 2026-11-22T09:45:39.592Z with", '{"time":"2026-11-22T09:45:39.592Z"}'],
    ["at 09:45:39.592 UTC", '{"time":"2026-11-22T09:45:39.592417Z"}'],
    ["196 503 and 67 200", '{"503":196,"200":67}'],
    ["67 200 requests", '{"n":67200}'],
    ["on 3 Sept", "2026-09-03 14:05:31"],
    ["10 declined payments, 3 marked", '["checkout-1",10,3]'],
    ["at 2:05 pm", "14:05:31 ERROR"],
    ["commit 04fa1ae", "commit 04fa1ae1e6d7b0"],
    ["id 0B6C4DDE-0F4E-4F0B-9B0F-111111111111", "0b6c4dde-0f4e-4f0b-9b0f-111111111111"],
    ["version 1.4.2", "release v1.4.2 is out"],
    ["v1.4.2", "image app:1.4.2-alpine"],
    ["`pool.size` is 10", '{"pool.size":10}'],
    ['"no free connection"', "ERROR no  free connection"],
    ["line 58", "@@ -50,12 +52,14 @@ function f\n+ return"],
    ["p99 was 3 s", '{"p99":"3s"}'],
    ["latency 18.1 s", "latency 18.1"],
    ["load 4.2", "load 4.2 and 4.2.1"],
    ["version 4.2", "deploy v4.2 done"],
    ["checkout 4.2 is out", "deploy checkout v4.2 done"],
    ["version 18.1", '{"version":18.1}'],
    ["Node 18", "Node v18.10.3"],
    ["in 2026", "22.11.2026 boot"],
    ["checkout:4.2.1, commit:9f8e7d7", "deploy of checkout 4.2.1 from 9f8e7d7aa1"],
    ["PR #4512, status:503, latency:900ms", '{"number":4512,"status":503,"latency_ms":900}'],
    ["app-1.2.3.jar, redis:6379 and img@1.2.3", "app-1.2.3.jar redis:6379 img:1.2.3"],
    ["1.2 M requests", '{"n":1234567}'],
    ["status:503 200 times", "503 and 200"],
  ])("%s | %s", (claim, record) => {
    expect(missing(claim, record)).toEqual([]);
  });
});

describe("a claim with a fact that is not", () => {
  test.each<[claim: string, record: string, facts: string[]]>([
    ["`pay` and `search` are down", "payment-api down, research-db10 down", ["pay", "search"]],
    ["`pay`, `5 pay` and `web-1` are down", "pay-2: 5 pay down, web-1", []],
    ["after 1600 ms", "after 1500 ms", ["1600 ms"]],
    ["after 1500 s", "after 1500 ms", ["1500 s"]],
    ["after 15 s", '{"duration_ms":1500}', ["15 s"]],
    ["13 %", '{"ratio":0.1187}', ["13 %"]],
    ["1,300 requests", '{"count":1200}', ["1,300"]],
    ["10 GB", "9.54 MiB", ["10 GB"]],
    ["at 14:06", "2026-11-22T14:05:11Z ERROR", ["14:06"]],
    ["at 14:05 UTC", "2026-11-22T14:05:31+02:00 ERROR", ["14:05 UTC"]],
    ["on 2026-11-23", "2026-11-22T14:05:31Z", ["2026-11-23"]],
    ["in Dec 2026", "2026-11-22T14:05:31Z", ["Dec 2026"]],
    ["in Nov 2025", "2026-11-22T14:05:31Z, 2025", ["Nov 2025"]],
    ["in Nov 2026", "Nov 22 14:05:31, 2026", ["Nov 2026"]],
    ["on Dec 3", "in Dec 2026", ["Dec 3"]],
    ["on Nov 22, 2025", "Sun Nov 22 14:05:31 2026", ["Nov 22, 2025"]],
    ["in Nov 2026", "2026-12, 2026-11-a1, 2026-110", ["Nov 2026"]],
    ["commit 04fa1ae1e6d7b0", "commit 04fa1ae", ["04fa1ae1e6d7b0"]],
    ["commit fa1ae1e", "commit 04fa1ae1e6d7", ["fa1ae1e"]],
    ["v1.4.2", "v1.4.20 and v1.4", ["v1.4.2"]],
    ["v1.4", "v1.4.2", ["v1.4"]],
    ["10.0.0.1", "10.0.0.12", ["10.0.0.1"]],
    ["version 18.1", "deploy 18.10.3 done", ["18.1"]],
    ["release 18.10", "deploy 18.10.3 done", ["18.10"]],
    ["version 4.2 was deployed", "deploy 4.2.1 done", ["4.2"]],
    ["version 18", "deploy 18.10.3 done", ["18"]],
    ["load 10.3", "deploy 18.10.3 done", ["10.3"]],
    ["load 4.20", "v4.2", ["4.20"]],
    ["checkout:9.9.9", "deploy of checkout 4.2.1", ["9.9.9"]],
    ["PR #4512 and status:503", "PR #451, status 200", ["4512", "503"]],
    ["3 k requests", "3 of 10 requests", ["3 k"]],
    ["`checkout` failed", '{"service":"payments"}', ["checkout"]],
    ["0 errors", "share .25.3", ["0"]],
    ["line 70", "@@ -50,12 +52,14 @@ function f\n+ return", ["70"]],
  ])("%s | %s", (claim, record, facts) => {
    expect(missing(claim, record)).toEqual(facts);
  });
});

test("beyond the limit of work, facts are missing", () => {
  const record = `${"x ".repeat(1000)}12 errors`;
  const check = createFactCheck(1_000_000);
  const found = Array.from({ length: 100 }, () => check("12 errors in `x`", [record]).length);
  expect(found[0]).toBe(0);
  expect(found.at(-1)).toBe(2);
});

test("facts may be spread over the records that a claim quotes", () => {
  expect(missing("12 errors at 14:05", "12 errors", "14:05:00 deploy")).toEqual([]);
});

test("each time of a day with milliseconds or microseconds is found as it is written", () => {
  const time = fc.date({ min: new Date("2020-01-01"), max: new Date("2030-01-01"), noInvalidDate: true });
  fc.assert(
    fc.property(time, fc.constantFrom("Z", "417Z", "+00:00", ""), (date, end) => {
      const written = date.toISOString().replace("Z", end);
      expect(createFactCheck()(`at ${written} it`, [`{"time":"${written}"}`])).toEqual([]);
    }),
  );
});
