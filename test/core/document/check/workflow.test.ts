import { describe, expect, test } from "vitest";
import { checkJudgeBudget } from "../../../../src/core/document/check/judge-budget.ts";
import { checkWorkflow } from "../../../../src/core/document/check/workflow.ts";
import type { Workflow } from "../../../../src/core/document/workflow/workflow.ts";
import { codes, type NodeParts, workflowOf } from "../../../harness/harness.ts";

const check = (workflow: Workflow, known: readonly string[] = []) => checkWorkflow(workflow, new Set(known));
const judge = (name: string) => ({ name, kind: "judge", rubric: "good?" }) as const;

type Row = readonly [string, Parameters<typeof workflowOf>, string[]];
const output = {
  type: "object",
  properties: { cause: { type: "string" }, claims: { type: "array", items: { properties: { text: {} } } } },
};
const asks = (path: string) => ({ a: { output }, b: { requires: { output_required: [path] } } });
const evaluates = (path: string): Row[1][0] => ({
  a: { output, eval: [{ name: "x", kind: "value", rule: { output_required: [path] } }] },
});
const calls = (condition: string): Parameters<typeof workflowOf> => {
  const ofCall = { type: "object", properties: { verdict: { enum: ["yes", "no"] }, cause: {} } };
  const rule = { output_required: ["results.v.kind"] };
  const c = { call: "./in.yml", output: ofCall, eval: [{ name: "x", kind: "value" as const, rule }] };
  return [{ c, z: {} }, [{ from: "c", to: "z", if: condition }]];
};
const checked = (path: string): Row[1][0] => ({
  a: { output, eval: [{ name: "x", kind: "evidence", rule: { claims: "claims[*]" } }] },
  b: { requires: { output_required: [path] } },
});
const paths: Row[] = [
  ["a field that is declared is known", [asks("a.cause"), ["a -> b"]], []],
  ["an undeclared field is reported", [asks("a.caus"), ["a -> b"]], ["UNKNOWN_PATH"]],
  ["an undeclared field inside a list is reported", [asks("a.claims[*].txt"), ["a -> b"]], ["UNKNOWN_PATH"]],
  ["what is inside a field of no declared fields is not known", [asks("a.claims[*].text.more"), ["a -> b"]], []],
  ["a text has no fields", [asks("a.cause.more"), ["a -> b"]], ["UNKNOWN_PATH"]],
  ["a list is read with [*]", [asks("a.claims.text"), ["a -> b"]], ["UNKNOWN_PATH"]],
  ["a text is not a list", [asks("a.cause[*]"), ["a -> b"]], ["UNKNOWN_PATH"]],
  ["a node without output has a summary", [{ ...asks("a.summary"), a: {} }, ["a -> b"]], []],
  ["and nothing else", [{ ...asks("a.cause"), a: {} }, ["a -> b"]], ["UNKNOWN_PATH"]],
  ["the skills of a node are known", [asks("skills.available"), ["a -> b"]], []],
  ["by these names alone", [asks("skills.avail"), ["a -> b"]], ["UNKNOWN_PATH"]],
  ["inputs are open where none are declared", [asks("input.anything"), ["a -> b"]], []],
  [
    "and known where they are",
    [asks("input.servce"), ["a -> b"], { inputs: { service: { type: "string" } } }],
    ["UNKNOWN_PATH"],
  ],
  ["the error of a failed node is always known", [asks("a.error"), ["a -> b"]], []],
  [
    "an output that may hold more is believed",
    [{ ...asks("a.caus"), a: { output: { ...output, additionalProperties: true } } }, ["a -> b"]],
    [],
  ],
  ["a condition is read too", [asks("a.cause"), [{ from: "a", to: "b", if: "a.caus = x" }]], ["UNKNOWN_PATH"]],
  ["so is the verdict", [asks("a.cause"), ["a -> b"], { verdict: "a.caus" }], ["UNKNOWN_PATH"]],
  [
    "and each path of a list of verdicts",
    [asks("a.cause"), ["a -> b"], { verdict: ["b.x", "a.caus"] }],
    ["UNKNOWN_PATH", "UNKNOWN_PATH"],
  ],
  ["an evidence evaluator marks the claims that it checks", [checked("any:a.claims[*].unbound[*]"), ["a -> b"]], []],
  ["and nothing else", [checked("any:a.claims[*].unfound"), ["a -> b"]], ["UNKNOWN_PATH"]],
  ["a call with an output has results", calls("c.results.v.kind = yes"), []],
  ["and the results of its evaluators", calls("c.evals.x.pass = true"), []],
  ["and nothing else", calls("c.cause = x"), ["UNKNOWN_PATH"]],
  ["the output describes its verdict", calls("c.verdict = maybe"), ["EDGE_NEVER"]],
  ["an evaluator's paths begin in the node's own data", [evaluates("claims[*].text")], []],
  ["and are read too", [evaluates("claim")], ["UNKNOWN_PATH"]],
];
const providers: Row[] = [
  ["a model of a provider is known", [{ a: { model: "anthropic:x" } }], []],
  ["a name with a colon is a name", [{ a: { model: "llama3:8b" } }], []],
  ["a misspelled provider is reported", [{ a: { model: "antropic:x" } }], ["UNKNOWN_PROVIDER"]],
  ["the judge's too", [{ a: { judge_model: "opnai:x" } }], ["UNKNOWN_PROVIDER"]],
  ["and the workflow's own", [{ a: {} }, [], { model: "openai-compatibel:x" }], ["UNKNOWN_PROVIDER"]],
];

