import { describe, expect, test } from "vitest";
import type { CallCode } from "../../../../src/core/base/errors.ts";
import type { Evaluator } from "../../../../src/core/document/workflow/evaluator.ts";
import { linkProgram } from "../../../../src/core/engine/decide/link.ts";
import { callEvents } from "../../../../src/core/engine/decide/turn-calls.ts";
import type { EventBody } from "../../../../src/core/engine/event/event.ts";
import { openingTexts } from "../../../../src/core/engine/event/prompt.ts";
import { fold } from "../../../../src/core/engine/fold/fold.ts";
import { deadlines } from "../../../../src/core/engine/fold/limits.ts";
import { begin } from "../../../../src/core/engine/fold/state.ts";
import {
  breaks,
  calls,
  eventsOf,
  gives,
  INTERRUPT,
  lines,
  NODE_TIMEOUT,
  type NodeParts,
  OPS,
  type PlayOptions,
  play,
  purposes,
  type ReplyParts,
  recordOf,
  resultAt,
  says,
  workflowOf,
} from "../../../harness/harness.ts";

/** Plays one node with the skill ops. */
const one = (node: NodeParts, options: PlayOptions = {}, parts: Parameters<typeof recordOf>[1] = {}) =>
  play(recordOf(workflowOf({ a: { skills: ["ops"], ...node } }), { skills: [OPS], ...parts }), options);
/** The text after the instruction of a node with skills. */
const CITE = "\n\nCite results in claims by their reference, e.g. r7.";
const opening = (ask: { readonly prompt: Parameters<typeof openingTexts>[0] } | undefined) => ask?.prompt.text ?? "";

describe("the order of events", () => {
  test("one node", () => {
    expect(lines(one({}, { answers: [calls("ops_look")] }).events)).toEqual([
      "workflow:start flow",
      "sources:resolved",
      "node:enter a 1",
      "model:reply work",
      "tool:call ops_look",
      "tool:result ops_look ok",
      "model:reply work",
      "node:exit a success",
      "workflow:end succeeded",
    ]);
  });

  test("a chain, a choice and a loop: exit, then route, and visits counted per node", () => {
    const workflow = workflowOf({ a: {}, b: {}, c: {} }, [
      "a -> b",
      { from: "b", to: "a", when: "again", max_iterations: 1 },
      "b -> c",
    ]);
    const played = play(recordOf(workflow), {
      answers: ["1", "2", gives({ reason: "r", choice: "a" }), "3", "4", "5"],
    });
    expect(lines(played.events).filter((line) => /^(node|route|workflow)/.test(line))).toEqual([
      "workflow:start flow",
      "node:enter a 1",
      "node:exit a success",
      "route a>b only path",
      "node:enter b 1",
      "node:exit b success",
      "route b>a again",
      "node:enter a 2",
      "node:exit a success",
      "route a>b only path",
      "node:enter b 2",
      "node:exit b success",
      "route b>c only path",
      "node:enter c 1",
      "node:exit c success",
      "workflow:end succeeded",
    ]);
    expect(played.state.steps.map(({ node, iteration }) => `${node} ${iteration}`)).toEqual([
      "a 1",
      "b 1",
      "a 2",
      "b 2",
      "c 1",
    ]);
    expect(played.state.steps.every((step) => !("retryAttempt" in step))).toBe(true);
    expect(played.state.edges.map(({ reason }) => reason)).toEqual(["only path", "again", "only path", "only path"]);
    expect(eventsOf(played.events, "workflow:end")[0]?.results["a"]?.data).toEqual({ summary: "3" });
  });

  test("node:enter has the base instruction, workflow:start the document's id", () => {
    const { events } = one({ instruction: "Base.", rules: ["rule"] });
    expect(eventsOf(events, "node:enter")[0]?.instruction).toBe("Base.");
    expect(eventsOf(events, "workflow:start")[0]?.workflow).toBe("flow");
  });

  test("each distinct warning is reported once", () => {
    const { events } = one(
      { tools: { allow: ["nope"] } },
      {},
      { warnings: ["w", "w", "node a: no tool is named nope"] },
    );
    expect(eventsOf(events, "warning").map(({ message }) => message)).toEqual(["w", "node a: no tool is named nope"]);
  });
});

describe("requires", () => {
  const chain = (requires: NodeParts["requires"], edges: string[] = ["a -> b", "b -> c"]) =>
    workflowOf({ a: { output: { type: "object" } }, b: requires ? { requires } : {}, c: {} }, edges);

  test("met: the node runs", () => {
    const workflow = chain({ output_required: ["input.id", "a.x"], output_matches: [{ path: "a.x", in: [1, 2] }] });
    const played = play(recordOf(workflow, { input: { id: "i" } }), { answers: [gives({ x: 1 })] });
    expect(resultAt(played, "b").status).toBe("success");
  });

  test("unmet with fail: the model is never called, and the run ends failed", () => {
    const played = play(recordOf(chain({ output_required: ["a.x", "input.id"] })), { answers: [gives({})] });
    expect(resultAt(played, "b")).toEqual({
      status: "failed",
      data: { error: "requires failed: a.x is missing; input.id is missing" },
      toolCalls: [],
    });
    expect(played.asks.map(({ node }) => node)).toEqual(["a"]);
    expect(played.state.end).toMatchObject({ status: "failed", error: { code: "node.failed", node: "b" } });
  });

  test("unmet with skip: skipped, and routed normally", () => {
    const workflow = chain({ output_matches: [{ path: "a.x", equals: 2 }], on_fail: "skip" });
    const played = play(recordOf(workflow), { answers: [gives({ x: 1 })] });
    expect(resultAt(played, "b")).toEqual({
      status: "skipped",
      data: { skipped_reason: "requires not met: a.x is 1, not 2" },
      toolCalls: [],
    });
    expect(lines(played.events)).toContain("route b>c only path");
    expect(played.state.end?.status).toBe("succeeded");
  });

  test("unmet never triggers retry, softening or an eval", () => {
    const node: NodeParts = {
      requires: { output_required: ["input.id"] },
      retry: { max: 2 },
      fail_soft: true,
      eval: [{ name: "e", kind: "judge", rubric: "r" }],
    };
    const played = one(node);
    expect(played.asks).toEqual([]);
    expect(resultAt(played, "a")).toMatchObject({ status: "failed" });
    expect(resultAt(played, "a").evals).toBeUndefined();
  });

  test("it is checked on every visit", () => {
    const workflow = workflowOf(
      { a: { output: { type: "object" } }, b: { requires: { output_required: ["a.ok"], on_fail: "skip" } } },
      ["a -> b", { from: "b", to: "a", max_iterations: 1 }],
    );
    const played = play(recordOf(workflow), { answers: [gives({}), gives({ ok: 1 })] });
    expect(played.state.steps.map(({ status }) => status)).toEqual(["success", "skipped", "success", "success"]);
  });

  test("paths read evals by name, and a data field called evals takes precedence", () => {
    const rule: Evaluator = { name: "ok", kind: "value", rule: { output_required: ["x"] } };
    const workflow = (path: string) =>
      workflowOf(
        {
          a: { output: { type: "object" }, eval: [rule] },
          b: { requires: { output_matches: [{ path, equals: true }] } },
        },
        ["a -> b"],
      );
    const status = (path: string, data: object) =>
      resultAt(play(recordOf(workflow(path)), { answers: [gives(data as never)] }), "b").status;
    expect(status("a.evals.ok.pass", { x: 1 })).toBe("success");
    expect(status("a.evals.other.pass", { x: 1 })).toBe("failed");
    expect(status("a.evals.mine", { x: 1, evals: { mine: true } })).toBe("success");
  });

  test("a node called like a method of objects is read like any other", () => {
    const workflow = workflowOf(
      { constructor: {}, toString: { requires: { output_required: ["constructor.summary"] } } },
      ["constructor -> toString"],
    );
    expect(resultAt(play(recordOf(workflow)), "toString").status).toBe("success");
  });
});

