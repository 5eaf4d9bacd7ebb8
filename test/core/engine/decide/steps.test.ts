import { describe, expect, test } from "vitest";
import type { Json } from "../../../../src/core/base/values.ts";
import type { WorkflowNode } from "../../../../src/core/document/workflow/node.ts";
import type { RunEvent } from "../../../../src/core/engine/event/event.ts";
import { renderContext } from "../../../../src/core/engine/event/prompt.ts";
import type { RunRecord } from "../../../../src/core/engine/event/record.ts";
import { describeResult } from "../../../../src/core/engine/result/result.ts";
import { chooseSettings } from "../../../../src/core/engine/settings/settings.ts";
import type { Outcome } from "../../../../src/core/skill/skill.ts";
import {
  eventsOf,
  inline,
  NODE_TIMEOUT,
  type NodeParts,
  OPS,
  type PlayOptions,
  play,
  recordOf,
  resultAt,
  skillOf,
  toolOf,
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

  test("ends a dry run before a map or call that begins with it", () => {
    const steps: Steps = [{ id: "one", tool: "act" }];
    const called = workflowOf({ sub: { map: { over: "input.list", as: "item" }, ...inline({ look: { steps } }) } });
    const workflow = workflowOf({ first: {}, ask: { call: "one" } }, ["first -> ask"]);
    const input = { list: [1, 2], dryRun: true };
    const { state } = play(recordOf(workflow, { skills: [OPS], input, files: { one: called } }));
    expect([...state.results.keys()]).toEqual(["first"]);
    expect(state.end).toMatchObject({
      status: "succeeded",
      reason: "a dry run ends before the steps node ask/sub/look",
    });
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

  describe("after a resume", () => {
    const order: Steps = [
      { id: "a", tool: "act", with: { n: 1 } },
      { id: "b", tool: "look", with: { n: 2 } },
      { id: "c", tool: "look", with: { n: 3 } },
      { id: "d", tool: "act", with: { n: 4 } },
    ];
    const record = recordOf(workflowOf({ look: { skills: ["ops"], steps: order } }), { skills: [OPS] });
    const numbers = ({ called }: ReturnType<typeof play>) => called.map(({ input }) => (input as { n: number }).n);
    const failing =
      (n: number): PlayOptions["tools"] =>
      ({ input }) =>
        (input as { n: number }).n === n ? failed : { output: "ok" };
    const resume = (before: readonly RunEvent[], options: PlayOptions = {}) =>
      play(record, {
        past: before,
        epoch: 1 + before.filter(({ type }) => type === "run:resume").length,
        resume: {},
        ...options,
      });

    test.each([
      [1, [1], [1, 2, 3, 4]],
      [2, [1, 2, 3], [2, 3, 4]],
      [3, [1, 2, 3], [2, 3, 4]],
      [4, [1, 2, 3, 4], [4]],
    ])("continues at the group of the failed step %i, and repeats no write that succeeded", (n, first, second) => {
      const before = play(record, { tools: failing(n) });
      expect(numbers(before)).toEqual(first);
      expect(before.state.end?.status).toBe("failed");
      const again = resume(before.events, { tools: failing(n) });
      expect(again.state.end?.status).toBe("failed");
      const after = resume(again.events);
      expect(numbers(after)).toEqual(second);
      expect(resultAt(after, "look")).toMatchObject({
        status: "success",
        data: { a: "ok", b: "ok", c: "ok", d: "ok" },
      });
    });

    test.each([
      ["reads alone", order.slice(1, 3), [2, 3]],
      ["reads before a write", order, []],
      ["reads before and after a write", order.slice(0, 3), [2, 3]],
    ])("after failed evaluators, %s: repeats what follows the last write", (_, steps, repeated) => {
      const evaluator = {
        name: "good",
        kind: "value" as const,
        rule: { output_matches: [{ path: "c.good", equals: true }] },
      };
      const judged = recordOf(workflowOf({ look: { skills: ["ops"], steps, eval: [evaluator] } }), { skills: [OPS] });
      const answer =
        (good: boolean): PlayOptions["tools"] =>
        () => ({ output: { good } });
      const before = play(judged, { tools: answer(false) });
      expect(before.state.end?.status).toBe("failed");
      const twice = play(judged, { past: before.events, epoch: 1, resume: {}, tools: answer(false) });
      const after = play(judged, { past: twice.events, epoch: 2, resume: {}, tools: answer(true) });
      expect([numbers(twice), numbers(after)]).toEqual([repeated, repeated]);
      expect(resultAt(after, "look").status).toBe(repeated.length > 0 ? "success" : "failed");
      expect(resultAt(after, "look").toolCalls).toHaveLength(steps.length);
    });

    test("a failed write that may have been carried out is not repeated, and later failures still are", () => {
      const unknown: Outcome = { error: "timed out", code: "tool.failed", acted: "unknown" };
      const failingAt =
        (n: number): PlayOptions["tools"] =>
        ({ input }) =>
          (input as { n: number }).n === n ? unknown : { output: "ok" };
      const again = resume(play(record, { tools: failingAt(1) }).events);
      expect(numbers(again)).toEqual([]);
      expect(resultAt(again, "look").data.error).toMatch(/^step a: timed out \(it may have been carried out/);
      const optional = recordOf(
        workflowOf({
          look: {
            skills: ["ops"],
            steps: order.map((step) => ({ ...step, ...(step.id === "a" ? { on_error: "skip" as const } : {}) })),
          },
        }),
        { skills: [OPS] },
      );
      const first = play(optional, {
        tools: (call) => ((call.input as { n: number }).n === 1 ? unknown : (failing(4)?.(call) ?? { output: "ok" })),
      });
      expect(first.state.end?.status).toBe("failed");
      const second = play(optional, { past: first.events, epoch: 1, resume: {} });
      expect(numbers(second)).toEqual([4]);
    });

    test("a write in doubt stays in doubt, however often the run is resumed", () => {
      const { events } = play(record);
      const killed = events.slice(0, events.findLastIndex(({ type }) => type === "tool:call") + 1);
      const found = play(record, { past: killed, epoch: 1 });
      const again = resume(resume(found.events).events);
      for (const played of [found, again]) {
        expect(numbers(played)).toEqual([]);
        expect(resultAt(played, "look")).toMatchObject({ status: "failed", data: { a: "ok", b: "ok", c: "ok" } });
        expect(resultAt(played, "look").data.error).toMatch(/^step d: in doubt/);
      }
    });
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

const LINEAR = skillOf("linear", [toolOf("linear", "create_issue", { effect: "write", output_schema: issueSchema() })]);
const GITHUB = skillOf("github", [toolOf("github", "open", { effect: "write" }), toolOf("github", "list")]);

function issueSchema() {
  const nested = { type: "object", properties: { url: { type: "string" } } };
  return { type: "object", properties: { url: { type: "string" }, id: { type: "string" }, team: nested } };
}

const gone = (id: string, parts: Partial<RunRecord["skills"][number]> = {}) =>
  skillOf(id, [], { available: false, cause: "config_missing", reason: "TOKEN is not set", ...parts });

/** Plays a node called file with the skills linear and github. */
function playFile(steps: Steps, skills: RunRecord["skills"], parts: Parameters<typeof recordOf>[1] = {}) {
  const workflow = workflowOf({ file: { skills: ["linear", "github"], steps } });
  const record = recordOf(workflow, { skills, ...parts });
  const played = play(record, { tools: echo, audience: "team" });
  return { ...played, result: describeResult(record, played.state) };
}

describe("a step whose skill is missing", () => {
  const issue: Steps = [
    { id: "issue", first_of: [{ tool: "linear_create_issue" }, { tool: "github_open", with: { title: "a" } }] },
  ];

  test("makes the first call of first_of whose skill is available, and the run is not degraded", () => {
    const { called, result } = playFile(issue, [gone("linear"), GITHUB]);
    expect(called.map(({ tool }) => tool.exposed)).toEqual(["github_open"]);
    expect(result).toMatchObject({ exitCode: 0, degraded: [] });
    expect(playFile(issue, [LINEAR, GITHUB]).called.map(({ tool }) => tool.exposed)).toEqual(["linear_create_issue"]);
  });

  test.each([
    ["fail", [{ node: "file", skill: "linear" }]],
    ["skip", []],
  ] as const)("is skipped, and with on_error: %s the run is degraded by %j", (on_error, degraded) => {
    const steps: Steps = [
      { id: "issue", tool: "linear_create_issue", on_error },
      { id: "list", tool: "list" },
    ];
    const { called, result } = playFile(steps, [gone("linear"), GITHUB]);
    expect(called.map(({ tool }) => tool.exposed)).toEqual(["github_list"]);
    expect(result).toMatchObject({ exitCode: 0, degraded });
    expect(result.degraded).toHaveLength(degraded.length);
  });

  test("fails the run if no step of it could be taken", () => {
    const steps: Steps = [
      { id: "issue", tool: "linear_create_issue", on_error: "skip" },
      { id: "list", tool: "github_list", if: "input.id = 1" },
    ];
    const { result } = playFile(steps, [gone("linear"), GITHUB]);
    expect(result).toMatchObject({ exitCode: 3, error: { code: "skills.missing" } });
  });

  test("fails if the tool is named like those of a usable skill, whatever other skill is missing", () => {
    const { state } = playFile([{ id: "list", tool: "github_lis" }], [gone("linear"), GITHUB]);
    expect(state.results.get("file")?.data.error).toMatch(/^step list: no tool is named github_lis/);
  });

  test("fails if no skill could have the tool", () => {
    const { state } = playFile([{ id: "issue", tool: "linear_delete" }], [LINEAR, GITHUB]);
    expect(state.results.get("file")?.data.error).toMatch(/^step issue: no tool is named linear_delete/);
  });

  test("prefers a configured skill to one that can only be planned for", () => {
    const settings = { writes: "plan" as const };
    const planned = ({ events }: ReturnType<typeof playFile>) =>
      eventsOf(events, "operation:planned").map(({ operation }) => operation.skill);
    const linear = { ...LINEAR, plannable: true as const };
    expect(planned(playFile(issue, [linear, GITHUB], { settings }))).toEqual(["github"]);
    expect(planned(playFile(issue, [linear, gone("github")], { settings }))).toEqual(["linear"]);
  });
});

test("a read step of a skill that can only be planned for is skipped", () => {
  const steps: Steps = [
    { id: "known", tool: "linear_search", on_error: "skip" },
    { id: "issue", tool: "linear_create_issue" },
  ];
  const linear = { ...LINEAR, plannable: true as const };
  const { events, result } = playFile(steps, [linear, GITHUB], { settings: { writes: "plan" } });
  expect(eventsOf(events, "tool:call").map(({ tool }) => tool)).toEqual(["linear_create_issue"]);
  expect(result.degraded).toEqual([]);
});

describe("a write step that is not carried out", () => {
  test("is skipped with a warning if writes are denied", () => {
    const steps: Steps = [
      { id: "issue", tool: "linear_create_issue" },
      { id: "list", tool: "github_list", with: { "url?": "{{steps.issue.url}}" } },
    ];
    const { events, called, result } = playFile(steps, [LINEAR, GITHUB], { settings: { writes: "deny" } });
    expect(called.map(({ tool, input }) => [tool.exposed, input])).toEqual([["github_list", {}]]);
    expect(eventsOf(events, "warning").map(({ message }) => message)).toEqual([
      "node file: the step issue was skipped, because writes are denied",
    ]);
    expect(result.status).toBe("succeeded");
    expect(result.trace.steps).toEqual([{ node: "file", status: "success", iteration: 1, denied: ["issue"] }]);
  });

  test("is planned, and later writes refer to the output that its tool declares", () => {
    const steps: Steps = [
      { id: "issue", tool: "linear_create_issue", with: { title: "{{input.title}}" } },
      {
        id: "link",
        tool: "github_open",
        with: { url: "{{steps.issue.url}}", text: "{{steps.issue.team.url}} {{input.title}}" },
      },
    ];
    const settings = { writes: "plan" as const };
    const input = { title: "a ${op-1.url}" };
    const { events, state } = playFile(steps, [LINEAR, GITHUB], { settings, input });
    const operations = eventsOf(events, "operation:planned").map(({ operation }) => operation);
    expect(operations.map((operation) => operation.input)).toEqual([
      { title: "a $${op-1.url}" },
      { url: "${op-1.url}", text: "${op-1.team.url} a $${op-1.url}" },
    ]);
    expect(operations.map(({ refers }) => refers)).toEqual([[], ["op-1"]]);
    expect(state.results.get("file")?.data).toEqual({
      issue: { planned: true, id: "op-1" },
      link: { planned: true, id: "op-2" },
    });
  });

  test("returns its complete recorded output", () => {
    const whole = { all: "{{steps}}", one: "{{steps.issue}}" };
    const steps: Steps = [
      { id: "issue", tool: "linear_create_issue" },
      { id: "list", tool: "github_list", with: whole },
    ];
    const { called } = playFile(steps, [LINEAR, GITHUB], { settings: { writes: "plan" } });
    const issue = { planned: true, id: "op-1" };
    expect(called.map(({ input }) => input)).toEqual([{ all: { issue }, one: issue }]);
  });

  test.each(["{{steps.issue.number}}", "{{steps.issue.url.path}}"])("has no output at %s", (path) => {
    const steps: Steps = [
      { id: "issue", tool: "linear_create_issue" },
      { id: "link", tool: "github_open", with: { url: path } },
    ];
    const { state } = playFile(steps, [LINEAR, GITHUB], { settings: { writes: "plan" } });
    expect(state.results.get("file")?.data.error).toBe(`step link: with.url: ${path.slice(2, -2)} does not resolve`);
  });

  test("is queued with its reason, and what refers to it is planned although writes are allowed", () => {
    const tools = LINEAR.tools.map((tool) => ({ ...tool, audience: "public" as const }));
    const secret = skillOf("github", [
      toolOf("github", "list", { reads: "private" }),
      toolOf("github", "open", { effect: "write" }),
    ]);
    const steps: Steps = [
      { id: "list", tool: "github_list" },
      { id: "issue", tool: "linear_create_issue" },
      { id: "link", tool: "github_open", with: { url: "{{steps.issue.url}}" } },
      { id: "again", tool: "github_list", with: { url: "{{steps.issue.url}}" }, on_error: "skip" },
    ];
    const workflow = workflowOf({ file: { skills: ["linear", "github"], steps } });
    const played = play(recordOf(workflow, { skills: [{ ...LINEAR, tools }, secret] }), { audience: "public" });
    expect(played.called.map(({ tool }) => tool.exposed)).toEqual(["github_list"]);
    expect(resultAt(played, "file").data).toEqual({
      list: "ok",
      issue: { planned: true, id: "op-1", held: "taint.private_to_public" },
      link: { planned: true, id: "op-2" },
    });
    expect(resultAt(played, "file").toolCalls.at(-1)?.error).toMatch(/only planned/);
  });

  test("sends text that looks like a reference as it is", () => {
    const steps: Steps = [{ id: "link", tool: "github_open", with: { url: "{{input.url}}" } }];
    const { called } = playFile(steps, [LINEAR, GITHUB], { input: { url: "${op-1.url}" } });
    expect(called.map(({ input }) => input)).toEqual([{ url: "${op-1.url}" }]);
  });
});

describe("later models see of the results", () => {
  const rows = (count: number, size = 20) =>
    Array.from({ length: count }, (_, n) => ({ n, text: "x".repeat(size) })) as readonly object[] as Json[];
  const reads = (...ids: string[]): Steps => ids.map((id) => ({ id, tool: "look", with: { id } }));

  /** Returns the run's context as the model after a steps node sees it. Results by the id of their step. */
  function seen(outputs: Readonly<Record<string, Json>>, node: NodeParts = {}) {
    const steps: Steps = Object.keys(outputs).flatMap((id) => reads(id));
    const workflow = workflowOf({ look: { skills: ["ops"], steps, ...node }, judge: {}, last: {} }, [
      "look -> judge",
      "judge -> last",
    ]);
    const played = play(recordOf(workflow, { skills: [OPS], input: { id: 7 } }), {
      tools: ({ step = "" }) => ({ output: outputs[step] ?? null }),
    });
    return played.asks.map(({ prompt }) => prompt.context && renderContext(prompt.context));
  }

  test("each with its reference, as a call would return it", () => {
    const [judge, last] = seen({ one: { id: 1 }, two: "a\n```\nb" });
    expect(judge).toBe(
      `## Run Context

The input of this run and the results of the nodes that ran before this one.

{
"input": {"id":7}
}

Results of the steps of "look":

[r1] one: ops_look
{"id":1}

[r2] two: ops_look
\`\`\`\`
a
\`\`\`
b
\`\`\`\``,
    );
    expect(last?.startsWith(judge ?? "-")).toBe(true);
    expect(last).toContain('{\n"judge": {"summary"');
  });

  test.each<[string, Json, number, RegExp]>([
    ["a list after whole elements", rows(100), 1000, /^\[(\{"n":\d+,"text":"x{20}"\},){20,30}"… 7\d more"\]$/],
    ["a list in an object", { rows: rows(100), total: 100 }, 1000, /\},"… 7\d more"\],"total":100\}$/],
    [
      "a text after whole lines",
      "one line of text\n".repeat(100),
      500,
      /^```\n(one line of text\n)+… \d+ more lines\n```$/,
    ],
    ["a list whose first element is too long", rows(3, 5000), 500, /^\[\{"n":0,"text":"x+…"\},"… 2 more"\]$/],
    ["one long line", "y".repeat(5000), 500, /^y{400,500}…$/],
  ])("shortened: %s", (_, output, show, expected) => {
    const text = seen({ one: output }, { show })[0]?.split("one: ops_look (shortened)\n")[1];
    expect(text).toMatch(expected);
    expect(text?.length).toBeLessThan(show + 50);
  });

  test("small ones whole, and the others in equal shares of the rest", () => {
    const [text = ""] = seen({ a: rows(500), small: { n: 1 }, b: rows(500), c: { rows: rows(500) } });
    expect(text).toContain('small: ops_look\n{"n":1}');
    const sizes = text.split(/\[r\d\] \w+: ops_look \(shortened\)\n/).map(({ length }) => length);
    for (const size of sizes.slice(1)) expect(Math.abs(size - 4000)).toBeLessThan(150);
    expect(text.length).toBeLessThan(12_500);
  });

  const sizesOf = (text: string | undefined) =>
    (text ?? "")
      .split(/\[r\d\] \w+: ops_look(?: \(shortened\))?\n/)
      .slice(1)
      .map(({ length }) => length);

  test.each([
    ["rows", 300, 3, rows(100)],
    ["lines", 300, 3, "one line of text\n".repeat(100)],
    [
      "rows of a table",
      1000,
      8,
      { columns: ["at", "service"], rows: Array.from({ length: 90 }, (_, n) => [n, "checkout"]) },
    ],
  ])("all within the limit: %s, %i for %i", (_, show, count, output) => {
    const [text] = seen(Object.fromEntries(Array.from({ length: count }, (_, n) => [`s${n}`, output])), { show });
    const room = 12 * count;
    expect(sizesOf(text)).toHaveLength(count);
    expect(sizesOf(text).reduce((sum, size) => sum + size, 0)).toBeLessThanOrEqual(show + room);
  });

  test("at least the first record of each, and nothing but that if there is no room", () => {
    const first = { n: 0, text: "x".repeat(150) };
    const [text = ""] = seen(
      { a: [first, ...rows(9)], b: "one line of text\n".repeat(9), c: { s: "tiny" } },
      { show: 1 },
    );
    expect(text).toContain(`a: ops_look (shortened)\n${JSON.stringify([first, "… 9 more"])}\n`);
    expect(text).toContain("b: ops_look (shortened)\n```\none line of text\n… 9 more lines\n```");
    expect(text).toContain('c: ops_look\n{"s":"tiny"}');
    const [long] = seen({ a: [{ text: "y".repeat(150) }, ...rows(9)], b: rows(99), c: rows(99) }, { show: 330 });
    expect(long).toContain("y".repeat(150));
    expect(sizesOf(long).reduce((sum, size) => sum + size, 0)).toBeLessThanOrEqual(330 + 12);
  });

  test("none with show: 0, but what failed", () => {
    expect(seen({ one: { id: 1 } }, { show: 0 })[0]).not.toMatch(/look|"one"/);
    const optional: Steps = [{ id: "one", tool: "look", on_error: "skip" }];
    const workflow = workflowOf({ look: { skills: ["ops"], steps: optional }, judge: {} }, ["look -> judge"]);
    const { asks } = play(recordOf(workflow, { skills: [OPS] }), { tools: () => failed });
    const { context } = asks[0]?.prompt ?? {};
    expect(context && renderContext(context)).toContain('[r1] one: ops_look\n{"error":"no disk"}');
  });

  test("names an equal call instead of its result", () => {
    const steps: Steps = [...reads("a"), { id: "b", tool: "look", with: { id: "a" } }];
    expect(seen({ a: 1 }, { steps })[0]).toContain("b: ops_look\nsame as r1");
  });

  test("chooses the next node by the same view", () => {
    const steps = reads("one");
    const workflow = workflowOf({ look: { skills: ["ops"], steps }, judge: {} }, [
      { from: "look", to: "judge", when: "there is one" },
    ]);
    const { asks } = play(recordOf(workflow, { skills: [OPS] }), { tools: () => ({ output: rows(900) }) });
    const { context } = asks[0]?.prompt ?? {};
    expect(context && renderContext(context)).toMatch(/one: ops_look \(shortened\)/);
  });
});

test("a workflow of steps alone needs no model and no key", () => {
  const steps = workflowOf({ look: { skills: ["ops"], steps: [{ id: "one", tool: "look" }] } });
  const said = { env: {}, files: [] };
  expect(chooseSettings({}, steps, said).writes).toBe("allow");
  expect(() => chooseSettings({}, workflowOf({ look: {} }), said)).toThrow("no model is configured");
  const asking = workflowOf({ look: { skills: ["ops"], steps: [{ id: "one", tool: "look" }] } }, [
    "look -> look: again",
  ]);
  expect(() => chooseSettings({}, asking, said)).toThrow("no model is configured");
  const each: WorkflowNode = {
    name: "Each",
    map: { over: "input.items", as: "item" },
    ...{ entry: "look", edges: [] },
  };
  expect(chooseSettings({}, workflowOf({ each: { ...each, nodes: steps.nodes } }), said).writes).toBe("allow");
  const judging = { ...each, nodes: workflowOf({ look: {} }).nodes };
  expect(() => chooseSettings({}, workflowOf({ each: judging }), said)).toThrow("no model is configured");
  const advised = { ...each, nodes: steps.nodes, retry: { max: 1, instruction: { auto: true as const } } };
  expect(() => chooseSettings({}, workflowOf({ each: advised }), said)).toThrow("no model is configured");
  const call = workflowOf({ each: { call: "./look.yml" } });
  expect(() => chooseSettings({}, call, said)).toThrow("no model is configured");
  expect(chooseSettings({}, call, { ...said, inner: new Map([["each", { workflow: steps }]]) }).writes).toBe("allow");
  const deeper = new Map([
    ["each", { workflow: call }],
    ["each/each", { workflow: steps }],
  ]);
  expect(chooseSettings({}, call, { ...said, inner: deeper }).writes).toBe("allow");
  deeper.set("each/each", { workflow: asking });
  expect(() => chooseSettings({}, call, { ...said, inner: deeper })).toThrow("no model is configured");
});

describe("adjacent steps that only read", () => {
  /** Names the steps of each group of calls that ran together. */
  const groups = (steps: Steps, options: PlayOptions = {}) =>
    playSteps(steps, options)
      .steps.filter((step) => step.kind === "call")
      .map(({ calls }) => calls.map(({ step }) => step).join(" "));
  const reads = (...ids: string[]): Steps => ids.map((id) => ({ id, tool: "look", with: { id } }));

  test.each<[string[], Steps]>([
    [["a b c"], reads("a", "b", "c")],
    [
      ["a b", "c"],
      [...reads("a", "b"), { id: "c", tool: "peek", with: { a: "{{steps.a}}" } }],
    ],
    [
      ["a b", "c"],
      [...reads("a", "b"), { id: "c", tool: "peek", if: "steps.b exists" }],
    ],
    [
      ["a b", "c"],
      [...reads("a", "b"), { id: "c", tool: "peek", with: { all: "{{steps}}" } }],
    ],
    [["a c"], [...reads("a"), { id: "b", tool: "peek", if: "input.none exists" }, ...reads("c")]],
    [
      ["a", "b", "c"],
      [...reads("a"), { id: "b", tool: "act" }, ...reads("c")],
    ],
    [["a b c d e f g h", "i"], reads("a", "b", "c", "d", "e", "f", "g", "h", "i")],
  ])("run concurrently as %j unless they refer to one another", (expected, steps) => {
    expect(groups(steps)).toEqual(expected);
  });

  test("finish and keep their outputs if one of them fails, and no further step begins", () => {
    const steps: Steps = [...reads("a"), { id: "b", tool: "peek" }, ...reads("c"), { id: "d", tool: "act" }];
    const played = playSteps(steps, { tools: ({ tool }) => (tool.name === "peek" ? failed : { output: 1 }) });
    expect(resultAt(played, "look").data).toEqual({ a: 1, c: 1, error: "step b: no disk" });
    expect(played.called.map(({ step }) => step)).toEqual(["a", "b", "c"]);
  });

  test("do not begin after one whose input does not resolve", () => {
    const steps: Steps = [...reads("a"), { id: "b", tool: "peek", with: { x: "{{input.none}}" } }, ...reads("c")];
    const played = playSteps(steps, { tools: () => ({ output: 1 }) });
    expect(resultAt(played, "look").data).toEqual({ a: 1, error: "step b: with.x: input.none does not resolve" });
    expect(played.called.map(({ step }) => step)).toEqual(["a"]);
  });

  test("share the output of equal calls", () => {
    const steps: Steps = [
      { id: "a", tool: "look", with: { id: 1 } },
      { id: "b", tool: "ops_look", with: { id: 1 } },
      { id: "c", tool: "act" },
      { id: "d", tool: "look", with: { id: 1 } },
    ];
    const played = playSteps(steps, { tools: echo });
    expect(played.called.map(({ step }) => step)).toEqual(["a", "c", "d"]);
    expect(resultAt(played, "look").data.b).toEqual(resultAt(played, "look").data.a);
    const [, shared] = eventsOf(played.events, "tool:result");
    expect(shared).toMatchObject({ step: "b", output: "same as r1", same: "r1" });
  });
});