const rows: Row[] = [
  ["a single node is a workflow", [{ a: {} }], []],
  ["an unknown entry is refused", [{ a: {} }, [], { entry: "b" }], ["MISSING_ENTRY"]],
  ["an unknown source is refused", [{ a: {} }, ["x -> a"]], ["UNKNOWN_EDGE_SOURCE"]],
  ["an unknown target is refused", [{ a: {} }, ["a -> x"]], ["UNKNOWN_EDGE_TARGET"]],
  ["both ends of one edge are reported", [{ a: {} }, ["x -> y"]], ["UNKNOWN_EDGE_SOURCE", "UNKNOWN_EDGE_TARGET"]],
  ["a node without a way to it is refused", [{ a: {}, b: {} }], ["UNREACHABLE_NODE"]],
  ["conditions do not matter to reach", [{ a: {}, b: {} }, ["a -> b: never"]], []],
  ["an edge backwards gives no way", [{ a: {}, b: {} }, ["b -> a"]], ["UNREACHABLE_NODE"]],
  [
    "only the first node of an unreachable chain is reported",
    [{ a: {}, b: {}, c: {} }, ["b -> c"]],
    ["UNREACHABLE_NODE"],
  ],
  [
    "an unreachable cycle next to an unreachable node is reported",
    [{ a: {}, b: {}, c: {}, d: {} }, [{ from: "c", to: "d", max_iterations: 1 }, "d -> c"]],
    ["UNREACHABLE_NODE", "UNREACHABLE_NODE"],
  ],
  [
    "a default is one of the allowed values",
    [{ a: {} }, [], { inputs: { d: { type: "string", enum: ["a", "b"], default: "c" } } }],
    ["INPUT_INVALID"],
  ],
  ["a self-loop needs a bound", [{ a: {} }, ["a -> a: again"]], ["SELF_LOOP"]],
  ["a bounded self-loop is fine", [{ a: {} }, [{ from: "a", to: "a", max_iterations: 1 }]], []],
  ["an unbounded cycle is refused", [{ a: {}, b: {} }, ["a -> b", "b -> a: again"]], ["UNBOUNDED_CYCLE"]],
  [
    "one bounded edge bounds the cycle",
    [{ a: {}, b: {} }, ["a -> b", { from: "b", to: "a", when: "again", max_iterations: 2 }]],
    [],
  ],
  [
    "a second, unbounded way round is found",
    [
      { a: {}, b: {}, c: {} },
      ["a -> b: one", "a -> c: two", { from: "b", to: "a", when: "x", max_iterations: 2 }, "c -> a: again"],
    ],
    ["UNBOUNDED_CYCLE"],
  ],
  [
    "two paths that meet are not a cycle",
    [{ a: {}, b: {}, c: {}, d: {} }, ["a -> b: x", "a -> c", "b -> d", "c -> d"]],
    [],
  ],
  ["a self-loop without a bound is reported once, as such", [{ a: {} }, ["a -> a"]], ["SELF_LOOP"]],
  ["an unknown skill is a warning", [{ a: { skills: ["nope"] } }], ["UNKNOWN_SKILL"]],
  ["a known skill is not", [{ a: { skills: ["github"] } }], []],
  ["an inline skill is known", [{ a: { skills: ["own"] } }, [], { skills: { own: { instruction: "x" } } }], []],
  ["an inline skill needs something", [{ a: {} }, [], { skills: { own: { name: "Own" } } }], ["INVALID_INLINE_SKILL"]],
  [
    "a blank instruction is nothing",
    [{ a: {} }, [], { skills: { own: { instruction: " " } } }],
    ["INVALID_INLINE_SKILL"],
  ],
  [
    "an inline skill may be an mcp server only",
    [{ a: {} }, [], { skills: { own: { mcp: { url: "https://x.test" } } } }],
    [],
  ],
  ["two unconditional edges are ambiguous", [{ a: {}, b: {}, c: {} }, ["a -> b", "a -> c"]], ["AMBIGUOUS_EDGES"]],
  [
    "each further one is reported",
    [{ a: {}, b: {} }, ["a -> b", "a -> b", "a -> b"]],
    ["AMBIGUOUS_EDGES", "AMBIGUOUS_EDGES"],
  ],
  [
    "a blank `when` counts as absent",
    [
      { a: {}, b: {}, c: {} },
      [
        { from: "a", to: "b", when: " \n" },
        { from: "a", to: "c", when: "" },
      ],
    ],
    ["AMBIGUOUS_EDGES"],
  ],
  ["the node id input is reserved", [{ input: {} }], ["RESERVED_NODE_ID"]],
  ["other odd ids stay legal", [{ "a b/ä.1": {} }], []],
  ["eval_policy any_pass is refused", [{ a: { eval_policy: "any_pass" } }], ["UNSUPPORTED_EVAL_POLICY"]],
  ["eval_policy weighted is refused", [{ a: { eval_policy: "weighted" } }], ["UNSUPPORTED_EVAL_POLICY"]],
  ["eval_policy all_pass is accepted", [{ a: { eval_policy: "all_pass" } }], []],
  ["two evaluators of one name are a warning", [{ a: { eval: [judge("x"), judge("x")] } }], ["DUPLICATE_EVALUATOR"]],
  ...paths,
  ["a state that is declared can be used", [{ a: { state: ["board"] } }, [], { state: { board: {} } }], []],
  ["one that is not is refused", [{ a: { state: ["bord"] } }, [], { state: { board: {} } }], ["UNKNOWN_STATE"]],
  ["a name of an object's property is not a state", [{ a: { state: ["valueOf"] } }], ["UNKNOWN_STATE"]],
  ["a cool-down knows the input", [{ a: {} }, [], { cool_down: { for: "6h", key: "input.fingerprint" } }], []],
  [
    "and nothing that comes later",
    [{ a: {} }, [], { cool_down: { for: "6h", key: "a.fingerprint" } }],
    ["UNKNOWN_PATH_ROOT"],
  ],
  ...providers,
  ["one name at two nodes is fine", [{ a: { eval: [judge("x")] }, b: { eval: [judge("x")] } }, ["a -> b"]], []],
];