describe("turns", () => {
  test("the limit fails the node, and its work is kept", () => {
    let n = 0;
    const looking = () => ({ parts: [...says("half done").parts, ...calls(["ops_look", { n: n++ }]).parts] });
    const played = one({ max_turns: 3 }, { answers: looking });
    expect(played.asks).toHaveLength(4);
    const { status, data, toolCalls } = resultAt(played, "a");
    expect(status).toBe("failed");
    expect(data).toMatchObject({ summary: "half done" });
    expect(data.error).toContain("the limit of 3 turns was reached");
    expect(toolCalls).toHaveLength(3);
    expect(toolCalls[2]).toMatchObject({ tool: "ops_look", error: "was not carried out" });
    expect(played.called).toHaveLength(2);
  });

  test("an answer in the last turn is in time", () => {
    expect(resultAt(one({ max_turns: 2 }, { answers: [calls("ops_look"), "done"] }), "a").status).toBe("success");
    expect(resultAt(one({ max_turns: 1 }, { answers: ["done"] }), "a").status).toBe("success");
  });

  test("without its own limit the executor's applies", () => {
    const played = one({}, { answers: () => calls("ops_look") }, { settings: { max_turns: 4 } });
    expect(played.asks).toHaveLength(5);
    expect(resultAt(played, "a").status).toBe("failed");
  });

  test("a retry has the full number of turns again", () => {
    const rule: Evaluator = { name: "e", kind: "function", rule: { all_tools_called: ["look"] } };
    const played = one({ max_turns: 2, eval: [rule], retry: { max: 1 } }, { answers: ["x", calls("ops_look"), "y"] });
    expect(resultAt(played, "a").status).toBe("success");
  });
});

describe("tool calls", () => {
  const results = (played: ReturnType<typeof play>) =>
    eventsOf(played.events, "tool:result").map(({ tool, output, error }) => [tool, output ?? error]);

  test("outputs reach the model and the result", () => {
    const played = one({}, { answers: [calls(["ops_look", { q: 1 }])], tools: () => ({ output: { rows: [1] } }) });
    expect(resultAt(played, "a").toolCalls).toEqual([
      { ref: "r1", tool: "ops_look", input: { q: 1 }, output: { rows: [1] } },
    ]);
  });

  test("a failed call is data: the node continues", () => {
    const played = one(
      {},
      { answers: [calls("ops_look")], tools: () => ({ error: "boom", code: "tool.failed", acted: "no" }) },
    );
    const [event] = eventsOf(played.events, "tool:result");
    expect(event).toMatchObject({ error: "boom" });
    expect(event).not.toHaveProperty("output");
    expect(resultAt(played, "a").toolCalls).toEqual([{ ref: "r1", tool: "ops_look", input: {}, error: "boom" }]);
    expect(played.asks[1]?.prompt.turns[1]).toEqual({
      role: "tools",
      results: [{ id: "c0", ref: "r1", output: { error: "boom" }, failed: true }],
    });
    expect(played.state.end?.status).toBe("succeeded");
  });

  test.each<[string, Parameters<typeof calls>[0], string, CallCode?]>([
    [
      "an unknown tool",
      "ops_lok",
      "no tool is named ops_lok; the available tools are ops_look, ops_peek, ops_act, ops_put, ops_strict",
      "tool.unknown",
    ],
    ["a tool of another skill", "github_search", "no tool is named github_search", "tool.unknown"],
    ["a bare name is not offered", "look", "no tool is named look", "tool.unknown"],
    ["an inherited name", "toString", "no tool is named toString", "tool.unknown"],
    ["invalid input", ["ops_strict", { id: 7 }], "invalid input: id must be string"],
    ["missing input", ["ops_strict", {}], "invalid input: the value must have required property 'id'"],
    [
      "a misspelt key",
      ["ops_strict", { id: "x", ids: 1 }],
      'invalid input: the value has an unknown key "ids" (did you mean "id"?)',
    ],
    ["no object", ["ops_strict", "text"], "arguments must be an object"],
  ])("%s reaches no handler and is answered with an error", (_, call, error, code = "input.invalid") => {
    const played = one({}, { answers: [calls(call)] });
    expect(played.called).toEqual([]);
    expect(lines(played.events).filter((line) => line.startsWith("tool:"))).toHaveLength(2);
    expect(String(results(played)[0]?.[1])).toContain(error);
    expect(resultAt(played, "a").toolCalls[0]?.error).toContain(error);
    expect(eventsOf(played.events, "tool:result")[0]?.code).toBe(code);
  });

  test("a filtered tool cannot be called", () => {
    const played = one({ tools: { deny: ["act"] } }, { answers: [calls("ops_act")] });
    expect(played.called).toEqual([]);
  });

  test("arguments that are not JSON are reported as an error of the call", () => {
    const broken = { parts: [{ type: "broken_call" as const, id: "c0", tool: "ops_look", text: "{oops" }] };
    const played = one({}, { answers: [broken] });
    expect(results(played)).toEqual([["ops_look", "the arguments are not valid JSON"]]);
    expect(resultAt(played, "a").toolCalls).toEqual([
      { ref: "r1", tool: "ops_look", input: "{oops", error: "the arguments are not valid JSON" },
    ]);
  });

  test("a node without skills has no tools", () => {
    const played = one({ skills: [] }, { answers: [calls("ops_look")] });
    expect(played.asks[0]?.prompt.tools).toEqual([]);
    expect(results(played)).toEqual([["ops_look", "no tool is named ops_look; no tools are available"]]);
  });

  test("reads run side by side, writes one by one, in the order of the model", () => {
    const groups: string[][] = [];
    const played = one(
      {},
      {
        answers: [calls("ops_look", "ops_peek", "ops_act", "ops_look", "ops_put", "ops_act", "ops_look", "ops_peek")],
        onCalls(step) {
          groups.push(step.calls.map(({ tool }) => tool.name));
          return step.calls.flatMap((call) => callEvents(step.node, call, { output: call.key }));
        },
      },
    );
    expect(groups).toEqual([["look", "peek"], ["act"], ["look"], ["put"], ["act"], ["look", "peek"]]);
    const keys = ["0", "1", "2", "3", "4", "5", "6", "7"].map((index) => `1:a/0/1/${index}`);
    expect(resultAt(played, "a").toolCalls.map(({ output }) => output)).toEqual(keys);
  });

  test("answers are returned in the order of the calls, in whatever order they arrived", () => {
    let late = true;
    const played = one(
      {},
      {
        answers: [calls(["ops_look", { n: 1 }], ["ops_peek", { n: 2 }], ["ops_look", { n: 3 }])],
        onCalls({ node, calls: open }) {
          const done = late ? open.slice(1).reverse() : open;
          late = false;
          return done.flatMap((call) => callEvents(node, call, { output: call.input }));
        },
      },
    );
    expect(played.asks[1]?.prompt.turns[1]).toMatchObject({ results: [{ id: "c0" }, { id: "c1" }, { id: "c2" }] });
    expect(resultAt(played, "a").toolCalls.map(({ output }) => output)).toEqual([{ n: 1 }, { n: 2 }, { n: 3 }]);
  });

  test("a rejected call between reads does not delay them", () => {
    const played = one({}, { answers: [calls("ops_look", "nope", "ops_peek")] });
    expect(played.steps.filter((step) => step.kind === "call")).toHaveLength(1);
    expect(lines(played.events).slice(4, 10)).toEqual([
      "tool:call ops_look",
      "tool:call nope",
      "tool:call ops_peek",
      "tool:result nope error",
      "tool:result ops_look ok",
      "tool:result ops_peek ok",
    ]);
  });
});

describe("a call in progress when its process died", () => {
  const until = (tool: string) => {
    const { events } = one({}, { answers: [calls(tool)] });
    const at = events.findIndex((event) => event.type === "tool:result");
    return events.slice(0, at);
  };
  const goOn = (tool: string, epoch: number) => one({}, { past: until(tool), epoch });

  test("a write is in doubt: it is not repeated, and the model gets an error", () => {
    const played = goOn("ops_act", 1);
    expect(played.called).toEqual([]);
    const [told] = eventsOf(played.events, "tool:result");
    expect(told).toMatchObject({ error: expect.stringMatching(/^in doubt: /), code: "call.in_doubt" });
    expect(resultAt(played, "a")).toMatchObject({ status: "success", toolCalls: [{ tool: "ops_act" }] });
  });

  test.each(["ops_look", "ops_put"])("%s is repeated under the same key", (tool) => {
    const played = goOn(tool, 1);
    expect(played.called.map(({ key }) => key)).toEqual(["1:a/0/1/0"]);
    expect(eventsOf(played.events, "tool:call")).toHaveLength(1);
  });

  test("in its own process the write is carried out", () => {
    expect(goOn("ops_act", 0).called).toHaveLength(1);
  });

  test("a write not yet announced is carried out by the next process", () => {
    const { events } = one({}, { answers: [calls("ops_act")] });
    const played = one({}, { past: events.slice(0, 4), epoch: 1 });
    expect(played.called).toHaveLength(1);
  });
});

