import { describe, expect, test } from "vitest";
import { createRedactor } from "../../../../src/core/base/redact/redact.ts";
import type { Json, JsonObject } from "../../../../src/core/base/values.ts";
import type { Workflow } from "../../../../src/core/document/workflow/workflow.ts";
import type { RunEvent } from "../../../../src/core/engine/event/event.ts";
import { stateOf } from "../../../../src/core/engine/fold/fold.ts";
import { redactDecision } from "../../../../src/core/engine/record/content.ts";
import { faultOfRecording } from "../../../../src/core/engine/record/recording.ts";
import { describeResult } from "../../../../src/core/engine/result/result.ts";
import {
  type AskStep,
  breaks,
  calls,
  eventsOf,
  gives,
  inline,
  NODE_TIMEOUT,
  type NodeParts,
  OPS,
  type PlayOptions,
  play,
  recordOf,
  resultAt,
  says,
  workflowOf,
} from "../../../harness/harness.ts";

/** Runs inside a run: maps, calls and approvals. */

type RecordParts = NonNullable<Parameters<typeof recordOf>[1]>;

const EACH = { over: "input.list", as: "item" } as const;

/** A workflow whose first node maps `input.list`. */
function mapOf(map: object = {}, node: NodeParts = {}, inside = inline({ look: {} })): Workflow {
  return workflowOf({ each: { map: { ...EACH, ...map }, ...inside, ...node } });
}

function mapped(list: Json, map: object = {}, options: PlayOptions = {}, node: NodeParts = {}) {
  return play(recordOf(mapOf(map, node), { input: { list } }), options);
}

type Item = {
  readonly key: string;
  readonly status: string;
  readonly data: JsonObject;
  readonly skipped_reason?: string;
};

function itemsOf(played: ReturnType<typeof play>, node = "each"): Item[] {
  return resultAt(played, node).data.items as Item[];
}

const told = (played: ReturnType<typeof play>) => itemsOf(played).map(({ key, status }) => `${key} ${status}`);
const inputOf = ({ prompt }: AskStep) => prompt.context?.input;
const places = (played: ReturnType<typeof play>) => eventsOf(played.events, "inner:start").map(({ inner }) => inner);

