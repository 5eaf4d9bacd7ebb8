import { expect, it } from "vitest";
import { describeResult } from "../../../../src/core/engine/result/result.ts";
import { checkExpectations } from "../../../../src/core/outward/testing/expectations.ts";
import { outcomeOf } from "../../../../src/core/outward/testing/outcome.ts";
import { updateOf } from "../../../../src/core/outward/testing/update.ts";
import { calls, gives, OPS, play, recordOf, says, workflowOf } from "../../../harness/harness.ts";

const strict = { type: "object", properties: { n: { type: "integer" } }, required: ["n"] };

/** A run without a fixture for `ops_look`. */
function played(node: object, answers: readonly ReturnType<typeof says>[]) {
  const workflow = workflowOf({ a: { skills: ["ops"], ...node }, b: {} }, [
    { from: "a", to: "b", if: "a.error exists" },
  ]);
  const record = recordOf(workflow, { skills: [OPS] });
  const tools = () => ({ error: "no fixture for ops_look", code: "tool.failed", acted: "no" }) as const;
  const { events, state } = play(record, { answers, tools });
  return outcomeOf({ record, events, result: describeResult(record, state), changedPrompts: undefined });
}

it("a call that no fixture answers fails its case", () => {
  const outcome = played({}, [calls("ops_look"), says("done"), says("done")]);
  expect(outcome.unanswered).toMatchObject([{ tool: "ops_look", node: "a" }]);
  expect(checkExpectations({}, outcome)).toMatchObject([{ path: "tools.ops_look" }]);
  expect(checkExpectations({ not_called: ["ops_look"] }, outcome)).toMatchObject([{ path: "not_called" }]);
});

it("a call without a fixture is expected if an edge handles the failed node", () => {
  const answers = [calls("ops_look"), gives({}), gives({}), says("done")];
  const outcome = played({ output: strict }, answers);
  expect(outcome.path).toEqual(["a", "b"]);
  expect(outcome.unanswered).toEqual([]);
});

it("the steps of the last visit have results that expectations can refer to", () => {
  const failed = { error: "gone", code: "tool.failed", acted: "no" } as const;
  const steps = [
    { id: "one", tool: "look" },
    { id: "two", tool: "peek", on_error: "skip" as const },
    { id: "three", tool: "look", if: "input.none exists" },
    { id: "four", tool: "act" },
  ];
  const record = recordOf(workflowOf({ a: { skills: ["ops"], steps } }), {
    skills: [OPS],
    settings: { writes: "plan" },
  });
  const { events, state } = play(record, { tools: ({ tool }) => (tool.name === "peek" ? failed : { output: 1 }) });
  const outcome = outcomeOf({
    record,
    events,
    result: describeResult(record, state),
    changedPrompts: undefined,
  });
  const expected = { "a.one": "success", "a.two": "failed", "a.three": "skipped", "a.four": "planned" } as const;
  expect(checkExpectations({ steps: expected }, outcome)).toEqual([]);
  expect(checkExpectations({ steps: { "a.one": "failed", "a.five": "skipped" } }, outcome)).toMatchObject([
    { path: "steps.a.one", actual: "success" },
    { path: "steps.a.five", actual: undefined },
  ]);
  const [worse, missing] = checkExpectations({ steps: { "a.two": "success", "b.one": "success" } }, outcome);
  expect(worse && updateOf(worse, { steps: { "a.two": "success" } })?.weaker).toMatch(/worse than "success"/);
  expect(missing?.accept).toBeUndefined();
});
