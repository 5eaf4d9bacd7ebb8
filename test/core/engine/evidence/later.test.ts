import { describe, expect, it } from "vitest";
import type { Json } from "../../../../src/core/base/values.ts";
import { cutLater, cutLaterText } from "../../../../src/core/engine/evidence/later.ts";

const asOf = Date.parse("2026-03-01T12:00:00Z");
const rows: readonly (readonly [what: string, output: Json, kept: Json | undefined])[] = [
  ["no times", { lines: ["a", "b"], count: 3 }, { lines: ["a", "b"], count: 3 }],
  [
    "records of a list",
    { lines: [{ time: "2026-03-01T11:59:59Z" }, { time: "2026-03-01T12:00:01Z" }] },
    { lines: [{ time: "2026-03-01T11:59:59Z" }] },
  ],
  [
    "another zone",
    [{ at: "2026-03-01T12:30:00+01:00" }, { at: "2026-03-01T12:30:00-01:00" }],
    [{ at: "2026-03-01T12:30:00+01:00" }],
  ],
  [
    "epochs under a name for times",
    [{ ts: 1772366399 }, { ts: 1772366401 }, { bytes: 1772366401 }],
    [{ ts: 1772366399 }, { bytes: 1772366401 }],
  ],
  [
    "what happened to a record later",
    { id: 7, created_at: "2026-03-01T11:00:00Z", resolved_at: "2026-03-01T13:00:00Z" },
    { id: 7, created_at: "2026-03-01T11:00:00Z" },
  ],
  ["one later record, asked by its id", { id: 7, created_at: "2026-03-01T13:00:00Z" }, undefined],
  [
    "points",
    {
      points: [
        ["2026-03-01T11:00:00Z", 1],
        ["2026-03-01T13:00:00Z", 9],
      ],
    },
    { points: [["2026-03-01T11:00:00Z", 1]] },
  ],
  [
    "buckets of a day",
    { day: "2026-03-01", counts: { "11:59": 1, "12:01": 9 } },
    { day: "2026-03-01", counts: { "11:59": 1 } },
  ],
  [
    "lines by their place",
    {
      lines: {
        "f1@0": "2026-03-01T11:00:00Z a",
        "f1@24": "[2026-03-01 13:00:00] b",
        "f1@48": { at: "2026-03-01T13:00:00Z" },
      },
    },
    { lines: { "f1@0": "2026-03-01T11:00:00Z a" } },
  ],
  [
    "rows by any cell",
    {
      rows: [
        ["f1@0", "2026-03-01T11:00:00Z", "a", 1],
        ["f1@24", "2026-03-01T13:00:00Z", "b", 99],
        ["f1@48", 99, "2026-03-01T13:00:00Z c"],
        [null, "c", 1],
      ],
    },
    {
      rows: [
        ["f1@0", "2026-03-01T11:00:00Z", "a", 1],
        [null, "c", 1],
      ],
    },
  ],
  [
    "ranges and lines in lists of lists, one by one",
    [
      ["2026-03-01T11:00:00Z", "2026-03-01T13:00:00Z"],
      ["2026-03-01T11:00:00Z a", "2026-03-01T13:00:00Z b"],
    ],
    [["2026-03-01T11:00:00Z"], ["2026-03-01T11:00:00Z a"]],
  ],
  ["lines of a list", ["2026-03-01T11:00:00Z a", "2026-03-01T13:00:00Z b"], ["2026-03-01T11:00:00Z a"]],
];

describe("cutLater", () => {
  it.each(rows)("removes %s", (_what, output, kept) => {
    expect(cutLater(output, asOf)).toEqual(kept);
  });

  it("removes the later lines of a text, with what follows them", () => {
    const text = "[2026-03-01 11:00:00] a\n  at x\n2026-03-01 13:00:00 b\n  at y\n2026-03-01 11:30:00 c";
    expect(cutLaterText(text, asOf)).toBe("[2026-03-01 11:00:00] a\n  at x\n2026-03-01 11:30:00 c");
    expect(cutLaterText('{"time":"2026-03-01T11:00:00Z"}\n{"time":"2026-03-01T13:00:00Z"}', asOf)).toBe(
      '{"time":"2026-03-01T11:00:00Z"}',
    );
  });
});