describe("a map", () => {
  test("runs its workflow for each item, and returns the results in the order of the list", () => {
    const played = mapped(["a", "b", "c"], { concurrency: 3 }, { over: (steps) => steps.slice(-1) });
    expect(resultAt(played, "each")).toMatchObject({
      status: "success",
      data: {
        items: ["0", "1", "2"].map((key) => {
          return { key, status: "success", data: { results: { look: { summary: "done" } } } };
        }),
        left: 0,
        failed: 0,
      },
    });
    expect(eventsOf(played.events, "inner:end").map(({ item }) => item)).toEqual(["2", "1", "0"]);
    expect(played.asks.map(inputOf)).toEqual([{ item: "c" }, { item: "b" }, { item: "a" }]);
  });

  test.each<[string, Json, string]>([
    ["a text", "fp-81", "fp-81"],
    ["a number", 81, "81"],
    ["true", true, "true"],
    ["a list", [1, "x"], '[1,"x"]'],
    ["an object", { a: 1 }, '{"a":1}'],
  ])("uses %s as a key's text", (_, id, key) => {
    const played = mapped([{ id }], { key: "item.id" });
    expect(told(played)).toEqual([`${key} success`]);
  });

  test("compares keys as text, and skips the second of two with one key", () => {
    const list = [{ id: "1" }, { id: 1 }, { id: 2 }];
    const played = mapped(list, { key: "item.id" });
    expect(told(played)).toEqual(["1 success", "1 skipped", "2 success"]);
    expect(itemsOf(played)[1]?.skipped_reason).toMatch(/key 1/);
    expect(played.asks.map(inputOf)).toEqual([{ item: list[0] }, { item: list[2] }]);
  });

  test.each<[string, Json]>([
    ["lacks it", {}],
    ["has null", { id: null }],
    ["has an empty one", { id: "" }],
    ["has one that is too long", { id: "x".repeat(201) }],
    ["is not an object", "bare"],
  ])("fails an item that %s where its key should be, and that item alone", (_, odd) => {
    const played = mapped([{ id: "a" }, odd, { id: "b" }], { key: "item.id" });
    expect(told(played)).toEqual(["a success", "1 failed", "b success"]);
    expect(resultAt(played, "each")).toMatchObject({ status: "success", data: { failed: 1, left: 0 } });
    expect(itemsOf(played)[1]?.data.error).toMatch(/key/);
  });

  test.each([
    ["fp-81", "each[fp-81]"],
    ["a/b]c%d", "each[a%2Fb%5Dc%25d]"],
    ["a[0] é\n", "each[a[0%5D é%0A]"],
  ])("names the place of the item %j", (id, at) => {
    const played = mapped([{ id }], { key: "item.id" });
    expect(places(played)).toEqual([at]);
    expect(told(played)).toEqual([`${id} success`]);
    const inner = eventsOf(played.events, "node:enter")[1];
    expect(inner).toMatchObject({ node: "look", at, key: `1:${at}/1:look` });
    expect(eventsOf(played.events, "model:reply")[0]?.key).toBe(`1:${at}/1:look/0/0`);
  });

  test("accepts 100 items, and leaves the others", () => {
    const played = mapped(Array.from({ length: 103 }, (_, index) => index));
    expect(itemsOf(played)).toHaveLength(100);
    expect(resultAt(played, "each").data.left).toBe(3);
  });

  test("applies max_items after duplicates are removed, and items that are left have no entry", () => {
    const list = ["a", "a", "b", "c", "c", "d"].map((id) => ({ id }));
    const played = mapped(list, { key: "item.id", max_items: 2 });
    expect(told(played)).toEqual(["a success", "a skipped", "b success", "c skipped"]);
    expect(resultAt(played, "each").data).toMatchObject({ left: 2, failed: 0 });
  });

  test("runs at most as many items as its concurrency, and starts the next as one ends", () => {
    let most = 0;
    const played = mapped(
      [1, 2, 3, 4, 5],
      { concurrency: 2 },
      {
        over: (steps) => {
          most = Math.max(most, steps.length);
          return steps.slice(-1);
        },
      },
    );
    expect(most).toBe(2);
    expect(eventsOf(played.events, "inner:start").map(({ item }) => item)).toEqual(["0", "1", "2", "3", "4"]);
    expect(told(played)).toEqual(["0", "1", "2", "3", "4"].map((key) => `${key} success`));
  });

  test("runs one item after the other by default", () => {
    const played = mapped([1, 2]);
    expect(played.steps.every(({ kind }) => kind !== "together")).toBe(true);
  });

  const failing = (step: AskStep) => (JSON.stringify(inputOf(step)).includes("bad") ? breaks("model.quota") : "done");

  test("collects failures", () => {
    const played = mapped(["a", "bad", "c"], {}, { answers: failing });
    expect(told(played)).toEqual(["0 success", "1 failed", "2 success"]);
    expect(resultAt(played, "each")).toMatchObject({ status: "success", data: { failed: 1 } });
    expect(itemsOf(played)[1]?.data).toMatchObject({ error: expect.stringContaining("busy"), results: { look: {} } });
    expect(played.state.end?.status).toBe("succeeded");
  });

  test("skips failed items, and gives the reason, with on_error: skip", () => {
    const played = mapped(["a", "bad", "c"], { on_error: "skip" }, { answers: failing });
    expect(told(played)).toEqual(["0 success", "1 skipped", "2 success"]);
    expect(itemsOf(played)[1]?.skipped_reason).toContain("busy");
    expect(resultAt(played, "each")).toMatchObject({ status: "success", data: { failed: 0 } });
  });

  test("with on_error: skip skips an item without a key, and one that its workflow does not accept", () => {
    const inside = workflowOf({ look: {} });
    const outer = workflowOf({ each: { map: { ...EACH, key: "item.id", on_error: "skip" }, workflow: "one" } });
    const list: Json = [{ id: "a" }, {}];
    const one = play(recordOf(outer, { input: { list }, files: { one: inside } }));
    expect(told(one)).toEqual(["a success", "1 skipped"]);
    const texts: Workflow = { ...inside, inputs: { item: { type: "string" } } };
    const two = play(recordOf(outer, { input: { list }, files: { one: texts } }));
    expect(told(two)).toEqual(["a skipped", "1 skipped"]);
    expect(itemsOf(two)[0]?.skipped_reason).toContain('"item"');
  });

  test("with on_error: fail starts no further item after a failed one, and lets running ones end", () => {
    const played = mapped(
      ["a", "bad", "c", "d"],
      { on_error: "fail", concurrency: 2 },
      {
        answers: failing,
        over: (steps) => steps.slice(-1),
      },
    );
    const result = resultAt(played, "each");
    expect(result).toMatchObject({ status: "failed", data: { failed: 1, left: 2 } });
    expect(told(played)).toEqual(["0 success", "1 failed"]);
    expect(result.data.error).toMatch(/1 failed: .*busy/);
    expect(places(played)).toEqual(["each[0]", "each[1]"]);
  });

  test("over an empty list succeeds", () => {
    const played = mapped([]);
    expect(resultAt(played, "each")).toMatchObject({ status: "success", data: { items: [], left: 0, failed: 0 } });
  });

  test.each<[string, Json | undefined]>([
    ["a text", "abc"],
    ["an object", { 0: "a" }],
    ["null", null],
    ["nothing", undefined],
  ])("over %s fails", (_, list) => {
    const played = play(recordOf(mapOf(), { input: list === undefined ? {} : { list } }));
    expect(resultAt(played, "each")).toMatchObject({
      status: "failed",
      data: { error: "map over input.list: not a list" },
    });
  });

  test("accepts a list of an earlier node's data, and one that a path gathers", () => {
    const list = { type: "object", properties: { rows: { type: "array" } } };
    for (const [over, keys] of [
      ["find.rows", ["0", "1"]],
      ["find.rows[*].id", ["0", "1"]],
    ] as const) {
      const workflow = workflowOf(
        { find: { output: list }, each: { map: { over, as: "row" }, ...inline({ look: {} }) } },
        ["find -> each"],
      );
      const played = play(recordOf(workflow), { answers: [gives({ rows: [{ id: "x" }, { id: "y" }] })] });
      expect(itemsOf(played).map(({ key }) => key)).toEqual(keys);
    }
  });

  test("gives its items none of the surrounding context", () => {
    const workflow = workflowOf(
      { before: {}, each: { map: EACH, with: { said: "{{before.summary}}" }, ...inline({ look: {} }) } },
      ["before -> each"],
    );
    const played = play(recordOf(workflow, { input: { list: [1], other: "x" } }));
    const inner = played.asks[1];
    expect(inner && inputOf(inner)).toEqual({ said: "done", item: 1 });
    expect(inner?.prompt.context?.length).toBe(0);
  });

  test("iterates over the items of two nested maps", () => {
    const inside = inline({ deep: { map: { over: "input.row.cells", as: "cell" }, ...inline({ look: {} }) } });
    const list = [{ cells: [1, 2] }, { cells: [3] }];
    const played = play(recordOf(mapOf({ concurrency: 2 }, {}, inside), { input: { list } }), {
      over: (steps) => steps.slice(-1),
    });
    const renamed = mapOf({ as: "row", concurrency: 2 }, {}, inside);
    const whole = play(recordOf(renamed, { input: { list } }), { over: (steps) => steps.slice(-1) });
    expect(resultAt(played, "each").data.failed).toBe(2);
    expect(places(whole)).toEqual(["each[0]", "each[1]", "each[0]/deep[0]", "each[1]/deep[0]", "each[0]/deep[1]"]);
    const data = itemsOf(whole)[0]?.data as { results: { deep: { items: Item[] } } };
    expect(data.results.deep.items.map(({ status }) => status)).toEqual(["success", "success"]);
  });

  test("that a loop visits twice runs its items twice, and the trace shows the last visit", () => {
    const workflow = workflowOf({ each: { map: EACH, ...inline({ look: {} }) }, again: {} }, [
      "each -> again",
      { from: "again", to: "each", max_iterations: 1 },
    ]);
    const played = play(recordOf(workflow, { input: { list: ["a"] } }));
    expect(places(played)).toEqual(["each[0]", "each[0]"]);
    expect(eventsOf(played.events, "model:reply").map(({ key }) => key)).toEqual([
      "1:each[0]/1:look/0/0",
      "2:again/0/0",
      "3:each[0]/1:look/0/0",
      "4:again/0/0",
    ]);
    const { trace } = describeResult(recordOf(workflow), played.state);
    expect(trace.steps.map(({ node }) => node)).toEqual(["each", "again", "each", "again"]);
    expect(trace.inner).toEqual({
      "each[0]": { steps: [{ node: "look", status: "success", iteration: 1 }], edges: [] },
    });
  });
});

