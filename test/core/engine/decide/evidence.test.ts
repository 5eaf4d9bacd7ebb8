import { describe, expect, test } from "vitest";
import type { Json, JsonObject } from "../../../../src/core/base/values.ts";
import type { Evaluator } from "../../../../src/core/document/workflow/evaluator.ts";
import type { RunEvent } from "../../../../src/core/engine/event/event.ts";
import { renderContext } from "../../../../src/core/engine/event/prompt.ts";
import { fold } from "../../../../src/core/engine/fold/fold.ts";
import { begin } from "../../../../src/core/engine/fold/state.ts";
import {
  calls,
  eventsOf,
  gives,
  MAKER,
  type NodeParts,
  type PlayOptions,
  play,
  purposes,
  recordOf,
  resultAt,
  says,
  skillOf,
  toolOf,
  workflowOf,
} from "../../../harness/harness.ts";

/** Claims that code checks. */

const OPS = skillOf("ops", [
  toolOf("ops", "logs"),
  toolOf("ops", "show", { origin: "team" }),
  toolOf("ops", "act", { effect: "write" }),
]);

type Evidence = Extract<Evaluator, { kind: "evidence" }>;
const checks = (parts: Partial<Evidence> = {}): Evidence => ({
  name: "claims_hold",
  kind: "evidence",
  rule: { claims: "claims[*]" },
  on_unsupported: "drop",
  ...parts,
});

const output = { type: "object", properties: { claims: { type: "array" } }, required: ["claims"] };
const node = (evaluators: Evaluator[], rest: NodeParts = {}): NodeParts => {
  return { skills: ["ops"], output, eval: evaluators, ...rest };
};

const LOG =
  "ERROR pool exhausted after 1500 ms\nWARN payment declined for order 4711\ntoken [redacted:KEY] was refused";
const SHOW = { commit: "04fa1ae1e6d7", file: "src/orders.js", line: 12, diff: "+  return { status: 'declined' }\n" };

const claim = (text: string, ...evidence: Json[]): JsonObject => ({ claim: text, evidence });
const cite = (ref: string, quote: string) => ({ ref, quote });

const LOOK = calls("ops_logs", "ops_show", ["ops_logs", { q: 1 }]);

/** A node `look` that made r1 (logs) and r2 (show), r3 that failed, then the node under test. */
function judged(claims: Json, evaluator: Evaluator = checks(), options: PlayOptions = {}, rest: NodeParts = {}) {
  const workflow = workflowOf({ look: { skills: ["ops"] }, a: node([evaluator], rest) }, ["look -> a"]);
  return play(recordOf(workflow, { skills: [OPS], input: { alert: "the disk of db-7 is full" } }), {
    answers: [LOOK, "seen", ...Array.from({ length: 4 }, () => gives({ claims }))],
    tools: ({ tool, input }) => {
      if (JSON.stringify(input) === '{"q":1}') return { error: "boom at once", code: "tool.failed", acted: "no" };
      return { output: tool.name === "show" ? SHOW : LOG };
    },
    ...options,
  });
}

const TRUE = claim("the pool ran dry", cite("r1", "pool exhausted after 1500 ms"));
const HELD = { ...TRUE, supported: true };
const FALSE = claim("the disk is full", cite("r1", "the disk of db-7 is full"));

test("a quote of the input that a result only repeats counts as one of the input", () => {
  const alert = "the disk of db-7 is full";
  const workflow = workflowOf({ look: { skills: ["ops"] }, a: node([checks()]) }, ["look -> a"]);
  const repeated = claim("the disk is full", cite("r1", alert));
  const own = claim("the pool", cite("r1", "the pool ran dry, I think"));
  const played = play(recordOf(workflow, { skills: [OPS], input: { alert } }), {
    answers: [
      calls(["ops_logs", { about: alert, why: "the pool ran dry, I think" }]),
      "seen",
      ...Array.from({ length: 4 }, () => gives({ claims: [repeated, own] })),
    ],
    tools: ({ input }) => ({ output: { ...(input as JsonObject), text: "nothing" } }),
  });
  const cites = eventsOf(played.events, "evidence:checked")[0]?.claims.flatMap((each) => each.cites);
  expect(cites).toMatchObject([{ ref: "input" }, { ref: "r1", code: "not_found" }]);
});

test("the nodes after it see which results a node's claims cite, and nodes after others do not", () => {
  const workflow = workflowOf({ look: { skills: ["ops"] }, a: node([checks()]), b: {} }, ["look -> a", "a -> b"]);
  const claims = [TRUE, FALSE, claim("seen", cite("r2", "src/orders.js"), cite("r1", "pool exhausted after"))];
  const played = play(recordOf(workflow, { skills: [OPS] }), {
    answers: [calls("ops_logs", "ops_show"), "seen", gives({ claims }), "done"],
    tools: ({ tool }) => ({ output: tool.name === "show" ? SHOW : LOG }),
  });
  const contexts = played.asks.map(({ prompt }) => prompt.context && renderContext(prompt.context));
  expect(contexts.at(-1)).toMatch(/\n\}\n\n"a" cited: r1 \(ops_logs\), r2 \(ops_show\)\n/);
  expect(contexts.slice(0, -1).filter((text) => text?.includes(" cited: "))).toEqual([]);
});