describe("structured output", () => {
  const output = { type: "object", properties: { severity: { enum: ["SEV1", "SEV2"] } }, required: ["severity"] };

  test("fitting JSON becomes the data", () => {
    expect(resultAt(one({ output }, { answers: [gives({ severity: "SEV1", x: 1 })] }), "a").data).toEqual({
      severity: "SEV1",
      x: 1,
    });
  });

  test("without `output` the data is a summary", () => {
    expect(resultAt(one({}, { answers: ["  text\n"] }), "a").data).toEqual({ summary: "  text\n" });
  });

  test.each([
    ["a missing field", gives({ x: 1 }), { x: 1 }, "the value must have required property 'severity'", ""],
    [
      "a misfit",
      gives({ severity: "low" }),
      { severity: "low" },
      'severity must be one of ["SEV1","SEV2"]',
      ', not "low"',
    ],
    ["no JSON", says("It is bad."), { summary: "It is bad." }, "the answer is not a JSON object", ""],
    ["a JSON list", says("[1]"), { summary: "[1]" }, "the answer is not a JSON object", ""],
  ])("%s is sent back once, then fails the node and is never softened", (_, answer, data, why, value) => {
    const played = one(
      { output, fail_soft: true, eval: [{ name: "e", kind: "judge", rubric: "r" }] },
      { answers: () => answer },
    );
    expect(purposes(played)).toEqual(["work", "work"]);
    expect(played.asks[1]?.prompt.turns.at(-1)).toMatchObject({ role: "user", text: expect.stringContaining(why) });
    const result = resultAt(played, "a");
    expect(result.status).toBe("failed");
    expect(result.data).toEqual({ ...data, error: `output invalid: ${why}${value}` });
    expect(result.evals).toBeUndefined();
  });

  test("a corrected answer is accepted", () => {
    const played = one({ output }, { answers: [gives({}), gives({ severity: "SEV2" })] });
    expect(resultAt(played, "a")).toMatchObject({ status: "success", data: { severity: "SEV2" } });
    expect(lines(played.events)).toContain("reply:rejected");
  });

  test("a misfit triggers retry, with the schema's feedback line", () => {
    const played = one({ output, retry: { max: 1 } }, { answers: [gives({}), gives({}), gives({ severity: "SEV1" })] });
    expect(eventsOf(played.events, "node:retry")[0]).toMatchObject({
      attempt: 1,
      reason: "output invalid: the value must have required property 'severity'",
      preamble: "output (schema): the value must have required property 'severity'\nFix and try again.",
    });
    expect(resultAt(played, "a")).toMatchObject({ status: "success" });
  });

  test("a retry reads the value that does not fit, as the event names it", () => {
    const wrong = gives({ severity: "low" });
    const played = one({ output, retry: { max: 1 } }, { answers: [wrong, wrong, gives({ severity: "SEV1" })] });
    const why = 'severity must be one of ["SEV1","SEV2"], not "low"';
    expect(eventsOf(played.events, "node:retry")[0]).toMatchObject({
      reason: `output invalid: ${why}`,
      preamble: `output (schema): ${why}\nFix and try again.`,
    });
  });

  test("an answer is not sent back without a turn left", () => {
    const played = one({ output, max_turns: 1 }, { answers: () => gives({}) });
    expect(played.asks).toHaveLength(1);
    expect(resultAt(played, "a").data.error).toContain("output invalid:");
  });
});

describe("a model that does not answer", () => {
  test("an empty answer is sent back once, then fails the node", () => {
    const played = one({}, { answers: () => says("") });
    expect(played.asks).toHaveLength(2);
    expect(resultAt(played, "a")).toMatchObject({ status: "failed", data: { error: "the model's answer was empty" } });
    expect(played.state.end?.error).toMatchObject({ code: "model.silent" });
  });

  test("white space is an empty answer", () => {
    expect(resultAt(one({}, { answers: [says(" \n"), says("  ")] }), "a").status).toBe("failed");
  });

  test("a refusal fails the node, with the model's text", () => {
    const played = one({}, { answers: [says("I cannot.", { stop: "refusal" })] });
    expect(played.asks).toHaveLength(1);
    expect(resultAt(played, "a").data).toEqual({ summary: "I cannot.", error: "the model refused: I cannot." });
  });

  const cut = (text: string, ...made: string[]): ReplyParts => ({
    parts: [...says(text).parts, ...calls(...made).parts],
    stop: "length",
  });

  test("a truncated answer is requested once more, and the next one counts", () => {
    const played = one({}, { answers: [cut("half"), "whole"] });
    expect(resultAt(played, "a")).toMatchObject({ status: "success", data: { summary: "whole" } });
    expect(played.asks[1]?.prompt.turns).toEqual([
      { role: "assistant", parts: says("half").parts },
      { role: "user", text: expect.stringContaining("cut off") },
    ]);
  });

  test("an answer truncated twice in a row fails the node, its data kept", () => {
    const played = one({}, { answers: [cut("half"), cut("half again"), "whole"] });
    expect(played.asks).toHaveLength(2);
    expect(resultAt(played, "a")).toMatchObject({
      status: "failed",
      data: { summary: "half again", error: "the answer was cut off at the model's output limit" },
    });
  });

  test("each answer may be requested once more, in addition to the one correction of its shape", () => {
    const output = { type: "object", required: ["x"] };
    const answers = [cut("", "ops_look"), calls("ops_look"), cut("{"), gives({}), cut("{"), gives({ x: 1 })];
    const played = one({ output }, { answers });
    expect(resultAt(played, "a")).toMatchObject({ status: "success", data: { x: 1 } });
    expect(played.called).toHaveLength(1);
  });

  test("a truncated answer is not accepted, even if its beginning fits the declared output", () => {
    const played = one({ output: { type: "object" } }, { answers: [cut('{"x":1}'), gives({ x: 12 })] });
    expect(resultAt(played, "a").data).toEqual({ x: 12 });
  });

  test("an answer is not requested again without a turn left", () => {
    const played = one({ max_turns: 1 }, { answers: () => cut("half") });
    expect(played.asks).toHaveLength(1);
    expect(resultAt(played, "a").data.error).toBe("the answer was cut off at the model's output limit");
  });

  test.each<[string, ReplyParts, number]>([
    ["refused", { ...cut("I cannot.", "ops_act"), stop: "refusal" }, 1],
    ["cut off", cut("Let me", "ops_act", "ops_look"), 2],
    [
      "cut off in its arguments",
      { parts: [{ type: "broken_call", id: "c", tool: "ops_act", text: '{"a' }], stop: "length" },
      2,
    ],
  ])("calls of an answer that was %s are not carried out", (_, answer, asked) => {
    const played = one({}, { answers: () => answer });
    expect(played.called).toEqual([]);
    expect(played.asks).toHaveLength(asked);
    expect(eventsOf(played.events, "tool:call")).toEqual([]);
    expect(resultAt(played, "a")).toMatchObject({ status: "failed", toolCalls: [] });
    const sent = played.asks
      .flatMap(({ prompt }) => prompt.turns)
      .flatMap((turn) => ("parts" in turn ? turn.parts : []));
    expect(sent.filter((part) => part.type !== "text")).toEqual([]);
  });

  test("an error fails the node with the error's message", () => {
    const played = one({}, { answers: [breaks("model.auth", "the key is wrong")] });
    expect(resultAt(played, "a")).toMatchObject({ status: "failed", data: { error: "the key is wrong" } });
    expect(played.state.end?.error).toMatchObject({ code: "model.auth", node: "a" });
  });
});

