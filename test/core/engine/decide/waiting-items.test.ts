import { expect, test } from "vitest";
import { next } from "../../../../src/core/engine/decide/interpreter.ts";
import { linkProgram } from "../../../../src/core/engine/decide/link.ts";
import type { RunEvent } from "../../../../src/core/engine/event/event.ts";
import { fold } from "../../../../src/core/engine/fold/fold.ts";
import { begin } from "../../../../src/core/engine/fold/state.ts";
import { inline, recordOf, workflowOf } from "../../../harness/harness.ts";

/** Items that wait for an approval, which the decisions about the others must not pass over again and again. */

type Record = ReturnType<typeof recordOf>;

/** Drives a run until it waits, and counts how often a decision or an event looks an inner run up. */
function lookups(record: Record): { readonly steps: number; readonly lookups: number; readonly waiting: number } {
  const program = linkProgram(record);
  const state = begin(record);
  const { inner } = state.run;
  const get = inner.get.bind(inner);
  let found = 0;
  inner.get = (place) => {
    found += 1;
    return get(place);
  };
  let steps = 0;
  for (let step = next(program, state); step; step = next(program, state)) {
    steps += 1;
    for (const each of step.kind === "together" ? step.steps : [step]) {
      if (each.kind !== "decide") throw new Error(`nothing else is expected: ${each.kind}`);
      const of = { seq: steps, time: new Date(0).toISOString(), epoch: 0, key: each.key };
      for (const body of each.bodies) fold(state, { ...of, ...(each.at ? { at: each.at } : {}), ...body } as RunEvent);
    }
  }
  return { steps, lookups: found, waiting: state.end?.waiting?.length ?? 0 };
}

const gate = { ask: { approval: { ask: "Shall it?" } } };
const UNLIMITED = { limits: { max_steps: 100_000 } };
const each = { over: "input.list", as: "item", max_items: 5000 };

test.each([1, 7])("2,000 waiting items cost a constant number of lookups each, %i at a time", (concurrency) => {
  const list = Array.from({ length: 2000 }, (_, index) => index);
  const workflow = workflowOf({ each: { map: { ...each, concurrency }, ...inline(gate) } });
  const { steps, lookups: found, waiting } = lookups(recordOf(workflow, { input: { list }, settings: UNLIMITED }));
  expect(waiting).toBe(2000);
  expect(steps).toBeGreaterThan(2000);
  expect(found).toBeLessThan(20 * steps);
});

test("an item inside twelve maps costs a constant number of lookups for each of them", () => {
  const depth = 12;
  const nest = (levels: number): Parameters<typeof inline>[0] =>
    levels === 0
      ? gate
      : { each: { map: { ...each, over: "input.list" }, with: { list: ["a"] }, ...inline(nest(levels - 1)) } };
  const {
    steps,
    lookups: found,
    waiting,
  } = lookups(recordOf(workflowOf(nest(depth)), { input: { list: ["a"] }, settings: UNLIMITED }));
  expect(waiting).toBe(1);
  expect(found).toBeLessThan(5 * depth * steps);
});