describe("the input of an inner run", () => {
  const root = {
    a: {
      n: 3,
      list: [
        { b: "x", deep: [1, 2] },
        { b: "y", deep: [3] },
      ],
      text: "{{a.n}}",
      lines: ["one\ntwo"],
      returns: ["one\r# two\r\nthree"],
      empty: [],
      none: null,
    },
  };
  const given = (fields: NonNullable<NodeParts["with"]>) => {
    const workflow = workflowOf({ a: { output: { type: "object" } }, ask: { call: "one", with: fields } }, [
      "a -> ask",
    ]);
    const played = play(recordOf(workflow, { input: { id: 7 }, files: { one: workflowOf({ look: {} }) } }), {
      answers: [gives(root.a)],
    });
    const inner = eventsOf(played.events, "inner:start")[0];
    return inner?.input ?? resultAt(played, "ask").data.error;
  };

  test.each<[string, NonNullable<NodeParts["with"]>[string], Json]>([
    ["a lone path keeps a number", "{{a.n}}", 3],
    ["a lone path keeps a list", "{{ a.list[0].deep }}", [1, 2]],
    ["a lone path keeps null", "{{a.none}}", null],
    ["a path of the input", "{{input.id}}", 7],
    ["a text holds a number", "n={{a.n}}.", "n=3."],
    ["a text holds JSON", "{{a.list[1]}} and {{a.none}}", '{"b":"y","deep":[3]} and null'],
    ["a list of strings on its own line gets bullets", "all:\n{{a.list[*].b}}\n.", "all:\n- x\n- y\n."],
    ["a line of a bullet is indented", "{{a.lines}}\n", "- one\n  two\n"],
    ["a line of a bullet after a carriage return, too", "{{a.returns}}\n", "- one\n  # two\n  three\n"],
    ["an empty list on its own line is none", "\n{{a.empty}}", "\nnone"],
    ["a list within a line is JSON", "all: {{a.list[*].b}}\n{{a.empty}} ", 'all: ["x","y"]\n[] '],
    ["a list of other values is JSON", "all:\n{{a.list[0].deep}}", "all:\n[1,2]"],
    ["a text holds text", "{{a.list[0].b}}{{a.list[1].b}}", "xy"],
    ["what was filled in is not read again", "<{{a.text}}>", "<{{a.n}}>"],
    ["four braces are two", "{{{{a.n}} {{a.n}}", "{{a.n}} 3"],
    ["four braces before a path", "{{{{{{a.n}}", "{{3"],
    ["a lone brace", "{ a.n }", "{ a.n }"],
    ["values nest", { x: [{ y: "{{a.n}}" }], z: true }, { x: [{ y: 3 }], z: true }],
    ["keys are not filled in", { "{{a.n}}": 1 }, { "{{a.n}}": 1 }],
    ["an index at the end", "{{a.list[0].deep[1]}}", 2],
    ["all of a list", "{{a.list[*].b}}", ["x", "y"]],
    ["all of a list, then an index", "{{a.list[*].deep[0]}}", [1, 3]],
    ["an index, then all", "{{a.list[0].deep[*]}}", [1, 2]],
  ])("%s", (_, value, filled) => {
    expect(given({ x: value })).toEqual({ x: filled });
  });

  test("a member written name? is left out if its path does not resolve", () => {
    const fields = {
      "x?": "{{a.nope}}",
      "y?": "{{a.n}}",
      "z?": "n={{a.n}}",
      nested: { "x?": "{{a.nope}}", "y?": "{{a.n}}" },
    };
    expect(given(fields)).toEqual({ y: 3, "z?": "n=3", nested: { y: 3 } });
    expect(given({ "x?": "n={{a.nope}}" })).toMatch(/^with\.x\?: /);
  });

  test.each([
    ["{{a.nope}}"],
    ["{{b.n}}"],
    ["{{a.list[2]}}"],
    ["{{a.n[0]}}"],
    ["{{a.none.b}}"],
    ["{{a.list[-1]}}"],
    ["{{}}"],
    ["n={{a.nope}}"],
  ])("%s does not resolve: the node fails", (text) => {
    expect(given({ y: 1, x: { z: text } })).toMatch(/^with\.x: /);
  });

  test("fails a map before it reads its list", () => {
    const played = mapped("no list", {}, {}, { with: { q: "{{input.nope}}" } });
    expect(resultAt(played, "each").data.error).toMatch(/^with\.q: /);
    expect(places(played)).toEqual([]);
  });

  const typed = {
    ...workflowOf({ look: {} }),
    inputs: { item: { type: "string" }, n: { type: "number", default: 4 } },
  };

  test("is checked like any input, with defaults. An invalid one fails the item", () => {
    const outer = workflowOf({ each: { map: EACH, workflow: "one" } });
    const played = play(recordOf(outer, { input: { list: ["a", 1] }, files: { one: typed as Workflow } }));
    expect(told(played)).toEqual(["0 success", "1 failed"]);
    expect(eventsOf(played.events, "inner:start").map(({ input }) => input)).toEqual([{ item: "a", n: 4 }]);
    expect(itemsOf(played)[1]?.data.error).toContain('"item" must be a string');
  });

  test("fails a call that its workflow does not accept", () => {
    const outer = workflowOf({ ask: { call: "one", with: { item: 1 } } });
    const played = play(recordOf(outer, { files: { one: typed as Workflow } }));
    expect(resultAt(played, "ask")).toMatchObject({
      status: "failed",
      data: { error: expect.stringContaining('"item" must be a string') },
    });
    expect(played.state.end?.status).toBe("failed");
  });

  test("an item that has the name of a field of `with` is the item", () => {
    const played = mapped(["a"], {}, {}, { with: { item: "other", x: 1 } });
    expect(eventsOf(played.events, "inner:start")[0]?.input).toEqual({ item: "a", x: 1 });
  });
});

