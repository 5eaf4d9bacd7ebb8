import { expect, test } from "vitest";
import { shapeOf } from "../../../../src/core/engine/recheck/likeness.ts";

test.each([
  ["lost 4bf92f35-77b3-4da6-a3ce-929d0e0e4736 at 10.5", "lost # at #"],
  ["dead-beef is no id", "dead-beef is no id"],
  // An attacker's line: the time must not grow with the square of its length.
  ["a-".repeat(200_000), "a-".repeat(200_000)],
])("the shape of %.50s is without ids and digits", (text, shape) => {
  expect(shapeOf({ field: "lines", value: text, text })).toBe(JSON.stringify(["lines", `=${shape}`]));
});
