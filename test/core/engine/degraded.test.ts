import { describe, expect, it } from "vitest";
import type { Json } from "../../../src/core/base/values.ts";
import type { Outcome } from "../../../src/core/engine/event/skim.ts";
import { degradedNodes } from "../../../src/core/engine/fold/degraded.ts";

const run = {
  workflow: {
    nodes: {
      look: { skills: ["logs"] },
      file: { skills: ["board", "desk"] },
      tell: { skills: ["chat"] },
      each: { map: { over: "input.issues", as: "issue" } },
    },
  },
  inner: { each: { workflow: { nodes: { judge: { skills: ["logs"] }, say: { skills: ["chat"] } } } } },
  skills: [
    { id: "logs", available: true, tools: [{ exposed: "logs_search", effect: "read" as const }] },
    { id: "board", available: true, tools: [{ exposed: "board_create", effect: "write" as const }] },
    { id: "desk", available: true, tools: [{ exposed: "desk_find", effect: "read" as const }] },
    { id: "chat", available: false, reason: "CHAT_URL is not set", tools: [] },
  ],
};

function outcome(change: Partial<Outcome> = {}): Outcome {
  return { status: "success", data: {}, toolCalls: [], ...change };
}

const WENT = { tool: "board_create" };
const FAILED = { tool: "board_create", error: "403: no" };

function degradedOf(results: Readonly<Record<string, Outcome>>, last = "end", inside: readonly string[] = []) {
  return degradedNodes(run, { visited: Object.keys(results), inside, last, results: new Map(Object.entries(results)) });
}

describe("a node is degraded", () => {
  it.each<[string, Readonly<Record<string, Outcome>>, string]>([
    ["a skill that it lists is missing", { tell: outcome() }, "CHAT_URL is not set"],
    ["its failure was taken by an edge", { look: outcome({ status: "failed", data: { error: "boom" } }) }, "boom"],
    [
      "its failure was softened",
      { look: outcome({ data: { fail_soft: true, error: "late" } }) },
      "it failed softly: late",
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
      "its claim is not shown by evidence",
    ],
    [
      "the tool that it wrote with was hidden",
      { file: outcome({ toolCalls: [{ tool: "board_create", error: "no tool is named board_create" }] }) },
      "no tool is named board_create",
    ],
  ])("where %s", (_what, results, reason) => {
    expect(degradedOf(results)).toEqual([expect.objectContaining({ reason: expect.stringContaining(reason) })]);
  });

  it.each<[string, Readonly<Record<string, Outcome>>]>([
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
  ])("but not where %s", (_what, results) => {
    expect(degradedOf(results)).toEqual([]);
  });

  it("by a skill that does not apply here, only if it has no other skill", () => {
    const git = { id: "git", available: false, cause: "not_applicable", reason: "no repository", tools: [] };
    const nodes = { both: { skills: ["git", "logs"] }, alone: { skills: ["git"] } };
    const visited = { visited: ["both", "alone"], inside: [], last: "end", results: new Map<string, Outcome>() };
    const found = degradedNodes({ ...run, workflow: { nodes }, skills: [...run.skills, git] }, visited);
    expect(found).toEqual([{ node: "alone", skill: "git", reason: "no repository" }]);
  });

  it("not where its failure ended the run", () => {
    const failed = { look: outcome({ status: "failed", data: { error: "boom" } }) };
    expect(degradedOf(failed, "look")).toEqual([]);
  });

  it("once for each skill that is missing, and once more for what it could not do", () => {
    const both = degradedOf({ tell: outcome({ data: { fail_soft: true, error: "late" } }) });
    expect(both.map(({ node, skill }) => [node, skill])).toEqual([
      ["tell", "chat"],
      ["tell", undefined],
    ]);
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
  ])("is degraded where %s, although it succeeded", (_what, result, reason) => {
    expect(degradedOf({ each: result })).toEqual([{ node: "each", reason }]);
  });

  it("is not degraded by items that were skipped, nor a node whose data only look like a map's", () => {
    expect(
      degradedOf({ each: outcome({ data: { items: items.filter((_, index) => index !== 1), left: 0 } }) }),
    ).toEqual([]);
    expect(degradedOf({ look: outcome({ data: { items, left: 2 } }) })).toEqual([]);
  });

  it("is degraded by a skill that a node inside it lacks, once, and only where that node was visited", () => {
    const results = { each: outcome({ data: { items: [], left: 0, failed: 0 } }) };
    expect(degradedOf(results, "end", ["each/say", "each/say", "each/judge"])).toEqual([
      { node: "each", skill: "chat", reason: "CHAT_URL is not set" },
    ]);
    expect(degradedOf(results, "end", ["each/judge"])).toEqual([]);
  });
});
