import { describe, expect, it } from "vitest";
import type { Json } from "../../../src/core/base/values.ts";
import type { Degraded, Shortfall } from "../../../src/core/engine/event/end.ts";
import { shortfallsOf } from "../../../src/core/engine/fold/degraded.ts";
import {
  calls,
  eventsOf,
  gives,
  inline,
  OPS,
  type PlayOptions,
  play,
  recordOf,
  resultAt,
  skillOf,
  workflowOf,
} from "../../harness/harness.ts";

const NODES = {
  look: { skills: ["logs"] },
  file: { skills: ["board", "desk"] },
  tell: { skills: ["chat"] },
  each: { map: { over: "input.issues", as: "issue" } },
};

const SKILLS = [
  { id: "logs", available: true, tools: [{ exposed: "logs_search", effect: "read" }] },
  { id: "board", available: true, tools: [{ exposed: "board_create", effect: "write" }] },
  { id: "desk", available: true, tools: [{ exposed: "desk_find", effect: "read" }] },
  { id: "chat", available: false, reason: "CHAT_URL is not set", tools: [] },
] as const;

type Outcome = Parameters<typeof shortfallsOf>[1]["result"];

function outcome(change: Partial<Outcome> = {}): Outcome {
  return { status: "success", data: {}, toolCalls: [], ...change };
}

function shortfallsAt(results: Readonly<Partial<Record<keyof typeof NODES, Outcome>>>): Shortfall[] {
  return Object.entries(results).flatMap(([node, result]) => {
    return shortfallsOf(SKILLS, { node: NODES[node as keyof typeof NODES], result, changed: [] });
  });
}

const WENT = { tool: "board_create" };
const FAILED = { tool: "board_create", error: "403: no" };

describe("a node is degraded", () => {
  it.each<[string, Parameters<typeof shortfallsAt>[0], string]>([
    ["a skill that it lists is missing", { tell: outcome() }, "CHAT_URL is not set"],
    [
      "its failure was softened",
      { look: outcome({ data: { fail_soft: true, error: "late" } }) },
      "it failed (fail_soft): late",
    ],
    [
      "its one write failed",
      { file: outcome({ toolCalls: [FAILED] }) },
      "its write did not succeed: board_create: 403: no",
    ],
    ["all of its writes failed", { file: outcome({ toolCalls: [FAILED, FAILED] }) }, "none of its 2 writes succeeded"],
    [
      "its write answers with an error",
      { file: outcome({ toolCalls: [{ tool: "board_create", output: { error: "no" } }] }) },
      "no",
    ],
    [
      "every call of it failed, whatever it answered",
      {
        look: outcome({
          toolCalls: [
            { tool: "desk_find", error: "404" },
            { tool: "logs_search", error: "down" },
          ],
        }),
      },
      "none of its 2 calls succeeded: desk_find: 404",
    ],
    [
      "its calls failed, and only the executor's own tools answered",
      { look: outcome({ toolCalls: [{ tool: "read_skill" }, { tool: "desk_find", error: "404" }] }) },
      "its only call failed: desk_find: 404",
    ],
    [
      "no claim of it is shown by evidence",
      { look: outcome({ evidence: { claims: 1, supported: 0 } }) },
      "its claim is not supported by evidence",
    ],
    [
      "the tool that it wrote with was hidden",
      { file: outcome({ toolCalls: [{ tool: "board_create", error: "no tool is named board_create" }] }) },
      "no tool is named board_create",
    ],
  ])("if %s", (_what, results, reason) => {
    expect(shortfallsAt(results)).toEqual([expect.objectContaining({ reason: expect.stringContaining(reason) })]);
  });

  it.each<[string, Parameters<typeof shortfallsAt>[0]]>([
    ["all went well", { look: outcome(), file: outcome({ toolCalls: [WENT] }) }],
    ["one write of two went through", { file: outcome({ toolCalls: [FAILED, WENT] }) }],
    [
      "only some of what reads failed",
      { file: outcome({ toolCalls: [{ tool: "desk_find", error: "404" }, { tool: "desk_find" }] }) },
    ],
    ["its writes are planned", { file: outcome({ toolCalls: [{ tool: "board_create", output: { planned: true } }] }) }],
    ["some claim of it holds", { look: outcome({ evidence: { claims: 2, supported: 1 } }) }],
    ["it says itself that it filed nothing", { file: outcome({ data: { filed: false } }) }],
    [
      "it was skipped as its workflow says",
      { look: outcome({ status: "skipped", data: { skipped_reason: "no owner" } }) },
    ],
  ])("but not if %s", (_what, results) => {
    expect(shortfallsAt(results)).toEqual([]);
  });

  it("by a skill that does not apply here, only if it has no other skill", () => {
    const git = { id: "git", available: false, cause: "not_applicable" as const, reason: "no repository", tools: [] };
    const at = (...skills: string[]) => {
      return shortfallsOf([...SKILLS, git], { node: { skills }, result: outcome(), changed: [] });
    };
    expect(at("git", "logs")).toEqual([]);
    expect(at("git")).toEqual([{ skill: "git", reason: "no repository" }]);
  });

  it("once for each missing skill, and once for each call that it could not make", () => {
    const both = shortfallsAt({ tell: outcome({ data: { fail_soft: true, error: "late" } }) });
    expect(both.map(({ skill }) => skill)).toEqual(["chat", undefined]);
  });
});

