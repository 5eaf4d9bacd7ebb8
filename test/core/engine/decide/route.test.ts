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

describe("the choices of a node", () => {
  test.each<[string, NumberedEdge[], boolean, unknown]>([
    ["no edge ends the run", [], false, "end"],
    ["one edge without `when` is followed", [edge(0, "b")], false, "follow"],
    ["one conditional edge is asked about, with a way out", [edge(0, "b", "x")], false, ["b", "none"]],
    [
      "only conditional edges: none of these is offered",
      [edge(0, "b", "x"), edge(1, "c", "y")],
      false,
      ["b", "c", "none"],
    ],
    ["the default is the none of the above", [edge(0, "b", "x"), edge(1, "c")], false, ["b", "c"]],
    ["a default written first is offered last", [edge(0, "c"), edge(1, "b", "x")], false, ["b", "c"]],
    [
      "two edges to one target carry their positions",
      [edge(3, "b", "x"), edge(5, "b", "y")],
      false,
      ["b#3", "b#5", "none"],
    ],
    [
      "a lone edge to its target does not",
      [edge(3, "b", "x"), edge(4, "c", "z"), edge(5, "b", "y")],
      false,
      ["b#3", "c", "b#5", "none"],
    ],
    ["a default to the same target counts", [edge(0, "b", "x"), edge(1, "b")], false, ["b#0", "b#1"]],
    [
      "a node called like an edge's id keeps its name",
      [edge(0, "b", "x"), edge(1, "b", "y"), edge(2, "b#0", "z")],
      false,
      ["b#0#0", "b#1", "b#0", "none"],
    ],
    ["a target called none does not hide the way out", [edge(0, "none", "x")], false, ["none", "none_of_these"]],
    [
      "several such targets neither",
      [edge(0, "none", "x"), edge(1, "none_of_these", "y")],
      false,
      ["none", "none_of_these", "none_of_these_of_these"],
    ],
    ["a failed node: no edge ends the run", [], true, "end"],
    ["a failed node does not take a default", [edge(0, "b")], true, "end"],
    ["a failed node: the default is not offered", [edge(0, "b", "x"), edge(1, "c")], true, ["b", "none"]],
  ])("%s", (_, edges, failed, expected) => {
    expect(ids(edges, failed)).toEqual(expected);
  });

  test("choices have the `when` text", () => {
    const choice = chooseRoute([edge(0, "b", "it burns"), edge(1, "c")], false);
    expect(choice.kind === "ask" && choice.options.map((option) => option.description)).toEqual([
      "it burns",
      "none of the above: the default path",
    ]);
  });

  test("a used-up edge is left out, each counted by its position", () => {
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

  test("a blank `when` makes an unconditional edge", () => {
    const program = linkProgram(recordOf(workflowOf({ a: {}, b: {} }, [{ from: "a", to: "b", when: "  " }])));
    expect(ids([...program.edgesFrom("a")])).toBe("follow");
  });
});

describe("the answer to a routing question", () => {
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

  test("an id that two choices share chooses nothing", () => {
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

describe("the routing question", () => {
  const context = { input: { id: 1 }, entries: [{ node: "a", data: { x: 1 } }], length: 1 };
  const options = [
    { id: "page", description: "customers cannot pay" },
    { id: "none", description: "none of these applies" },
  ];

  test("it has context and choices, and no tools", () => {
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

  test("a repeated question quotes the refused answer", () => {
    expect(routePrompt({ node: "a", options, context, refused: "perhaps" }).text).toContain("perhaps");
  });
});

describe("the data of a node that routing sees", () => {
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
      "declared keys only",
      withOutput,
      result({ severity: 1, cause: { deep: 1 }, extra: 2 }),
      { severity: 1, cause: { deep: 1 } },
      [],
    ],
    [
      "a missing one is null, with a warning",
      withOutput,
      result({ severity: 1 }),
      { severity: 1, cause: null },
      ["cause"],
    ],
    [
      "no warning for a failed node",
      withOutput,
      result({ error: "e" }, { status: "failed" }),
      { severity: null, cause: null, error: "e" },
      [],
    ],
    [
      "no warning for a skipped node",
      withOutput,
      result({ skipped_reason: "s" }, { status: "skipped" }),
      { severity: null, cause: null, skipped_reason: "s" },
      [],
    ],
    [
      "what the executor wrote stays",
      withOutput,
      result({ severity: 1, cause: 2, fail_soft: true, error: "e", x: 1 }),
      { severity: 1, cause: 2, fail_soft: true, error: "e" },
      [],
    ],
    [
      "evals are next to the keys",
      withOutput,
      result({ severity: 1, cause: 2, x: 1 }, evaluated),
      { severity: 1, cause: 2, evals },
      [],
    ],
    [
      "a data field called evals wins",
      withOutput,
      result({ severity: 1, cause: 2, evals: 7 }, evaluated),
      { severity: 1, cause: 2, evals: 7 },
      [],
    ],
    ["without properties the whole node is shown", without, result({ summary: "s", x: 1 }), { summary: "s", x: 1 }, []],
    ["empty properties show the whole node", empty, result({ x: 1 }), { x: 1 }, []],
    ["evals are next to all data of a node", without, result({ summary: "s" }, evaluated), { summary: "s", evals }, []],
  ])("%s", (_, program, given, data, missing) => {
    expect(routingView(program, "a", given)).toEqual({ data, missing });
  });
});
