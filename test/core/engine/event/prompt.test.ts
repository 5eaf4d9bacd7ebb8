import { describe, expect, test } from "vitest";
import type { JsonObject } from "../../../../src/core/base/values.ts";
import {
  defaultFeedback,
  judgePrompt,
  reflectPrompt,
} from "../../../../src/core/engine/decide/judging/judge-prompt.ts";
import { linkProgram } from "../../../../src/core/engine/decide/link.ts";
import { offeringOf } from "../../../../src/core/engine/decide/offer.ts";
import { openingTexts, renderContext } from "../../../../src/core/engine/event/prompt.ts";
import { begin } from "../../../../src/core/engine/fold/state.ts";
import { calls, gives, OPS, play, recordOf, skillOf, toolOf, workflowOf } from "../../../harness/harness.ts";

const firstPrompt = (...args: Parameters<typeof recordOf>) => {
  const [ask] = play(recordOf(...args)).asks;
  if (!ask) throw new Error("nothing was asked");
  return ask.prompt;
};

describe("the sections of a prompt", () => {
  const skills = [
    skillOf("one", [], { name: "Skill One", instruction: "First skill." }),
    skillOf("two", [], { name: "Skill Two", instruction: "Second skill." }),
    skillOf("mute", [toolOf("mute", "t")]),
    skillOf("gone", [], { available: false, instruction: "Never seen." }),
  ];

  test("a lone instruction is sent unwrapped", () => {
    expect(firstPrompt(workflowOf({ a: { instruction: "Just do it." } })).text).toBe("Just do it.");
  });

  test("all parts, in their order", () => {
    const workflow = workflowOf(
      { a: { instruction: "  Do it.\n", skills: ["two", "mute", "gone", "one"], rules: ["r3"], context: ["c2"] } },
      [],
      { rules: ["r1", "r2"], context: ["c1"] },
    );
    expect(firstPrompt(workflow, { skills }).text).toBe(
      [
        "## Rules — You MUST Follow These\n\nr1\n\nr2\n\nr3",
        "## Background Context\n\nc1\n\nc2",
        "## Skill: Skill Two\n\nSecond skill.",
        "## Skill: Skill One\n\nFirst skill.",
        "  Do it.\n\n\nCite results in claims by their reference, e.g. r7.",
      ].join("\n\n---\n\n"),
    );
  });

  test("an empty part leaves no heading", () => {
    const workflow = workflowOf({ a: { rules: [], context: ["./empty.md"] } }, [], { rules: [], context: [] });
    const sources = { "nodes.a.context[0]": "" };
    expect(firstPrompt(workflow, { sources }).text).toBe("do a");
  });

  test("the instruction is sent byte for byte, however long", () => {
    const instruction = `\n\n--- \t${"long ".repeat(50_000)}\r\n`;
    expect(firstPrompt(workflowOf({ a: { instruction } })).text).toBe(instruction);
  });
});

describe("the rules and context in effect", () => {
  const rulesOf = (node: Parameters<typeof workflowOf>[0][string], input = {}) => {
    const workflow = workflowOf({ a: node }, [], { rules: ["flow"], context: ["flow context"] });
    const record = recordOf(workflow, { input });
    return linkProgram(record)
      .preface("a", offeringOf(linkProgram(record), begin(record)))
      .map(({ text }) => text);
  };
  const rules = (...list: string[]) => `## Rules — You MUST Follow These\n\n${list.join("\n\n")}`;
  const context = (...list: string[]) => `## Background Context\n\n${list.join("\n\n")}`;

  test("runtime, then workflow, then node", () => {
    expect(rulesOf({ rules: ["node"] }, { rules: ["run 1", "run 2"] })).toEqual([
      rules("run 1", "run 2", "flow", "node"),
      context("flow context"),
    ]);
  });

  test("one runtime Source counts like a list of one", () => {
    expect(rulesOf({}, { context: "run" })).toEqual([rules("flow"), context("run", "flow context")]);
  });

  test("only: true uses the node's alone, for that field alone", () => {
    const node = { rules: { only: true, sources: ["node"] } };
    expect(rulesOf(node, { rules: ["run"], context: ["run"] })).toEqual([
      rules("node"),
      context("run", "flow context"),
    ]);
  });

  test("only: true with no sources uses nothing", () => {
    expect(rulesOf({ rules: { only: true, sources: [] } })).toEqual([context("flow context")]);
  });

  test("only: false inherits", () => {
    expect(rulesOf({ rules: { only: false, sources: ["node"] } })[0]).toBe(rules("flow", "node"));
    expect(rulesOf({ rules: { sources: ["node"] } })[0]).toBe(rules("flow", "node"));
  });
});