describe("a call", () => {
  const expert = workflowOf({ look: { output: { type: "object" } }, tell: {} }, ["look -> tell"], {
    verdict: "look.v",
  });
  const callOf = (node: NodeParts = {}, rest: RecordParts = {}) =>
    recordOf(workflowOf({ ask: { call: "expert", ...node } }), { files: { expert }, ...rest });

  test("returns the verdict and the last results of the workflow", () => {
    const played = play(callOf(), { answers: [gives({ v: "bad" })] });
    expect(resultAt(played, "ask")).toMatchObject({
      status: "success",
      data: { verdict: "bad", results: { look: { v: "bad" }, tell: { summary: "done" } } },
    });
    expect(places(played)).toEqual(["ask"]);
    expect(played.events.filter(({ at }) => at === "ask").map(({ key }) => key)).toContain("1:ask/1:look/0/0");
  });

  test("has its sources among those of the run, under its path", () => {
    const { events, state } = play(callOf(), { answers: [gives({ v: "bad" })] });
    const told = eventsOf(events, "sources:resolved").flatMap(({ sources }) => Object.keys(sources));
    expect(told).toContain("ask/nodes.look.instruction");
    expect(Object.keys(describeResult(callOf(), state).trace.sources)).toEqual(told);
  });

  test("has no verdict if it is not a string, with a warning", () => {
    const { events, state } = play(callOf(), { answers: [gives({ v: 5 })] });
    expect(state.results.get("ask")?.data).not.toHaveProperty("verdict");
    expect(eventsOf(events, "warning").map(({ message }) => message)).toEqual([
      "the verdict of ask, look.v, is not a string: it has none",
    ]);
  });

  test("has no verdict if its workflow has none", () => {
    const played = play(callOf(), { answers: [gives({ v: 1 })] });
    expect(resultAt(played, "ask").data).not.toHaveProperty("verdict");
  });

  test("fails if its workflow fails, and takes edges that hold then", () => {
    const outer = workflowOf({ ask: { call: "expert" }, mend: {} }, [
      { from: "ask", to: "mend", if: "ask.error exists" },
    ]);
    const played = play(recordOf(outer, { files: { expert } }), { answers: [breaks("model.quota", "no more")] });
    expect(resultAt(played, "ask")).toMatchObject({
      status: "failed",
      data: { error: "no more", results: { look: {} } },
    });
    expect(played.state.end?.status).toBe("succeeded");
  });

  test("can fail softly", () => {
    const played = play(callOf({ fail_soft: true }), { answers: [breaks("model.quota", "no more")] });
    expect(resultAt(played, "ask")).toMatchObject({ status: "success", data: { error: "no more", fail_soft: true } });
    expect(played.state.run.inner.size).toBe(0);
  });

  test("whose model could not be reached continues inside, once the run is resumed", () => {
    const record = callOf();
    const first = play(record, { answers: [gives({ v: "a" }), breaks("model.quota", "no more")] });
    expect(first.state.end).toMatchObject({ status: "failed", error: { code: "model.quota" } });
    const second = play(record, { past: first.events, epoch: 1, resume: {} });
    expect(second.state.end?.status).toBe("succeeded");
    expect(second.asks.map(({ node }) => node)).toEqual(["tell"]);
    expect(resultAt(second, "ask").data).toMatchObject({ verdict: "a", results: { tell: { summary: "done" } } });
    const { trace } = describeResult(record, second.state);
    expect(trace.inner?.ask?.steps.map(({ node, status }) => `${node} ${status}`)).toEqual([
      "look success",
      "tell success",
    ]);
  });

  test("does not start if its requirements are not met", () => {
    const skip = { requires: { output_required: ["input.nope"], on_fail: "skip" as const } };
    expect(resultAt(play(callOf(skip)), "ask").status).toBe("skipped");
    const played = play(callOf({ requires: { output_required: ["input.nope"] } }));
    expect(resultAt(played, "ask")).toMatchObject({ status: "failed", data: { error: /requires failed/ } });
    expect(places(played)).toEqual([]);
  });

  test("did no work if each of its nodes was skipped, also deeper inside", () => {
    const skip = { requires: { output_required: ["input.nope"], on_fail: "skip" as const } };
    const inside = workflowOf({
      each: { map: { ...EACH, over: "input.list", key: "item" }, ...inline({ look: skip }) },
    });
    const outer = (node: NodeParts = {}) => workflowOf({ ask: { call: "deep", with: { list: ["a", "b"] }, ...node } });
    const end = (node?: NodeParts, deep = inside) => play(recordOf(outer(node), { files: { deep } })).state.end;
    const noWork = { status: "failed", error: { code: "run.no_work" } };
    expect(end()).toMatchObject(noWork);
    expect(end({ with: { list: ["a[0]"] } })).toMatchObject(noWork);
    expect(end({ with: { list: [] } })?.status).toBe("succeeded");
    const more = workflowOf({ look: skip, tell: {} }, ["look -> tell"]);
    expect(end({}, more)?.status).toBe("succeeded");
  });

  test("must fit its declared output", () => {
    const output = { type: "object", properties: { verdict: { const: "good" } }, required: ["verdict"] };
    expect(resultAt(play(callOf({ output }), { answers: [gives({ v: "good" })] }), "ask").status).toBe("success");
    const played = play(callOf({ output }), { answers: [gives({ v: "bad" })] });
    expect(resultAt(played, "ask")).toMatchObject({ status: "failed", data: { error: /^output invalid: / } });
  });

  test("is evaluated by its values", () => {
    const rule = { output_matches: [{ path: "verdict", equals: "good" }] };
    const evals: NodeParts["eval"] = [{ name: "is_good", kind: "value", rule }];
    expect(resultAt(play(callOf({ eval: evals }), { answers: [gives({ v: "good" })] }), "ask")).toMatchObject({
      status: "success",
      evals: [{ name: "is_good", pass: true }],
    });
    expect(resultAt(play(callOf({ eval: evals }), { answers: [gives({ v: "bad" })] }), "ask").status).toBe("failed");
  });

  test("of a file has its own rules and models, and the inline workflow of a map has those of the document", () => {
    const told = { rules: ["be kind"], context: ["it rains"], model: "big" };
    const outer = workflowOf(
      { ask: { call: "expert" }, each: { map: EACH, ...inline({ look: {} }) } },
      ["ask -> each"],
      told,
    );
    const own = workflowOf({ look: {} }, [], { rules: ["be stern"] });
    const played = play(recordOf(outer, { input: { list: [1] }, files: { expert: own } }));
    const texts = played.asks.map(({ prompt, model }) => `${model}: ${prompt.text}`);
    expect(texts[0]).toContain("be stern");
    expect(texts[0]).not.toMatch(/be kind|it rains/);
    expect(texts[0]).toMatch(/^script:none/);
    expect(texts[1]).toMatch(/^big: [\s\S]*be kind[\s\S]*it rains/);
  });

  test("eight levels deep reaches the innermost", () => {
    const files: Record<string, Workflow> = {};
    for (let depth = 2; depth <= 7; depth++) files[`w${depth}`] = workflowOf({ down: { call: `w${depth + 1}` } });
    files.w8 = workflowOf({ look: {} });
    const played = play(recordOf(workflowOf({ down: { call: "w2" } }), { files }));
    expect(played.asks.map(({ at }) => at)).toEqual(["down/down/down/down/down/down/down"]);
    expect(played.state.end?.status).toBe("succeeded");
  });
});

