import fc from "fast-check";
import { describe, expect, test } from "vitest";
import type { StateEntry } from "../../../../src/core/engine/event/record.ts";
import {
  APPLIED,
  applyDelta,
  changesOf,
  keptEntries,
  mergeChanges,
  parseEntry,
  type Touch,
  viewOf,
} from "../../../../src/core/engine/state/entries.ts";

const DAY = 24 * 60 * 60 * 1000;
const at = (day: number) => new Date(day * DAY).toISOString();
const entry = (key: string, day: number, parts: Partial<StateEntry> = {}): StateEntry => {
  return { key, first_seen: at(day), last_seen: at(day), runs: 1, seen: 1, data: { of: key }, ...parts };
};
const touch = (key: string, day: number, parts: Partial<Touch> = {}): Touch => {
  return { state: "board", key, at: at(day), data: { day }, ...parts };
};
const met = (key: string, day: number): Touch => ({ state: "board", key, at: at(day) });
const FREE = { limits: {}, now: 1000 * DAY };
const merged = (entries: StateEntry[], ...runs: Touch[][]) =>
  runs.reduce<StateEntry[]>((known, run) => mergeChanges(known, changesOf(run).get("board") ?? [], FREE), entries);

describe("a run's writes into a state", () => {
  test("a new key becomes an entry", () => {
    expect(merged([], [touch("a", 3)])).toEqual([
      { key: "a", first_seen: at(3), last_seen: at(3), runs: 1, seen: 1, data: { day: 3 } },
    ]);
  });

  test("a key that was put several times counts as one run, and its last data remains", () => {
    expect(merged([], [touch("a", 3), touch("a", 4), met("a", 5)])).toEqual([
      { key: "a", first_seen: at(3), last_seen: at(5), runs: 1, seen: 3, data: { day: 4 } },
    ]);
  });

  test("a match raises the time and the count of an entry", () => {
    expect(merged([entry("a", 1)], [met("a", 5)])).toEqual([entry("a", 1, { last_seen: at(5), seen: 2 })]);
  });

  test("a match does not restore an entry that was deleted meanwhile", () => {
    expect(merged([], [met("a", 5)])).toEqual([]);
  });

  test("two concurrent runs lose nothing, whichever is merged first", () => {
    const one = [touch("a", 3), touch("b", 3)];
    const two = [touch("a", 4), touch("c", 4)];
    const there = [entry("a", 1)];
    const expected = [
      { key: "a", first_seen: at(1), last_seen: at(4), runs: 3, seen: 3, data: { day: 4 } },
      entry("b", 3, { data: { day: 3 } }),
      entry("c", 4, { data: { day: 4 } }),
    ];
    const byKey = (entries: StateEntry[]) => entries.toSorted((a, b) => (a.key < b.key ? -1 : 1));
    expect(byKey(merged(there, one, two))).toEqual(expected);
    expect(byKey(merged(there, two, one))).toEqual(expected);
  });

  test("the counts of any runs add up in any order", () => {
    const runs = fc.array(fc.array(fc.tuple(fc.constantFrom("a", "b", "__proto__"), fc.integer({ min: 1, max: 9 }))));
    fc.assert(
      fc.property(runs, (given) => {
        const touched = given.map((run) => run.toSorted(([, x], [, y]) => x - y).map(([key, day]) => touch(key, day)));
        const counts = (entries: StateEntry[]) =>
          new Map(
            entries.map(({ key, runs, seen, last_seen, first_seen }) => [key, [runs, seen, first_seen, last_seen]]),
          );
        const there = counts(merged([], ...touched));
        expect(counts(merged([], ...touched.toReversed()))).toEqual(there);
        const seen = [...there.values()].reduce((sum, [, count]) => sum + Number(count), 0);
        expect(seen).toBe(given.flat().length);
      }),
    );
  });

  test("a clock that was ahead does not take precedence for longer than until now", () => {
    const ahead = entry("a", 9999);
    expect(
      mergeChanges([ahead], changesOf([touch("a", 10)]).get("board") ?? [], { limits: {}, now: 10 * DAY }),
    ).toEqual([{ ...ahead, first_seen: at(10), last_seen: at(10), runs: 2, seen: 2, data: { day: 10 } }]);
  });

  test("the untrusted mark belongs to the data", () => {
    const tainted = merged([], [touch("a", 1, { tainted: true })]);
    expect(tainted).toMatchObject([{ tainted: true }]);
    expect(merged(tainted, [met("a", 2)])).toMatchObject([{ tainted: true }]);
    expect(merged(tainted, [touch("a", 2)])[0]).not.toHaveProperty("tainted");
  });

  test("writes of a resumed run before its first end count once", () => {
    const touches = [touch("a", 1), touch("a", 2), touch("b", 2)];
    expect(changesOf(touches, 1).get("board")).toEqual([
      { key: "a", first: at(2), last: at(2), runs: 0, seen: 1, data: { day: 2 } },
      { key: "b", first: at(2), last: at(2), runs: 1, seen: 1, data: { day: 2 } },
    ]);
  });

  test("a run sees its own puts in addition to earlier entries", () => {
    const found = [entry("a", 1), entry("b", 1)];
    const seen = viewOf(found, "board", [touch("b", 2), touch("x", 2, { state: "other" })]);
    expect(seen.map(({ key, data }) => [key, data])).toEqual([
      ["a", { of: "a" }],
      ["b", { day: 2 }],
    ]);
    expect(viewOf(found, "board", [])).toBe(found);
  });
});

