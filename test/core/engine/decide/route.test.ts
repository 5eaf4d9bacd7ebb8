import { describe, expect, test } from "vitest";
import { linkProgram } from "../../../../src/core/engine/decide/link.ts";
import {
  chooseRoute,
  liveEdges,
  parseAnswer,
  parseChoice,
  routePrompt,
  routingView,
} from "../../../../src/core/engine/decide/route.ts";
import type { NodeResult } from "../../../../src/core/engine/event/node-result.ts";
import type { NumberedEdge } from "../../../../src/core/engine/fold/program.ts";
import { begin } from "../../../../src/core/engine/fold/state.ts";
import { recordOf, workflowOf } from "../../../harness/harness.ts";

const edge = (index: number, to: string, when?: string): NumberedEdge => ({ from: "a", to, index, when });
const ids = (edges: readonly NumberedEdge[], failed = false) => {
  const choice = chooseRoute(edges, failed);
  return choice.kind === "ask" ? choice.options.map((option) => option.id) : choice.kind;
};

describe("where a node may lead", () => {
  test.each<[string, NumberedEdge[], boolean, unknown]>([
    ["no edge ends the run (E1)", [], false, "end"],
    ["one edge without `when` is followed (E1)", [edge(0, "b")], false, "follow"],
    ["one conditional edge is asked about, with a way out (E1, D6)", [edge(0, "b", "x")], false, ["b", "none"]],
    [
      "only conditional edges: none of these is offered (D6)",
      [edge(0, "b", "x"), edge(1, "c", "y")],
      false,
      ["b", "c", "none"],
    ],
    ["the default is the none of the above (E4)", [edge(0, "b", "x"), edge(1, "c")], false, ["b", "c"]],
    ["a default written first is offered last (E4)", [edge(0, "c"), edge(1, "b", "x")], false, ["b", "c"]],
    [
      "two edges to one target carry their positions (D9, D48)",
      [edge(3, "b", "x"), edge(5, "b", "y")],
      false,
      ["b#3", "b#5", "none"],
    ],
    [
      "a lone edge to its target does not (D48)",
      [edge(3, "b", "x"), edge(4, "c", "z"), edge(5, "b", "y")],
      false,
      ["b#3", "c", "b#5", "none"],
    ],
    ["a default to the same target counts (D48)", [edge(0, "b", "x"), edge(1, "b")], false, ["b#0", "b#1"]],
    [
      "a node called like an edge's id keeps its name",
      [edge(0, "b", "x"), edge(1, "b", "y"), edge(2, "b#0", "z")],
      false,
      ["b#0#0", "b#1", "b#0", "none"],
    ],
    ["a target called none does not hide the way out (D6)", [edge(0, "none", "x")], false, ["none", "none_of_these"]],
    [
      "several such targets neither (D6)",
      [edge(0, "none", "x"), edge(1, "none_of_these", "y")],
      false,
      ["none", "none_of_these", "none_of_these_of_these"],
    ],
    ["a failed node: no edge ends the run (D11)", [], true, "end"],
    ["a failed node does not take a default (D11)", [edge(0, "b")], true, "end"],
    ["a failed node: the default is not offered (D11)", [edge(0, "b", "x"), edge(1, "c")], true, ["b", "none"]],
  ])("%s", (_, edges, failed, expected) => {
    expect(ids(edges, failed)).toEqual(expected);
  });

  test("choices carry the `when` text (E3)", () => {
    const choice = chooseRoute([edge(0, "b", "it burns"), edge(1, "c")], false);
    expect(choice.kind === "ask" && choice.options.map((option) => option.description)).toEqual([
      "it burns",
      "none of the above: the default path",
    ]);
  });

  test("a followed-up edge is left out, each counted by its position (E5, D9)", () => {
    const workflow = workflowOf({ a: {}, b: {} }, [
      { from: "a", to: "b", when: "x", max_iterations: 2 },
      { from: "a", to: "b", when: "x", max_iterations: 2 },
      "b -> a",
    ]);
    const program = linkProgram(recordOf(workflow));
    const past = begin(recordOf(workflow));
    const live = (follows: [number, number][]) =>
      liveEdges(program, "a", { ...past, follows: new Map(follows) }).map(({ index }) => index);
    expect(live([])).toEqual([0, 1]);
    expect(live([[0, 1]])).toEqual([0, 1]);
    expect(live([[0, 2]])).toEqual([1]);
    expect(
      live([
        [0, 2],
        [1, 2],
      ]),
    ).toEqual([]);
  });

  test("a blank `when` makes an unconditional edge (D3)", () => {
    const program = linkProgram(recordOf(workflowOf({ a: {}, b: {} }, [{ from: "a", to: "b", when: "  " }])));
    expect(ids([...program.edgesFrom("a")])).toBe("follow");
  });
});