describe("a map", () => {
  const items: Json[] = [
    { key: "fp-1", status: "success", data: { results: {} } },
    { key: "fp-2", status: "failed", data: { error: "no such issue" } },
    { key: "fp-3", status: "skipped", data: {}, skipped_reason: "judged before" },
  ];

  it.each<[string, Outcome, string]>([
    ["an item failed", outcome({ data: { items, left: 0, failed: 1 } }), "1 of 3 items failed: fp-2: no such issue"],
    ["items are left", outcome({ data: { items: [], left: 12, failed: 0 } }), "12 items were left for the next run"],
  ])("is degraded if %s, although it succeeded", (_what, result, reason) => {
    expect(shortfallsAt({ each: result })).toEqual([{ reason }]);
  });

  it("is not degraded by skipped items, nor is a node whose data only looks like a map's", () => {
    expect(
      shortfallsAt({ each: outcome({ data: { items: items.filter((_, index) => index !== 1), left: 0 } }) }),
    ).toEqual([]);
    expect(shortfallsAt({ look: outcome({ data: { items, left: 2 } }) })).toEqual([]);
  });
});

const CHAT = skillOf("chat", [], { available: false, reason: "CHAT_URL is not set" });
const EACH = { over: "input.list", as: "item" } as const;

function degradedOf(record: Parameters<typeof play>[0], options: PlayOptions = {}): readonly Degraded[] | undefined {
  return eventsOf(play(record, options).events, "workflow:end").at(-1)?.degraded;
}

/** A map over two items, each of which runs these nodes. */
function mapped(inside: Parameters<typeof inline>, options: PlayOptions = {}) {
  const workflow = workflowOf({ each: { map: EACH, ...inline(...inside) } });
  return degradedOf(recordOf(workflow, { input: { list: ["a", "b"] }, skills: [OPS, CHAT] }), options);
}

const FAILING = { requires: { output_required: ["input.owner"] } };
const ON = (from: string, to: string) => ({ from, to, if: `${from}.error exists` });
const failedCall = () => ({ error: "503", code: "tool.failed", acted: "no" }) as const;

