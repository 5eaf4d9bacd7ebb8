import { describe, expect, test } from "vitest";
import type { EventOf } from "../../../../src/core/engine/event/event.ts";
import { fold } from "../../../../src/core/engine/fold/fold.ts";
import { approvedByWord } from "../../../../src/core/engine/result/approval.ts";
import { describeResult } from "../../../../src/core/engine/result/result.ts";
import {
  type AskStep,
  calls,
  eventsOf,
  gives,
  inline,
  OPS,
  type Played,
  type PlayOptions,
  play,
  recordOf,
  resultAt,
  workflowOf,
} from "../../../harness/harness.ts";

/** A user's decision about an approval. */

type Record = ReturnType<typeof recordOf>;

const word = (approved: boolean, rest: Partial<EventOf<"approval:given">> & { readonly at?: string } = {}) =>
  ({ type: "approval:given", node: "ask", approved, by: "me", settings: {}, ...rest }) as const;

const onwards = (record: Record, before: Played, said: ReturnType<typeof word>, options: PlayOptions = {}) =>
  play(record, { past: before.events, epoch: 1, word: said, ...options });

const waiting = (record: Record, { state }: Played) => describeResult(record, state).waiting?.map(({ node }) => node);

const LISTED = { input: { list: ["a", "b", "c"] } };
const gated = inline({ ask: { approval: { ask: "Shall it?" } }, go: {} }, ["ask -> go"]);

test("a decision for an unknown inner run changes nothing except that the run continues", () => {
  const record = recordOf(workflowOf({ ask: { approval: { ask: "Go on?" } } }));
  const { events, state } = play(record);
  const word = { type: "approval:given", node: "ask", approved: true, by: "kim", settings: {} } as const;
  const before = state.run.afterwards;
  const at = { seq: events.length, time: new Date(0).toISOString(), epoch: 0, key: "signal/1" };
  const after = fold(state, { ...at, ...word, at: "each[gone]" });
  expect([after.run.afterwards, after.end, after.visit?.asked?.word]).toEqual([before + 1, undefined, undefined]);
  expect(fold(after, { ...at, ...word, node: "other" }).visit?.asked?.word).toBeUndefined();
  expect(fold(after, { ...at, ...word }).visit?.asked?.word).toEqual({ approved: true, by: "kim" });
});

