import { describe, expect, test } from "vitest";
import { describeResult } from "../../../../src/core/engine/result/result.ts";
import type { Outcome } from "../../../../src/core/skill/skill.ts";
import {
  eventsOf,
  NODE_TIMEOUT,
  type NodeParts,
  OPS,
  type PlayOptions,
  play,
  recordOf,
  resultAt,
  workflowOf,
} from "../../../harness/harness.ts";

type Steps = NonNullable<NodeParts["steps"]>;

const failed: Outcome = { error: "no disk", code: "tool.failed", acted: "no" };

/** Plays a workflow of one `steps` node called look. */
function playSteps(steps: Steps, options: PlayOptions & { readonly node?: NodeParts; readonly input?: object } = {}) {
  const { node = {}, input = { id: 7 }, ...rest } = options;
  const workflow = workflowOf({ look: { skills: ["ops"], steps, ...node } });
  return play(recordOf(workflow, { skills: [OPS], input: input as { id: number } }), rest);
}

const echo: PlayOptions["tools"] = ({ tool, input }) => ({ output: { from: tool.name, input } });

describe("a steps node", () => {
  test("calls its tools in order and keeps their outputs under the ids of the steps", () => {
    const steps: Steps = [
      { id: "first", tool: "look", with: { id: "{{input.id}}" } },
      { id: "second", tool: "ops_act", with: { text: "was {{steps.first.input.id}}", run: "{{run.id}}" } },
    ];
    const played = playSteps(steps, { tools: echo });
    expect(played.asks).toEqual([]);
    expect(resultAt(played, "look")).toMatchObject({
      status: "success",
      data: {
        first: { from: "look", input: { id: 7 } },
        second: { from: "act", input: { text: "was 7", run: "r1" } },
      },
      toolCalls: [
        { ref: "r1", tool: "ops_look", step: "first" },
        { ref: "r2", tool: "ops_act", step: "second" },
      ],
    });
    expect(eventsOf(played.events, "tool:call").map(({ step }) => step)).toEqual(["first", "second"]);
    expect(eventsOf(played.events, "tool:result").map(({ step }) => step)).toEqual(["first", "second"]);
  });

  test("fails at a step that fails, and makes no later call", () => {
    const steps: Steps = [
      { id: "one", tool: "look" },
      { id: "two", tool: "peek" },
      { id: "three", tool: "act" },
    ];
    const played = playSteps(steps, { tools: ({ tool }) => (tool.name === "peek" ? failed : { output: 1 }) });
    expect(resultAt(played, "look")).toMatchObject({
      status: "failed",
      data: { one: 1, error: "step two: no disk" },
    });
    expect(played.called.map(({ tool }) => tool.name)).toEqual(["look", "peek"]);
  });

  test("leaves out a failed step with on_error: skip", () => {
    const steps: Steps = [
      { id: "one", tool: "peek", on_error: "skip" },
      { id: "two", tool: "look", with: { "one?": "{{steps.one}}", two: 2 } },
    ];
    const played = playSteps(steps, {
      tools: ({ tool, input }) => (tool.name === "peek" ? failed : { output: input }),
    });
    expect(resultAt(played, "look")).toMatchObject({ status: "success", data: { two: { two: 2 } } });
    expect(Object.keys(resultAt(played, "look").data)).toEqual(["two"]);
  });

  test("skips steps whose condition does not hold", () => {
    const steps: Steps = [
      { id: "one", tool: "look", if: "input.id = 8" },
      { id: "two", tool: "peek", if: "steps.one exists" },
      { id: "three", tool: "act", if: "input.id exists" },
    ];
    const played = playSteps(steps);
    expect(played.called.map(({ tool }) => tool.name)).toEqual(["act"]);
    expect(resultAt(played, "look").data).toEqual({ three: "ok" });
  });

  test.each([
    [{ title: "{{finding.title}}" }, "with.title: finding.title does not resolve"],
    [{ to: [{ name: "is {{input.nope}}" }] }, "with.to[0].name: input.nope does not resolve"],
    [{ from: "{{steps.later}}" }, "with.from: steps.later does not resolve"],
  ])("refuses a call whose input does not resolve: %j", (given, problem) => {
    const played = playSteps([{ id: "one", tool: "look", with: given }]);
    expect(resultAt(played, "look")).toMatchObject({ status: "failed", data: { error: `step one: ${problem}` } });
    expect(played.called).toEqual([]);
  });

  test.each([
    [{ id: "{{input.id}}" }, { id: 7 }],
    [{ id: "n{{input.id}}" }, { id: "n7" }],
    [{ id: "{{{{input.id}}" }, { id: "{{input.id}}" }],
    [{ list: ["{{input.text}}", { deep: "{{input.text}}" }] }, { list: ["{{run.id}}", { deep: "{{run.id}}" }] }],
    [
      { "id?": "{{input.id}}", "no?": "{{input.no}}", "odd?": "1" },
      { id: 7, "odd?": "1" },
    ],
  ])("fills in %j", (given, input) => {
    const played = playSteps([{ id: "one", tool: "look", with: given }], { input: { id: 7, text: "{{run.id}}" } });
    expect(played.called.map((call) => call.input)).toEqual([input]);
  });

  test("checks the input against the tool's schema", () => {
    const played = playSteps([{ id: "one", tool: "strict", with: { id: 7 } }]);
    expect(resultAt(played, "look").data.error).toMatch(/^step one: invalid input/);
    expect(played.called).toEqual([]);
  });

  test("fails softly, and skips itself if its requirements are not met", () => {
    const soft = playSteps([{ id: "one", tool: "look" }], { tools: () => failed, node: { fail_soft: true } });
    expect(resultAt(soft, "look")).toMatchObject({ status: "success", data: { fail_soft: true } });
    const requires = { output_required: ["input.none"], on_fail: "skip" as const };
    const unmet = playSteps([{ id: "one", tool: "look" }], { node: { requires } });
    expect(resultAt(unmet, "look").status).toBe("skipped");
    expect(unmet.called).toEqual([]);
  });

  test("evaluates its data by code", () => {
    const evaluator = { name: "found", kind: "value" as const, rule: { output_required: ["one.count"] } };
    const played = playSteps([{ id: "one", tool: "look" }], { node: { eval: [evaluator] } });
    expect(resultAt(played, "look")).toMatchObject({ status: "failed", evals: [{ name: "found", pass: false }] });
  });

  test("fails at its timeout and keeps what it has", () => {
    const steps: Steps = [
      { id: "one", tool: "look" },
      { id: "two", tool: "peek" },
    ];
    const played = playSteps(steps, {
      onCalls: ({ node, calls }) =>
        calls.flatMap(({ key, ref = "", tool, step = "" }) => {
          const named = { type: "tool:result" as const, node, tool: tool.exposed, ref, id: key, step };
          if (tool.name === "look") return [{ ...named, output: 1 }];
          return [
            { ...named, error: "was cut off", code: "limit.reached" as const, acted: "no" as const },
            NODE_TIMEOUT,
          ];
        }),
    });
    expect(resultAt(played, "look")).toMatchObject({
      status: "failed",
      data: { one: 1, error: "the node took too long" },
    });
  });

  test("ends a dry run before it", () => {
    const workflow = workflowOf({ look: { skills: ["ops"], steps: [{ id: "one", tool: "act" }] } });
    const record = recordOf(workflow, { skills: [OPS], input: { dryRun: true } });
    const { state, called } = play(record);
    expect(called).toEqual([]);
    expect(describeResult(record, state)).toMatchObject({ status: "succeeded", exitCode: 0 });
    expect(state.end?.reason).toBe("a dry run ends before the steps node look");
  });
});