describe("fail soft", () => {
  test.each<[string, PlayOptions, NodeParts, string]>([
    ["the turn cap", { answers: () => calls("ops_look") }, { max_turns: 1 }, "the limit of 1 turns was reached"],
    ["a model that cannot be reached", { answers: [breaks("model.unreachable", "no route")] }, {}, "no route"],
    ["a refusal", { answers: [says("no", { stop: "refusal" })] }, {}, "the model refused: no"],
    ["silence", { answers: () => says("") }, {}, "the model's answer was empty"],
    ["a node timeout", { answers: [NODE_TIMEOUT] }, {}, "the node took too long"],
  ])("%s becomes success with fail_soft and the message", (_, options, node, error) => {
    const workflow = workflowOf({ a: { skills: ["ops"], fail_soft: true, ...node }, b: {} }, ["a -> b"]);
    const played = play(recordOf(workflow, { skills: [OPS] }), { ...options, answers: nodeAnswers(options) });
    expect(resultAt(played, "a")).toMatchObject({ status: "success", data: { fail_soft: true, error } });
    expect(lines(played.events)).toContain("route a>b only path");
    expect(played.state.end?.status).toBe("succeeded");
  });

  test.each([[undefined], [false]])("%o: the failure remains", (fail_soft) => {
    const played = one({ ...(fail_soft === undefined ? {} : { fail_soft }) }, { answers: [breaks()] });
    expect(resultAt(played, "a").status).toBe("failed");
  });

  test("a failed eval is never softened", () => {
    const rule: Evaluator = { name: "e", kind: "value", rule: { output_required: ["x"] } };
    expect(resultAt(one({ fail_soft: true, eval: [rule] }), "a")).toMatchObject({ status: "failed" });
  });

  function nodeAnswers({ answers = [] }: PlayOptions): NonNullable<PlayOptions["answers"]> {
    if (typeof answers !== "function") return answers;
    return (step) => (step.node === "a" ? answers(step) : "done");
  }
});

describe("evaluators", () => {
  const value = (name: string, path: string): Evaluator => ({ name, kind: "value", rule: { output_required: [path] } });
  const judge = (name: string, rest: Partial<Extract<Evaluator, { kind: "judge" }>> = {}): Evaluator => ({
    name,
    kind: "judge",
    rubric: `rubric ${name}`,
    ...rest,
  });
  const pass = says("VERDICT: yes\nREASONING: fine");
  const fail = says("VERDICT: no\nREASONING: poor");

  test("all run, in order, without stopping at the first failure", () => {
    const played = one(
      { eval: [value("v", "x"), judge("j"), value("s", "summary"), judge("k")] },
      { answers: ["t", fail, pass] },
    );
    expect(resultAt(played, "a").evals).toEqual([
      { name: "v", kind: "value", pass: false, reasoning: "x is missing" },
      { name: "j", kind: "judge", pass: false, reasoning: "poor" },
      { name: "s", kind: "value", pass: true },
      { name: "k", kind: "judge", pass: true, reasoning: "fine" },
    ]);
    expect(played.asks.map(opening).filter((text) => text.includes("rubric"))).toHaveLength(2);
  });

  test("any failure fails the node, its data kept", () => {
    const result = resultAt(one({ eval: [value("v", "x"), judge("j")] }, { answers: ["t", fail] }), "a");
    expect(result.status).toBe("failed");
    expect(result.data).toEqual({
      summary: "t",
      error: "eval failed (policy: all_pass):\n  - v (value): x is missing\n  - j (judge): poor",
    });
  });

  test("none runs when the model failed the node", () => {
    const played = one({ eval: [judge("j")] }, { answers: [breaks()] });
    expect(purposes(played)).toEqual(["work"]);
    expect(resultAt(played, "a").evals).toBeUndefined();
  });

  test.each<[string, Parameters<typeof says>[0] | undefined, Parameters<typeof says>[0] | undefined, boolean, string]>([
    ["an unparseable judge is asked once more", "hm", "VERDICT: yes\nREASONING: fine", true, "fine"],
    ["a throwing judge is asked once more", undefined, "VERDICT: no\nREASONING: poor", false, "poor"],
    ["twice unparseable", "hm", "hm", false, "judge parse failure"],
    ["twice throwing", undefined, undefined, false, "judge parse failure"],
    ["once each", undefined, "", false, "judge parse failure"],
  ])("%s", (_, first, second, passes, reasoning) => {
    const said = [first, second].map((text) => (text === undefined ? breaks() : says(text)));
    const played = one({ eval: [judge("j")] }, { answers: ["t", ...said] });
    expect(purposes(played)).toEqual(["work", "judge", "judge"]);
    expect(resultAt(played, "a").evals).toEqual([{ name: "j", kind: "judge", pass: passes, reasoning }]);
  });

  test("the judge's model: evaluator, node, workflow, default", () => {
    const modelOf = (node: NodeParts, rest = {}, own = {}) => {
      const record = recordOf(workflowOf({ a: { ...node, eval: [judge("j", own)] } }, [], rest));
      return play(record, { answers: ["t", pass] }).asks[1]?.model;
    };
    expect(modelOf({ judge_model: "n" }, { judge_model: "w" }, { model: "e" })).toBe("e");
    expect(modelOf({ judge_model: "n" }, { judge_model: "w" })).toBe("n");
    expect(modelOf({}, { judge_model: "w" })).toBe("w");
    expect(modelOf({ model: "m" }, { model: "m" })).toBe("small");
  });

  test("the judge sees neither input nor other nodes", () => {
    const workflow = workflowOf({ a: {}, b: { eval: [judge("j")] } }, ["a -> b"]);
    const { asks } = play(recordOf(workflow, { input: { secret: "INPUT" } }), { answers: ["OTHER", "mine", pass] });
    const { prompt } = asks[2] ?? {};
    expect(prompt && openingTexts(prompt)).toHaveLength(1);
    expect(prompt?.text).not.toMatch(/INPUT|OTHER/);
    expect(prompt?.tools).toEqual([]);
  });

  test("pass_when is the verdict that passes", () => {
    const played = one({ eval: [judge("j", { pass_when: "approve" })] }, { answers: ["t", says("VERDICT: Approve.")] });
    expect(resultAt(played, "a").status).toBe("success");
  });

  test("a node id may look like a judge's step key", () => {
    const id = "x/judge/3/0";
    const played = play(recordOf(workflowOf({ [id]: { eval: [judge("j")] } })), { answers: ["t", pass] });
    expect(resultAt(played, id).status).toBe("success");
  });

  test("there is no empty evals list if nothing is evaluated", () => {
    expect(resultAt(one({}), "a")).not.toHaveProperty("evals");
  });

  test("bare and offered names mean the same call", () => {
    const rule: Evaluator = { name: "f", kind: "function", rule: { all_tools_called: ["look", "ops_peek"] } };
    expect(resultAt(one({ eval: [rule] }, { answers: [calls("ops_look", "ops_peek")] }), "a").status).toBe("success");
  });
});

