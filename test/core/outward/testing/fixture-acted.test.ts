import { expect, test } from "vitest";
import { actedIn, type Fixture } from "../../../../src/core/outward/testing/fixtures.ts";

const write = { effect: "write" } as const;
const again = { effect: "write", idempotent: true } as const;

test.each<[string, Partial<Fixture>, Parameters<typeof actedIn>[1], "no" | "unknown"]>([
  ["a write", {}, write, "unknown"],
  ["a write that is idempotent", {}, again, "no"],
  ["a read", { acted: "unknown" }, { effect: "read" }, "no"],
  ["a tool that is not known", {}, undefined, "unknown"],
  ["a write whose row states no", { acted: "no" }, write, "no"],
  ["an idempotent write whose row states unknown", { acted: "unknown" }, again, "unknown"],
])("a row with an error for %s", (_, row, tool, expected) => {
  expect(actedIn({ error: "gone", ...row }, tool)).toBe(expected);
});