describe("the structure of a workflow", () => {
  test.each(rows)("%s", (_, workflow, expected) => {
    expect(codes(check(workflowOf(...workflow), ["github"]))).toEqual(expected);
  });

  test("all problems are reported at once", () => {
    const workflow = workflowOf(
      { a: { skills: ["nope"] }, input: {}, lost: {} },
      ["a -> input", "a -> input", "a -> a", "x -> y"],
      { skills: { bad: {} } },
    );
    expect(codes(check(workflow)).sort()).toEqual([
      "AMBIGUOUS_EDGES",
      "AMBIGUOUS_EDGES",
      "INVALID_INLINE_SKILL",
      "RESERVED_NODE_ID",
      "SELF_LOOP",
      "UNKNOWN_EDGE_SOURCE",
      "UNKNOWN_EDGE_TARGET",
      "UNKNOWN_SKILL",
      "UNREACHABLE_NODE",
    ]);
  });

  test("an unknown skill's warning names node and id", () => {
    const [found] = check(workflowOf({ a: { skills: ["gihub"] } }), ["github"]);
    expect(found).toMatchObject({ severity: "warning", path: ["nodes", "a", "skills", 0] });
    expect(found?.message).toContain('node "a"');
    expect(found?.message).toContain('"gihub"');
    expect(found?.hint).toBe('did you mean "github"?');
  });

  test("an unknown state's error names node, state and the similar name", () => {
    const [found] = check(workflowOf({ a: { state: ["bord"] } }, [], { state: { board: {} } }));
    expect(found).toMatchObject({ severity: "error", path: ["nodes", "a", "state", 0] });
    expect(found?.message).toBe('node "a" names a state "bord" that the workflow does not declare');
    expect(found?.hint).toBe('did you mean "board"?');
  });

  test("an unreachable node is named", () => {
    expect(check(workflowOf({ a: {}, lost: {} }))[0]?.message).toContain('"lost"');
  });

  test("a cycle is shown as a path", () => {
    const [found] = check(workflowOf({ a: {}, b: {}, c: {} }, ["a -> b", "b -> c", "c -> b: again"]));
    expect(found?.message).toBe("the cycle b -> c -> b has no bound");
  });
});

