import { expect, test } from "vitest";
import type { Json } from "../../../../src/core/base/values.ts";
import { endInput } from "../../../../src/core/engine/recheck/calls.ts";

const end = Date.parse("2026-03-01T12:00:00Z");

test.each<[string, Json, Json]>([
  ["a later end", { from: "now-1h", to: "2026-03-02T08:00:00Z" }, { from: "now-1h", to: "2026-03-01T12:00:00Z" }],
  ["a later end in another zone", { to: "2026-03-01T12:30:00-01:00" }, { to: "2026-03-01T12:00:00Z" }],
  ["a later epoch", { to: 1_772_400_000 }, { to: 1_772_366_400 }],
  ["a later day", { to: "2026-03-05" }, { to: "2026-03-01" }],
  ["an open end", { from: "now-2h", q: "a" }, { from: "now-2h", q: "a", to: "2026-03-01T12:00:00Z" }],
  ["no earlier end", { from: "now-2h", to: "now-1h" }, { from: "now-2h", to: "now-1h" }],
  ["no default range", { q: "a" }, { q: "a" }],
  ["no open end behind a day", { from: "2026-02-27" }, { from: "2026-02-27" }],
  ["nothing that is not a time", { from: "main", to: "HEAD" }, { from: "main", to: "HEAD" }],
])("ends %s", (_what, input, ended) => {
  expect(endInput(input, { clock: "range", range: { from: "from", to: "to" } }, end)).toEqual(ended);
  expect(endInput(input, { clock: "range" }, end)).toEqual(input);
});