test("a node that cites many results lists them up to a limit", () => {
  const cited = Array.from({ length: 60 }, (_, index) => `r${index + 1} (ops_logs)`);
  const text = renderContext({ input: {}, entries: [{ node: "a", data: {}, cited }], length: 1 });
  expect(text.split("\n").at(-1)).toMatch(/^"a" cited: r1 \(ops_logs\), .*, r50 \(ops_logs\), 10 more$/);
});

test("a call that was only planned is not evidence", () => {
  const workflow = workflowOf({ a: { skills: ["ops"], ...node([checks()]) } });
  const claims = [claim("it was restarted", cite("r1", '"planned": true'))];
  const played = play(recordOf(workflow, { skills: [OPS], settings: { writes: "plan" } }), {
    answers: [calls("ops_act"), gives({ claims })],
  });
  const result = resultAt(played, "a");
  expect(result).toMatchObject({ status: "failed", evidence: { claims: 1, supported: 0, cites: 1, held: 0 } });
  expect(JSON.stringify(result)).toContain("r1 was planned, not carried out");
});

describe("modes", () => {
  test("drop removes claims without support, and citations that do not hold", () => {
    const mixed = claim("declined", cite("r1", "payment declined for order"), cite("r2", "payment declined for order"));
    const played = judged([TRUE, FALSE, mixed]);
    expect(resultAt(played, "a")).toMatchObject({
      status: "success",
      data: { claims: [TRUE, claim("declined", cite("r1", "payment declined for order"))] },
      evals: [{ name: "claims_hold", kind: "evidence", pass: true }],
      evidence: { claims: 3, supported: 2, dropped: 1, cites: 4, held: 2 },
    });
    expect(eventsOf(played.events, "evidence:checked")).toHaveLength(2);
  });

  test("mark keeps them and marks each", () => {
    const { data, evidence } = resultAt(judged([TRUE, FALSE], checks({ on_unsupported: "mark" })), "a");
    expect(data.claims).toEqual([
      { ...TRUE, supported: true },
      {
        ...FALSE,
        evidence: [],
        supported: false,
        rejected: [{ ref: "r1", quote: "the disk of db-7 is full", reason: "its quote does not occur in r1" }],
      },
    ]);
    expect(evidence).toEqual({ claims: 2, supported: 1, dropped: 0, cites: 2, held: 1 });
  });

  test("fail, the default, fails the evaluation, keeps the answer and retries with the list", () => {
    const { on_unsupported: _, ...evaluator } = checks();
    const played = judged([TRUE, FALSE], evaluator, {}, { retry: { max: 1 } });
    expect(resultAt(played, "a")).toMatchObject({
      status: "failed",
      data: { claims: [HELD, { ...FALSE, supported: false }] },
      evidence: { claims: 2, supported: 1, dropped: 0, cites: 2, held: 1 },
    });
    const [retry] = eventsOf(played.events, "node:retry");
    expect(retry?.preamble).toContain("the disk is full — r1: its quote does not occur in r1");
    expect(retry?.preamble).not.toContain("the pool ran dry");
  });

  test("fewer supported claims than required fail it in each mode", () => {
    for (const mode of ["drop", "mark"] as const) {
      expect(resultAt(judged([FALSE], checks({ on_unsupported: mode })), "a").status).toBe("failed");
      const two = checks({ on_unsupported: mode, rule: { claims: "claims[*]", min_supported: 2 } });
      expect(resultAt(judged([TRUE, FALSE], two), "a").status).toBe("failed");
      const none = checks({ on_unsupported: mode, rule: { claims: "claims[*]", min_supported: 0 } });
      expect(resultAt(judged([FALSE], none), "a").status).toBe("success");
    }
    expect(resultAt(judged([FALSE]), "a").data).toMatchObject({ claims: [] });
    expect(resultAt(judged([]), "a").status).toBe("failed");
  });

  test("missing claims fail it, and the error names what is missing", () => {
    const { status, evals } = resultAt(judged([TRUE], checks({ rule: { claims: "findings[*]" } })), "a");
    expect([status, evals?.[0]?.reasoning]).toEqual(["failed", "findings is missing"]);
  });

  test("paths and fields have other names if the rule sets them", () => {
    const rule = { claims: "claims[*].points[*]", cites: "source", ref: "at", quote: "says" };
    const point = (at: string) => ({ text: "p", source: { at, says: "pool exhausted after" } });
    const { data, evidence } = resultAt(judged([{ points: [point("[r1]"), point("r2")] }], checks({ rule })), "a");
    expect(data.claims).toEqual([{ points: [{ ...point("[r1]"), supported: true }] }]);
    expect(evidence).toMatchObject({ claims: 2, supported: 1, dropped: 1 });
  });
});

