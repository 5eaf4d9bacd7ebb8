import { describe, expect, test } from "vitest";
import type { Json, JsonObject } from "../../../../src/core/base/values.ts";
import type { Evaluator } from "../../../../src/core/document/workflow/evaluator.ts";
import { renderContext } from "../../../../src/core/engine/event/prompt.ts";
import { findingOf } from "../../../../src/core/engine/finding/finding.ts";
import { describeResult } from "../../../../src/core/engine/result/result.ts";
import {
  type AskStep,
  calls,
  gives,
  inline,
  type NodeParts,
  play,
  type RecordParts,
  recordOf,
  resultAt,
  skillOf,
  toolOf,
  workflowOf,
} from "../../../harness/harness.ts";

/** Claims of inner runs, and of visits that a later visit or a resume replaces. */

const POST = toolOf("ops", "post", {
  effect: "write",
  output_schema: { type: "object", properties: { url: { type: "string" } } },
});
const OPS = skillOf("ops", [toolOf("ops", "logs"), POST]);
const LOG = "2026-11-20T14:35:01Z ERROR pool exhausted after 1500 ms\n2026-11-20T14:36:00Z WARN disk of db-7 is full";
const POOL = "ERROR pool exhausted after 1500 ms";

type Evidence = Extract<Evaluator, { kind: "evidence" }>;
const shown = (rule: Partial<Evidence["rule"]> = {}, rest: Partial<Evidence> = {}): Evidence => {
  return { name: "shown", kind: "evidence", rule: { claims: "claims[*]", ...rule }, on_unsupported: "drop", ...rest };
};
const REFUTES = { refutes: "refuted[*]", min_supported: 0 };
const claim = (text: string, ref = "r1", quote = POOL) => ({ claim: text, evidence: [{ ref, quote }] });
const thinks = (parts: NodeParts = {}): NodeParts => ({ output: { type: "object" }, eval: [shown()], ...parts });

/** Answers by node, in the order of its requests. The last one is repeated. */
const answersOf = (answers: Readonly<Record<string, readonly JsonObject[]>>) => {
  const asked = new Map<string, number>();
  return ({ node }: AskStep) => {
    const count = asked.get(node) ?? 0;
    asked.set(node, count + 1);
    return gives(answers[node]?.[count] ?? answers[node]?.at(-1) ?? {});
  };
};

const EXPERT = workflowOf(
  { look: { skills: ["ops"], steps: [{ id: "logs", tool: "logs", with: {} }] }, think: thinks() },
  ["look -> think"],
);
const REPORT = { cause: "ask.results.think.cause" };

/** A call of the expert, then a node that may refute. */
function investigated(
  answers: Readonly<Record<string, readonly JsonObject[]>>,
  {
    judge = {},
    edges = [],
    ...rest
  }: { judge?: NodeParts; edges?: readonly { from: string; to: string }[] } & RecordParts = {},
) {
  const nodes = { ask: { call: "expert" }, judge: thinks({ eval: [shown({ ...REFUTES, texts: ["why"] })], ...judge }) };
  const outer = { ...workflowOf(nodes, ["ask -> judge", ...edges]), report: REPORT };
  const record = recordOf(outer, { skills: [OPS], files: { expert: EXPERT }, ...rest });
  const played = play(record, { tools: () => ({ output: LOG }), answers: answersOf(answers) });
  return { record, played, finding: findingOf(played.state, record) };
}

const textsOf = (claims: readonly { readonly text: string }[]) => claims.map(({ text }) => text);