describe("ids that are properties of every object", () => {
  const names = ["constructor", "toString", "hasOwnProperty", "valueOf", "isPrototypeOf"];

  test.each(names)("a node may be called %s", (name) => {
    const workflow = workflowOf({ a: {}, [name]: {} }, [`a -> ${name}: x`, { from: name, to: "a", max_iterations: 1 }]);
    expect(check(workflow)).toEqual([]);
  });

  test.each(names)("%s is not a node unless it is declared", (name) => {
    expect(codes(check(workflowOf({ a: {} }, [`a -> ${name}`, `${name} -> a`])))).toEqual([
      "UNKNOWN_EDGE_TARGET",
      "UNKNOWN_EDGE_SOURCE",
    ]);
    expect(codes(check(workflowOf({ a: {} }, [], { entry: name })))).toEqual(["MISSING_ENTRY"]);
  });

  test.each(names)("%s is not a skill unless it is declared", (name) => {
    expect(codes(check(workflowOf({ a: { skills: [name] } })))).toEqual(["UNKNOWN_SKILL"]);
    expect(check(workflowOf({ a: { skills: [name] } }, [], { skills: { [name]: { instruction: "x" } } }))).toEqual([]);
  });
});

describe("the judge budget", () => {
  const nodes = (retry: NodeParts["retry"]): Record<string, NodeParts> => ({
    a: { eval: [judge("x"), judge("y")], ...(retry ? { retry } : {}) },
  });

  test.each([
    ["two judges fit into two", undefined, 2, 0],
    ["two judges exceed one", undefined, 1, 1],
    ["retries count: 2 × (1 + 3) exceeds 7", { max: 3 }, 7, 1],
    ["retries count: 2 × (1 + 3) fits into 8", { max: 3 }, 8, 0],
    ["a budget of 0 forbids nothing and warns", undefined, 0, 1],
    ["the default is 50", { max: 24 }, undefined, 0],
    ["51 exceed the default", { max: 25 }, undefined, 1],
  ])("%s", (_, retry, judge_budget, warnings) => {
    const found = check(workflowOf(nodes(retry), [], judge_budget === undefined ? {} : { judge_budget }));
    expect(codes(found)).toEqual(Array(warnings).fill("JUDGE_BUDGET"));
    expect(found.every(({ severity }) => severity === "warning")).toBe(true);
  });
});

