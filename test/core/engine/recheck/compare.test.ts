import { expect, test } from "vitest";
import { compare, readSymptoms } from "../../../../src/core/engine/recheck/compare.ts";

const at = "2026-03-01T11:00:00Z";

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
])("compares a quoted number of a series with its extremes: %s", (_what, then, quote, now, answer, shown) => {
  const [symptom] = readSymptoms(then, [{ quote, claim: `The rate is ${quote}` }]);
  if (!symptom) throw new Error("nothing is quoted");
  const compared = compare(symptom, { now, wider: undefined, since: Date.parse(at) });
  expect(compared).toMatchObject({ answer, now: shown });
});