describe("a called workflow", () => {
  test("whose node has the cause shows the cause by its own claims", () => {
    const none = investigated({ think: [{ cause: "pool 4711", claims: [claim("it is", "r1", "nowhere there")] }] });
    expect(none.finding).toMatchObject({ isUnshown: true, counts: { claims: 1, kept: 0 } });
    expect(none.finding.headline).toMatch(/^Cause not shown by evidence: pool 4711/);
    expect(none.played.state.end?.degraded).toContainEqual({ node: "ask", reason: "no claim shows its cause" });
    const some = investigated({ think: [{ cause: "the pool", claims: [claim("it ran dry"), claim("no", "r9")] }] });
    expect(some.finding).not.toHaveProperty("isUnshown");
    expect(some.finding.claims).toMatchObject([{ text: "it ran dry", quotes: [{ ref: "r1", quote: POOL }] }]);
    expect(some.finding.counts).toEqual({ claims: 2, kept: 1, partial: 0, unbound: 0 });
  });

  test("names the facts of its texts that were not found in the finding", () => {
    const think = thinks({ eval: [shown({ texts: ["cause"] })] });
    const expert = { ...EXPERT, nodes: { ...EXPERT.nodes, think: { ...EXPERT.nodes.think, ...think } } };
    const { finding, record, played } = investigated(
      { think: [{ cause: "pool 4711", claims: [claim("it ran dry")] }], judge: [{ claims: [], why: "order 99" }] },
      { files: { expert: expert as typeof EXPERT } },
    );
    expect(finding.missing).toEqual({ cause: ["4711"], "judge.why": ["99"] });
    expect(describeResult(record, played.state).evidence?.texts).toEqual([
      { node: "ask.results.think", path: "cause", missing: ["4711"] },
      { node: "judge", path: "why", missing: ["99"] },
    ]);
  });

  test("has claims that a later node can refute, with their own words", () => {
    const { finding, played, record } = investigated({
      think: [{ cause: "the pool", claims: [claim("It ran  dry"), claim("it was slow")] }],
      judge: [{ claims: [], refuted: [claim("It ran dry.")] }],
    });
    expect(textsOf(finding.claims)).toEqual(["it was slow"]);
    expect(finding.counts).toMatchObject({ claims: 2, kept: 1 });
    const { data } = resultAt(played, "ask");
    expect(JSON.stringify(data)).not.toContain("ran  dry");
    const { evidence } = describeResult(record, played.state);
    expect(evidence).toMatchObject({
      claims: 2,
      dropped: 1,
      dropped_claims: [{ claim: "It ran  dry", reason: `refuted by judge: r1: "${POOL}"` }],
    });
  });

  test("has quotes whose facts count for the texts of later nodes, if their claims hold", () => {
    const faults = (said: JsonObject) => {
      const { played } = investigated({ think: [said], judge: [{ claims: [], why: "after 1500 ms" }] });
      return resultAt(played, "judge").evidence?.texts;
    };
    expect(faults({ claims: [claim("it ran dry")] })).toBeUndefined();
    expect(faults({ claims: [claim("it is full", "r1", "WARN disk of db-7 is full")] })).toMatchObject([
      { path: "why" },
    ]);
  });

  test("tells later nodes the references inside it, its citations and its dropped claims", () => {
    const { played } = investigated({ think: [{ claims: [claim("it ran dry"), claim("no", "r9")] }] });
    const context = played.asks.findLast(({ node }) => node === "judge")?.prompt.context;
    const text = context ? renderContext(context) : "";
    expect(text).toContain('Results inside "ask": r1 (ops_logs)\n"ask" cited: r1 (ops_logs)');
    expect(text).toMatch(
      /Claims that were removed from "ask", with the reason:\n- no — r9: r9 is not a result of this run/,
    );
  });
});

describe("a refutation", () => {
  const said = { cause: "the pool", claims: [claim("it ran dry"), claim("it was slow")] };

  test("counts for the visit that it was about, not for a later one that says the same", () => {
    const again = { from: "judge", to: "ask", if: "judge.again exists", max_iterations: 1 };
    const { finding, played } = investigated(
      { think: [said], judge: [{ claims: [], refuted: [claim("it ran dry")], again: true }, { claims: [] }] },
      { edges: [again] },
    );
    expect(textsOf(finding.claims)).toEqual(["it ran dry", "it was slow"]);
    expect(JSON.stringify(resultAt(played, "ask").data)).toContain("it ran dry");
  });

  test("of a node that fails does not count", () => {
    const strict = { ...shown(REFUTES), on_unsupported: "fail" } as Evaluator;
    const { finding, played } = investigated(
      { think: [said], judge: [{ claims: [], refuted: [claim("it ran dry"), claim("other")] }] },
      { judge: { eval: [strict] } },
    );
    expect(resultAt(played, "judge").status).toBe("failed");
    expect(textsOf(finding.claims)).toEqual(["it ran dry", "it was slow"]);
  });

  test.each([
    ["drop", [{ claim: "it ran dry" }]],
    ["mark", [{ claim: "it ran dry" }, { claim: "other", supported: false }]],
  ] as const)("that does not hold is removed or marked: %s", (on_unsupported, refuted) => {
    const { played } = investigated(
      { think: [said], judge: [{ claims: [], refuted: [claim("it ran dry"), claim("other")] }] },
      { judge: { eval: [shown(REFUTES, { on_unsupported })] } },
    );
    const { data, evidence } = resultAt(played, "judge");
    expect(data.refuted).toMatchObject(refuted);
    expect(data.refuted).toHaveLength(refuted.length);
    const dropped = [{ claim: "refutation of: other" }];
    expect(evidence?.dropped_claims ?? []).toMatchObject(on_unsupported === "drop" ? dropped : []);
  });

  test("is undone by a resume that goes back before it", () => {
    const { record, played } = investigated({ think: [said], judge: [{ claims: [], refuted: [claim("it ran dry")] }] });
    const resumed = play(record, {
      past: played.events,
      epoch: 1,
      resume: { from: "judge" },
      answers: [gives({ claims: [] })],
    });
    const { claims } = findingOf(resumed.state, record);
    expect(textsOf(claims)).toEqual(["it ran dry", "it was slow"]);
  });
});