describe("the judges of inner workflows", () => {
  const judged = { name: "Look", instruction: "Look.", eval: [judge("x")] };
  const inside = { nodes: { look: judged }, edges: [], entry: "look" };
  const map = (max_items?: number) => ({
    ...inside,
    instruction: undefined,
    map: { over: "input.list", as: "one", ...(max_items === undefined ? {} : { max_items }) },
  });

  test.each<[string, NodeParts, number | undefined, readonly string[]]>([
    ["count once for each item of a map", map(3), 2, ["JUDGE_BUDGET"]],
    ["fit where the map takes few items", map(3), 3, []],
    ["count for a hundred items where nothing is said", map(), undefined, ["JUDGE_BUDGET"]],
  ])("%s", (_, node, judge_budget, expected) => {
    const found = check(workflowOf({ a: node }, [], judge_budget === undefined ? {} : { judge_budget }));
    expect(codes(found).filter((code) => code === "JUDGE_BUDGET")).toEqual(expected);
  });

  test("are counted in files too", () => {
    const called = workflowOf({ a: { eval: [judge("x"), judge("y")] } });
    const workflow = { ...workflowOf({ a: {} }), judge_budget: 1 } as Workflow;
    expect(checkJudgeBudget(workflow)).toEqual([]);
    expect(codes(checkJudgeBudget(workflow, new Map([["a", { workflow: called as Workflow }]])))).toEqual([
      "JUDGE_BUDGET",
    ]);
  });
});

describe("large graphs", () => {
  const chain = (length: number) => {
    const nodes = Object.fromEntries(Array.from({ length }, (_, i) => [`n${i}`, {}]));
    return { nodes, edges: Array.from({ length: length - 1 }, (_, i) => ({ from: `n${i}`, to: `n${i + 1}` })) };
  };

  test("a chain of 12,000 nodes is checked without recursion", () => {
    const { nodes, edges } = chain(12_000);
    expect(check(workflowOf(nodes, edges))).toEqual([]);
  });

  test("the one cycle around 12,000 nodes is found and shortened", () => {
    const { nodes, edges } = chain(12_000);
    const found = check(workflowOf(nodes, [...edges, "n11999 -> n0: again"]));
    expect(codes(found)).toEqual(["UNBOUNDED_CYCLE"]);
    expect(found[0]?.message.length).toBeLessThan(200);
  });

  test("thousands of cycles are all found", () => {
    const { nodes, edges } = chain(12_000);
    const back = edges.map(({ from, to }) => ({ from: to, to: from, when: "again" }));
    expect(check(workflowOf(nodes, [...edges, ...back]))).toHaveLength(11_999);
  });

  test("thousands of unknown targets are all found", () => {
    const { nodes, edges } = chain(6_000);
    const wrong = edges.map(({ from, to }) => ({ from, to: `${to}x`, when: "x" }));
    expect(check(workflowOf(nodes, wrong)).filter(({ code }) => code === "UNKNOWN_EDGE_TARGET")).toHaveLength(5_999);
  });
});

describe("an instruction that asks a node without tools for files for a change", () => {
  test.each<[instruction: string, said: string]>([
    ["Implement\nthe fix now", 'says "Implement the fix"'],
    ["Now make the code\nchanges.", 'says "make the code changes"'],
    ["Make the code  changes", 'says "Make the code changes"'],
    ["Test.\n\n  - push", 'says "push"'],
    ["Test.\n* Commit", 'says "Commit"'],
    ["1. Commit", 'says "Commit"'],
    ["Do not push to main. Then push to the fork.", 'says "push to"'],
    ["Use the `Edit` tool", "names the tool Edit"],
    ["Use the Bash\ntool", "names the tool Bash"],
  ])("%j", (instruction, said) => {
    const [finding] = check(workflowOf({ a: { instruction } }));
    expect(finding).toMatchObject({ code: "FILE_TOOLS_MISSING", message: expect.stringContaining(said) });
  });

  test.each([
    "Do not push. Never commit.",
    "do not create a branch",
    "Never\ncommit to it, and don't\ngit push",
    "Do not use the `Write` tool.",
    "Read the last commit.\n- push events and the commit history",
  ])("and not: %j", (instruction) => {
    expect(codes(check(workflowOf({ a: { instruction } })))).toEqual([]);
  });
});