test("a large value that a map passes to each item is recorded once, also if its name contains a secret", () => {
  const big = "x".repeat(10_000);
  const list = ["a", "b", "c"];
  const outer = workflowOf({
    each: {
      map: { ...EACH, concurrency: 2 },
      with: { postgres_log: "{{input.big}}", few: "{{input.few}}" },
      ...inline({ look: {} }),
    },
  });
  const record = recordOf(outer, { input: { list, big, few: "y" } });
  const played = play(record);
  const redactor = createRedactor([{ name: "PGPASSWORD", value: "postgres" }]);
  const events = played.events.map((event) => ({ ...event, ...redactDecision(event, redactor) }) as RunEvent);
  const inputs = eventsOf(events, "inner:start").map(({ input, same }) => ({ ...input, same }));
  expect(inputs).toEqual([
    { postgres_log: big, few: "y", item: "a" },
    { few: "y", item: "b", same: ["postgres_log"] },
    { few: "y", item: "c", same: ["postgres_log"] },
  ]);
  expect(played.asks.map(inputOf)).toEqual(list.map((item) => ({ postgres_log: big, few: "y", item })));
  const begun = events.findIndex((event) => event.type === "inner:start" && event.same !== undefined);
  const resumed = play(record, { past: events.slice(0, begun + 1), epoch: 1 });
  expect(resumed.asks.map(inputOf)).toEqual(played.asks.map(inputOf));
  expect(Object.keys(inputOf(resumed.asks[1] as AskStep) ?? {})).toEqual(["postgres_log", "few", "item"]);
  const forged = events.map((event) =>
    event.type === "inner:start" && event.same ? { ...event, same: ["no"] } : event,
  );
  expect(() => stateOf({ record, events: forged })).toThrow(expect.objectContaining({ code: "recording.invalid" }));
});

