import { describe, expect, test } from "vitest";
import type { StateEntry } from "../../../../src/core/engine/event/record.ts";
import { searchEntries } from "../../../../src/core/engine/state/search.ts";
import { ageText, judgementData, seenItems } from "../../../../src/core/engine/state/unseen.ts";

const DAY = 24 * 60 * 60 * 1000;
const NOW = 100 * DAY;
const at = (day: number) => new Date(day * DAY).toISOString();
const entry = (key: string, data: StateEntry["data"], day = 1): StateEntry => {
  return { key, first_seen: at(day), last_seen: at(day), runs: 1, seen: 1, data };
};

describe("searching a state", () => {
  const entries = [
    entry("redis-timeouts", { cause: "the pool of connections is exhausted" }),
    entry("pool", { cause: "a leak in the image cache" }, 2),
    entry("fp-81", { cause: "a redis node was replaced", fingerprint: "ABC-9" }, 3),
    entry("pool-size", { cause: "unknown" }, 4),
  ];
  const keys = (text?: string, limit?: number) => searchEntries(entries, { text, limit }).found.map(({ key }) => key);

  test.each<[string, string[]]>([
    ["pool", ["pool", "pool-size", "redis-timeouts"]],
    ["POOL", ["pool", "pool-size", "redis-timeouts"]],
    ["abc-9", ["fp-81"]],
    ["redis", ["redis-timeouts", "fp-81"]],
    ["which node of redis was replaced?", ["fp-81", "redis-timeouts"]],
    ["zebra", []],
    ["__proto__", []],
    ["", ["pool-size", "fp-81", "pool", "redis-timeouts"]],
  ])("for %j returns %j", (text, expected) => {
    const found = keys(text);
    if (text.startsWith("which")) expect(found.slice(0, 1)).toEqual(["fp-81"]);
    else expect(found).toEqual(expected);
  });

  test("returns at most the requested number, and the total", () => {
    expect(searchEntries(entries, { text: "pool", limit: 1 })).toMatchObject({ found: [{ key: "pool" }], total: 3 });
    const many = Array.from({ length: 30 }, (_, index) => entry(`k${index}`, null));
    expect(searchEntries(many, {}).found).toHaveLength(10);
  });

  test("has the same result for any order of the entries", () => {
    const turned = searchEntries(entries.toReversed(), { text: "redis pool" }).found;
    expect(turned).toEqual(searchEntries(entries, { text: "redis pool" }).found);
  });
});

describe("the items of a map that were seen", () => {
  const put = (key: string, day: number, values: Record<string, string>, verdict?: string) => {
    return entry(key, judgementData(values, at(day), verdict), day);
  };
  const level = (value: string) => ({ "issue.level": value });
  const ask = (entries: StateEntry[], items: { key: string; values: Record<string, string> }[]) =>
    seenItems({ items, entries, withinMs: 14 * DAY, unlessChanged: ["issue.level"], now: NOW });

  test("are skipped, with the reason and the former judgement", () => {
    expect(ask([put("a", 97, level("error"), "noise")], [{ key: "a", values: level("error") }])).toEqual(
      new Map([["a", "seen 3 d ago, issue.level unchanged (was: noise)"]]),
    );
  });

  test.each<[string, StateEntry[], Record<string, string>]>([
    ["was never judged", [], level("error")],
    ["was judged too long ago", [put("a", 80, level("error"))], level("error")],
    ["has changed since", [put("a", 97, level("warning"))], level("error")],
    ["has lost what it had", [put("a", 97, level("error"))], {}],
    ["was put by a model, not judged", [entry("a", { level: "error" }, 97)], level("error")],
    ["was judged at no time", [entry("a", { judged_at: "soon", ...level("error") })], level("error")],
    ["is judged in the future", [put("a", 9999, level("error"))], level("error")],
  ])("are new if one %s", (_, entries, values) => {
    expect(ask(entries, [{ key: "a", values }])).toEqual(new Map());
  });

  test("expire relative to the judgement, however often they were matched since", () => {
    const judged = { ...put("a", 80, level("error")), last_seen: at(99) };
    expect(ask([judged], [{ key: "a", values: level("error") }])).toEqual(new Map());
  });

  test("apply forever by default, whatever changed", () => {
    const seen = seenItems({ items: [{ key: "a", values: {} }], entries: [put("a", 1, {})], now: NOW });
    expect(seen).toEqual(new Map([["a", "seen 99 d ago"]]));
  });

  test("a path with the name of an object's property is a path", () => {
    const found = seenItems({
      items: [{ key: "a", values: {} }],
      entries: [put("a", 99, {})],
      unlessChanged: ["constructor"],
      now: NOW,
    });
    expect(found.has("a")).toBe(true);
  });

  test.each([
    [0, "0 s"],
    [59_999, "59 s"],
    [60_000, "1 min"],
    [3_600_000, "1 h"],
    [49 * 3_600_000, "2 d"],
  ])("%i ms are %s", (ms, text) => {
    expect(ageText(ms)).toBe(text);
  });

  test("are found among 100,000 entries without a search for each item", () => {
    const entries = Array.from({ length: 100_000 }, (_, n) => put(`k${n}`, 97, level("error"), "noise"));
    const items = entries.map(({ key }, n) => ({ key, values: level(n % 2 ? "error" : "fatal") }));
    expect(ask(entries, items).size).toBe(50_000);
  });
});