describe("the answer to a routing question (D7)", () => {
  const options = [edge(0, "page", "x"), edge(1, "page-all", "y"), edge(2, "file me", "z")].map((found) => ({
    id: found.to,
    description: "",
    edge: found,
  }));
  const chosen = (answer: string) => parseChoice(answer, options)?.id;

  test.each([
    ["page", "page"],
    [" page\n", "page"],
    ["file me", "file me"],
    ['"page"', "page"],
    ['{"choice": "page-all"}', "page-all"],
    ['{"reason": "page, not page-all", "choice": "page"}', "page"],
    ['```json\n{"choice": "page"}\n```', "page"],
    ["```\npage\n```", "page"],
  ])("%j chooses %s", (answer, id) => {
    expect(chosen(answer)).toBe(id);
  });

  test.each([
    "",
    "pag",
    "PAGE",
    "page.",
    "page it",
    "I choose page",
    "page, page-all",
    '["page"]',
    '["page", "page-all"]',
    '{"choice": ["page"]}',
    '{"choice": null}',
    '{"choice": "Page"}',
    '{"to": "page"}',
    "{",
    "null",
    "toString",
  ])("%j chooses nothing: ids match exactly", (answer) => {
    expect(chosen(answer)).toBeUndefined();
  });

  test("an id that two choices bear chooses nothing", () => {
    const twice = [edge(0, "b#0", "x"), edge(1, "b#0", "y")].map((found) => ({
      id: found.to,
      description: "",
      edge: found,
    }));
    expect(parseChoice("b#0", twice)).toBeUndefined();
  });

  test.each([
    ['{"a": 1}', { a: 1 }],
    ["  [1]\n", [1]],
    ['```json\n{"a": 1}\n```', { a: 1 }],
    ['```JSON\n{"a": 1}```', { a: 1 }],
    ["none", undefined],
    ["", undefined],
    ['text {"a": 1}', undefined],
  ])("JSON is read from %j", (text, value) => {
    expect(parseAnswer(text)).toEqual(value);
  });
});

describe("the routing question (E3, D8)", () => {
  const context = { input: { id: 1 }, entries: [{ node: "a", data: { x: 1 } }], length: 1 };
  const options = [
    { id: "page", description: "customers cannot pay" },
    { id: "none", description: "none of these applies" },
  ];

  test("it carries context and choices, and no tools", () => {
    const prompt = routePrompt({ node: "a", options, context });
    expect(prompt.text).toContain("- page: customers cannot pay\n- none: none of these applies");
    expect(prompt.context).toBe(context);
    expect(prompt.tools).toEqual([]);
    expect(prompt.turns).toEqual([]);
    expect(prompt.output).toMatchObject({
      properties: { choice: { enum: ["page", "none"] } },
      required: ["reason", "choice"],
    });
  });

  test("a repeated question tells the refused answer", () => {
    expect(routePrompt({ node: "a", options, context, refused: "perhaps" }).text).toContain("perhaps");
  });
});

describe("what routing sees of a node (E6, E7, D13)", () => {
  const withOutput = linkProgram(
    recordOf(workflowOf({ a: { output: { type: "object", properties: { severity: {}, cause: {} } } } })),
  );
  const without = linkProgram(recordOf(workflowOf({ a: {} })));
  const empty = linkProgram(recordOf(workflowOf({ a: { output: { type: "object", properties: {} } } })));
  const result = (data: NodeResult["data"], rest: Partial<NodeResult> = {}): NodeResult => ({
    status: "success",
    data,
    toolCalls: [],
    ...rest,
  });
  const evals = { ok: { kind: "value", pass: true } };
  const evaluated = { evals: [{ name: "ok", kind: "value" as const, pass: true }] };

  test.each<[string, typeof without, NodeResult, unknown, string[]]>([
    [
      "declared keys only (E6)",
      withOutput,
      result({ severity: 1, cause: { deep: 1 }, extra: 2 }),
      { severity: 1, cause: { deep: 1 } },
      [],
    ],
    [
      "a missing one is null, and told (E7)",
      withOutput,
      result({ severity: 1 }),
      { severity: 1, cause: null },
      ["cause"],
    ],
    [
      "not told for a failed node (E7, D13)",
      withOutput,
      result({ error: "e" }, { status: "failed" }),
      { severity: null, cause: null, error: "e" },
      [],
    ],
    [
      "not told for a skipped node (E7, D13)",
      withOutput,
      result({ skipped_reason: "s" }, { status: "skipped" }),
      { severity: null, cause: null, skipped_reason: "s" },
      [],
    ],
    [
      "what the executor wrote stays (D13)",
      withOutput,
      result({ severity: 1, cause: 2, fail_soft: true, error: "e", x: 1 }),
      { severity: 1, cause: 2, fail_soft: true, error: "e" },
      [],
    ],
    [
      "evals stand beside the keys (E6)",
      withOutput,
      result({ severity: 1, cause: 2, x: 1 }, evaluated),
      { severity: 1, cause: 2, evals },
      [],
    ],
    [
      "a data field called evals wins (N32)",
      withOutput,
      result({ severity: 1, cause: 2, evals: 7 }, evaluated),
      { severity: 1, cause: 2, evals: 7 },
      [],
    ],
    [
      "without properties the whole node is shown (E6)",
      without,
      result({ summary: "s", x: 1 }),
      { summary: "s", x: 1 },
      [],
    ],
    ["empty properties show the whole node (E6)", empty, result({ x: 1 }), { x: 1 }, []],
    ["evals stand beside a whole node", without, result({ summary: "s" }, evaluated), { summary: "s", evals }, []],
  ])("%s", (_, program, given, data, missing) => {
    expect(routingView(program, "a", given)).toEqual({ data, missing });
  });
});