describe("limits", () => {
  const spending = (step: AskStep) =>
    says("done", { tokens: JSON.stringify(inputOf(step)).includes("dear") ? 50 : 1, costUsd: 0.02 });
  const two = inline({ look: {}, tell: {} }, ["look -> tell"]);

  test.each<[string, object]>([
    ["max_tokens", { max_tokens: 40 }],
    ["max_cost_usd", { max_cost_usd: 0.02 }],
    ["max_steps", { max_steps: 1 }],
  ])("of %s fail the item that reaches them, with the reason, and the run continues", (limit, limits) => {
    const outer = workflowOf({ each: { map: EACH, limits, ...two }, after: {} }, ["each -> after"]);
    const played = play(recordOf(outer, { input: { list: ["dear"] } }), { answers: spending });
    expect(told(played)).toEqual(["0 failed"]);
    expect(itemsOf(played)[0]?.data).toMatchObject({ error: expect.stringContaining(limit), results: { look: {} } });
    expect(played.state.end?.status).toBe("succeeded");
  });

  test("of one item are not spent by another", () => {
    const outer = workflowOf({ each: { map: { ...EACH, concurrency: 2 }, limits: { max_tokens: 40 }, ...two } });
    const played = play(recordOf(outer, { input: { list: ["dear", "cheap", "cheap"] } }), { answers: spending });
    expect(told(played)).toEqual(["0 failed", "1 success", "2 success"]);
  });

  test("of a call fail it", () => {
    const outer = workflowOf({ ask: { call: "one", limits: { max_steps: 1 } } });
    const files = { one: workflowOf({ look: {}, tell: {} }, ["look -> tell"]) };
    const played = play(recordOf(outer, { files }));
    expect(resultAt(played, "ask")).toMatchObject({
      status: "failed",
      data: { error: /max_steps/, results: { look: {} } },
    });
    expect(eventsOf(played.events, "limit:reached")).toMatchObject([{ limit: "max_steps", at: "ask" }]);
  });

  test.each([
    [{ max_steps: 1 }, {}, 1],
    [{ max_steps: 1 }, { max_steps: 9 }, 1],
    [{ max_steps: 9 }, { max_steps: 1 }, 1],
    [{ max_steps: 9, per_day: { max_runs: 1 } }, {}, 2],
  ])("of a called file (%o) and of its node (%o): the stricter one holds", (own, limits, steps) => {
    const files = { one: { ...workflowOf({ look: {}, tell: {} }, ["look -> tell"]), limits: own } };
    const record = recordOf(workflowOf({ ask: { call: "one", limits } }), { files });
    const played = play({ ...record, file_limits: true });
    expect(played.asks).toHaveLength(steps);
    expect(resultAt(played, "ask").status).toBe(steps === 1 ? "failed" : "success");
    // Earlier versions, whose records do not say so, knew the limits of nodes only.
    expect(play(record).asks).toHaveLength("max_steps" in limits && limits.max_steps === 1 ? 1 : 2);
  });

  test("of time fail the item whose time is over", () => {
    const outer = workflowOf({ each: { map: EACH, limits: { timeout: "1s" }, ...two } });
    const played = play(recordOf(outer, { input: { list: ["a"] } }), { tick: 400 });
    expect(told(played)).toEqual(["0 failed"]);
    expect(itemsOf(played)[0]?.data.error).toContain("timeout");
  });

  test.each<[string, object]>([
    ["tokens", { max_tokens: 3 }],
    ["visits", { max_steps: 5 }],
  ])("of the run apply to everything: %s", (_, limits) => {
    const outer = workflowOf({ each: { map: EACH, ...two } });
    const played = play(recordOf(outer, { input: { list: [1, 2, 3] }, settings: { limits } }), {});
    expect(played.state.end?.status).toBe("stopped");
    const [reached] = eventsOf(played.events, "limit:reached");
    expect(reached?.at).toBeUndefined();
    expect(resultAt(played, "each").status).toBe("failed");
    expect(itemsOf(played).map(({ status }) => status)).toContain("stopped");
  });

  test("a map and each visit inside it are steps", () => {
    const outer = workflowOf({ each: { map: EACH, ...two } });
    const list = [1, 2];
    expect(play(recordOf(outer, { input: { list }, settings: { limits: { max_steps: 5 } } })).state.end?.status).toBe(
      "succeeded",
    );
    expect(play(recordOf(outer, { input: { list }, settings: { limits: { max_steps: 4 } } })).state.end?.status).toBe(
      "stopped",
    );
  });

  test("the usage of inner runs is the run's", () => {
    const played = mapped([1, 2, 3], { concurrency: 3 });
    expect(played.state.usage).toMatchObject({ modelCalls: 3, inputTokens: 3 });
  });

  test("a node's timeout ends the map with the results so far", () => {
    const late = [{ ...NODE_TIMEOUT, at: undefined }];
    const played = mapped([1, 2, 3], {}, { answers: ["done", late] });
    expect(resultAt(played, "each")).toMatchObject({
      status: "failed",
      data: { error: "the node took too long", left: 1, failed: 0 },
    });
    expect(told(played)).toEqual(["0 success", "1 stopped"]);
    expect(played.state.run.inner.size).toBe(0);
    const soft = mapped([1, 2, 3], {}, { answers: ["done", late] }, { fail_soft: true });
    expect(resultAt(soft, "each")).toMatchObject({ status: "success", data: { fail_soft: true, left: 1 } });
  });

  test("an attempt's timeout inside an item is that item's", () => {
    const played = mapped([1, 2], {}, { answers: [NODE_TIMEOUT] });
    expect(told(played)).toEqual(["0 failed", "1 success"]);
  });

  test("a run that was stopped continues in the items that were in progress", () => {
    const outer = workflowOf({ each: { map: { ...EACH, concurrency: 2 }, ...two } });
    const record = recordOf(outer, { input: { list: [1, 2, 3] }, settings: { limits: { max_tokens: 3 } } });
    const first = play(record, { over: (steps) => steps.slice(0, 1) });
    expect(first.state.end?.status).toBe("stopped");
    const second = play(record, { past: first.events, epoch: 1, resume: { settings: { limits: {} } } });
    expect(second.state.end?.status).toBe("succeeded");
    expect(first.asks.length + second.asks.length).toBe(6);
    expect(told(second)).toEqual(["0 success", "1 success", "2 success"]);
    expect(describeResult(record, second.state).trace.inner?.["each[0]"]?.steps).toHaveLength(2);
  });
});