describe("the run's context", () => {
  test("it is absent while there is neither input nor a completed node", () => {
    expect(openingTexts(firstPrompt(workflowOf({ a: {} })))).toEqual(["do a"]);
  });

  test("it is separate from the sections, after the instruction", () => {
    const [text, context, ...more] = openingTexts(firstPrompt(workflowOf({ a: {} }), { input: { id: 7 } }));
    expect(text).toBe("do a");
    expect(context).toContain('"input": {"id":7}');
    expect(more).toEqual([]);
  });

  test("it holds the latest data of each completed node, the input first", () => {
    const workflow = workflowOf({ a: {}, b: {} }, ["a -> b", { from: "b", to: "a", when: "again", max_iterations: 1 }]);
    const { asks } = play(recordOf(workflow), {
      answers: ["one", "two", gives({ reason: "", choice: "a" }), "three", "four"],
    });
    const last = asks.at(-1)?.prompt.context;
    expect(last && renderContext(last)).toBe(
      '## Run Context\n\nThe input of this run and the results of the nodes that ran before this one.\n\n{\n"input": {},\n"b": {"summary":"two"},\n"a": {"summary":"three"}\n}',
    );
  });

  test("an earlier run is shown by its finding, or its results if it has none", () => {
    const shown = (run: JsonObject) => renderContext({ input: { run, other: 1 }, entries: [], length: 0 });
    const results = { look: { data: { text: "long" } } };
    const finding = { headline: "full", title: "full", markdown: "# full" };
    expect(shown({ id: "r", finding, results })).toContain(
      '"input": {"run":{"id":"r","finding":{"headline":"full"}},"other":1}',
    );
    expect(shown({ id: "r", finding: null, results })).toContain('"text":"long"');
  });

  test("a prompt in progress keeps its context although the run continues", () => {
    const { asks } = play(recordOf(workflowOf({ a: {}, b: {}, c: {} }, ["a -> b", "b -> c"])));
    expect(
      asks.map(
        ({ prompt }) => prompt.context && Object.keys(prompt.context.entries.slice(0, prompt.context.length)).length,
      ),
    ).toEqual([0, 1, 2]);
  });

  test("a node sees all data of the nodes before it", () => {
    const output = { type: "object", properties: { x: {} } };
    const { asks } = play(recordOf(workflowOf({ a: { output }, b: {} }, ["a -> b"])), {
      answers: [gives({ x: 1, extra: 2 })],
    });
    expect(asks[1] && openingTexts(asks[1].prompt)[1]).toContain('"a": {"x":1,"extra":2}');
  });
});

