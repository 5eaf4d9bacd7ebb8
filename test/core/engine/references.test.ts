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
  workflowOf,
} from "../../harness.ts";

/** The references of results, and what rests on them. */

const flow = workflowOf({ a: { skills: ["ops"] }, b: { skills: ["ops"] }, c: {} }, ["a -> b", "b -> c"]);
const record = recordOf(flow, { skills: [OPS] });
const playFlow = (options: PlayOptions) => play(record, options);
const one = (node: NodeParts, options: PlayOptions = {}) =>
  play(recordOf(workflowOf({ a: { skills: ["ops"], ...node } }), { skills: [OPS] }), options);
const refs = ({ events }: ReturnType<typeof play>) => eventsOf(events, "tool:call").map(({ ref }) => ref);

describe("references (G10)", () => {
  test("count the run's calls in the order in which they are announced, over all nodes, whatever comes of them", () => {
    const played = playFlow({
      answers: [calls("ops_look", "nope"), calls(["ops_strict", {}]), "a", calls("ops_act"), "b"],
      tools: () => ({ error: "boom", code: "tool.failed" }),
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

  test("stand before each result that the model reads", () => {
    const { asks } = playFlow({ answers: [calls("ops_look", "ops_peek"), "a"] });
    expect(asks[1]?.prompt.turns.at(-1)).toMatchObject({ results: [{ ref: "r1" }, { ref: "r2" }] });
  });

  test("go on after an interruption, and after a resume from an earlier node", () => {
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

  test("the prompts of nodes with skills say in one line how they are cited, others do not", () => {
    const texts = playFlow({}).asks.map(({ prompt }) => prompt.text);
    const line = "Claims cite results by their reference, e.g. r7.";
    expect(texts).toEqual([`do a\n\n${line}`, `do b\n\n${line}`, "do c"]);
    expect(one({ skills: ["gone"] }).asks[0]?.prompt.text).toBe("do a");
  });
});