describe("retry", () => {
  const rule: Evaluator = { name: "e", kind: "function", rule: { all_tools_called: ["look"] } };
  const line = "e (function): look was not called";
  const retrying = (retry: NodeParts["retry"], options: PlayOptions) =>
    one({ instruction: "Do it.", eval: [rule], ...(retry ? { retry } : {}) }, options);

  test("without retry the first failure is final", () => {
    expect(purposes(retrying(undefined, {}))).toEqual(["work"]);
  });

  const previous = (answer: string, feedback: string) =>
    `## Your previous attempt\n\nIts answer:\n\n${answer}\n\nWhat failed:\n\n${feedback}`;

  test.each<[string, NonNullable<NodeParts["retry"]>["instruction"], string]>([
    ["default", undefined, `${line}\nFix and try again.`],
    ["own words", "Use the tools.", `Use the tools.\n${line}`],
  ])("feedback (%s) is the first section of a fresh run", (_, instruction, preamble) => {
    const played = retrying(
      { max: 1, ...(instruction === undefined ? {} : { instruction }) },
      { answers: ["no", calls("ops_look")] },
    );
    expect(opening(played.asks[1])).toBe(`${previous("no", preamble)}\n\n---\n\nDo it.${CITE}`);
    expect(played.asks[1]?.prompt.turns).toEqual([]);
    expect(eventsOf(played.events, "node:retry")).toMatchObject([
      { attempt: 1, preamble, reason: `eval failed (policy: all_pass):\n  - ${line}` },
    ]);
    expect(resultAt(played, "a").status).toBe("success");
  });

  test.each<[string, NonNullable<NodeParts["retry"]>["instruction"], RegExp]>([
    ["auto", { auto: true }, /^The attempt below failed\./],
    ["reflect", { reflect: "Why did it fail?" }, /^Why did it fail\?/],
  ])("a diagnosis (%s) is requested and becomes the feedback", (_, instruction, question) => {
    const played = retrying(
      { max: 1, ...(instruction ? { instruction } : {}) },
      { answers: ["no", "You forgot the tool.", calls("ops_look")] },
    );
    expect(purposes(played)).toEqual(["work", "reflect", "work", "work"]);
    expect(opening(played.asks[1])).toMatch(question);
    expect(opening(played.asks[1])).toContain(line);
    expect(played.asks[1]?.prompt.tools).toEqual([]);
    expect(opening(played.asks[2])).toBe(`${previous("no", `You forgot the tool.\n${line}`)}\n\n---\n\nDo it.${CITE}`);
  });

  test.each([
    ["throws", breaks()],
    ["is blank", says(" \n")],
  ])("a diagnosis that %s falls back to the default, with a warning", (_, answer) => {
    const played = retrying({ max: 1, instruction: { auto: true } }, { answers: ["no", answer, calls("ops_look")] });
    expect(opening(played.asks[2])).toBe(`${previous("no", `${line}\nFix and try again.`)}\n\n---\n\nDo it.${CITE}`);
    expect(eventsOf(played.events, "warning")).toHaveLength(1);
    expect(resultAt(played, "a").status).toBe("success");
  });

  test("the former answer is cut at 8 KB, and one before it is not quoted again", () => {
    const long = `BEGIN ${"x".repeat(20_000)} END`;
    const { asks } = retrying({ max: 2 }, { answers: [long, "second", "third"] });
    const told = opening(asks[1]);
    expect(told.length).toBeLessThan(9_000);
    for (const part of ["BEGIN", "END", "characters left out"]) expect(told).toContain(part);
    expect(opening(asks[2])).toBe(`${previous("second", `${line}\nFix and try again.`)}\n\n---\n\nDo it.${CITE}`);
  });

  test("only the latest failure is quoted", () => {
    const two: Evaluator[] = [
      { name: "first", kind: "function", rule: { all_tools_called: ["look"] } },
      { name: "second", kind: "function", rule: { no_tool_called: ["look"] } },
    ];
    const played = one({ eval: two, retry: { max: 2 } }, { answers: ["no", calls("ops_look"), "no"] });
    expect(opening(played.asks.at(-1))).toContain("second (function)");
    expect(opening(played.asks.at(-1))).not.toContain("first (function)");
  });

  test("max is the number of additional attempts, and at most 2 × max + 1 calls are made", () => {
    expect(purposes(retrying({ max: 2 }, {}))).toEqual(["work", "work", "work"]);
    expect(purposes(retrying({ max: 2, instruction: { auto: true } }, {}))).toEqual([
      "work",
      "reflect",
      "work",
      "reflect",
      "work",
    ]);
  });

  test("each attempt is a separate step, with one enter and one exit event", () => {
    const played = retrying({ max: 2 }, { answers: ["no", "no", calls("ops_look")] });
    expect(played.state.steps).toEqual([
      { node: "a", status: "failed", iteration: 1, retryAttempt: 0 },
      { node: "a", status: "failed", iteration: 1, retryAttempt: 1 },
      { node: "a", status: "success", iteration: 1, retryAttempt: 2 },
    ]);
    expect(eventsOf(played.events, "node:enter")).toHaveLength(1);
    expect(eventsOf(played.events, "node:exit")).toHaveLength(1);
    expect(eventsOf(played.events, "node:retry").map(({ attempt }) => attempt)).toEqual([1, 2]);
  });

  test("result and calls come from the last attempt only", () => {
    const never: Evaluator = { name: "e", kind: "function", rule: { all_tools_called: ["peek"] } };
    const played = one({ eval: [never], retry: { max: 1 } }, { answers: [calls("ops_look"), "one", "two"] });
    expect(resultAt(played, "a")).toMatchObject({ status: "failed", toolCalls: [], data: { summary: "two" } });
  });

  test.each<[string, PlayOptions]>([
    ["a model error", { answers: () => breaks() }],
    ["the turn cap", { answers: () => calls("ops_peek") }],
    ["a refusal", { answers: () => says("no", { stop: "refusal" }) }],
    ["silence", { answers: () => says("") }],
    ["a node timeout", { answers: () => NODE_TIMEOUT }],
    ["an answer that was cut off", { answers: () => says("half", { stop: "length" }) }],
  ])("%s does not trigger it", (_, options) => {
    const played = one({ max_turns: 2, eval: [rule], retry: { max: 3 } }, options);
    expect(eventsOf(played.events, "node:retry")).toEqual([]);
    expect(resultAt(played, "a").status).toBe("failed");
  });

  test("a failing tool does not trigger it by itself", () => {
    const played = one(
      { retry: { max: 3 } },
      { answers: [calls("ops_look")], tools: () => ({ error: "x", code: "tool.failed", acted: "no" }) },
    );
    expect(eventsOf(played.events, "node:retry")).toEqual([]);
  });
});

describe("the model of a node", () => {
  test.each([
    [{ model: "any/thing:v1" }, { model: "flow" }, "any/thing:v1"],
    [{}, { model: "flow" }, "flow"],
    [{}, {}, "script:none"],
  ])("%j in %j calls %s", (node, rest, model) => {
    const workflow = workflowOf({ a: node, b: {} }, ["a -> b: x"], rest);
    const played = play(recordOf(workflow));
    expect(played.asks.map((ask) => ask.model).slice(0, 2)).toEqual([model, model]);
  });
});

describe("routing", () => {
  const fork = (nodes: Record<string, NodeParts> = {}) =>
    workflowOf({ a: {}, b: {}, c: {}, ...nodes }, ["a -> b: bad", "a -> c: good"]);
  const choose = (choice: string) => gives({ reason: "r", choice });

  test("the model's choice is followed", () => {
    const played = play(recordOf(fork()), { answers: ["t", choose("c")] });
    expect(lines(played.events)).toContain("route a>c good");
    expect(purposes(played)).toEqual(["work", "route", "work"]);
  });

  test("none of these ends the run, done", () => {
    const played = play(recordOf(fork()), { answers: ["t", choose("none")] });
    expect(played.state.end).toMatchObject({ status: "succeeded", error: undefined });
    expect(played.state.edges).toEqual([]);
  });

  test.each<[string, PlayOptions["answers"]]>([
    ["an answer that names nothing", ["t", "perhaps", choose("b")]],
    ["an answer that names several", ["t", '["b", "c"]', choose("b")]],
    ["an error", ["t", breaks(), choose("b")]],
    ["silence", ["t", says(""), choose("b")]],
  ])("%s is repeated once", (_, answers) => {
    const played = play(recordOf(fork()), answers ? { answers } : {});
    expect(purposes(played)).toEqual(["work", "route", "route", "work"]);
    expect(lines(played.events)).toContain("route a>b bad");
  });

  test.each<[string, PlayOptions["answers"], string]>([
    ["two answers that name nothing", ["t", "b or c", "B"], "route.unresolved"],
    ["two errors", ["t", breaks(), breaks("model.auth")], "model.auth"],
    ["an error, then nonsense", ["t", breaks(), "x"], "route.unresolved"],
  ])("%s end the run failed, and no edge is guessed", (_, answers, code) => {
    const played = play(recordOf(fork()), answers ? { answers } : {});
    expect(purposes(played)).toEqual(["work", "route", "route"]);
    expect(played.state.end).toMatchObject({ status: "failed", error: { code } });
    expect(played.state.edges).toEqual([]);
  });

  test("a default is not guessed either", () => {
    const workflow = workflowOf({ a: {}, b: {}, c: {} }, ["a -> b: bad", "a -> c"]);
    const played = play(recordOf(workflow), { answers: ["t", "?", "?"] });
    expect(played.state.end?.status).toBe("failed");
  });

  test("a chosen default has the reason `only path` in event and trace", () => {
    const workflow = workflowOf({ a: {}, b: {}, c: {} }, ["a -> b: bad", "a -> c"]);
    const played = play(recordOf(workflow), { answers: ["t", choose("c")] });
    expect(eventsOf(played.events, "route")[0]?.reason).toBe("only path");
    expect(played.state.edges[0]?.reason).toBe("only path");
  });

  test("parallel edges are distinguished by position", () => {
    const workflow = workflowOf({ a: {}, b: {} }, ["a -> b: bad", "a -> b: worse"]);
    const played = play(recordOf(workflow), { answers: ["t", choose("b#1")] });
    expect(played.state.edges).toMatchObject([{ index: 1, reason: "worse" }]);
    expect(play(recordOf(workflow), { answers: ["t", choose("b"), choose("b")] }).state.end?.status).toBe("failed");
  });

  test("a bounded cycle is left when its edge is used up", () => {
    const workflow = workflowOf({ a: {}, b: {} }, [{ from: "a", to: "a", when: "again", max_iterations: 2 }, "a -> b"]);
    const played = play(recordOf(workflow), {
      answers: (step) => (step.purpose === "route" ? choose("a") : "t"),
    });
    expect(played.state.steps.map(({ node, iteration }) => `${node}${iteration}`)).toEqual(["a1", "a2", "a3", "b1"]);
    expect(purposes(played).filter((purpose) => purpose === "route")).toHaveLength(2);
  });

  test("a bounded unconditional loop ends by itself", () => {
    const workflow = workflowOf({ a: {} }, [{ from: "a", to: "a", max_iterations: 3 }]);
    const played = play(recordOf(workflow));
    expect(played.state.steps).toHaveLength(4);
    expect(purposes(played)).not.toContain("route");
  });

  test("routing sees declared keys only, null for a missing one, with one warning", () => {
    const output = { type: "object", properties: { x: {}, y: {} } };
    const workflow = workflowOf({ a: { output }, b: {} }, [
      { from: "a", to: "a", when: "again", max_iterations: 5 },
      "a -> b",
    ]);
    let rounds = 0;
    const played = play(recordOf(workflow), {
      answers: (step) => (step.purpose === "route" ? choose(++rounds < 3 ? "a" : "b") : gives({ x: 1, z: 2 })),
    });
    expect(eventsOf(played.events, "warning")).toHaveLength(1);
    const asked = played.asks.find((step) => step.purpose === "route");
    expect(asked && openingTexts(asked.prompt)[1]).toContain('"a": {"y":null,"x":1}');
  });

  test("routing sees the input too", () => {
    const played = play(recordOf(fork(), { input: { id: 9 } }), { answers: ["t", choose("b")] });
    expect(played.asks[1] && openingTexts(played.asks[1].prompt)[1]).toContain('"input": {"id":9}');
  });

  test("ids that are properties of objects are choices like others", () => {
    const workflow = workflowOf({ a: {}, constructor: {}, toString: {} }, ["a -> constructor: x", "a -> toString: y"]);
    const played = play(recordOf(workflow), { answers: ["t", choose("toString")] });
    expect(lines(played.events)).toContain("route a>toString y");
  });
});