describe("an approval", () => {
  const plain = recordOf(
    workflowOf({ ask: { approval: { ask: "Shall it?" } }, go: {}, other: {}, judged: {} }, [
      "ask -> go",
      { from: "ask", to: "other", if: "ask.approved = false" },
      "ask -> judged: somebody should look",
    ]),
  );

  test("that is denied takes edges with `if` alone", () => {
    const played = onwards(plain, play(plain), word(false, { note: "not today" }));
    expect(resultAt(played, "ask")).toMatchObject({
      status: "success",
      data: { approved: false, by: "me", note: "not today" },
    });
    expect(played.asks.map(({ node }) => node)).toEqual(["other"]);
  });

  test("that is denied without such an edge ends the run, without a routing call", () => {
    const record = recordOf(
      workflowOf({ ask: { approval: { ask: "Shall it?" } }, go: {}, judged: {} }, [
        "ask -> go",
        "ask -> judged: maybe",
      ]),
    );
    const played = onwards(record, play(record), word(false));
    expect(played.asks).toEqual([]);
    expect(played.state.end?.status).toBe("succeeded");
  });

  test.each([
    ["fail", "failed", { error: expect.stringContaining("no answer in time") }],
    [undefined, "failed", { error: expect.stringContaining("no answer in time") }],
    ["deny", "success", { approved: false, by: "timeout", note: null }],
  ] as const)("that is not answered in time: on_timeout %s is %s", (on_timeout, status, data) => {
    const approval = { ask: "Shall it?", timeout: "1h", ...(on_timeout ? { on_timeout } : {}) };
    const record = recordOf(workflowOf({ ask: { approval } }));
    const played = onwards(record, play(record), word(false, { late: true, by: "timeout" }));
    expect(resultAt(played, "ask")).toMatchObject({ status, data });
  });

  test("is not requested if its requirements are not met", () => {
    const approval = { ask: "Shall it?" };
    const requires = { output_required: ["input.nope"], on_fail: "skip" as const };
    const played = play(recordOf(workflowOf({ ask: { approval, requires } })));
    expect(resultAt(played, "ask").status).toBe("skipped");
  });

  test("is not reached by a dry run, nor inside a node", () => {
    const outer = workflowOf({ first: {}, ask: { approval: { ask: "Shall it?" } } }, ["first -> ask"]);
    const played = play(recordOf(outer, { input: { dryRun: true } }));
    expect(played.state.end?.status).toBe("succeeded");
    expect([...played.state.results.keys()]).toEqual(["first"]);
    const inside = workflowOf({ each: { map: { over: "input.list", as: "item" }, ...gated } });
    const whole = play(recordOf(inside, { input: { list: ["a"], dryRun: true } }));
    expect(whole.state.end?.status).toBe("succeeded");
    expect(eventsOf(whole.events, "approval:asked")).toEqual([]);
  });

  test("inside of a call inside of a map is named by its path", () => {
    const outer = workflowOf({
      each: { map: { over: "input.list", as: "item" }, ...inline({ sub: { call: "gate" } }) },
    });
    const record = recordOf(outer, { input: { list: ["a"] }, files: { gate: workflowOf(gated.nodes, gated.edges) } });
    const first = play(record);
    expect(waiting(record, first)).toEqual(["each[0]/sub/ask"]);
    const played = onwards(record, first, word(true, { at: "each[0]/sub" }));
    expect(played.state.end?.status).toBe("succeeded");
    expect(played.asks.map(({ at, node }) => `${at}/${node}`)).toEqual(["each[0]/sub/go"]);
  });

  test("makes the run wait once nothing else can continue, and several wait at once", () => {
    const outer = workflowOf({ each: { map: { over: "input.list", as: "item", concurrency: 3 }, ...gated } });
    const record = recordOf(outer, LISTED);
    const first = play(record);
    expect(waiting(record, first)).toEqual(["each[0]/ask", "each[1]/ask", "each[2]/ask"]);
    const second = onwards(record, first, word(true, { at: "each[1]" }));
    expect(second.asks.map(({ at }) => at)).toEqual(["each[1]"]);
    expect(waiting(record, second)).toEqual(["each[0]/ask", "each[2]/ask"]);
    const third = onwards(record, second, word(false, { at: "each[2]" }), { epoch: 2 });
    const last = onwards(record, third, word(true, { at: "each[0]" }), { epoch: 3 });
    expect(last.state.end?.status).toBe("succeeded");
    expect(resultAt(last, "each").data).toMatchObject({ failed: 0, left: 0 });
    const keys = [first, second, third, last].flatMap(({ steps }) => steps.map(({ key }) => key));
    expect(new Set(keys).size).toBe(keys.length);
  });

  test("frees its place for the next item, so that all are requested at once", () => {
    const outer = workflowOf({ each: { map: { over: "input.list", as: "item" }, ...gated } });
    const record = recordOf(outer, LISTED);
    const first = play(record);
    expect(waiting(record, first)).toEqual(["each[0]/ask", "each[1]/ask", "each[2]/ask"]);
    const later = { type: "approval:given", node: "ask", approved: true, by: "me", settings: {}, later: true } as const;
    const one = play(record, { past: first.events, word: { ...later, at: "each[2]" } });
    const last = onwards(record, one, word(true, { at: "each[0]" }), { epoch: 2 });
    const since = last.events.slice(one.events.length);
    const taken = since.flatMap((event) => {
      if (event.type === "inner:end") return [`inner:end ${event.inner}`];
      return event.type === "node:enter" ? [`node:enter ${event.at}`] : [];
    });
    // One place, used in the order of the answers: the second continues once the first has ended.
    expect(taken).toEqual(["node:enter each[2]", "inner:end each[2]", "node:enter each[0]", "inner:end each[0]"]);
    expect(waiting(record, last)).toEqual(["each[1]/ask"]);
  });

  test("in an inner map frees the place of the outer item, too", () => {
    const inside = inline({ sub: { map: { over: "input.item", as: "part" }, ...gated } });
    const outer = workflowOf({ each: { map: { over: "input.list", as: "item" }, ...inside } });
    const record = recordOf(outer, { input: { list: [["a", "b"], ["c"]] } });
    expect(waiting(record, play(record))).toEqual(["each[0]/sub[0]/ask", "each[0]/sub[1]/ask", "each[1]/sub[0]/ask"]);
  });

  test("uses no time of its item while others run", () => {
    const inside = inline({ ask: { approval: { ask: "?" } }, go: {} }, ["ask -> go"]);
    const limits = { timeout: "30s" };
    const outer = workflowOf({ each: { map: { over: "input.list", as: "item" }, ...inside, limits } });
    const record = recordOf(outer, {
      input: { list: ["a", ...Array.from({ length: 40 }, (_, index) => `b${index}`)] },
    });
    const first = play(record, { tick: 1000 });
    expect(waiting(record, first)).toHaveLength(41);
    const played = onwards(record, first, word(true, { at: "each[0]" }), { tick: 1000 });
    const [end] = eventsOf(played.events, "inner:end");
    expect(end).toMatchObject({ inner: "each[0]", status: "success" });
  });

  test("does not block items without an approval", () => {
    const mixed = inline({ look: { output: { type: "object" } }, ask: { approval: { ask: "?" } }, go: {} }, [
      { from: "look", to: "ask", if: "input.item = a" },
      { from: "look", to: "go", if: "input.item != a" },
      "ask -> go",
    ]);
    const outer = workflowOf({ each: { map: { over: "input.list", as: "item", concurrency: 2 }, ...mixed } });
    const record = recordOf(outer, LISTED);
    const first = play(record, { answers: (step) => (step.node === "look" ? gives({}) : "done") });
    expect(waiting(record, first)).toEqual(["each[0]/ask"]);
    expect(eventsOf(first.events, "inner:end").map(({ item }) => item)).toEqual(["1", "2"]);
  });

  test("does not use up an item's timeout", () => {
    const outer = workflowOf({
      each: { map: { over: "input.list", as: "item" }, ...gated, limits: { timeout: "30s" } },
    });
    const record = recordOf(outer, { input: { list: ["a"] } });
    const first = play(record, { tick: 1000 });
    const played = onwards(record, first, word(true, { at: "each[0]" }), { tick: 1000 });
    expect(resultAt(played, "each").data.failed).toBe(0);
  });
});