describe("writes inside", () => {
  const writing = inline({ fix: { skills: ["ops"] } });
  const acting = (step: AskStep) =>
    step.prompt.turns.length === 0 ? calls(["ops_act", { of: inputOf(step) ?? null }]) : "done";
  const planning = (outer: Workflow, parts: RecordParts = {}, options: PlayOptions = {}) =>
    play(recordOf(outer, { skills: [OPS], settings: { writes: "plan" }, ...parts }), { answers: acting, ...options });

  test("are planned in the plan of the run", () => {
    const played = planning(mapOf({ concurrency: 2 }, {}, writing), { input: { list: ["a", "b"] } });
    const { plan } = describeResult(recordOf(mapOf({}, {}, writing), { skills: [OPS] }), played.state);
    expect(plan.map(({ id, node, input }) => ({ id, node, input }))).toEqual([
      { id: "op-1", node: "fix", input: { of: { item: "a" } } },
      { id: "op-2", node: "fix", input: { of: { item: "b" } } },
    ]);
    expect(played.called).toEqual([]);
  });

  test("of an inline workflow are in the mode of the run, which can be looser than the document's", () => {
    const outer: Workflow = { ...mapOf({}, {}, writing), writes: "plan" };
    const played = planning(outer, { input: { list: ["a"] }, settings: { writes: "allow" } });
    expect(played.called).toHaveLength(1);
    const parts = { skills: [OPS], input: { list: ["a"] }, settings: { writes: "allow" as const } };
    const called = workflowOf({ ask: { call: "one" } });
    expect(play(recordOf(called, { ...parts, files: { one: outer } }), { answers: acting }).called).toEqual([]);
  });

  test("of a failed item are marked, though the map continues", () => {
    const answers = (step: AskStep) => (step.prompt.turns.length > 0 ? breaks("model.quota") : acting(step));
    const outer = mapOf({}, {}, writing);
    const played = planning(outer, { input: { list: ["a"] } }, { answers });
    expect(resultAt(played, "each").status).toBe("success");
    expect(describeResult(recordOf(outer, { skills: [OPS] }), played.state).plan).toMatchObject([
      { node_failed: true },
    ]);
  });

  test.each([
    ["allow", "allow", "allow"],
    ["allow", "plan", "plan"],
    ["plan", "allow", "plan"],
    ["plan", "deny", "deny"],
    ["deny", "allow", "deny"],
  ] as const)("have the stricter setting of both documents: %s around %s", (outer, inner, both) => {
    const file = workflowOf({ fix: { skills: ["ops"] } }, [], { writes: inner });
    const record = recordOf(workflowOf({ ask: { call: "one" } }), {
      skills: [OPS],
      files: { one: file },
      settings: { writes: outer },
    });
    const played = play(record, { answers: acting });
    const [result] = eventsOf(played.events, "tool:result");
    const came = played.called.length > 0 ? "allow" : result?.planned ? "plan" : "deny";
    expect(came).toBe(both);
  });

  test("name the untrusted sources inside and around", () => {
    const looking = (step: AskStep) => {
      if (step.prompt.turns.length > 0) return "done";
      return step.node === "fix" || step.node === "last"
        ? calls(["ops_act", { at: step.at ?? "" }])
        : calls(["ops_look", { at: step.at ?? "" }]);
    };
    const outer = workflowOf(
      {
        first: { skills: ["ops"] },
        each: { map: EACH, ...inline({ look: { skills: ["ops"] }, fix: { skills: ["ops"] } }, ["look -> fix"]) },
        last: { skills: ["ops"] },
      },
      ["first -> each", "each -> last"],
      { inputs: {} },
    );
    const record = recordOf(outer, { skills: [OPS], input: { list: ["a", "b"] }, settings: { writes: "plan" } });
    const played = play(record, { answers: looking });
    const sources = played.state.run.operations.map(({ operation }) => operation.sources.map(({ ref }) => ref));
    expect(sources).toEqual([
      ["input", "r1", "r2"],
      ["input", "r1", "r4"],
      ["input", "r1", "r2", "r4"],
    ]);
  });
});

