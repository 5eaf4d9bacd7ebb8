import { expect, test } from "vitest";
import type { Json } from "../../../../src/core/base/values.ts";
import { compare, emptyCondition, readSymptoms } from "../../../../src/core/engine/recheck/compare.ts";

const at = "2026-03-01T11:00:00Z";
const later = "2026-03-01T12:00:00Z";

interface Case {
  readonly was: Json;
  readonly quote: string;
  readonly claim?: string;
  readonly now: Json;
  readonly wider?: Json;
}

function compared({ was, quote, claim = `The rate is ${quote}`, now, wider }: Case) {
  const [symptom] = readSymptoms(was, [{ quote, claim }]);
  if (!symptom) throw new Error("nothing is quoted");
  return compare(symptom, { now, wider, since: Date.parse(at) });
}

/** A series as the telemetry tools sum it up: its points are means. */
const series = (values: Readonly<Record<"min" | "max" | "first" | "last", number>>, points: readonly number[]) => ({
  series: [
    {
      labels: { job: "api" },
      count: 60,
      ...Object.fromEntries(Object.entries(values).map(([name, value]) => [name, { at, value }])),
      points: points.map((value) => [at, value]),
    },
  ],
});
const flat = (map: Readonly<Record<string, number>>) => ({ series: [{ name: "errors", ...map }] });

const high = series({ min: 0.01, max: 0.9, first: 0.01, last: 0.7 }, [0.01, 0.7]);
const low = series({ min: 1, max: 90, first: 90, last: 2 }, [90, 2]);
test.each([
  ["it stayed low", high, "0.7", series({ min: 0.01, max: 0.02, first: 0.01, last: 0.01 }, [0.01, 0.01]), "held", 0.01],
  [
    "it rose between the points",
    high,
    "0.7",
    series({ min: 0.01, max: 0.95, first: 0.01, last: 0.01 }, [0.01, 0.03]),
    "not_held",
    0.95,
  ],
  ["it fell between the points", low, "2", series({ min: 3, max: 95, first: 90, last: 92 }, [90, 89]), "not_held", 3],
  [
    "its numbers have no times",
    flat({ min: 0, max: 9, first: 0, last: 8 }),
    "8",
    flat({ min: 0, max: 7, first: 0, last: 0 }),
    "not_held",
    7,
  ],
  ["another number was quoted", flat({ count: 8, min: 1, max: 2 }), "8", flat({ count: 1, min: 1, max: 9 }), "held", 1],
])("compares a quoted number of a series with its extremes: %s", (_what, was, quote, now, answer, shown) => {
  expect(compared({ was, quote, now })).toMatchObject({ answer, now: shown });
});

/** Series by name, as `logs_series` sums them up: the first and the last value, which are also the extremes. */
const rows = (map: Readonly<Record<string, readonly [first: number, last: number]>>, every = "1m") => ({
  columns: ["field", "count", "every", "min", "max", "mean", "first", "last", "steps"],
  rows: Object.entries(map).map(([name, [first, last]]) => {
    const steps = first === last ? [] : [`08:14:00 ${first} → ${last}`];
    const [min, max] = [Math.min(first, last), Math.max(first, last)];
    return [name, 20, every, min, max, (first + last) / 2, first, last, steps];
  }),
});
const nothing = { columns: rows({}).columns, rows: [] };
const counts = (map: Readonly<Record<string, number>>) => ({ columns: ["of", "count"], rows: Object.entries(map) });
/** Values of an instant query, by pod. */
const pods = (map: Readonly<Record<string, number | string>>) => ({
  series: Object.entries(map).map(([pod, value]) => ({ labels: { pod }, value })),
});

