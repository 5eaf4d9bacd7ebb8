import { momentOf, periodOf, summarise } from "skillflow/internal";
import { expect, it } from "vitest";

const NOW = Date.parse("2026-01-31T12:00:00Z");

it.each([
  ["now", NOW],
  ["now-90s", NOW - 90_000],
  ["now-2d", NOW - 2 * 86_400_000],
  ["2026-01-31T08:00Z", Date.parse("2026-01-31T08:00:00Z")],
  ["2026-01-31T08:00:00+02:00", Date.parse("2026-01-31T06:00:00Z")],
])("%s is a valid time", (text, moment) => {
  expect(momentOf(text, NOW)).toBe(moment);
});

it("a period is the last hour by default, and never empty", () => {
  expect(periodOf({}, NOW)).toEqual({ from: NOW - 3_600_000, to: NOW });
  expect(periodOf({ from: "now-2h", to: "now-1h" }, NOW)).toEqual({ from: NOW - 7_200_000, to: NOW - 3_600_000 });
  expect(() => periodOf({ from: "now" }, NOW)).toThrow(/period is empty/);
  expect(() => momentOf("2026-02-31T99:00Z")).toThrow(/is not a time/);
});

it("a series is summarized by its ends and extremes, from numeric values", () => {
  expect(summarise([], 5)).toEqual({ count: 0 });
  expect(summarise([[0, Number.NaN]], 5)).toEqual({ count: 0 });
  const points = [
    [0, 3],
    [1000, Number.POSITIVE_INFINITY],
    [2000, 1],
    [3000, 5],
    [4000, 2],
  ] as const;
  expect(summarise(points, 2)).toEqual({
    count: 4,
    min: { at: "1970-01-01T00:00:02.000Z", value: 1 },
    max: { at: "1970-01-01T00:00:03.000Z", value: 5 },
    avg: 2.75,
    first: { at: "1970-01-01T00:00:00.000Z", value: 3 },
    last: { at: "1970-01-01T00:00:04.000Z", value: 2 },
    points: [
      ["1970-01-01T00:00:00.000Z", 2],
      ["1970-01-01T00:00:03.000Z", 3.5],
    ],
  });
  expect(summarise(points, 0)["points"]).toBeUndefined();
});