describe("an approval", () => {
  const asking = (approval: object = {}, edges: Parameters<typeof workflowOf>[1] = ["ask -> go"]) =>
    workflowOf({ ask: { approval: { ask: "Shall it go?", ...approval } }, go: {} }, edges);
  const word = (approved: boolean, rest: object = {}) =>
    ({ type: "approval:given", node: "ask", approved, by: "me", settings: {}, ...rest }) as const;

  test("makes the run wait, and names the pending decision", () => {
    const record = recordOf(asking({ timeout: "2h" }));
    const played = play(record);
    const result = describeResult(record, played.state);
    expect(result).toMatchObject({
      status: "waiting",
      exitCode: 7,
      waiting: [{ node: "ask", ask: "Shall it go?", since: expect.any(String), until: "1970-01-01T02:00:00.000Z" }],
    });
    expect(played.asks).toEqual([]);
  });

  test.each([
    [true, ["go"]],
    [false, []],
  ])("answered with %s is a success, and a plain edge follows approval alone", (approved, asked) => {
    const record = recordOf(asking());
    const first = play(record);
    const played = play(record, { past: first.events, epoch: 1, word: word(approved) });
    expect(resultAt(played, "ask")).toMatchObject({ status: "success", data: { approved, by: "me", note: null } });
    expect(played.asks.map(({ node }) => node)).toEqual(asked);
    expect(played.state.end?.status).toBe("succeeded");
  });
});

describe("a recording with inner runs", () => {
  const outer = mapOf({ key: "item.id" });
  const record = recordOf(outer, { input: { list: [{ id: "a" }] } });
  const { events } = play(record);

  test("is valid", () => {
    expect(faultOfRecording(record, events)).toBeUndefined();
  });

  test.each<[string, object, RegExp]>([
    ["lacks a workflow", { inner: {} }, /there is no workflow for each/],
    [
      "has one that cannot be run",
      { inner: { each: { ...record.inner?.each, workflow: workflowOf({ look: {} }, ["look -> nowhere"]) } } },
      /nowhere/,
    ],
    [
      "has one of other nodes",
      { inner: { each: { ...record.inner?.each, workflow: workflowOf({ other: {} }) } } },
      /no node look/,
    ],
  ])("that %s is not valid", (_, change, fault) => {
    expect(faultOfRecording({ ...record, ...change }, events)?.message).toMatch(fault);
  });
});