test("a decision that does not continue the run leaves the list of what it waits for", () => {
  const record = recordOf(workflowOf({ each: { map: { over: "input.list", as: "item", concurrency: 2 }, ...gated } }), {
    input: { list: ["a", "b"] },
  });
  const first = play(record);
  expect(waiting(record, first)).toEqual(["each[0]/ask", "each[1]/ask"]);
  const said = {
    ...word(true, { at: "each[0]", later: true }),
    seq: 0,
    time: "2026-01-01T00:00:00Z",
    epoch: 0,
    key: "s",
  };
  expect(waiting(record, { ...first, state: fold(first.state, said) })).toEqual(["each[1]/ask"]);
});

describe("an approval of the plan", () => {
  const acting = (step: AskStep) =>
    step.node === "fix" && step.prompt.turns.length === 0 ? calls(["ops_act", { at: step.at ?? "" }]) : "done";
  const planning = { skills: [OPS], settings: { writes: "plan" as const } };
  const asks = ({ events }: Played) => eventsOf(events, "approval:asked");

  test("is bound to its digest", () => {
    const outer = workflowOf({ fix: { skills: ["ops"] }, ask: { approval: { ask: "So?", of: "plan" } } }, [
      "fix -> ask",
    ]);
    const record = recordOf(outer, planning);
    const played = play(record, { answers: acting });
    const [wait] = describeResult(record, played.state).waiting ?? [];
    expect(wait?.digest).toMatch(/^[0-9a-f]{64}$/);
    expect(asks(played).map(({ digest }) => digest)).toEqual([wait?.digest]);
  });

  test.each([
    ["timeout", { late: true as const, by: "timeout" }, ["op-1"]],
    ["ann", {}, undefined],
  ])("stays in force without a later answer in time, and not after a denial: by %s", (by, parts, approved) => {
    const ask = { approval: { ask: "So?", of: "plan" as const } };
    const outer = workflowOf({ fix: { skills: ["ops"] }, ask, more: { skills: ["ops"] }, sure: ask }, [
      "fix -> ask",
      "ask -> more",
      "more -> sure",
    ]);
    const record = recordOf(outer, planning);
    const answers = ({ node, prompt }: AskStep) => (prompt.turns.length === 0 ? calls(["ops_act", { node }]) : "done");
    const first = play(record, { answers });
    const digestOf = (played: Played) => asks(played).at(-1)?.digest ?? "";
    const second = onwards(record, first, word(true, { node: "ask", digest: digestOf(first) }), { answers });
    const third = onwards(record, second, word(false, { node: "sure", digest: digestOf(second), ...parts }), {
      epoch: 2,
    });
    const found = approvedByWord(third.state.run.operations, third.events);
    expect(found?.operations.map(({ id }) => id)).toEqual(approved);
    expect(found?.by).not.toBe(by);
  });

  test("is requested again once the plan has changed meanwhile", () => {
    const inside = inline({ ask: { approval: { ask: "So?", of: "plan" } }, fix: { skills: ["ops"] } }, ["ask -> fix"]);
    const outer = workflowOf({ each: { map: { over: "input.list", as: "item", concurrency: 2 }, ...inside } });
    const record = recordOf(outer, { ...planning, input: { list: ["a", "b"] } });
    const first = play(record, { answers: acting });
    const [before] = describeResult(record, first.state).waiting ?? [];
    const second = onwards(record, first, word(true, { at: "each[0]" }), { answers: acting });
    const now = describeResult(record, second.state).waiting ?? [];
    expect(now.map(({ node }) => node)).toEqual(["each[1]/ask"]);
    expect(now[0]?.digest).not.toBe(before?.digest);
    const third = onwards(record, second, word(true, { at: "each[1]" }), { answers: acting, epoch: 2 });
    expect(third.state.end?.status).toBe("succeeded");
  });

  test("is requested again under a separate key if an operation was withdrawn and not replaced", () => {
    const inside = inline(
      {
        look: { requires: { output_required: ["input.item.asks"], on_fail: "skip" } },
        ask: {
          approval: { ask: "So?", of: "plan" },
          requires: { output_required: ["input.item.asks"], on_fail: "skip" },
        },
        fix: {
          skills: ["ops"],
          requires: { output_required: ["input.item.fixes"], on_fail: "skip" },
          output: { type: "object" },
          eval: [{ name: "good", kind: "value", rule: { output_required: ["good"] } }],
          retry: { max: 1 },
        },
      },
      ["look -> ask", "ask -> fix"],
    );
    const outer = workflowOf({ each: { map: { over: "input.list", as: "item", concurrency: 2 }, ...inside } });
    const record = recordOf(outer, { ...planning, input: { list: [{ fixes: true }, { asks: true }] } });
    let fixing = 0;
    const answers = ({ node }: AskStep) => {
      if (node !== "fix") return "done";
      fixing += 1;
      if (fixing === 1) return calls("ops_act");
      return gives(fixing === 2 ? { bad: true } : { good: true });
    };
    const first = play(record, { answers });
    expect(fixing).toBe(3);
    expect(waiting(record, first)).toEqual(["each[1]/ask"]);
    const keys = asks(first).map(({ key }) => key);
    expect(keys).toHaveLength(2);
    expect(new Set(keys).size).toBe(2);
  });
});

