import { describe, expect, test } from "vitest";
import { digestBoard } from "../../../../src/core/engine/board/digest.ts";
import { readBoard } from "../../../../src/core/engine/board/read.ts";

const sentry = (id: string, more = {}) => ({
  ...{ short_id: id, title: "TypeError: no rate", culprit: "taxOf(src/tax.js)", project: "shop", level: "error" },
  ...{
    events: 120,
    first_seen: "2026-11-01T00:00:00Z",
    last_seen: "2026-11-20T10:00:00Z",
    url: `https://s.example/${id}`,
  },
  ...more,
});
const bucket = (by: object, value = 40) => ({ by: { service: "shop", version: "2.41.0", ...by }, value });

describe("a board", () => {
  test.each([
    [null, 0],
    ["", 0],
    [undefined, 0],
    ["c", 1],
  ])("of a list with next_cursor %j leaves %i", (next, left) => {
    const list = { issues: [sentry("S-1")], ...(next === undefined ? {} : { next_cursor: next }) };
    expect(readBoard({ lists: { sentry: list } })).toMatchObject({ left });
  });

  test("has the same issues as its tracker, newest first, each once", () => {
    const board = readBoard({
      lists: {
        sentry: { issues: [sentry("S-1"), sentry("S-2", { last_seen: "2026-11-21T00:00:00Z" })], next_cursor: "a" },
        sentry_2: { issues: [sentry("S-1"), { title: "without an id" }], next_cursor: "b" },
      },
      trackers: ["sentry"],
    });
    expect(board).toMatchObject({ source: "sentry", left: 1, gaps: [] });
    expect(board.issues.map(({ fingerprint }) => fingerprint)).toEqual(["sentry/S-2", "sentry/S-1"]);
    expect(board.issues[1]).toEqual({
      ...{ fingerprint: "sentry/S-1", title: "TypeError: no rate", level: "error", count_band: "100-999" },
      ...{ first_seen: "2026-11-01T00:00:00Z", last_seen: "2026-11-20T10:00:00Z", release: null },
      ...{ frame: "taxOf(src/tax.js)", link: "https://s.example/S-1", also: [] },
    });
  });

  test("joins issues of other trackers with the same exception and place, and separates other exceptions", () => {
    const { issues } = readBoard({
      lists: {
        linear: {
          issues: [{ identifier: "OPS-8", title: "TypeError at checkout", excerpt: "See src/tax.js, line 3" }],
        },
        github: { items: [{ number: 7, title: "Dark mode", url: "https://g.example/7" }], total_count: 1 },
        datadog: {
          buckets: [bucket({ "@error.kind": "TypeError" }), bucket({ "@error.kind": "RangeError" }), bucket({})],
        },
        sentry: { issues: [sentry("S-1")] },
      },
    });
    expect(issues.map(({ fingerprint, also }) => [fingerprint, also])).toEqual([
      ["sentry/S-1", ["datadog/shop/TypeError", "linear/OPS-8"]],
      ["datadog/shop/RangeError", []],
    ]);
    expect(issues[1]).toMatchObject({ release: "2.41.0", count_band: "10-99", level: "error" });
  });

  test("consists of notes if nothing counts errors", () => {
    const note = { number: 7, title: "Dark mode is dark", updated_at: "2026-11-20T10:00:00Z" };
    const other = { identifier: "OPS-8", title: "Dark mode is dark" };
    const board = readBoard({ lists: { github: { items: [note], total_count: 31 }, linear: { issues: [other] } } });
    expect(board).toMatchObject({ source: "github", left: 30 });
    expect(board.issues.map(({ fingerprint }) => fingerprint)).toEqual(["github/7", "linear/OPS-8"]);
  });

  test("names what was not read, and is an error if nothing was", () => {
    const lists = { sentry: { issues: [] }, sentry_2: { blob_id: "b1" } };
    const { gaps } = readBoard({ lists, trackers: ["sentry", "datadog"] });
    expect(gaps).toEqual([
      "sentry: not all of its issues could be listed",
      "datadog: not all of its issues could be listed",
    ]);
    expect(() => readBoard({ lists: {}, trackers: ["linear"] })).toThrow("no tracker was read: linear");
  });
});

describe("a digest of a board", () => {
  const item = (key: string, verdict: string, results = {}) => ({ key, status: "success", data: { verdict, results } });

  test("names judged items by urgency and counts noise", () => {
    const items = [
      item("sentry/S-3", "noise"),
      item("sentry/S-2", "watch", { sort: { why: "It is\nslow.", harm: null } }),
      item("sentry/S-1", "actionable", {
        sort: { why: "It grew.", harm: "orders fail" },
        investigate: { cause: "No rate.", next_step: "revert", claims: [{ claim: "c", supported: true }] },
        file: { issue: { planned: true, id: "op-1" } },
      }),
      { key: "sentry/S-4", status: "skipped", data: {} },
    ];
    const board = { issues: [{ fingerprint: "sentry/S-1", link: "https://s.example/S-1" }], left: 2, gaps: [] };
    const lines = [
      "sentry/S-1, actionable: orders fail; No rate.; an issue is filed or planned https://s.example/S-1",
      "sentry/S-2, watch: It is slow.",
      "3 left for the next run",
    ];
    const headline = "1 actionable, 1 watch, 1 noise";
    const text = [headline, ...lines].join("\n");
    expect(digestBoard({ items, left: 1, board })).toEqual({
      verdict: "changed",
      headline,
      lines,
      first_step: "revert",
      text,
    });
  });

  test("does not name a cause without a supporting claim", () => {
    const results = { sort: { why: "It grew." }, investigate: { cause: "Sabotage.", claims: [] } };
    expect(digestBoard({ items: [item("a", "actionable", results)] }).text).not.toContain("Sabotage");
  });

  test("reports nothing new only if all was read and nothing failed", () => {
    const failed = { key: "a", status: "failed", data: {} };
    expect(digestBoard({ items: [] }).verdict).toBe("nothing_new");
    expect(digestBoard({ items: [failed] })).toMatchObject({ verdict: "inconclusive", headline: "1 failed" });
    expect(digestBoard({ items: [], board: { gaps: ["sentry: closed"] } }).verdict).toBe("inconclusive");
  });

  test("fits into a message, however much was judged", () => {
    const results = { sort: { why: "y".repeat(400) } };
    const items = Array.from({ length: 40 }, (_, n) => item(`sentry/S-${n}`, "watch", results));
    const { lines, text } = digestBoard({ items });
    expect([lines.length, lines.at(-1), text.length]).toEqual([11, "and 30 more", 3000]);
  });
});