describe("one correction", () => {
  const corrected = (answers: PlayOptions["answers"], options: PlayOptions = {}, rest: NodeParts = {}) =>
    judged([], checks(), { answers: [LOOK, "seen", ...(answers as [])], ...options }, rest);
  const told = ({ asks }: ReturnType<typeof judged>) => {
    return asks.flatMap(({ prompt }) => prompt.turns.flatMap((turn) => (turn.role === "user" ? [turn.text] : [])));
  };

  test("the model reads the claim, the reason and the nearest text, and its second answer counts", () => {
    const near = claim("the pool ran dry", cite("r1", "pool was exhausted after 1500 ms"));
    const unbound = claim("exhausted after 1.8 s", cite("r1", "pool exhausted after"));
    const played = corrected([gives({ claims: [near, unbound, TRUE] }), gives({ claims: [TRUE] })]);
    expect(told(played)).toHaveLength(1);
    expect(told(played)[0]).toMatch(
      /\n- .*the pool ran dry.* — r1: its quote does not occur in r1; the nearest text there is: ERROR pool exhausted after 1500 ms\n- .* — not in the records that it quotes: 1\.8 s\nGive the whole answer once more\./,
    );
    expect(told(played)[0]).not.toContain(JSON.stringify(TRUE));
    expect(resultAt(played, "a")).toMatchObject({
      status: "success",
      data: { claims: [TRUE] },
      evidence: { claims: 1, supported: 1, dropped: 0 },
    });
    expect(eventsOf(played.events, "reply:rejected")).toMatchObject([{ node: "a", claims: true }]);
  });

  test("names the length of a short quote without its white space", () => {
    const played = judged([claim("fail 7", cite("r1", "a\nb fail 7"))]);
    const [rejected] = eventsOf(played.events, "reply:rejected");
    expect(rejected?.problems?.[0]).toContain(
      "its quote has fewer than 8 characters, not counting white space, and is not",
    );
  });

  test("is one per attempt, next to that of a wrong schema", () => {
    const played = corrected([
      gives({}),
      gives({ claims: [FALSE, TRUE] }),
      gives({ claims: [FALSE, TRUE] }),
      says("unused"),
    ]);
    expect(eventsOf(played.events, "reply:rejected").map(({ claims }) => claims)).toEqual([undefined, true]);
    expect(resultAt(played, "a").evidence).toMatchObject({ claims: 2, dropped: 1 });
    const fails = { ...checks(), on_unsupported: "fail" } as const;
    const retried = judged([FALSE], fails, {}, { retry: { max: 1 } });
    expect(eventsOf(retried.events, "reply:rejected")).toHaveLength(2);
  });

  test("may use the node's tools, one turn beyond the limit, and the answer after that is final", () => {
    const again = claim("seen again", cite("r4", "pool exhausted after 1500 ms"));
    const look = calls(["ops_logs", { again: true }]);
    const played = corrected(
      [gives({ claims: [FALSE] }), look, gives({ claims: [again, FALSE] })],
      {},
      { max_turns: 1 },
    );
    expect(played.asks.slice(-3).map(({ prompt }) => prompt.tools.length > 0)).toEqual([true, true, false]);
    expect(resultAt(played, "a")).toMatchObject({
      status: "success",
      data: { claims: [again] },
      toolCalls: [{ ref: "r4" }],
    });
  });

  test.each<[string, PlayOptions["answers"]]>([
    ["is empty", [""]],
    ["is cut off", [says("{", { stop: "length" }), says("{", { stop: "length" })]],
    ["is refused", [says("no", { stop: "refusal" })]],
    ["has a wrong form", [gives({ other: 1 }), gives({ other: 1 })]],
    ["calls tools again and again", [calls(["ops_logs", { n: 1 }]), calls(["ops_logs", { n: 2 }])]],
  ])("keeps the first answer if the second %s", (_, answers) => {
    const played = corrected([gives({ claims: [TRUE, FALSE] }), ...(answers as [])], {}, { max_turns: 1 });
    expect(resultAt(played, "a")).toMatchObject({
      status: "success",
      data: { claims: [TRUE] },
      evidence: { claims: 2, supported: 1, dropped: 1 },
    });
  });

  test("an interrupt before the second answer leaves what held in the first", () => {
    const stop = { type: "run:interrupt", reason: "enough" } as const;
    expect(resultAt(corrected([gives({ claims: [TRUE, FALSE] }), stop]), "a").data.claims).toEqual([HELD]);
  });

  test("a judge before the check judges both answers, one after it the second only", () => {
    const judge = (name: string): Evaluator => ({ name, kind: "judge", rubric: "Is it fair?" });
    const workflow = workflowOf({ a: node([judge("before"), checks(), judge("after")]) });
    const yes = says("VERDICT: yes");
    const played = play(recordOf(workflow, { skills: [OPS] }), {
      answers: [calls("ops_logs"), gives({ claims: [TRUE, FALSE] }), yes, gives({ claims: [TRUE] }), yes, yes],
      tools: () => ({ output: LOG }),
    });
    expect(purposes(played)).toEqual(["work", "work", "judge", "work", "judge", "judge"]);
    expect(resultAt(played, "a")).toMatchObject({ status: "success", data: { claims: [TRUE] } });
  });

  test("later nodes read which claims were removed, and why", () => {
    const workflow = workflowOf({ look: { skills: ["ops"] }, a: node([checks()]), b: {} }, ["look -> a", "a -> b"]);
    const claims = [TRUE, FALSE];
    const played = play(recordOf(workflow, { skills: [OPS] }), {
      answers: [calls("ops_logs"), "seen", gives({ claims }), gives({ claims }), "done"],
      tools: () => ({ output: LOG }),
    });
    const last = played.asks.at(-1)?.prompt.context;
    const [data, dropped] = (last ? renderContext(last) : "").split('Claims that were removed from "a"');
    expect(data).not.toContain("the disk is full");
    expect(dropped).toContain("\n- the disk is full — r1: its quote does not occur in r1");
  });

  test("a retry reads the complaints word for word and the answer as given, next to a diagnosis", () => {
    const fails = { ...checks(), on_unsupported: "drop", rule: { claims: "claims[*]", min_supported: 2 } } as const;
    const claims = [TRUE, FALSE];
    const played = judged(
      [],
      fails,
      { answers: [LOOK, "seen", gives({ claims }), gives({ claims }), says("Look at the pool."), gives({ claims })] },
      { retry: { max: 1, instruction: { auto: true } } },
    );
    const [reflected, retried] = ["reflect", "work"].map((purpose) => {
      return played.asks.slice(4).find((step) => step.purpose === purpose)?.prompt.text ?? "";
    });
    for (const text of [reflected, retried]) {
      expect(text).toContain("- the disk is full — r1: its quote does not occur in r1");
      expect(text).toContain(JSON.stringify(FALSE));
    }
    expect(retried).toContain("Look at the pool.\n");
  });
});