describe("failed nodes and edges", () => {
  const broken: NodeParts = { requires: { output_required: ["input.no"] } };
  const run = (edges: string[], answers: PlayOptions["answers"] = []) =>
    play(recordOf(workflowOf({ a: broken, b: {}, c: {} }, edges)), { answers });

  test("a failed node does not take an unconditional edge", () => {
    const played = run(["a -> b"]);
    expect(played.asks).toEqual([]);
    expect(played.state.end).toMatchObject({ status: "failed", error: { code: "node.failed" } });
  });

  test("a conditional edge may take the failure; then the run is not failed", () => {
    const played = run(["a -> b: a failed", "a -> c"], [gives({ reason: "r", choice: "b" })]);
    expect(opening(played.asks[0])).toContain("- b: a failed\n- none:");
    expect(opening(played.asks[0])).not.toContain("- c:");
    expect(played.state.end).toMatchObject({ status: "succeeded", error: undefined });
    expect(resultAt(played, "a").status).toBe("failed");
    expect(played.state.steps[0]?.status).toBe("failed");
  });

  test("the choice none ends the run failed, with the node's error", () => {
    const played = run(["a -> b: never"], [gives({ reason: "r", choice: "none" })]);
    expect(played.state.end).toMatchObject({ status: "failed", error: { code: "node.failed", node: "a" } });
  });

  test("a routing call that failed in between does not hide the node's error", () => {
    const played = run(["a -> b: never"], [breaks("model.overloaded"), gives({ reason: "r", choice: "none" })]);
    expect(played.state.end).toMatchObject({ status: "failed", error: { code: "node.failed" } });
  });

  test("the question shows what the executor wrote", () => {
    const played = run(["a -> b: a failed"], [gives({ reason: "r", choice: "b" })]);
    expect(played.asks[0] && openingTexts(played.asks[0].prompt)[1]).toContain("requires failed: input.no is missing");
  });
});

describe("a dry run", () => {
  const dry = { input: { dryRun: true } };

  test("it follows unconditional edges and stops at the first conditional one, without a call", () => {
    const workflow = workflowOf({ a: {}, b: {}, c: {} }, ["a -> b", "b -> c: x"]);
    const played = play(recordOf(workflow, dry));
    expect(purposes(played)).toEqual(["work", "work"]);
    expect(played.state.end).toMatchObject({ status: "succeeded", error: undefined });
    expect([...played.state.results.keys()]).toEqual(["a", "b"]);
  });

  test("a default next to a condition is not followed", () => {
    const workflow = workflowOf({ a: {}, b: {}, c: {} }, ["a -> b: x", "a -> c"]);
    expect(purposes(play(recordOf(workflow, dry)))).toEqual(["work"]);
  });

  test("it is failed when its last node is", () => {
    const workflow = workflowOf({ a: { requires: { output_required: ["input.no"] } }, b: {} }, ["a -> b: x"]);
    const played = play(recordOf(workflow, dry));
    expect(played.asks).toEqual([]);
    expect(played.state.end?.status).toBe("failed");
  });

  test.each([["true"], [1], [null], [false]])("dryRun %o is not a dry run: only the boolean is", (dryRun) => {
    const workflow = workflowOf({ a: {}, b: {} }, ["a -> b: x"]);
    expect(purposes(play(recordOf(workflow, { input: { dryRun } })))).toContain("route");
  });
});

describe("conditions that code decides", () => {
  const output = { type: "object", properties: { n: { type: "integer" } } };
  const nodes = { a: { output }, b: {}, c: {}, d: {} };
  const route = (edges: Parameters<typeof workflowOf>[1], answers: PlayOptions["answers"], given: NodeParts = {}) => {
    const played = play(recordOf(workflowOf({ ...nodes, a: { output, ...given } }, edges)), { answers });
    const [taken] = eventsOf(played.events, "route");
    return {
      asked: purposes(played).includes("route"),
      to: taken?.to,
      reason: taken?.reason,
      state: played.state,
      played,
    };
  };
  const when = (to: string, rest: object = {}) => ({ from: "a", to, when: `to ${to}`, ...rest });
  const holds = (to: string, condition: string, rest: object = {}) => ({ from: "a", to, if: condition, ...rest });

  test("the first that holds is followed without a routing call, with its short form as the reason", () => {
    const edges = [when("b"), holds("c", "a.n >= 9"), holds("d", "a.n=3"), holds("b", "a.n exists")];
    expect(route(edges, [gives({ n: 3 })])).toMatchObject({ asked: false, to: "d", reason: "a.n = 3" });
  });

  test("an edge with both is offered only if its `if` holds", () => {
    const edges = [when("b", { if: "a.n = 3" }), when("c", { if: "a.n = 4" }), when("d")];
    const { played, ...rest } = route(edges, [gives({ n: 3 }), gives({ reason: "r", choice: "b" })]);
    expect(rest).toMatchObject({ asked: true, to: "b", reason: "to b" });
    const asked = played.asks.find(({ purpose }) => purpose === "route");
    expect(opening(asked)).toContain("- d: to d");
    expect(opening(asked)).not.toContain("- c: to c");
  });

  test("if none holds, the default is followed, and without one the run ends", () => {
    expect(route([holds("b", "a.n = 3"), "a -> c"], [gives({ n: 4 })])).toMatchObject({ asked: false, to: "c" });
    const ended = route([holds("b", "a.n = 3")], [gives({ n: 4 })]);
    expect(ended).toMatchObject({ asked: false, to: undefined, state: { end: { status: "succeeded" } } });
  });

  test("the bound of an edge applies before its condition", () => {
    const again = { from: "a", to: "a", if: "a.n exists", max_iterations: 1 };
    const { played } = route([again, "a -> b"], [gives({ n: 1 }), gives({ n: 2 })]);
    expect(eventsOf(played.events, "route").map(({ to }) => to)).toEqual(["a", "b"]);
  });

  test("a failed node follows an edge that holds, or one that the model chooses, never the default", () => {
    const failing = { requires: { output_required: ["input.no"] } };
    const error = "a.error exists";
    expect(route([when("b"), holds("c", error), "a -> d"], [], failing)).toMatchObject({ asked: false, to: "c" });
    const choice = [gives({ reason: "r", choice: "b" })];
    expect(route([when("b", { if: error }), "a -> d"], choice, failing)).toMatchObject({ asked: true, to: "b" });
    const ended = route([holds("b", "a.n = 3"), when("c", { if: "a.n = 3" }), "a -> d"], [], failing);
    expect(ended).toMatchObject({ asked: false, to: undefined, state: { end: { status: "failed" } } });
  });

  test("evals, the input and a path of a node that never ran are visible as they are", () => {
    const check: Evaluator = { name: "small", kind: "value", rule: { output_matches: [{ path: "n", at_most: 5 }] } };
    const edges = [holds("b", "d.n = 3"), holds("c", "a.evals.small.pass = true"), "a -> d"];
    expect(route(edges, [gives({ n: 3 })], { eval: [check] })).toMatchObject({ to: "c" });
    expect(route([holds("b", "input.kind != x"), "a -> d"], [gives({ n: 3 })])).toMatchObject({ to: "d" });
  });

  test("a dry run decides them, and stops at the first live edge that the model would judge", () => {
    const edges = [
      holds("b", "a.n = 3"),
      { from: "a", to: "c", if: "a.n = 4", when: "late" },
      { from: "b", to: "d", when: "x" },
    ];
    const played = play(recordOf(workflowOf(nodes, edges), { input: { dryRun: true } }), {
      answers: [gives({ n: 3 })],
    });
    expect([...played.state.results.keys()]).toEqual(["a", "b"]);
    expect(purposes(played)).toEqual(["work", "work"]);
  });
});

