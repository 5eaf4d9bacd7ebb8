import { describe, expect, test } from "vitest";
import { fieldPath } from "../../../../src/core/base/diagnostic.ts";
import { type ErrorCode, exitCodeOf, messageOf } from "../../../../src/core/base/errors.ts";
import { describeResult, resultSchema } from "../../../../src/core/engine/result/result.ts";
import {
  breaks,
  calls,
  eventsOf,
  gives,
  INTERRUPT,
  OPS,
  type PlayOptions,
  play,
  recordOf,
  says,
  skillOf,
  workflowOf,
} from "../../../harness/harness.ts";

const resultOf = (record: Parameters<typeof play>[0], options: PlayOptions = {}) => {
  const result = describeResult(record, play(record, options).state);
  expect(resultSchema().safeParse(result).error).toBeUndefined();
  return result;
};

describe("the result document", () => {
  test("holds results, trace, usage and status", () => {
    const workflow = workflowOf({ a: { skills: ["ops", "nope"] }, b: {} }, ["a -> b"]);
    const gone = skillOf("nope", [], { available: false, reason: "no skill has this id" });
    const record = recordOf(workflow, { skills: [OPS, gone] });
    expect(resultOf(record, { answers: [calls("ops_look"), says("x", { costUsd: 0.25 }), "y"], tick: 10 })).toEqual({
      schema: "skillflow.result/1",
      run: "r1",
      workflow: "flow",
      status: "succeeded",
      exitCode: 0,
      degraded: [{ skill: "nope", node: "a", reason: "no skill has this id" }],
      results: {
        a: {
          status: "success",
          data: { summary: "x" },
          toolCalls: [{ ref: "r1", tool: "ops_look", input: {}, output: "ok" }],
        },
        b: { status: "success", data: { summary: "y" }, toolCalls: [] },
      },
      trace: {
        steps: [
          { node: "a", status: "success", iteration: 1 },
          { node: "b", status: "success", iteration: 1 },
        ],
        edges: [{ from: "a", to: "b", reason: "only path" }],
        sources: record.sources,
        skills: [
          { id: "ops", available: true },
          { id: "nope", available: false, reason: "no skill has this id" },
        ],
      },
      usage: {
        modelCalls: 3,
        inputTokens: 3,
        cachedTokens: 0,
        outputTokens: 0,
        costUsd: 0.25,
        durationMs: expect.any(Number),
      },
      plan: [],
    });
  });

  test("an unknown price makes the cost unknown", () => {
    expect(
      resultOf(recordOf(workflowOf({ a: {} })), { answers: [says("x", { costUsd: null })] }).usage.costUsd,
    ).toBeNull();
  });

  test("a run that is in progress, or whose process has died, is interrupted", () => {
    const record = recordOf(workflowOf({ a: {} }));
    const { events } = play(record);
    const { state } = play(record, { past: events });
    state.end = undefined;
    expect(describeResult(record, state)).toMatchObject({ status: "interrupted", exitCode: 130 });
  });
});

describe("how a run ends, and its exit code", () => {
  const flow = workflowOf({ a: {}, b: {} }, ["a -> b: x"]);
  const b = gives({ reason: "", choice: "b" });
  test.each<[string, Parameters<typeof recordOf>[0], PlayOptions, Parameters<typeof recordOf>[1], string, number]>([
    ["done", flow, { answers: ["t", b, "t"] }, {}, "succeeded", 0],
    [
      "a failed eval",
      workflowOf({ a: { eval: [{ name: "e", kind: "value", rule: { output_required: ["x"] } }] } }),
      {},
      {},
      "failed",
      1,
    ],
    ["no route", flow, { answers: ["t", "?", "?"] }, {}, "failed", 1],
    [
      "a model that refuses our key",
      flow,
      { answers: [breaks("model.auth"), breaks("model.auth"), breaks("model.auth")] },
      {},
      "failed",
      4,
    ],
    ["a model that answers nothing", workflowOf({ a: {} }), { answers: () => says("") }, {}, "failed", 4],
    ["a limit", flow, {}, { settings: { limits: { max_tokens: 1 } } }, "stopped", 5],
    ["an interruption", flow, { answers: [INTERRUPT] }, {}, "interrupted", 130],
    ["a failure that an edge took", flow, { answers: [says("", { stop: "refusal" }), b, "t"] }, {}, "succeeded", 0],
    [
      "every visited node skipped",
      workflowOf({ a: { requires: { output_required: ["input.x"], on_fail: "skip" } } }),
      {},
      {},
      "failed",
      1,
    ],
    [
      "every visited node without its skills",
      workflowOf({ a: { skills: ["ops"] } }),
      {},
      { skills: [{ ...OPS, available: false }] },
      "failed",
      3,
    ],
    [
      "one of two skills there",
      workflowOf({ a: { skills: ["ops", "gone"] } }),
      {},
      { skills: [OPS, skillOf("gone", [], { available: false })] },
      "succeeded",
      0,
    ],
    [
      "a node without skills did work",
      workflowOf({ a: { skills: ["ops"] }, b: {} }, ["a -> b"]),
      {},
      { skills: [{ ...OPS, available: false }] },
      "succeeded",
      0,
    ],
  ])("%s", (_, workflow, options, parts, status, exitCode) => {
    const result = resultOf(recordOf(workflow, parts), options);
    expect([result.status, result.exitCode]).toEqual([status, exitCode]);
    expect(result.error === undefined).toBe(status === "succeeded");
  });

  test.each<[ErrorCode, number]>([
    ["node.failed", 1],
    ["route.unresolved", 1],
    ["replay.missing", 1],
    ["usage.invalid", 2],
    ["workflow.invalid", 2],
    ["input.invalid", 2],
    ["config.missing", 3],
    ["skills.missing", 3],
    ["model.unreachable", 4],
    ["store.locked", 4],
    ["limit.reached", 5],
    ["run.interrupted", 130],
  ])("%s exits with %i", (code, exit) => {
    expect(exitCodeOf(code)).toBe(exit);
  });
});

test("names the options of a hint for its interface, and keeps a recorded text", () => {
  const record = recordOf(workflowOf({ a: {}, b: {} }, ["a -> b"]), { settings: { limits: { max_steps: 1 } } });
  const { events, state } = play(record);
  const ended = eventsOf(events, "workflow:end").at(-1);
  expect(ended?.error?.hint).toEqual(["raise ", { option: "max-steps" }, " and resume"]);
  const hintOf = (...given: Parameters<typeof describeResult>) => describeResult(...given).error?.hint;
  expect(hintOf(record, state)).toBe("raise --max-steps and resume");
  expect(hintOf(record, state, (option) => `<${option}>`)).toBe("raise <max-steps> and resume");
  if (!state.end?.error) throw new Error("the run has no error");
  const older = { ...state, end: { ...state.end, error: { ...state.end.error, hint: "raise max_steps and resume" } } };
  expect(hintOf(record, older)).toBe("raise max_steps and resume");
});

test.each([
  [["nodes", "a", "context", 1], "nodes.a.context[1]"],
  [["rules", 0], "rules[0]"],
  [[0], "[0]"],
  [[], ""],
])("the path %j is written %s", (path, text) => {
  expect(fieldPath(path)).toBe(text);
});

test.each([
  [new Error("boom"), "boom"],
  [new RangeError(""), "RangeError"],
  ["text", "text"],
  [undefined, "undefined"],
])("the message of %o is %s", (error, text) => {
  expect(messageOf(error)).toBe(text);
});