describe("facts in further fields", () => {
  const rule = { claims: "claims[*]", texts: ["cause", "notes"] };
  const answer = (cause: string) => gives({ claims: [TRUE], cause, notes: ["nothing"] });
  const told = (cause: string, parts: Partial<Evidence> = {}) => {
    return judged([], checks({ rule, ...parts }), { answers: [LOOK, "seen", answer(cause), answer(cause)] });
  };

  test("hold if a record that a claim quotes, or the input, contains them", () => {
    const played = told("The pool of `db-7` was empty after 1.5 s");
    expect(resultAt(played, "a").evidence).not.toHaveProperty("texts");
    expect(eventsOf(played.events, "reply:rejected")).toEqual([]);
  });

  test("are complaints and marked if not, and fail only where unsupported claims do", () => {
    const played = told("The pool was empty after 1.8 s in `eu-west`");
    const texts = [{ path: "cause", missing: ["1.8 s", "eu-west"] }];
    expect(eventsOf(played.events, "evidence:checked").at(-1)).toMatchObject({ texts });
    expect(resultAt(played, "a")).toMatchObject({ status: "success", evidence: { supported: 1, texts } });
    expect(eventsOf(played.events, "reply:rejected")[0]?.reason).toContain("- cause — neither the records");
    expect(resultAt(told("after 1.8 s", { on_unsupported: "fail" }), "a").status).toBe("failed");
  });

  test("may be contained in records that earlier nodes' claims quote", () => {
    const workflow = workflowOf(
      { look: { skills: ["ops"] }, a: node([checks()]), b: node([checks({ rule: { ...rule, min_supported: 0 } })]) },
      ["look -> a", "a -> b"],
    );
    const later = { claims: [], cause: "after 1500 ms, order 4711", notes: [] };
    const played = play(recordOf(workflow, { skills: [OPS] }), {
      answers: [calls("ops_logs"), "seen", gives({ claims: [TRUE] }), gives(later), gives(later)],
      tools: () => ({ output: LOG }),
    });
    expect(resultAt(played, "b").evidence?.texts).toEqual([{ path: "cause", missing: ["4711"] }]);
  });
});