describe("limits", () => {
  const chain = workflowOf({ a: { fail_soft: true }, b: { fail_soft: true }, c: {} }, ["a -> b", "b -> c"]);
  const limited = (limits: object, options: PlayOptions = {}) =>
    play(recordOf(chain, { settings: { limits } }), options);
  const ending = (limit: string) => ({ status: "stopped", error: { code: "limit.reached" }, limit });

  test.each<[string, object, PlayOptions, number]>([
    ["max_steps", { max_steps: 2 }, {}, 2],
    ["max_tokens", { max_tokens: 10 }, { answers: () => says("t", { tokens: 5 }) }, 2],
    ["max_cost_usd", { max_cost_usd: 0.1 }, { answers: () => says("t", { costUsd: 0.1 }) }, 1],
    ["timeout", { timeout_ms: 5_000 }, { tick: 1_000 }, 1],
  ])("%s stops the run before the next call, with any value of fail_soft", (limit, limits, options, asked) => {
    const played = limited(limits, options);
    expect(played.asks).toHaveLength(asked);
    expect(eventsOf(played.events, "limit:reached").map((event) => event.limit)).toEqual([limit]);
    expect(played.state.end).toMatchObject({ status: ending(limit).status, error: ending(limit).error });
    expect(played.state.end?.error?.message).toMatch(/limit/);
    expect(lines(played.events).at(-1)).toBe("workflow:end stopped");
  });

  test("a model that does not count tokens causes one warning if a limit needs the count", () => {
    const about = { node: "a", purpose: "work", model: "m:1", prompt: "0" } as const;
    const uncounted: EventBody = {
      type: "model:reply",
      ...about,
      parts: [{ type: "text", text: "t" }],
      stop: "end",
      usage: null,
    };
    const told = (limits: object) =>
      eventsOf(limited(limits, { answers: () => uncounted }).events, "warning").map(({ message }) => message);
    expect(told({ max_tokens: 10 })).toEqual([expect.stringContaining("max_tokens")]);
    expect(told({ max_cost_usd: 1, max_tokens: 10 })).toEqual([expect.stringContaining("max_tokens and max_cost_usd")]);
    expect(told({ max_steps: 9 })).toEqual([]);
  });

  test("exactly as many visits as allowed are fine", () => {
    expect(limited({ max_steps: 3 }).state.end?.status).toBe("succeeded");
  });

  test("retries do not count as visits", () => {
    const rule: Evaluator = { name: "e", kind: "value", rule: { output_required: ["x"] } };
    const played = one({ eval: [rule], retry: { max: 3 } }, {}, { settings: { limits: { max_steps: 1 } } });
    expect(played.state.end?.status).toBe("failed");
    expect(purposes(played)).toHaveLength(4);
  });

  test("routing, judges and reflection count too", () => {
    const judge: Evaluator = { name: "j", kind: "judge", rubric: "r" };
    const workflow = workflowOf({ a: { eval: [judge], retry: { max: 1, instruction: { auto: true } } }, b: {} }, [
      "a -> b: x",
    ]);
    const answers = [
      "t",
      says("VERDICT: no"),
      "why",
      "t",
      says("VERDICT: yes"),
      gives({ reason: "", choice: "b" }),
      "t",
    ];
    const { state } = play(recordOf(workflow), { answers });
    expect(state.usage).toMatchObject({ modelCalls: 7, inputTokens: 7 });
    for (let most = 1; most < 7; most++) {
      const stopped = play(recordOf(workflow, { settings: { limits: { max_tokens: most } } }), { answers });
      expect(stopped.state.end?.status).toBe("stopped");
      expect(stopped.asks).toHaveLength(most);
    }
  });

  test("a running node is left as failed, its work kept", () => {
    const played = one(
      {},
      { answers: [{ parts: [...says("half").parts, ...calls("ops_look").parts] }] },
      {
        settings: { limits: { max_tokens: 1 } },
      },
    );
    expect(resultAt(played, "a")).toMatchObject({
      status: "failed",
      data: { summary: "half" },
      toolCalls: [{ output: "ok" }],
    });
    expect(eventsOf(played.events, "node:exit")[0]?.unfinished).toBe(true);
  });

  test.each<[string, EventBody, NodeParts, object]>([
    ["that times out", NODE_TIMEOUT, { output: { type: "object" } }, { x: 1, error: "the node took too long" }],
    ["that is interrupted", INTERRUPT, { output: { type: "object" } }, { x: 1, error: "interrupted" }],
    ["without a declared output", NODE_TIMEOUT, {}, { summary: '{"x":1}', error: "the node took too long" }],
  ])("a node %s while it is judged keeps its data", (_, body, node, data) => {
    const judged: NodeParts = { ...node, eval: [{ name: "e", kind: "judge", rubric: "r" }] };
    expect(resultAt(one(judged, { answers: [gives({ x: 1 }), body] }), "a")).toMatchObject({ status: "failed", data });
  });

  test("a node's own timeout is the node's failure, not the run's", () => {
    const workflow = workflowOf({ a: {}, b: {} }, ["a -> b: a took too long"]);
    const played = play(recordOf(workflow), { answers: [NODE_TIMEOUT, gives({ reason: "", choice: "b" })] });
    expect(resultAt(played, "a")).toMatchObject({ status: "failed", data: { error: "the node took too long" } });
    expect(played.state.end?.status).toBe("succeeded");
  });
});

describe("an interruption", () => {
  test.each<[string, PlayOptions]>([
    ["during the model's work", { answers: [INTERRUPT] }],
    ["during a tool call", { answers: [calls("ops_act")], onCalls: () => [INTERRUPT] }],
    [
      "after one of two calls",
      {
        answers: [calls("ops_look", "ops_peek")],
        onCalls: ({ node, calls: [first] }) => [...(first ? callEvents(node, first, { output: 1 }) : []), INTERRUPT],
      },
    ],
  ])("%s ends the run promptly, with every event in place", (_, options) => {
    const played = one({}, options);
    expect(lines(played.events).slice(-3)).toEqual(["run:interrupt", "node:exit a failed", "workflow:end interrupted"]);
    expect(played.asks).toHaveLength(1);
    expect(played.state.end).toMatchObject({ status: "interrupted", error: { code: "run.interrupted" } });
  });

  test("during routing the node stays done", () => {
    const workflow = workflowOf({ a: {}, b: {} }, ["a -> b: x"]);
    const played = play(recordOf(workflow), { answers: ["t", INTERRUPT] });
    expect(lines(played.events).slice(-2)).toEqual(["run:interrupt", "workflow:end interrupted"]);
    expect(resultAt(played, "a").status).toBe("success");
  });

  test("a call that was aborted reports that it may have happened", () => {
    const played = one({}, { answers: [calls("ops_act", "ops_put")], onCalls: () => [INTERRUPT] });
    expect(resultAt(played, "a").toolCalls.map(({ error }) => error)).toEqual([
      "was cut off, so it may have been carried out",
      "was not carried out",
    ]);
  });
});