describe("the limits of a state", () => {
  const entries = [entry("old", 1), entry("mid", 50), entry("new", 99)];

  test("apply to the time at which an entry was last seen", () => {
    const limits = { keepMs: 60 * DAY };
    expect(mergeChanges(entries, [], { limits, now: 100 * DAY }).map(({ key }) => key)).toEqual(["mid", "new"]);
    expect(keptEntries(entries, limits.keepMs, 100 * DAY).map(({ key }) => key)).toEqual(["mid", "new"]);
  });

  test("keep at most so many, those seen last", () => {
    const limits = { maxEntries: 2 };
    const [change] = changesOf([met("old", 100)]).get("board") ?? [];
    const left = mergeChanges(entries, change ? [change] : [], { limits, now: 100 * DAY });
    expect(left.map(({ key }) => key)).toEqual(["old", "new"]);
  });
});

describe("a delta", () => {
  const delta = {
    id: "run-1",
    states: { board: { changes: changesOf([touch("a", 1)]).get("board") ?? [], limits: {} } },
  };

  test("is applied once", () => {
    const first = applyDelta(new Map(), delta, new Date(DAY));
    expect(first?.get("board")).toHaveLength(1);
    expect(applyDelta(first ?? new Map(), delta, new Date(2 * DAY))).toBeUndefined();
    expect(first?.get(APPLIED)?.map(({ key }) => key)).toEqual(["run-1"]);
  });

  test("counts numbers up", () => {
    const count = (id: string, add: Record<string, number>) => {
      return {
        id,
        states: { _days: { changes: [{ key: "d", first: at(1), last: at(1), runs: 1, seen: 1, add }], limits: {} } },
      };
    };
    const one = applyDelta(new Map(), count("1", { runs: 1, cost_usd: 0.1 }), new Date(DAY));
    const two = applyDelta(one ?? new Map(), count("2", { runs: 1, cost_usd: 0.2 }), new Date(DAY));
    expect(two?.get("_days")).toMatchObject([{ runs: 2, data: { runs: 2, cost_usd: 0.3 } }]);
  });
});

describe("a line of a state's file", () => {
  test("is parsed into the same entry", () => {
    const whole = entry("__proto__", 1, { data: { text: "\u001b[31m ä\n" }, tainted: true });
    expect(parseEntry(JSON.stringify(whole))).toEqual(whole);
  });

  test.each([
    "",
    "{",
    "null",
    "[]",
    '"x"',
    "{}",
    JSON.stringify({ ...entry("a", 1), key: 1 }),
    JSON.stringify({ ...entry("a", 1), last_seen: "yesterday" }),
    JSON.stringify({ ...entry("a", 1), runs: -1 }),
    JSON.stringify({ ...entry("a", 1), seen: "many" }),
    `${"[".repeat(100_000)}`,
  ])("%.40s is not valid", (line) => {
    expect(parseEntry(line)).toBeUndefined();
  });

  test("changes no prototype", () => {
    const read = parseEntry(
      `{"key":"a","first_seen":"${at(1)}","last_seen":"${at(1)}","runs":1,"seen":1,"data":{"__proto__":{"bad":1}},"__proto__":{"x":1}}`,
    );
    expect(read).toBeDefined();
    expect(({} as Record<string, unknown>).bad).toBeUndefined();
  });
});