const rose = {
  was: rows({ errors: [1, 82], cpu: [10, 90] }),
  quote: '"errors",20,"1m"',
  claim: "Errors rose from 1 to 82",
};
const whole = JSON.stringify(rose.was.rows[0]);
const fell = { was: rows({ orders: [120, 3], cpu: [10, 11] }), claim: "Orders fell from 120 to 3" };
const fallen = { ...fell, quote: JSON.stringify(fell.was.rows[0]) };
const zero = { was: rows({ orders: [120, 0] }), claim: "Orders fell from 120 to 0" };
const ended = { ...zero, quote: JSON.stringify(zero.was.rows[0]) };
const risen = { ...rose, quote: whole };
const counted = {
  was: counts({ "order paid": 90, timeout: 12 }),
  quote: '["timeout",12]',
  claim: "12 requests time out",
};
const pod = {
  was: pods({ "api-6c8d-xqlkp": 0.82, kim: 0.01 }),
  quote: '"api-6c8d-xqlkp"},"value":0.82',
  claim: "0.82",
};
const served = { was: pods({ "web-1": 3, "web-2": 120 }), quote: '{"pod":"web-1"},"value":3', claim: "web-1 serves 3" };
const named = (pod: string) => ({ series: [{ pod, max: 120, first: 120, last: 120 }] });
const restarted = {
  was: { series: [{ pod: "pod-7", max: 120, first: 120, last: 3 }] },
  quote: '"last":3',
  claim: "It fell from 120 to 3",
};
const event = (host: string, ms: number) => ({ hits: [{ at: later, host, msg: "slow answer", ms }] });
const slow = { was: event("web-1", 500), quote: '"msg":"slow answer","ms":500', claim: "The answer took 500 ms" };
const changed = {
  was: { series: [{ series: "errors", max: 82, first: 1, steps: ["11:14 1 → 82"] }] },
  quote: '"max":82',
  claim: "Errors rose from 1 to 82",
};