describe("continuing after the end", () => {
  const resume = (first: ReturnType<typeof play>, record: Parameters<typeof play>[0], options: PlayOptions = {}) =>
    play(record, { past: first.events, epoch: 1, resume: {}, ...options });
  const flow = workflowOf({ a: { skills: ["ops"] }, b: {} }, ["a -> b"]);
  const record = recordOf(flow, { skills: [OPS] });

  test("after an interruption inside a node: the visit continues where it was", () => {
    const first = play(record, { answers: [calls("ops_look"), INTERRUPT] });
    const second = resume(first, record, { answers: ["found it"] });
    expect(second.called).toEqual([]);
    expect(second.asks[0]?.prompt.turns).toHaveLength(2);
    expect(lines(second.events).slice(first.events.length)).toEqual([
      "run:resume",
      "model:reply work",
      "node:exit a success",
      "route a>b only path",
      "node:enter b 1",
      "model:reply work",
      "node:exit b success",
      "workflow:end succeeded",
    ]);
    expect(second.state.steps).toEqual([
      { node: "a", status: "success", iteration: 1 },
      { node: "b", status: "success", iteration: 1 },
    ]);
    expect(resultAt(second, "a")).toMatchObject({ status: "success", toolCalls: [{ tool: "ops_look", output: "ok" }] });
  });

  test("after an interruption inside a write: it is in doubt", () => {
    const first = play(record, { answers: [calls("ops_act")], onCalls: () => [INTERRUPT] });
    const second = resume(first, record);
    expect(second.called).toEqual([]);
    expect(resultAt(second, "a").toolCalls[0]?.error).toMatch(/^in doubt/);
  });

  test("after an interruption inside a read: it is repeated", () => {
    const first = play(record, { answers: [calls("ops_look")], onCalls: () => [INTERRUPT] });
    expect(resume(first, record).called).toHaveLength(1);
  });

  test("after an interruption between two nodes: the next one is entered", () => {
    const first = play(record);
    const at = first.events.findIndex((event) => event.type === "node:enter" && event.node === "b");
    const end: EventBody = { type: "workflow:end", results: {}, status: "interrupted", reason: "" };
    const stop = [INTERRUPT, end].map((body, index) => ({ seq: at + index, time: "", epoch: 0, key: "2:b", ...body }));
    const second = play(record, { past: [...first.events.slice(0, at), ...stop], epoch: 1, resume: {} });
    expect(second.asks.map(({ node }) => node)).toEqual(["b"]);
    expect(second.state.end?.status).toBe("succeeded");
  });

  test.each<[string, object, object]>([
    ["max_tokens", { max_tokens: 1 }, { max_tokens: 100 }],
    ["max_cost_usd", { max_cost_usd: 0.5 }, { max_cost_usd: 9 }],
    ["max_steps", { max_steps: 1 }, { max_steps: 9 }],
  ])("after %s: with a higher limit it succeeds, with the same one it stops again", (_, limits, higher) => {
    const low = recordOf(flow, { skills: [OPS], settings: { limits } });
    const answers = () => says("t", { costUsd: 0.5 });
    const first = play(low, { answers, tick: 1 });
    expect(first.state.end?.status).toBe("stopped");
    const again = resume(first, low, { answers, tick: 1 });
    expect(again.state.end?.status).toBe("stopped");
    expect(again.asks).toEqual([]);
    const second = resume(first, low, { answers, tick: 1, resume: { settings: { limits: higher } } });
    expect(second.state.end?.status).toBe("succeeded");
    expect([...first.asks, ...second.asks].map(({ node }) => node)).toEqual(["a", "b"]);
  });

  test("after the time limit: each resume has the full time again", () => {
    const low = recordOf(flow, { skills: [OPS], settings: { limits: { timeout_ms: 6 } } });
    const answers = [calls("ops_look"), "a is done", "b is done"];
    const first = play(low, { answers, tick: 1 });
    expect(first.asks.map(({ node }) => node)).toEqual(["a", "a"]);
    const second = resume(first, low, { answers: answers.slice(2), tick: 1 });
    expect(second.asks.map(({ node }) => node)).toEqual(["b"]);
    expect(second.state.end?.status).toBe("succeeded");
  });

  test("after a crash: the time limit counts from the start of the new process", () => {
    const low = recordOf(flow, { skills: [OPS], settings: { limits: { timeout_ms: 100 } } });
    const first = play(low, { tick: 10 });
    const cut = first.events.findIndex((event) => event.type === "model:reply") + 1;
    const left = (epoch: number) => {
      const found = deadlines(linkProgram(low), first.events.slice(0, cut).reduce(fold, begin(low, epoch)));
      return found.map(({ leftMs, body }) => ({ leftMs, body: body() }));
    };
    expect(left(0)).toMatchObject([{ leftMs: 70, body: { limit: "timeout" } }]);
    expect(left(1)).toMatchObject([{ leftMs: 100, body: { limit: "timeout" } }]);
  });

  test("after a model error: the same call is made again, the turns kept", () => {
    const first = play(record, { answers: [calls("ops_look"), breaks("model.quota")] });
    expect(first.state.end).toMatchObject({ status: "failed", error: { code: "model.quota" } });
    const second = resume(first, record);
    expect(second.asks[0]?.prompt).toMatchObject({ turns: [{ role: "assistant" }, { role: "tools" }] });
    expect(second.state.end?.status).toBe("succeeded");
  });

  test("after an empty answer: the model is called again", () => {
    const first = play(record, { answers: [says(""), says("")] });
    const second = resume(first, record);
    expect(second.state.end?.status).toBe("succeeded");
  });

  test("after a failed node: it is entered again, with what was before", () => {
    const failing = recordOf(
      workflowOf({ a: {}, b: { eval: [{ name: "e", kind: "judge", rubric: "r" }] } }, ["a -> b"]),
    );
    const first = play(failing, { answers: ["t", "u", says("VERDICT: no")] });
    const second = resume(first, failing, { answers: ["v", says("VERDICT: yes")] });
    expect(second.asks.map(({ node }) => node)).toEqual(["b", "b"]);
    expect(second.state.end?.status).toBe("succeeded");
    expect(second.state.steps.map(({ node, status, iteration }) => `${node} ${status} ${iteration}`)).toEqual([
      "a success 1",
      "b failed 1",
      "b success 2",
    ]);
    expect(second.asks[0]?.prompt.context?.length).toBe(1);
  });

  test("after a route that failed: the question is asked again, the node not redone", () => {
    const forked = recordOf(workflowOf({ a: {}, b: {} }, ["a -> b: x"]));
    const first = play(forked, { answers: ["t", "?", "?"] });
    const second = resume(first, forked, { answers: [gives({ reason: "", choice: "b" })] });
    expect(second.asks.map(({ purpose, node }) => `${purpose} ${node}`)).toEqual(["route a", "work b"]);
    expect(second.state.end?.status).toBe("succeeded");
  });

  test("after an interruption while a failed node was being routed: the question is asked again", () => {
    const forked = recordOf(workflowOf({ a: { requires: { output_required: ["input.no"] } }, b: {} }, ["a -> b: x"]));
    const first = play(forked, { answers: [INTERRUPT] });
    const second = resume(first, forked, { answers: [gives({ reason: "", choice: "none" })] });
    expect(eventsOf(second.events, "node:enter")).toHaveLength(1);
    expect(second.state.end).toMatchObject({ status: "failed", error: { code: "node.failed" } });
  });

  test("from a node: it and what came after it are redone, what came before is kept", () => {
    const long = recordOf(workflowOf({ a: {}, b: {}, c: {} }, ["a -> b", "b -> c"]));
    const first = play(long, { answers: ["1", "2", "3"] });
    const second = resume(first, long, { resume: { from: "b" }, answers: ["4", "5"] });
    expect(second.asks.map(({ node }) => node)).toEqual(["b", "c"]);
    expect(second.asks[0]?.prompt.context?.length).toBe(1);
    expect(resultAt(second, "a").data).toEqual({ summary: "1" });
    expect(resultAt(second, "c").data).toEqual({ summary: "5" });
    expect(second.state.steps.map(({ node, iteration }) => `${node}${iteration}`)).toEqual([
      "a1",
      "b1",
      "c1",
      "b2",
      "c2",
    ]);
  });

  test("from a node: edges followed after it may be followed again", () => {
    const loop = recordOf(workflowOf({ a: {}, b: {} }, ["a -> b", { from: "b", to: "a", max_iterations: 1 }]));
    const first = play(loop);
    expect(first.state.steps).toHaveLength(4);
    const second = resume(first, loop, { resume: { from: "b" } });
    expect(second.state.steps.length - first.state.steps.length).toBe(1);
  });

  test("twice: step keys remain unique", () => {
    const first = play(record, { answers: [breaks()] });
    const second = resume(first, record, { answers: [breaks()] });
    const third = play(record, { past: second.events, epoch: 2, resume: {} });
    expect(third.state.end?.status).toBe("succeeded");
    expect(new Set(eventsOf(third.events, "model:error").map(({ key }) => key)).size).toBe(2);
  });
});
