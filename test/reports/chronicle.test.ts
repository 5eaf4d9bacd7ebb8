import { readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import type { Json } from "../../src/core/base/values.ts";
import type { RunEvent } from "../../src/core/engine/event/event.ts";
import type { RunRecord } from "../../src/core/engine/event/record.ts";
import { reportHtml } from "../../src/reports/html/report.ts";
import { accountOf } from "../../src/reports/model/account.ts";
import { instantIn, momentsOf } from "../../src/reports/model/incident/chronicle.ts";
import { seriesOf } from "../../src/reports/model/incident/series.ts";
import { expectBalanced, expectInert } from "./html-checks.ts";
import { HOSTILE, reportOf } from "./triage-run.ts";

const [record, ...events] = readFileSync(join(import.meta.dirname, "../../workflows/incident-triage.run.jsonl"), "utf8")
  .trim()
  .split("\n")
  .map((line) => JSON.parse(line) as unknown) as [RunRecord, ...RunEvent[]];
const recorded = reportOf(record, events);

/** The recorded triage, with other results for one call. */
function withOutput(ref: string, output: Json) {
  const call = events.find((event) => event.type === "tool:call" && event.ref === ref);
  const id = call?.type === "tool:call" ? call.id : "";
  return reportOf(
    record,
    events.map((event) => (event.type === "tool:result" && event.id === id ? { ...event, output } : event)),
  );
}

describe("the timeline of an incident", () => {
  it("has the faulty change, the quoted records and the alert, in order and each once", () => {
    const moments = momentsOf(accountOf(recorded)).map(({ kind, at, what }) => `${kind} ${at} ${what}`);
    expect(moments).toEqual([
      "change 2026-11-18 10:26:35 UTC Change: 04fa1ae1e6d7: Skip the order write when the payment is declined",
      "claim 2026-11-18 10:26:35 UTC Commit 04fa1ae1e6d7 by Wren Hallowick added a return for declined payments before pool.release(connection).",
      "change 2026-11-20 08:31:26 UTC Change: v1.14.0",
      "change 2026-11-20 14:37:26 UTC Change: checkout v1.14.0: Coupon codes",
      "claim 2026-11-20 14:37:26 UTC Release v1.14.0 of checkout (commit 44e3e56bf384) replaced v1.13.1 at 2026-11-20T14:37:26.706Z.",
      "claim 2026-11-20 14:37:36 UTC pool_in_use of checkout-1 rose from 5 to 7 to 9 to 10 after the release.",
      "claim 2026-11-20 14:37:56 UTC POST /checkout answers 503 since 2026-11-20T14:37:56.937Z, which it did not before.",
      "claim 2026-11-20 14:37:56 UTC GET /customers/:id/orders answers 503 since 2026-11-20T14:37:56.971Z.",
      "claim 2026-11-20 14:38:01 UTC Each instance logged 10 declined payments on v1.14.0, as many as its pool has connections; no more came afterwards.",
      "claim 2026-11-20 14:38:16 UTC At 14:38:16 the error_ratio of checkout-1 and of checkout-2 is 1, with 10 connections in use.",
      "alert 2026-11-20 14:38:36 UTC Alert: Checkout answers too many POST /checkout with 5xx",
      "claim 2026-11-20 14:39:37 UTC The newest PoolTimeoutError is at 2026-11-20T14:39:37.199Z.",
    ]);
  });

  it.each([
    ["at 2026-11-20T14:37:56.710Z", Date.UTC(2026, 10, 20, 14, 37, 56, 710)],
    ["2026-11-20 14:37", Date.UTC(2026, 10, 20, 14, 37)],
    ["2026-11-20T15:37:56+01:00", Date.UTC(2026, 10, 20, 14, 37, 56)],
    [1_795_185_476, 1_795_185_476_000],
    ["44e3e56bf384", undefined],
    [12, undefined],
  ])("reads the time of %j", (value, time) => expect(instantIn(value)).toBe(time));
});

describe("the plots of a report", () => {
  it("show each quoted series of a table, with its quoted points", () => {
    const series = seriesOf(accountOf(recorded));
    expect(series.map(({ name, points, quoted }) => [name, points.length, quoted.map(({ value }) => value)])).toEqual([
      ["pool_in_use checkout-1", 15, [10, 5, 7, 9, 10]],
      ["pool_waiting checkout-1", 15, [10, 0, 0, 0, 11]],
      ["requests checkout-1", 15, [59, 48, 61, 46, 53]],
      ["errors_5xx checkout-1", 15, [59, 0, 1, 0, 0]],
      ["error_ratio checkout-1", 15, [1, 0, 0.0164, 0, 0]],
      ["pool_in_use checkout-2", 15, [10]],
      ["pool_waiting checkout-2", 15, [10]],
      ["requests checkout-2", 15, [66]],
    ]);
    const page = reportHtml(recorded);
    expect(page.match(/<figure class="plot">/g)).toHaveLength(8);
    expect(page).toContain(
      "error_ratio checkout-1 from 14:37:11 to 14:38:21, between 0 and 1; claim 4 quotes 1 at 14:38:16",
    );
    expect(page).toContain("change at 14:37:26; alert at 14:38:36");
    expect(page).toContain('<th scope="col" dir="auto">pool_in_use</th>');
    expect(page).toContain("<strong>2026-11-20T14:37:56.710Z</strong>");
  });

  it("separate the series of several instances, and parse lists of points", () => {
    const row = ["2026-11-20T14:37:56.710Z", "a", 10, 11, 9, 0];
    const rows = [0, 1, 2].flatMap((n) => [
      [`2026-11-20T14:3${n}:00Z`, "a", n, 0, 0, 0],
      [`2026-11-20T14:3${n}:00Z`, "b", 100, 0, 0, 0],
    ]);
    const columns = ["time", "instance", "in_use", "waiting", "declined", "ratio"];
    const quoted = `"2026-11-20T14:37:56.710Z","a",10,11,9,0`;
    const table = requoted(withOutput("r4", { columns, rows: [row, ...rows] }), quoted);
    expect(seriesOf(accountOf(table))[0]).toMatchObject({ name: "in_use a", points: { length: 4 } });
    const points = [0, 1, 2, 3].map((n): Json => [`2026-11-20T14:3${n}:00Z`, n / 8]);
    const listed = requoted(
      withOutput("r4", { series: [{ labels: { pod: "x" }, points }] }),
      '"2026-11-20T14:33:00Z",0.375',
    );
    expect(seriesOf(accountOf(listed))).toMatchObject([{ name: '{"pod":"x"}', points: { length: 4 } }]);
  });

  it("remain inert, small and quick with hostile results", () => {
    const columns = ["time", ...HOSTILE.slice(0, 10)];
    const rows = Array.from({ length: 400 }, (_, n): Json => {
      return [new Date(Date.UTC(2026, 10, 20) + n * 1000).toISOString(), ...HOSTILE.slice(0, 10).map(() => n)];
    });
    const report = requoted(withOutput("r4", { columns, rows }), '"2026-11-20T00:00:09.000Z",9,9,9,9,9,9,9,9,9,9');
    const page = reportHtml(report);
    expectInert(page);
    expectBalanced(page);
    expect(seriesOf(accountOf(report)).length).toBe(8);
    expect(
      page.slice(page.indexOf('<section id="incident"'), page.indexOf('<section id="evidence"')).length,
    ).toBeLessThan(60_000);
  });
});

/** The recorded report, in which the second claim quotes another text of `r4`. */
function requoted(report: ReturnType<typeof reportOf>, quote: string) {
  const changed = report.events.map((event) => {
    if (event.type !== "evidence:checked") return event;
    const cites = [{ ref: "r4", quote }];
    return { ...event, claims: event.claims.map((claim) => ({ ...claim, cites })) };
  });
  return reportOf(report.record, changed);
}