test.each<[string, Case, string, Json?]>([
  ["risen, now on the good side", { ...risen, now: rows({ errors: [1, 1] }) }, "held", 1],
  ["risen, now on the bad side without steps", { ...risen, now: rows({ errors: [82, 82] }) }, "not_held", 82],
  [
    "risen, now on the bad side at other intervals",
    { ...risen, now: rows({ errors: [90, 90] }, "5s") },
    "not_held",
    90,
  ],
  ["risen, between the ends on the bad side", { ...risen, now: rows({ errors: [1, 60] }) }, "not_held", 60],
  [
    "risen, quoted by its step",
    { ...risen, quote: "08:14:00 1 → 82", now: rows({ errors: [82, 82] }) },
    "not_held",
    82,
  ],
  ["risen, absent with others", { ...risen, now: rows({ cpu: [90, 90] }) }, "held", null],
  ["risen, absent with a new one that is bad", { ...risen, now: rows({ faults: [82, 82] }) }, "inconclusive"],
  ["risen, absent with a new one that is good", { ...risen, now: rows({ faults: [1, 1] }) }, "held", null],
  ["risen, no data", { ...risen, now: nothing }, "inconclusive", null],
  ["risen, no data without filters", { ...risen, now: nothing, wider: nothing }, "inconclusive", null],
  ["risen, only others without filters", { ...risen, now: nothing, wider: rows({ cpu: [1, 1] }) }, "held", null],
  ["risen, absent from a part", { ...risen, now: { ...rows({ cpu: [1, 1] }), truncated: true } }, "inconclusive"],
  [
    "risen, absent from the left out ones",
    { ...risen, now: { ...rows({ cpu: [1, 1] }), left_out: { rows: 1 } } },
    "inconclusive",
  ],
  ["fallen, now on the good side", { ...fallen, now: rows({ orders: [119, 119] }) }, "held", 119],
  ["fallen, now worse", { ...fallen, now: rows({ orders: [0, 0], cpu: [10, 10] }) }, "not_held", 0],
  ["fallen, now with a dip", { ...fallen, now: rows({ orders: [119, 30] }) }, "not_held", 30],
  ["fallen, absent with others", { ...fallen, now: rows({ cpu: [10, 10] }) }, "not_held", 0],
  ["fallen, only others without filters", { ...fallen, now: nothing, wider: rows({ cpu: [1, 1] }) }, "not_held", 0],
  ["fallen, no data", { ...fallen, now: nothing }, "inconclusive", null],
  ["fallen to 0, no data", { ...ended, now: nothing }, "inconclusive", null],
  ["fallen to 0, still 0", { ...ended, now: rows({ orders: [0, 0] }) }, "not_held", 0],
  ["fallen to 0, absent with others", { ...ended, now: rows({ cpu: [10, 10] }) }, "not_held", 0],
  ["fallen to 0, now on the good side", { ...ended, now: rows({ orders: [110, 110] }) }, "held", 110],
  ["a group that is gone", { ...counted, now: counts({ "order paid": 100 }) }, "held", null],
  ["a group under a new name", { ...counted, now: counts({ "timed out": 12, "order paid": 9 }) }, "inconclusive"],
  [
    "a group of numbers",
    { ...counted, was: counts({ "200": 3, "500": 12 }), quote: '["500",12]', now: counts({ "200": 99 }) },
    "held",
  ],
  ["a renamed pod on the bad side", { ...pod, now: pods({ "api-7d9f-mzwtn": 0.82 }) }, "not_held", 0.82],
  ["a renamed pod on the good side", { ...pod, now: pods({ "api-7d9f-mzwtn": 0.01 }) }, "held", 0.01],
  ["a pod under a name of letters", { ...pod, now: pods({ lee: 0.82, kim: 0.01 }) }, "inconclusive"],
  ["a pod that is gone", { ...pod, now: pods({ kim: 0.9 }) }, "held", null],
  ["fallen, a renamed pod on the good side", { ...restarted, now: named("pod-8") }, "inconclusive", 120],
  ["fallen, the same pod on the good side", { ...restarted, now: named("pod-7") }, "held", 120],
  ["an event again with another duration", { ...slow, now: event("web-2", 90) }, "inconclusive"],
  ["an event that is gone", { ...slow, now: { hits: [{ at: later, msg: "paid", ms: 3 }] } }, "held", null],
  ["no pod", { ...pod, now: pods({}) }, "inconclusive", null],
  ["a pod without a number", { ...pod, now: pods({ "api-6c8d-xqlkp": "NaN", kim: 0.01 }) }, "inconclusive", null],
  ["no pod with a number", { ...pod, now: pods({ kim: "NaN" }) }, "inconclusive", null],
  ["another pod that was there before", { ...served, now: pods({ "web-2": 1 }) }, "held", null],
  [
    "a series that is gone from a list of changes",
    { ...changed, now: { series: [{ series: "cpu", max: 9, first: 1, steps: ["12:00 1 → 9"] }] } },
    "inconclusive",
    null,
  ],
  ["a total", { was: { matched: 12 }, quote: '"matched":12', now: { matched: 11 } }, "not_held", 11],
  ["a total of nothing", { was: { matched: 12 }, quote: '"matched":12', now: { matched: 0 } }, "inconclusive", null],
  [
    "a total of nothing, with traffic",
    { was: { matched: 12 }, quote: '"matched":12', now: { matched: 0 }, wider: { matched: 7 } },
    "held",
    0,
  ],
])("compares a quoted number: %s", (_what, row, answer, now) => {
  const shown = now === undefined ? {} : { now };
  expect(compared(row)).toMatchObject({ answer, ...shown });
});

test("shows the middle between a fallen number and the first of its row", () => {
  expect(compared({ ...fallen, now: rows({ orders: [119, 30] }) }).reason).toContain("61.5");
});

const lines = (...texts: Json[]) => ({ lines: texts });
const timeout = (rest: string) => lines(`${at} timeout of the provider ${rest}`);
const again = (rest: string) => lines(`${later} timeout of the provider ${rest}`, `${later} level=info all is well`);
const QUOTE = "timeout of the provider";