describe("a refutation", () => {
  const WRONG = claim("The pool ran dry: `1500 ms`", cite("r1", "pool exhausted after 1500 ms"));
  const refuting = (text: string, quote: string) => {
    const rule = { claims: "claims[*]", refutes: "refuted[*]", min_supported: 0 };
    const answer = gives({ claims: [], refuted: [claim(text, cite("r1", quote))] });
    const workflow = workflowOf(
      { look: { skills: ["ops"] }, a: node([checks()]), b: node([checks({ rule })]), c: {} },
      ["look -> a", "a -> b", "b -> c"],
    );
    return play(recordOf(workflow, { skills: [OPS] }), {
      answers: [calls("ops_logs"), "seen", gives({ claims: [WRONG, TRUE] }), answer, answer, "done"],
      tools: () => ({ output: LOG }),
    });
  };

  test("that holds removes the claim from the earlier node, with the reason", () => {
    const played = refuting("The pool  ran dry: “1500 ms”".replace(/[“”]/g, "`"), "payment declined for order 4711");
    const [, found] = eventsOf(played.events, "evidence:checked");
    expect(found?.refuted).toMatchObject([
      { nodes: ["a"], holds: true, reason: 'r1: "payment declined for order 4711"' },
    ]);
    const { data, evidence } = resultAt(played, "a");
    expect(data.claims).toEqual([HELD]);
    expect(evidence).toMatchObject({
      claims: 2,
      dropped: 1,
      dropped_claims: [{ reason: 'refuted by b: r1: "payment declined for order 4711"' }],
    });
    const context = played.asks.at(-1)?.prompt.context;
    const [before, after] = (context ? renderContext(context) : "").split('removed from "a"');
    expect(before?.split('"b":')[0]).not.toContain("`1500 ms`");
    expect(after).toContain('refuted by b: r1: "payment');
  });

  test.each(["The pool ran dry: `1500 ms`.", "`The pool  ran dry: `1500 ms``", "`The pool ran dry: `1500 ms``."])(
    "repeats the claim as quotes are compared: %s",
    (text) => {
      const played = refuting(text, "payment declined for order 4711");
      expect(resultAt(played, "a").data.claims).toEqual([HELD]);
    },
  );

  test.each([
    [
      "of a claim that no node made",
      "The pool was full",
      "payment declined for order 4711",
      "no earlier node has this",
    ],
    ["without a quote that holds", "The pool ran dry: `1500 ms`", "the disk is full", "does not occur in r1"],
  ])("%s is a complaint and removes nothing", (_, text, quote, reason) => {
    const played = refuting(text, quote);
    expect(eventsOf(played.events, "reply:rejected")[0]?.reason).toContain(reason);
    expect(eventsOf(played.events, "evidence:checked").at(-1)?.refuted).toMatchObject([{ holds: false }]);
    expect(resultAt(played, "a").data.claims).toEqual([{ ...WRONG, supported: true }, HELD]);
  });

  test("is undone with its node", () => {
    const played = refuting("The pool ran dry: `1500 ms`", "payment declined for order 4711");
    const again = played.events.reduce(fold, begin(recordOf(workflowOf({ look: {} }))));
    expect(again.results.get("a")?.data.claims).toEqual([HELD]);
    const resumed = {
      type: "run:resume",
      from: "b",
      settings: {},
      seq: 0,
      time: "2026-01-01T00:00:00Z",
      epoch: 1,
      key: "r",
    };
    expect(fold(again, resumed as RunEvent).results.get("a")?.data.claims).toEqual([
      { ...WRONG, supported: true },
      HELD,
    ]);
  });
});

describe("independent evidence", () => {
  const rule = { claims: "claims[*]", independent: true };

  test("needs a result of a tool of the team", () => {
    const own = claim("the commit returns early", cite("r2", "return { status: 'declined' }"));
    const played = judged(
      [TRUE, own, claim("both", ...(TRUE.evidence as Json[]), cite("r2", "src/orders.js"))],
      checks({ rule }),
    );
    expect(resultAt(played, "a").evidence).toMatchObject({ claims: 3, supported: 2, dropped: 1, cites: 4, held: 4 });
  });
});

describe("evaluators after it", () => {
  test("see its result", () => {
    const three: Evaluator[] = [
      checks(),
      {
        name: "one",
        kind: "value",
        rule: { output_matches: [{ path: "claims[*].claim", equals: "the pool ran dry" }] },
      },
    ];
    const workflow = workflowOf({ a: node(three) });
    const played = play(recordOf(workflow, { skills: [OPS] }), {
      answers: [calls("ops_logs"), gives({ claims: [TRUE, FALSE] })],
      tools: () => ({ output: LOG }),
    });
    expect(resultAt(played, "a")).toMatchObject({ status: "success", evals: [{ pass: true }, { pass: true }] });
  });

  test("a judge sees the parts of earlier nodes' results that claims cite, and only the names of the others", () => {
    const judge: Evaluator = { name: "fair", kind: "judge", rubric: "Is it fair?" };
    const workflow = workflowOf({ look: { skills: ["ops"] }, a: node([checks(), judge]) }, ["look -> a"]);
    const long = `${"INFO nothing\n".repeat(2000)}ERROR pool exhausted after 1500 ms\n${"INFO later\n".repeat(2000)}`;
    const played = play(recordOf(workflow, { skills: [OPS] }), {
      answers: [
        calls("ops_logs"),
        "seen",
        calls(["ops_show", { path: "x" }]),
        gives({ claims: [TRUE, FALSE] }),
        gives({ claims: [TRUE, FALSE] }),
        says("VERDICT: yes"),
      ],
      tools: ({ tool }) => ({ output: tool.name === "show" ? SHOW : long }),
    });
    const text = played.asks.at(-1)?.prompt.text ?? "";
    expect(purposes(played)).toEqual(["work", "work", "work", "work", "work", "judge"]);
    expect(text).toContain("r1 ops_logs {} returned:\nERROR pool exhausted after 1500 ms\nINFO later");
    expect(text).toContain('r2 ops_show {"path":"x"} (not cited)');
    for (const hidden of ["INFO nothing", "04fa1ae", "the disk is full"]) expect(text).not.toContain(hidden);
    expect(text.length).toBeLessThan(6000);
    expect(resultAt(played, "a").status).toBe("success");
  });

  test("a judge without an evidence evaluator before it sees the calls as usual", () => {
    const judge: Evaluator = { name: "fair", kind: "judge", rubric: "Is it fair?" };
    const played = play(recordOf(workflowOf({ a: node([judge]) }), { skills: [OPS] }), {
      answers: [calls("ops_show"), gives({ claims: [] }), says("VERDICT: yes")],
      tools: () => ({ output: SHOW }),
    });
    expect(played.asks.at(-1)?.prompt.text).toContain("04fa1ae");
  });
});