describe("the request of a node's model", () => {
  test("the tools of its skills, and structured output if declared", () => {
    const output = { type: "object", properties: { x: { type: "string" } } };
    const prompt = firstPrompt(workflowOf({ a: { skills: ["ops"], output } }), {
      skills: [OPS, skillOf("other", [toolOf("other", "t")])],
    });
    expect(prompt.tools.map(({ name }) => name)).toEqual([
      ...["ops_look", "ops_peek", "ops_act", "ops_put", "ops_strict"],
      "read_result",
    ]);
    expect(prompt.output).toEqual(output);
    expect(firstPrompt(workflowOf({ a: {} })).output).toBeUndefined();
  });

  test("a later turn keeps the first message and adds the turns", () => {
    const { asks } = play(recordOf(workflowOf({ a: { skills: ["ops"] } }), { skills: [OPS] }), {
      answers: [calls(["ops_look", { q: 1 }])],
      tools: () => ({ output: { found: 3 } }),
    });
    expect(asks[1]?.prompt.text).toBe(asks[0]?.prompt.text);
    expect(asks[0]?.prompt.turns).toEqual([]);
    expect(asks[1]?.prompt.turns).toEqual([
      { role: "assistant", parts: [{ type: "call", id: "c0", tool: "ops_look", input: { q: 1 } }] },
      { role: "tools", results: [{ id: "c0", ref: "r1", output: { found: 3 }, failed: false }] },
    ]);
  });
});

describe("feedback and side questions", () => {
  test("default feedback: one line per failure, then the request", () => {
    expect(defaultFeedback(["a (value): x", "b (judge): y"])).toBe("a (value): x\nb (judge): y\nFix and try again.");
  });

  test("custom text, then the list", () => {
    expect(defaultFeedback(["a (value): x"], "Look again.")).toBe("Look again.\na (value): x");
  });

  test("the judge sees data, calls and rubric, and neither tools nor context", () => {
    const prompt = judgePrompt(
      "Is it kind?",
      { text: "hello" },
      { all: [{ tool: "t", input: {}, output: 1 }] },
      "kind",
    );
    expect(prompt).toMatchObject({ turns: [], tools: [] });
    expect(prompt.context).toBeUndefined();
    expect(prompt.output).toBeUndefined();
    for (const part of [
      "Is it kind?",
      '{"text":"hello"}',
      '{"tool":"t","input":{},"output":1}',
      "VERDICT: <word>",
      "REASONING: <",
    ]) {
      expect(prompt.text.replace(/<one word[^>]*>/, "<word>")).toContain(part);
    }
    expect(prompt.text).toContain('"kind" if');
  });

  test.each([1, 5, 2_000])(
    "a judge and a reflection see %i large calls in part, each named, and a note about it",
    (count) => {
      const output = "x".repeat(20_000);
      const calls = Array.from({ length: count }, (_, index) => ({ tool: `t${index}`, input: { index }, output }));
      const judge = judgePrompt("Is it?", {}, { all: calls }, "yes").text;
      const reflection = reflectPrompt({ ask: undefined, instruction: "", data: {}, calls, failures: [] }).text;
      for (const text of [judge, reflection]) {
        expect(text.length).toBeLessThan(Math.min(5_000 * count, 1_200_000) + 2_000);
        expect(text.match(/characters left out/g)).toHaveLength(count);
        for (const { tool } of calls) expect(text).toContain(`{"tool":"${tool}","input":`);
      }
    },
  );

  test("a small call is shown in full next to large ones", () => {
    const calls = [
      { tool: "small", input: {}, output: "y".repeat(3_000) },
      { tool: "large", input: {}, output: "x".repeat(9_000) },
    ];
    expect(judgePrompt("r", {}, { all: calls }, "yes").text).toContain(JSON.stringify(calls[0]));
  });

  test("a reflection sees instruction, data, calls and failures", () => {
    const prompt = reflectPrompt({
      ask: "What went wrong?",
      instruction: "Do it.",
      data: { x: 1 },
      calls: [],
      failures: ["a (value): x is missing"],
    });
    for (const part of ["What went wrong?", "Do it.", '{"x":1}', "## Tool Calls\n\nnone", "a (value): x is missing"]) {
      expect(prompt.text).toContain(part);
    }
    expect(prompt.tools).toEqual([]);
    expect(prompt.context).toBeUndefined();
  });
});