describe("the input of an inner run", () => {
  const cited = (given: NonNullable<NodeParts["with"]>) => {
    const expert = workflowOf({ think: thinks() });
    const nodes = {
      guess: { output: { type: "object" } },
      look: { skills: ["ops"], steps: [{ id: "logs", tool: "logs", with: {} }] },
      ask: { call: "expert", with: given },
    };
    const record = recordOf(workflowOf(nodes, ["guess -> look", "look -> ask"]), {
      skills: [OPS],
      files: { expert },
      input: { alert: POOL },
    });
    const answers = answersOf({ guess: [{ cause: POOL }], think: [{ claims: [claim("it ran dry", "input")] }] });
    const played = play(record, { tools: () => ({ output: LOG }), answers });
    return findingOf(played.state, record).counts.kept;
  };

  test.each([
    ["{{guess.cause}}", 0],
    ["it says: {{guess.cause}}", 0],
    ["{{input.alert}}", 1],
    ["{{look.logs}}", 1],
    [POOL, 1],
  ])("is evidence unless a model wrote it: %s", (text, kept) => {
    expect(cited({ about: text })).toBe(kept);
  });

  test("counts by items of a list, too", () => {
    const each = { map: { over: "guess.list", as: "item" }, ...inline({ think: thinks() }) };
    const record = recordOf(workflowOf({ guess: { output: { type: "object" } }, each }, ["guess -> each"]), {
      skills: [OPS],
    });
    const answers = answersOf({ guess: [{ list: [POOL] }], think: [{ claims: [claim("it ran dry", "input")] }] });
    const played = play(record, { answers });
    expect(findingOf(played.state, record).counts).toMatchObject({ claims: 1, kept: 0 });
  });
});

test("the words of an earlier run are no evidence, but its quotes are", () => {
  const run = (text: string) => ({
    id: "a",
    verdict: null,
    finding: { headline: POOL, claims: [{ claim: "it", quotes: [{ ref: "r1", quote: text }] }] },
    results: { think: { data: { cause: POOL } } },
  });
  const kept = (earlier: Json) => {
    const record = recordOf(workflowOf({ think: thinks() }), { input: { run: earlier } });
    const played = play(record, { answers: answersOf({ think: [{ claims: [claim("it ran dry", "input")] }] }) });
    return findingOf(played.state, record).counts.kept;
  };
  expect(kept(run("another line"))).toBe(0);
  expect(kept(run(POOL))).toBe(1);
});

test("only the last visit's inner runs count", () => {
  const judge = { skills: ["ops"], output: { type: "object" }, eval: [shown()] };
  const each = { map: { over: "input.list", as: "item" }, ...inline({ judge }) };
  const outer = workflowOf({ each, again: {} }, [
    "each -> again",
    { from: "again", to: "each", if: "input.list exists", max_iterations: 1 },
  ]);
  const record = recordOf(outer, { skills: [OPS], input: { list: ["a", "b"] } });
  let answers = 0;
  const played = play(record, {
    tools: () => ({ output: LOG }),
    answers: (step: AskStep) => {
      if (step.node !== "judge") return "done";
      if (step.prompt.turns.length === 0) return calls(["ops_logs", {}]);
      answers += 1;
      return gives({ claims: [claim("abcd"[answers - 1] ?? "")] });
    },
  });
  expect(textsOf(findingOf(played.state, record).claims)).toEqual(["c", "d"]);
});

test("a planned output inside a map or call is referred to by later steps", () => {
  const post = (text: string) => ({ skills: ["ops"], steps: [{ id: "one", tool: "post", with: { text } }] });
  const nodes = {
    each: { map: { over: "input.list", as: "item" }, ...inline({ file: post("{{input.item}}") }) },
    ask: { call: "expert" },
    tell: {
      skills: ["ops"],
      steps: [
        {
          id: "one",
          tool: "post",
          with: { text: "{{each.items[1].data.results.file.one.url}} {{ask.results.file.one.url}}" },
        },
      ],
    },
  };
  const record = recordOf(workflowOf(nodes, ["each -> ask", "ask -> tell"]), {
    skills: [OPS],
    files: { expert: workflowOf({ file: post("c") }) },
    input: { list: ["a", "b"] },
    settings: { writes: "plan" },
  });
  const played = play(record, {});
  expect(describeResult(record, played.state).plan.at(-1)?.input).toEqual({ text: "${op-2.url} ${op-3.url}" });
});
