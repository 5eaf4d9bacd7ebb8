import { expect, test } from "vitest";
import { checkWorkflow } from "../../../../src/core/document/check/workflow.ts";
import { describeResult } from "../../../../src/core/engine/result/result.ts";
import {
  eventsOf,
  gives,
  INTERRUPT,
  type NodeParts,
  OPS,
  play,
  recordOf,
  resultAt,
  skillOf,
  workflowOf,
} from "../../../harness/harness.ts";

/** The run's verdict, and the skills of a node as a root of paths. */

const object = { type: "object" };
const found = (data: object, verdict = "a.verdict") => {
  const record = recordOf(workflowOf({ a: { output: object }, b: {} }, ["a -> b"], { verdict }));
  const played = play(record, { answers: [gives(data as never)] });
  const warnings = eventsOf(played.events, "warning").map(({ message }) => message);
  return { verdict: describeResult(record, played.state).verdict, warnings };
};

test.each([
  ["a string", { verdict: "incident" }, "incident", 0],
  ["an inconclusive one", { verdict: "inconclusive" }, "inconclusive", 0],
  ["nothing", {}, undefined, 0],
  ["null", { verdict: null }, undefined, 1],
  ["a number", { verdict: 3 }, undefined, 1],
  ["an object", { verdict: { is: "bad" } }, undefined, 1],
])("the verdict is the value at its path: %s", (_, data, verdict, warned) => {
  expect(found(data).verdict).toBe(verdict);
  expect(found(data).warnings).toHaveLength(warned);
});

test("a list has none, unless it has one element", () => {
  expect(found({ all: [{ is: "x" }, { is: "y" }] }, "a.all[*].is")).toMatchObject({ verdict: undefined });
  expect(found({ all: [{ is: "x" }] }, "a.all[*].is").verdict).toBe("x");
});

test("a run that is stopped later has it too", () => {
  const record = recordOf(workflowOf({ a: { output: object }, b: {} }, ["a -> b"], { verdict: "a.verdict" }));
  const played = play(record, { answers: [gives({ verdict: "noise" }), INTERRUPT] });
  expect(describeResult(record, played.state)).toMatchObject({ status: "interrupted", verdict: "noise" });
});

const codes = (nodes: Record<string, NodeParts>, rest: object = {}) =>
  checkWorkflow(workflowOf(nodes, [], { ...rest }), { has: () => true, [Symbol.iterator]: () => [].values() }).map(
    ({ severity, code }) => `${severity} ${code}`,
  );

test("an unresolved path is an error as the verdict, and a warning in requires", () => {
  expect(codes({ a: {} }, { verdict: "b.verdict" })).toEqual(["error UNKNOWN_PATH_ROOT"]);
  expect(codes({ a: {} }, { verdict: "skills.available" })).toEqual(["error UNKNOWN_PATH_ROOT"]);
  expect(codes({ a: {} }, { verdict: "input.kind" })).toEqual([]);
  expect(codes({ a: { requires: { output_required: ["b.x"] } } })).toEqual(["warning UNKNOWN_PATH_ROOT"]);
  expect(codes({ a: { requires: { output_required: ["skills.missing"] } } })).toEqual([]);
  expect(codes({ skills: {} })).toEqual(["warning RESERVED_NODE_ID"]);
});

const gone = skillOf("gone", [], { available: false, reason: "no token" });
const required = (path: string, equals: string, id = "a") => {
  const requires = { output_matches: [{ path, equals }], on_fail: "skip" as const };
  const workflow = workflowOf({ [id]: { skills: ["ops", "gone", "unknown"], requires } });
  return resultAt(play(recordOf(workflow, { skills: [OPS, gone] })), id).status;
};

test("requires sees which skills a node has, and which it lacks", () => {
  expect(required("any:skills.available[*]", "ops")).toBe("success");
  expect(required("any:skills.available[*]", "gone")).toBe("skipped");
  expect(required("any:skills.missing[*]", "gone")).toBe("success");
  expect(required("any:skills.missing[*]", "unknown")).toBe("success");
  expect(required("any:skills.available[*]", "ops", "skills")).toBe("skipped");
});

test("an edge's condition sees the skills of the node that it leads from", () => {
  const workflow = workflowOf({ a: { skills: ["ops", "gone"] }, b: {}, c: {} }, [
    { from: "a", to: "b", if: { output_matches: [{ path: "any:skills.missing[*]", equals: "ops" }] } },
    { from: "a", to: "c", if: { output_matches: [{ path: "any:skills.missing[*]", equals: "gone" }] } },
  ]);
  const { state } = play(recordOf(workflow, { skills: [OPS, gone] }));
  expect(state.edges.map(({ to }) => to)).toEqual(["c"]);
});