describe("a dry run", () => {
  test("makes no routing call inside either, and stops there", () => {
    const inside = inline({ look: {}, good: {}, bad: {} }, ["look -> good: it is good", "look -> bad: it is bad"]);
    const outer = workflowOf({ each: { map: { over: "input.list", as: "item" }, ...inside } });
    const played = play(recordOf(outer, { input: { list: ["a"], dryRun: true } }));
    expect(played.asks.map(({ purpose, node }) => `${purpose} ${node}`)).toEqual(["work look"]);
    expect(resultAt(played, "each").status).toBe("success");
  });

  test("ends after a map or call in which it stopped", () => {
    const routed = inline({ look: {}, good: {} }, ["look -> good: it is good"]);
    const asking = inline({ look: {}, ask: { approval: { ask: "Shall it?" } } }, ["look -> ask"]);
    const nested = inline({ sub: { map: { over: "input.item", as: "each" }, ...routed }, last: {} }, ["sub -> last"]);
    for (const inside of [routed, asking, nested]) {
      const output = { type: "object", required: ["never"] };
      const outer = workflowOf({ each: { map: { over: "input.list", as: "item" }, output, ...inside }, after: {} }, [
        "each -> after",
      ]);
      const { state, asks } = play(recordOf(outer, { input: { list: [["a"], ["b"]], dryRun: true } }));
      expect(asks.map(({ node }) => node)).toEqual(asks.map(() => "look"));
      expect([...state.results.keys()]).toEqual(["each"]);
      expect(state.end).toMatchObject({ status: "succeeded", reason: "a dry run stops at the first decision" });
      expect(state.end?.unrouted).toBeUndefined();
      const calling = workflowOf({ sub: { call: "inner", with: { item: "{{input.list}}" } }, after: {} }, [
        "sub -> after",
      ]);
      const files = { inner: workflowOf(inside.nodes, inside.edges) };
      const called = play(recordOf(calling, { input: { list: ["a"], dryRun: true }, files }));
      expect([...called.state.results.keys(), called.state.end?.status]).toEqual(["sub", "succeeded"]);
    }
  });

  test("goes on after a map in which no decision was due", () => {
    const outer = workflowOf(
      { each: { map: { over: "input.list", as: "item" }, ...inline({ look: {} }) }, after: {} },
      ["each -> after"],
    );
    const { state } = play(recordOf(outer, { input: { list: ["a"], dryRun: true } }));
    expect([...state.results.keys()]).toEqual(["each", "after"]);
  });
});