describe("the end of a run", () => {
  it("lists nothing if nothing was degraded", () => {
    expect(degradedOf(recordOf(workflowOf({ a: {} })))).toEqual([]);
  });

  it("lists a failure that an edge handled, and not one that ended the run", () => {
    const workflow = workflowOf({ a: FAILING, b: {} }, [ON("a", "b")]);
    expect(degradedOf(recordOf(workflow))).toEqual([
      { node: "a", reason: "it failed, and the run continued: requires failed: input.owner is missing" },
    ]);
    expect(degradedOf(recordOf(workflowOf({ a: FAILING })))).toEqual([]);
  });

  it("lists a failure of an inner node that an edge handled, and an inner map that lost items", () => {
    expect(mapped([{ look: FAILING, mend: {} }, [ON("look", "mend")]])).toEqual([
      { node: "each", reason: expect.stringMatching(/^each\[0\]\/look: it failed, and the run continued: /) },
      { node: "each", reason: expect.stringMatching(/^each\[1\]\/look: it failed, and the run continued: /) },
    ]);
    const inner = { map: { ...EACH, over: "input.item" }, ...inline({ look: FAILING }) };
    const workflow = workflowOf({ each: { map: EACH, ...inline({ all: inner }) } });
    expect(degradedOf(recordOf(workflow, { input: { list: [["x"]] } }))).toEqual([
      { node: "each", reason: expect.stringMatching(/^each\[0\]\/all: 1 of 1 item failed: 0: /) },
    ]);
  });

  it("lists a skill that inner nodes lack once, and only where they were visited", () => {
    const lacking = { node: "each", skill: "chat", reason: "CHAT_URL is not set" };
    expect(mapped([{ say: { skills: ["chat", "ops"] } }])).toEqual([lacking]);
    expect(mapped([{ look: {}, say: { skills: ["chat", "ops"] } }])).toEqual([]);
  });

  it("names the failed call of an inner node by its reference", () => {
    const options: PlayOptions = { answers: [calls("ops_look"), "no", "no"], tools: failedCall };
    expect(mapped([{ look: { skills: ["ops"] } }], options)).toEqual([
      { node: "each", ref: "r1", reason: "each[0]/look: its only call failed: ops_look: 503" },
    ]);
  });

  it("truncates long reasons", () => {
    const options: PlayOptions = {
      answers: [calls("ops_look")],
      tools: () => ({ ...failedCall(), error: "x".repeat(1000) }),
    };
    const [only] = degradedOf(recordOf(workflowOf({ a: { skills: ["ops"] } }), { skills: [OPS] }), options) ?? [];
    expect(only?.reason).toHaveLength(300);
  });

  it("lists what inner runs lack while the run waits for a decision", () => {
    const nodes = { say: { skills: ["chat", "ops"] }, ask: { approval: { ask: "Go on?" } } };
    expect(mapped([nodes, ["say -> ask"]])).toEqual([{ node: "each", skill: "chat", reason: "CHAT_URL is not set" }]);
  });

  it("lists nothing for a waiting run without degradation", () => {
    expect(degradedOf(recordOf(workflowOf({ ask: { approval: { ask: "Go on?" } } })))).toEqual([]);
  });

  it("omits visits that were undone", () => {
    const inside = inline({ look: { skills: ["ops"] } });
    const workflow = workflowOf({ a: {}, b: { skills: ["chat", "ops"] }, c: { map: EACH, ...inside }, d: {} }, [
      "a -> b: to b",
      "a -> d",
      "b -> c",
    ]);
    const record = recordOf(workflow, { input: { list: ["x"] }, skills: [OPS, CHAT] });
    const first = play(record, {
      answers: ["a", gives({ choice: "b" }), "b", calls("ops_look"), "no"],
      tools: failedCall,
    });
    expect(eventsOf(first.events, "workflow:end")[0]?.degraded).toMatchObject([{ node: "b" }, { node: "c" }]);
    const again = play(record, {
      past: first.events,
      resume: { from: "a" },
      answers: ["a", gives({ choice: "d" }), "d"],
    });
    expect(eventsOf(again.events, "workflow:end")[1]?.degraded).toEqual([]);
  });

  it("keeps only the reasons of inner runs", () => {
    const options: PlayOptions = { answers: [calls("ops_look"), "no", "no"], tools: failedCall };
    const workflow = workflowOf({ each: { map: EACH, ...inline({ look: { skills: ["ops"] } }) } });
    const record = recordOf(workflow, { input: { list: ["a"] }, skills: [OPS] });
    expect(play(record, options).state.path[0]?.degraded.map((each) => Object.keys(each))).toEqual([
      ["node", "ref", "reason"],
    ]);
  });
});

it.each([
  [{ type: "object" }, { x: 1 }],
  [
    { type: "object", properties: { error: { type: "string" } } },
    { x: 1, error: "forged" },
  ],
])("a model cannot write that its node failed: %j", (output, data) => {
  const answer = { x: 1, error: "forged", skipped_reason: "so", fail_soft: true };
  const played = play(recordOf(workflowOf({ a: { output } })), { answers: [gives(answer)] });
  expect(resultAt(played, "a").data).toEqual(data);
  expect(played.state.end?.degraded).toEqual([]);
});