describe("the same history gives the same result", () => {
  test("if the run continues from any of its records", () => {
    const whole = judged([TRUE, FALSE]);
    for (let at = 1; at < whole.events.length; at++) {
      const claims = [TRUE, FALSE];
      const isAnswered = whole.events.slice(0, at).filter(({ type }) => type === "model:reply").length;
      const answers = [LOOK, "seen", gives({ claims }), gives({ claims })].slice(isAnswered);
      const again = judged(claims, checks(), { past: whole.events.slice(0, at), answers });
      expect(resultAt(again, "a")).toEqual(resultAt(whole, "a"));
    }
  });

  test("removed claims stay removed when a judge aborts the node", () => {
    const judge: Evaluator = { name: "fair", kind: "judge", rubric: "Is it fair?" };
    const workflow = workflowOf({ a: node([checks(), judge]) });
    const stop = { type: "run:interrupt", reason: "enough" } as const;
    const played = play(recordOf(workflow, { skills: [OPS] }), {
      answers: [calls("ops_logs"), gives({ claims: [TRUE, FALSE] }), stop],
      tools: () => ({ output: LOG }),
    });
    expect(resultAt(played, "a").data.claims).toEqual([HELD]);
  });
});

describe("a result stored as a blob", () => {
  test("is searched completely: a quote from the middle of a blob", () => {
    const head = {
      blob_id: `blob:${"0".repeat(32)}`,
      kind: "text/plain",
      size_bytes: 9,
      head: "a",
      tail: "z",
      lines: 3,
    };
    const blobs = [{ blob_id: head.blob_id, kind: head.kind, size_bytes: head.size_bytes }];
    const options: PlayOptions = {
      tools: ({ tool }) => ({ output: tool.name === "logs" ? head : SHOW, blobs }),
      blobs: [[head.blob_id, `first\n${LOG}\nlast`]],
    };
    expect(resultAt(judged([TRUE, FALSE], checks(), options), "a").evidence).toMatchObject({ supported: 1, held: 1 });
    expect(resultAt(judged([TRUE], checks(), { ...options, blobs: [] }), "a").status).toBe("failed");
  });
});