describe("a write of a steps node", () => {
  const steps: Steps = [
    { id: "one", tool: "act", on_error: "skip" },
    { id: "two", tool: "look" },
  ];

  test("is in doubt and not repeated once its process is gone", () => {
    const record = recordOf(workflowOf({ look: { skills: ["ops"], steps } }), { skills: [OPS] });
    const { events } = play(record);
    const past = events.slice(
      0,
      events.findIndex(({ type }) => type === "tool:result"),
    );
    const resumed = play(record, { past, epoch: 1 });
    expect(resumed.called.map(({ tool }) => tool.name)).toEqual(["look"]);
    expect(resultAt(resumed, "look").data).toEqual({ two: "ok" });
    expect(resultAt(resumed, "look").toolCalls[0]?.error).toMatch(/^in doubt/);
  });

  test("asks for its audience first, once", () => {
    const { tools } = OPS;
    const open = {
      ...OPS,
      tools: tools.map((tool) => ({ ...tool, audience: "public" as const, reads: "private" as const })),
    };
    const record = recordOf(workflowOf({ look: { skills: ["ops"], steps: [...steps].reverse() } }), { skills: [open] });
    const played = play(record, { audience: "public" });
    expect(eventsOf(played.events, "tool:audience")).toHaveLength(1);
    expect(eventsOf(played.events, "operation:planned")).toHaveLength(1);
    expect(played.called.map(({ tool }) => tool.name)).toEqual(["look"]);
  });
});
