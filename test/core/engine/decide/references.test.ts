import { describe, expect, test } from "vitest";
import {
  calls,
  eventsOf,
  INTERRUPT,
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

/** The references of results, and claims that cite them. */

const flow = workflowOf({ a: { skills: ["ops"] }, b: { skills: ["ops"] }, c: {} }, ["a -> b", "b -> c"]);
const record = recordOf(flow, { skills: [OPS] });
const playFlow = (options: PlayOptions) => play(record, options);
const one = (node: NodeParts, options: PlayOptions = {}) =>
  play(recordOf(workflowOf({ a: { skills: ["ops"], ...node } }), { skills: [OPS] }), options);
const refs = ({ events }: ReturnType<typeof play>) => eventsOf(events, "tool:call").map(({ ref }) => ref);

describe("references", () => {
  test("number the run's calls in the order in which they are announced, over all nodes, whatever their results", () => {
    const played = playFlow({
      answers: [calls("ops_look", "nope"), calls(["ops_strict", {}]), "a", calls("ops_act"), "b"],
      tools: () => ({ error: "boom", code: "tool.failed", acted: "no" }),
    });
    expect(refs(played)).toEqual(["r1", "r2", "r3", "r4"]);
    expect(eventsOf(played.events, "tool:result").map(({ ref, tool }) => [ref, tool])).toEqual([
      ["r2", "nope"],
      ["r1", "ops_look"],
      ["r3", "ops_strict"],
      ["r4", "ops_act"],
    ]);
    const kept = ["a", "b"].map((node) => resultAt(played, node).toolCalls.map(({ ref }) => ref));
    expect(kept).toEqual([["r1", "r2", "r3"], ["r4"]]);
  });

  test("precede each result that the model reads", () => {
    const { asks } = playFlow({ answers: [calls("ops_look", "ops_peek"), "a"] });
    expect(asks[1]?.prompt.turns.at(-1)).toMatchObject({ results: [{ ref: "r1" }, { ref: "r2" }] });
  });

  test("continue after an interruption, and after a resume from an earlier node", () => {
    const first = playFlow({ answers: [calls("ops_look"), "a", calls("ops_peek")] });
    expect(refs(first)).toEqual(["r1", "r2"]);
    const again = playFlow({ past: first.events, epoch: 1, resume: { from: "a" }, answers: [calls("ops_look"), "a"] });
    expect(refs(again)).toEqual(["r1", "r2", "r3"]);
    const cut = playFlow({ answers: [calls("ops_look")], onCalls: () => [INTERRUPT] });
    const resumed = playFlow({ past: cut.events, epoch: 1, resume: {}, answers: [calls("ops_peek"), "a"] });
    expect(refs(resumed)).toEqual(["r1", "r2"]);
    expect(resultAt(resumed, "a").toolCalls.map(({ ref, output }) => [ref, output])).toEqual([
      ["r1", "ok"],
      ["r2", "ok"],
    ]);
  });

  test("the prompts of nodes with skills explain in one line how to cite them, others do not", () => {
    const texts = playFlow({}).asks.map(({ prompt }) => prompt.text);
    const line = "Cite results in claims by their reference, e.g. r7.";
    expect(texts).toEqual([`do a\n\n${line}`, `do b\n\n${line}`, "do c"]);
    expect(one({ skills: ["gone"] }).asks[0]?.prompt.text).toBe("do a");
  });
});

describe("the same call again", () => {
  const again = (options: PlayOptions = {}) =>
    one({}, { answers: [calls("ops_look"), calls("ops_look"), "done"], ...options });

  test("is answered with the reference of the first, and neither announced nor carried out", () => {
    const played = again();
    expect(refs(played)).toEqual(["r1"]);
    expect(played.called).toHaveLength(1);
    expect(eventsOf(played.events, "tool:result")[1]).toMatchObject({ tool: "ops_look", output: "same as r1" });
    expect(played.asks[2]?.prompt.turns.at(-1)).toMatchObject({ results: [{ output: "same as r1", failed: false }] });
    expect(resultAt(played, "a").toolCalls).toHaveLength(1);
  });

  test("also within one turn", () => {
    const played = one({}, { answers: [calls("ops_look", "ops_peek", "ops_look"), "done"] });
    expect(refs(played)).toEqual(["r1", "r2"]);
    expect(eventsOf(played.events, "tool:result")[0]).toMatchObject({ output: "same as r1" });
  });

  test.each<[string, PlayOptions, number]>([
    ["the first failed", { tools: () => ({ error: "boom", code: "tool.failed", acted: "no" }) }, 2],
    ["its input differs", { answers: [calls("ops_look"), calls(["ops_look", { q: 1 }]), "done"] }, 2],
    ["it writes", { answers: [calls("ops_act"), calls("ops_act"), "done"] }, 2],
    ["something was written since", { answers: [calls("ops_look"), calls("ops_act"), calls("ops_look"), "done"] }, 3],
  ])("is carried out if %s", (_, options, count) => {
    expect(again(options).called).toHaveLength(count);
  });

  test("is carried out if its tool is live, and in another visit", () => {
    const live = skillOf("ops", [toolOf("ops", "look", { live: true })]);
    const alive = recordOf(workflowOf({ a: { skills: ["ops"] } }), { skills: [live] });
    expect(play(alive, { answers: [calls("ops_look"), calls("ops_look"), "done"] }).called).toHaveLength(2);
    expect(playFlow({ answers: [calls("ops_look"), "a", calls("ops_look"), "b"] }).called).toHaveLength(2);
  });
});

describe("the limit of turns", () => {
  test("is followed by one turn without tools that requests the answer, which counts like any other", () => {
    const played = one({ max_turns: 2 }, { answers: [calls("ops_look"), calls("ops_peek"), "the answer"] });
    const last = played.asks.at(-1)?.prompt;
    expect(played.asks).toHaveLength(3);
    expect(played.called).toHaveLength(1);
    expect(last?.tools).toEqual([]);
    expect(last?.turns.at(-1)).toMatchObject({ text: expect.stringContaining("limit of 2 turns") });
    expect(JSON.stringify(last?.turns)).toContain("[r1]\\nok");
    expect(last?.turns.every(({ role }) => role !== "tools")).toBe(true);
    expect(resultAt(played, "a")).toMatchObject({ status: "success", data: { summary: "the answer" } });
  });

  test("ends the node if even that turn calls tools, or is empty", () => {
    for (const last of [calls("ops_look"), ""]) {
      const played = one({ max_turns: 1 }, { answers: [calls("ops_peek"), last] });
      expect(resultAt(played, "a")).toMatchObject({
        status: "failed",
        data: { error: "the limit of 1 turns was reached" },
      });
      expect(played.called).toEqual([]);
    }
  });
});

describe("read_result", () => {
  const offered = ({ asks }: ReturnType<typeof play>) =>
    asks.map(({ prompt }) => prompt.tools.some(({ name }) => name === "read_result"));

  test("is offered from the first request on, so that requests share a prefix, at nodes with skills or with an evidence evaluator", () => {
    const checks: NodeParts = {
      eval: [{ name: "e", kind: "evidence", rule: { claims: "claims[*]", min_supported: 0 } }],
    };
    const workflow = workflowOf({ a: { skills: ["ops"] }, b: {}, c: checks }, ["a -> b", "b -> c"]);
    const played = play(recordOf(workflow, { skills: [OPS] }), { answers: [calls("ops_look"), "a", "b", "c"] });
    expect(offered(played)).toEqual([true, true, false, true]);
    expect(offered(one({ disallowed_tools: ["read_result"] }, { answers: [calls("ops_look"), "a"] }))).toEqual([
      false,
      false,
    ]);
  });

  test("returns the recorded call, without a separate reference", () => {
    const answers = [calls("ops_look"), "a", calls(["read_result", { ref: "[r1]" }], "ops_peek"), "b"];
    const played = playFlow({ answers });
    expect(refs(played)).toEqual(["r1", "r2"]);
    const [reading] = played.called.filter(({ tool }) => tool.name === "read_result");
    expect(reading).toMatchObject({ again: { ref: "r1", tool: "ops_look", outcome: { output: "ok" } } });
    expect(reading?.ref).toBeUndefined();
    expect(resultAt(played, "b").toolCalls.map(({ tool }) => tool)).toEqual(["ops_peek"]);
  });

  test.each([
    ["no result of the run", { ref: "r9" }, /there is no result r9\. The results are r1$/],
    ["no reference", { ref: "the first" }, /invalid input/],
  ])("is answered with an error for %s", (_, input, why) => {
    const played = playFlow({ answers: [calls("ops_look"), calls(["read_result", input]), "a"] });
    expect(eventsOf(played.events, "tool:result")[1]?.error).toMatch(why);
    expect(played.called).toHaveLength(1);
  });
});

test.each([
  [[], /^there is no result r9\. No call was made yet$/],
  [[calls("ops_look", "ops_peek")], /^there is no result r9\. The results are r1 to r2$/],
])("an unknown reference after %j is answered with the references that exist", (before, why) => {
  const played = playFlow({ answers: [...before, calls(["read_result", { ref: "r9" }]), "a"] });
  expect(eventsOf(played.events, "tool:result").at(-1)?.error).toMatch(why);
});

test("the next attempt sees the references of earlier results", () => {
  const rule: NodeParts["eval"] = [{ name: "e", kind: "function", rule: { all_tools_called: ["ops_put"] } }];
  const answers = [calls("ops_look", "nope"), "no", calls("ops_look"), calls("ops_put"), "yes"];
  const played = one({ eval: rule, retry: { max: 1 } }, { answers });
  expect(played.asks[2]?.prompt.text).toContain(
    "Its results, which you can read again with `read_result`:\n\n- r1: ops_look\n- r2: nope (failed)",
  );
  expect(eventsOf(played.events, "tool:result").map(({ output }) => output)).toContain("same as r1");
});