test.each<[string, Case, string]>([
  ...[
    ["trace=4f9a2b", "trace=ab12cd"],
    ["trace=qwxzpklm", "trace=ghtrvbnm"],
    ["user=kim", "user=lee"],
    ["pod=api-7d9f8c6b5-xqlkp", "pod=api-6c8d7b4f9-mzwtn"],
    ["after 500ms", "after 1.2s"],
    ["id=AbCdEfGhIj", "id=ZyXwVuTsRq"],
  ].map(([was = "", now = ""]): [string, Case, string] => {
    return [`the quote again with ${now}`, { was: timeout(was), quote: QUOTE, now: again(now) }, "not_held"];
  }),
  [
    "the quote again in JSON",
    { was: lines({ host: "web-a", msg: QUOTE }), quote: `"msg":"${QUOTE}"`, now: lines({ host: "web-b", msg: QUOTE }) },
    "not_held",
  ],
  [
    "the quote again with another number and id",
    {
      was: timeout("in 500ms pod=api-7d9f-xqlkp"),
      quote: "provider in 500ms pod=api-7d9f-xqlkp",
      now: again("in 2s pod=api-6c8d-mzwtn up"),
    },
    "not_held",
  ],
  [
    "both pieces of a quote",
    { was: timeout("of kim at noon"), quote: "timeout of … at noon", now: again("of lee at noon") },
    "not_held",
  ],
  [
    "most words of the quote",
    { was: timeout("user=kim"), quote: `${QUOTE} user=kim`, now: again("user=lee") },
    "inconclusive",
  ],
  [
    "the quote without filters only",
    { was: timeout("user=kim"), quote: QUOTE, now: lines(), wider: again("user=lee") },
    "inconclusive",
  ],
  [
    "other records",
    { was: timeout("user=kim"), quote: `${QUOTE} user=kim`, now: lines(`${later} user=kim paid`) },
    "held",
  ],
  [
    "a word that contains a short quote",
    { was: lines({ why: "OOM" }), quote: "OOM", now: lines({ why: "room is free" }) },
    "held",
  ],
  [
    "other records without filters",
    { was: timeout(""), quote: QUOTE, now: lines(), wider: lines(`${later} paid`) },
    "held",
  ],
  [
    "too many records",
    { was: timeout(""), quote: QUOTE, now: lines(...Array<Json>(10_001).fill("paid")) },
    "inconclusive",
  ],
  ["nothing", { was: timeout(""), quote: QUOTE, now: lines(), wider: lines() }, "inconclusive"],
  ["only the quoted record", { was: timeout(""), quote: QUOTE, now: timeout("") }, "inconclusive"],
  [
    "a part of a row whose other cells have changed",
    {
      was: { columns: ["of", "count", "steps"], rows: [["errors", 9, ["08:14 → high"]]] },
      quote: "08:14 → high",
      now: { columns: ["of", "count", "steps"], rows: [["errors", 9, []]] },
    },
    "inconclusive",
  ],
])("compares a quoted record: %s", (_what, row, answer) => {
  expect(compared(row)).toMatchObject({ answer });
});

test.each([
  ["the field that shows the quote", { lines: [QUOTE] }, "again.c1.lines"],
  ["its total", { lines: [QUOTE], matched: 1 }, "again.c1.matched"],
  ["a whole text", `${QUOTE}\n`, "again.c1"],
  ["a whole list", [QUOTE], "again.c1"],
])("calls a repeated search empty by %s", (_what, was, path) => {
  const symptoms = readSymptoms(was, [{ quote: QUOTE, claim: "It times out" }]);
  expect(emptyCondition("c1", was, symptoms)).toEqual({ output_matches: [{ path, in: [[], {}, 0, ""] }] });
});

test("has no condition for a field whose name cannot be in a path", () => {
  const was = { "the.lines": [QUOTE] };
  const symptoms = readSymptoms(was, [{ quote: QUOTE, claim: "It times out" }]);
  expect(emptyCondition("c1", was, symptoms)).toBeUndefined();
});