describe("planted claims", () => {
  const say = (ref: string, quote: string) => claim("c", cite(ref, quote));
  const log = (quote: string) => say("r1", quote);
  const show = (quote: string) => say("r2", quote);
  const kept: [string, Json][] = [
    ["a line", log("ERROR pool exhausted after 1500 ms")],
    ["part of a line", log("pool exhausted")],
    ["another line", log("payment declined for order 4711")],
    ["two lines", log("1500 ms\nWARN payment")],
    ["two lines as one", log("1500 ms WARN payment")],
    ["wide space", log("pool   exhausted  after")],
    ["an ellipsis", log("ERROR pool … 1500 ms")],
    ["three dots", log("ERROR pool ... 1500 ms")],

    ["an ellipsis at the end", log("ERROR pool exhausted…")],
    ["an ellipsis at the beginning", log("…payment declined for…")],
    ["a number written otherwise", log("after 1500.0 ms")],
    ["a number with an exponent", log("exhausted after 1.5e3 ms")],
    ["a reference in brackets", say("[r1]", "pool exhausted")],
    ["a reference with blanks", say(" r1", "pool exhausted")],
    ["a reference in capitals", say("R1", "pool exhausted")],
    ["a reference with an offset", say("r1@120", "pool exhausted")],
    ["two references, of which the second has it", say("r2, r1", "pool exhausted")],
    ["backticks and a full stop", log("`pool exhausted after 1500 ms.`")],
    ["a marker as shown", log("token [redacted:KEY] was refused")],
    ["a marker as an ellipsis", log("token … was refused")],
    ["a hash", show("04fa1ae1e6d7")],
    ["a file", show("src/orders.js")],
    ["a field with its name", show('"file":"src/orders.js"')],
    ["a short whole field", show("12")],
    ["a short whole field as a number", claim("c", { ref: "r2", quote: 12 })],
    ["a short whole field of equal value", show("12.0")],
    ["code, unescaped", show("return { status: 'declined' }")],
    ["code, as JSON", show("return { status: 'declined' }\\n")],
    ["typographic quotes", show("return { status: ‘declined’ }")],
    ["a diff's sign", show("+ return { status:")],
    ["several fields", show('"commit":"04fa1ae1e6d7","file":"src/orders.js"')],
    ["several fields by an ellipsis", show("04fa1ae1e6d7 … src/orders.js")],
    ["a correct citation next to a wrong one", claim("c", cite("r1", "nothing of this"), cite("r1", "pool exhausted"))],
    [
      "a correct citation next to a wrong reference",
      claim("c", cite("r9", "pool exhausted"), cite("r1", "pool exhausted")),
    ],
    ["a correct citation next to a failed call", claim("c", cite("r3", "boom at once"), cite("r1", "pool exhausted"))],
    ["two right cites", claim("c", cite("r1", "pool exhausted"), cite("r2", "src/orders.js"))],
    ["the same twice", claim("c", cite("r1", "pool exhausted"), cite("r1", "pool exhausted"))],
    ["further fields", { text: "c", sure: true, evidence: [cite("r1", "pool exhausted")] }],
    ["further fields of a cite", claim("c", { ...cite("r1", "pool exhausted"), tool: "ops_logs" })],
    ["a quote with blanks around", log("  pool exhausted  ")],
    ["a word with a number", log("order 4711\ntoken")],
    ["eight characters", log("declined")],
    ["pieces of four characters", log("ERROR … pool … 1500")],
    ["a line number among names", show('"line":12,"diff"')],
  ];
  const dropped: [string, Json][] = [
    ["a wrong number", log("pool exhausted after 1501 ms")],
    ["a number cut short", log("pool exhausted after 150")],
    ["a number's end", log("00 ms\nWARN payment declined")],
    ["a larger number", log("declined for order 47110")],
    ["a wrong file", show("src/orders.ts")],
    ["a wrong line", show("13")],
    ["a line among names that is wrong", show('"line":13,"diff"')],
    ["a wrong hash", show("04fa1ae1e6d8")],
    ["a made-up line", log("ERROR out of memory on host 3")],
    ["the right quote of another call", show("pool exhausted after 1500 ms")],
    ["the right quote of the first call", log("src/orders.js")],
    ["an invented reference", say("r99", "pool exhausted")],
    ["a reference that is none", say("log", "pool exhausted")],
    ["a reference with more around", say("see r1", "pool exhausted")],
    ["pieces of two lines", log("ERROR pool … declined for order 4711")],
    ["two references with more around", say("r1 and r2", "pool exhausted")],
    ["reference zero", say("r0", "pool exhausted")],
    ["a reference with a leading zero", say("r01", "pool exhausted")],
    ["a failed call", say("r3", "boom at once")],
    ["the alert alone", log("the disk of db-7 is full")],
    ["no quote", claim("c", { ref: "r1" })],
    ["an empty quote", log("")],
    ["no reference", claim("c", { quote: "pool exhausted" })],
    ["no evidence", claim("c")],
    ["no list of evidence", { claim: "c" }],
    ["evidence that is a text", { claim: "c", evidence: "r1" }],
    ["evidence that is texts", claim("c", "r1", "pool exhausted")],
    ["a claim that is a text", "the pool is exhausted (r1)"],
    ["a claim that is null", null],
    ["a short word", log("pool")],
    ["a part of a field", show("04fa")],
    ["pieces in another order", log("1500 ms … ERROR pool")],
    ["pieces of two results", log("pool exhausted … src/orders.js")],
    ["a piece that is too short", log("ERROR … p … 1500 ms")],
    ["only an ellipsis", log("… … …")],
    ["another case", log("Pool Exhausted")],
    ["a quote with a word more", log("pool is exhausted after")],
    ["what was redacted", log("redacted:KEY")],
    ["another secret's marker", log("token [redacted:OTHER] was refused")],
    ["a negation taken off", show("- return { status: 'declined' }")],
  ];

  test("are forty of each", () => {
    expect(Math.min(kept.length, dropped.length)).toBeGreaterThanOrEqual(40);
  });

  test("the run's input can be cited, and facts that no quoted record contains are marked", () => {
    const planted = [
      claim("the disk of db-7 is full", cite("input", "the disk of db-7 is full")),
      claim("exhausted after 1.5 s", cite("r1", "pool exhausted after")),
      claim("exhausted after 1.8 s", cite("r1", "pool exhausted after")),
      claim("exhausted after 1500 ms", cite("r1", "pool exhausted after"), cite("r2", "not there at all")),
    ];
    const { data, evidence } = resultAt(judged(planted), "a");
    expect(evidence).toMatchObject({ claims: 4, supported: 4, dropped: 0, partial: 1, unbound: 1 });
    expect(data.claims).toEqual([
      { ...planted[0], supported: true },
      { ...planted[1], supported: true },
      { ...planted[2], supported: true, unbound: ["1.8 s"] },
      { ...planted[3], evidence: [cite("r1", "pool exhausted after")], supported: true, partial: true },
    ]);
    const strict = resultAt(judged(planted, checks({ on_unbound: "drop" })), "a");
    expect(strict.evidence).toMatchObject({ supported: 4, dropped: 1, unbound: 1 });
    expect(strict.evidence?.dropped_claims?.[0]?.reason).toContain("1.8 s");
  });

  test("the answer of a write, and a field that repeats the call's input, are not evidence", () => {
    const options: PlayOptions = {
      answers: [
        calls(["ops_act", { note: "the pool is exhausted" }], ["ops_logs", { search: "pool exhausted" }]),
        "seen",
        gives({
          claims: [
            claim("a", cite("r1", "the pool is exhausted")),
            claim("b", cite("r2", "pool exhausted")),
            claim("c", cite("r2", "nothing matched")),
          ],
        }),
      ],
      tools: ({ tool, input }) => {
        const { search = "" } = input as { search?: string };
        const act: Json = { noted: "the pool is exhausted" };
        const found: Json = { search, note: "nothing matched" };
        return { output: tool.name === "act" ? act : found };
      },
    };
    const { evidence } = resultAt(judged([], checks(), options), "a");
    expect(evidence).toMatchObject({ claims: 3, supported: 1, dropped: 2 });
  });

  test("text that an earlier write sent is not evidence when the same skill reads it back", () => {
    const text = "Summary\nThe pool ran dry at noon";
    const say = (ref: string, quote: string) => claim("it ran dry", cite(ref, quote));
    const claims = [
      say("r1", "pool ran dry at noon"),
      say("r3", "pool ran dry at noon"),
      say("r3", "opened by the bot"),
    ];
    const options: PlayOptions = {
      answers: [
        calls("ops_logs", ["ops_act", { text }], ["ops_logs", { id: 7 }]),
        "seen",
        gives({ claims }),
        gives({ claims }),
      ],
      tools: ({ tool }) => ({
        output: tool.name === "act" ? "sent" : { id: 7, body: text, by: "opened by the bot" },
      }),
    };
    const { claims: checked = [] } = eventsOf(judged([], checks(), options).events, "evidence:checked")[0] ?? {};
    expect(checked.map(({ supported }) => supported)).toEqual([true, false, true]);
    expect(checked[1]?.cites[0]?.problem).toBe(
      "its quote is text that an earlier write of this run sent, which is not evidence",
    );
  });

  test("the result of code that the model wrote is not evidence, not even of a tool that was removed since", () => {
    const coder = skillOf("code", [toolOf("code", "run_code")]);
    const workflow = workflowOf({ a: node([checks()], { skills: ["code", "tool-maker"] }) });
    const say = (ref: string) => claim("it ran dry", cite(ref, "the pool ran dry"));
    const answer = gives({ claims: [say("r1"), say("r3")] });
    const played = play(recordOf(workflow, { skills: [coder, MAKER], settings: { writes: "allow" } }), {
      answers: [
        calls("code_run_code"),
        calls(["tool-maker_define_tool", { name: "echo", description: "d", code: "return 1" }]),
        calls("tool-maker_echo"),
        calls(["tool-maker_remove_tool", { name: "echo" }]),
        answer,
        answer,
      ],
      tools: () => ({ output: "the pool ran dry" }),
    });
    const [found] = eventsOf(played.events, "evidence:checked");
    expect(found?.claims.flatMap(({ cites }) => cites.map(({ ref, code }) => [ref, code]))).toEqual([
      ["r1", "own_code"],
      ["r3", "own_code"],
    ]);
  });

  test("facts in nested fields of a claim count, those of its cites do not", () => {
    const nested = {
      claim: "slow",
      detail: { why: ["after 1.8 s"] },
      evidence: [cite("r1", "pool exhausted after 1500 ms")],
    };
    const [kept] = resultAt(judged([nested]), "a").data.claims as JsonObject[];
    expect(kept?.unbound).toEqual(["1.8 s"]);
  });

  test.each(kept)("a kept claim: %s", (_, planted) => {
    expect(resultAt(judged([planted]), "a")).toMatchObject({
      status: "success",
      evidence: { supported: 1, dropped: 0 },
    });
  });

  test.each(dropped)("a dropped claim: %s", (_, planted) => {
    const { data, evidence } = resultAt(judged([TRUE, planted]), "a");
    expect(evidence).toMatchObject({ claims: 2, supported: 1, dropped: 1 });
    expect(data.claims).toEqual([HELD]);
  });
});

describe("too much of it", () => {
  test("ten thousand claims, each citing everything, are checked", () => {
    const lines = Array.from({ length: 10_000 }, (_, n) => `line ${n} says number ${n * 7}`).join("\n");
    const claims = Array.from({ length: 10_000 }, (_, n) =>
      claim(
        `c${n}`,
        cite("r1", `line ${n} says number ${n * 7 + (n % 2)}`),
        cite("r2", "of no result"),
        cite("r3", "boom at once"),
      ),
    );
    const tools = ({ tool }: { tool: { name: string } }) => ({ output: tool.name === "logs" ? lines : SHOW });
    const answers = [calls("ops_logs", "ops_show"), "seen", gives({ claims })];
    expect(resultAt(judged([], checks(), { answers, tools }), "a").evidence).toMatchObject({
      claims: 10_000,
      supported: 5000,
      dropped: 5000,
      cites: 30_000,
      held: 5000,
    });
  });
});
