import { expect, it } from "vitest";
import { openDay } from "../../src/app/listen/day.ts";
import { memoryState } from "../../src/stores/state/memory.ts";

it("limits the runs per day across listeners that share the state, even if all of them checked first", async () => {
  const state = memoryState();
  const file = { sources: {}, limits: { per_day: { max_runs: 3 } } };
  const days = Array.from({ length: 5 }, () => openDay(state, file));
  expect(await Promise.all(days.map((day) => day.full()))).toEqual(Array(5).fill(undefined));
  const begun = await Promise.all(days.map((day, index) => day.begin(`r${index}`, {})));
  expect(begun.filter((refusal) => refusal === undefined)).toHaveLength(3);
  expect(begun.filter((refusal) => refusal !== undefined)).toEqual(
    Array(2).fill("the daily limit of 3 runs is reached"),
  );
});
