import { describe, expect, test } from "vitest";
import type { Json, JsonObject } from "../../../../src/core/base/values.ts";
import { checkWorkflow } from "../../../../src/core/document/check/workflow.ts";
import { planOf } from "../../../../src/core/engine/decide/planning.ts";
import { operationDigest } from "../../../../src/core/engine/event/operation.ts";
import {
  calls,
  eventsOf,
  gives,
  INTERRUPT,
  type NodeParts,
  OPS,
  type PlayOptions,
  play,
  recordOf,
  resultAt,
  skillOf,
  toolOf,
  workflowOf,
} from "../../../harness/harness.ts";

/** Planned writes. */

const NODE = { skills: ["ops"] };
const flow = workflowOf({ a: NODE, b: NODE }, ["a -> b"]);
const record = recordOf(flow, { skills: [OPS], settings: { writes: "plan" } });
const planned = (options: PlayOptions) => play(record, options);
const answersOf = ({ events }: ReturnType<typeof play>) =>
  eventsOf(events, "tool:result").map(({ output, error }) => output ?? error);

describe("with writes planned, a call that writes", () => {
  test("reaches no handler, is numbered over the run, and is answered with its id", () => {
    const played = planned({ answers: [calls(["ops_act", { text: "one" }]), "a", calls(["ops_put", { x: 2 }]), "b"] });
    expect(played.called).toEqual([]);
    expect(answersOf(played)).toEqual([
      { planned: true, id: "op-1" },
      { planned: true, id: "op-2" },
    ]);
    expect(planOf(played.state)).toEqual([
      {
        kind: "call",
        id: "op-1",
        node: "a",
        visit: 1,
        skill: "ops",
        tool: "act",
        input: { text: "one" },
        summary: "ops act: “one”",
        effect: "write",
        audience: "team",
        digest: operationDigest({ skill: "ops", tool: "act", input: { text: "one" } }),
        sources: [{ ref: "input" }],
        refers: [],
      },
      expect.objectContaining({ id: "op-2", node: "b", tool: "put", input: { x: 2 } }),
    ]);
    expect(resultAt(played, "a").toolCalls).toMatchObject([{ ref: "r1", tool: "ops_act", planned: true }]);
  });

  test("is planned next to reading calls that are carried out", () => {
    const played = planned({ answers: [calls("ops_look", "ops_act", "ops_peek"), "a"] });
    expect(played.called.map(({ tool }) => tool.name)).toEqual(["look", "peek"]);
    expect(planOf(played.state)).toHaveLength(1);
  });

  test("is refused if its input does not fit, and nothing is planned", () => {
    const strict = { ...OPS, tools: OPS.tools.map((tool) => ({ ...tool, effect: "write" as const })) };
    const played = play(recordOf(flow, { skills: [strict], settings: { writes: "plan" } }), {
      answers: [calls(["ops_strict", { id: 7 }]), "a"],
    });
    expect(answersOf(played)).toEqual([expect.stringContaining("invalid input")]);
    expect(planOf(played.state)).toEqual([]);
  });

  test("is the same operation as an equal call of any node, and is planned once", () => {
    const same = calls(["ops_act", { n: 1, m: 2 }], ["ops_act", { m: 2, n: 1 }]);
    const played = planned({ answers: [same, "a", calls(["ops_act", { n: 1, m: 2 }]), "b"] });
    expect(answersOf(played)).toEqual([
      { planned: true, id: "op-1" },
      { planned: true, id: "op-1", same: true },
      { planned: true, id: "op-1", same: true },
    ]);
    expect(planOf(played.state)).toHaveLength(1);
    expect(resultAt(played, "b").toolCalls).toMatchObject([{ planned: true }]);
  });

  test("names the untrusted sources that its node, or a node whose result it received, had read", () => {
    const ops = {
      ...OPS,
      tools: OPS.tools.map((tool) => (tool.name === "peek" ? { ...tool, origin: "team" as const } : tool)),
    };
    const played = play(recordOf(flow, { skills: [ops], settings: { writes: "plan" } }), {
      answers: [calls("ops_look", "ops_peek"), calls("ops_act"), "a", calls("ops_put"), calls("ops_look"), "b"],
    });
    const read = [{ ref: "input" }, { ref: "r1", tool: "ops_look", node: "a" }];
    expect(planOf(played.state).map(({ sources }) => sources)).toEqual([read, read]);
  });

  test.each([
    [
      "of numbers and lists of choices alone",
      { n: { type: "number" }, s: { type: "string", enum: ["a"] } },
      { n: 1 },
      [],
    ],
    ["of text", { s: { type: "string" } }, {}, [{ ref: "input" }]],
    ["with an undeclared field", { n: { type: "number" } }, { n: 1, x: "y" }, [{ ref: "input" }]],
  ] as const)("states whether the input, %s, contains text", (_, inputs, input, sources) => {
    const typed = { ...flow, inputs } as typeof flow;
    const played = play(recordOf(typed, { skills: [OPS], settings: { writes: "plan" }, input }), {
      answers: [calls("ops_act"), "a"],
    });
    expect(planOf(played.state)[0]?.sources).toEqual(sources);
  });

  test("satisfies an evaluator that requires the call, and the reason says that it was planned", () => {
    const evaluated = (rule: object) => ({
      ...NODE,
      eval: [{ name: "told", kind: "function" as const, rule }],
    });
    const judged = (rule: object) => {
      const workflow = workflowOf({ a: evaluated(rule) });
      const played = play(recordOf(workflow, { skills: [OPS], settings: { writes: "plan" } }), {
        answers: [calls("ops_act"), "a"],
      });
      return resultAt(played, "a").evals?.[0];
    };
    expect(judged({ any_tool_called: ["ops_act"] })).toMatchObject({ pass: true, reasoning: "planned" });
    expect(judged({ all_tools_called: ["act"] })).toMatchObject({ pass: true, reasoning: "planned" });
    expect(judged({ no_tool_called: ["ops_act"] })).toMatchObject({ pass: false });
  });

  test("is described as planned at nodes that can write, and at no others", () => {
    const quiet = workflowOf({ a: { ...NODE, effects: "read" }, b: NODE }, ["a -> b"]);
    const { asks } = play(recordOf(quiet, { skills: [OPS], settings: { writes: "plan" } }), {});
    expect(asks.map(({ prompt }) => prompt.text?.includes("are planned here"))).toEqual([false, true]);
    const { asks: free } = play(recordOf(quiet, { skills: [OPS] }), {});
    expect(free.some(({ prompt }) => prompt.text?.includes("are planned here"))).toBe(false);
  });
});

describe("a reference to an earlier operation", () => {
  const OP1 = calls(["ops_act", { title: "x" }]);
  test("is kept as written, and reported", () => {
    const played = planned({ answers: [OP1, "a", calls(["ops_put", { text: "see ${op-1.url}" }]), "b"] });
    expect(planOf(played.state)[1]).toMatchObject({ input: { text: "see ${op-1.url}" }, refers: ["op-1"] });
  });

  test.each(["${op-1.url}", "${op-2.url}", "x ${op-7.url}"])(
    "%s to an unknown one is an error that the model sees, and not planned",
    (url) => {
      const played = planned({ answers: [calls(["ops_put", { url }]), "a"] });
      expect(answersOf(played)).toEqual([expect.stringContaining("is not an earlier operation of this run")]);
      expect(planOf(played.state)).toEqual([]);
    },
  );

  test("to an operation that was withdrawn is refused", () => {
    const once = {
      ...NODE,
      eval: [{ name: "v", kind: "value" as const, rule: { output_required: ["ok"] } }],
      retry: { max: 1 },
    };
    const played = play(recordOf(workflowOf({ a: once }), { skills: [OPS], settings: { writes: "plan" } }), {
      answers: [OP1, "no", calls(["ops_put", { url: "${op-1.url}" }]), '{"ok":1}'],
    });
    expect(answersOf(played)[1]).toContain("is not an earlier operation");
  });
});

describe("operations are withdrawn", () => {
  test("when their attempt is retried, and ids are not reused", () => {
    const once = {
      ...NODE,
      eval: [{ name: "v", kind: "value" as const, rule: { output_required: ["ok"] } }],
      retry: { max: 1 },
    };
    const played = play(recordOf(workflowOf({ a: once }), { skills: [OPS], settings: { writes: "plan" } }), {
      answers: [calls("ops_act"), "no", calls("ops_act"), '{"ok":1}'],
    });
    expect(planOf(played.state).map(({ id }) => id)).toEqual(["op-2"]);
    expect(eventsOf(played.events, "operation:planned")).toHaveLength(2);
  });

  test("not when their node failed in the end: the plan shows that", () => {
    const once = { ...NODE, eval: [{ name: "v", kind: "value" as const, rule: { output_required: ["ok"] } }] };
    const played = play(recordOf(workflowOf({ a: once }), { skills: [OPS], settings: { writes: "plan" } }), {
      answers: [calls("ops_act"), "no"],
    });
    expect(planOf(played.state)).toMatchObject([{ id: "op-1", node_failed: true }]);
  });

  const first = planned({ answers: [calls(["ops_act", { n: 1 }]), "a", calls(["ops_act", { n: 2 }]), "b"] });

  test("when their visit is redone, with later ones", () => {
    const again = planned({ past: first.events, epoch: 1, resume: { from: "b" }, answers: [calls("ops_put"), "b"] });
    expect(planOf(again.state).map(({ id, input }) => [id, input])).toEqual([
      ["op-1", { n: 1 }],
      ["op-3", {}],
    ]);
  });

  test("unless they were applied, which is marked, or may have been", () => {
    const at = (events: typeof first.events) => ({ seq: events.length, time: "2026-01-01T00:00:00.000Z", epoch: 1 });
    const { digest } = planOf(first.state)[1] ?? { digest: "" };
    const begun = {
      type: "operation:begun",
      operation: "op-2",
      digest,
      call: "c",
      by: "me",
      key: "apply/1",
      ...at(first.events),
    } as const;
    const ended = { type: "operation:ended", operation: "op-2", digest, output: {}, key: "apply/2" } as const;
    const past = [...first.events, begun, { ...ended, ...at(first.events), seq: begun.seq + 1 }];
    const again = planned({ past, epoch: 2, resume: { from: "a" }, answers: [calls(["ops_act", { n: 2 }]), "a"] });
    expect(planOf(again.state)).toMatchObject([{ id: "op-2", applied: true }]);
    expect(answersOf(again).at(-1)).toEqual({ planned: true, id: "op-2", same: true });
    const doubtful = planned({ past: past.slice(0, -1), epoch: 2, resume: { from: "a" }, answers: ["a"] });
    expect(planOf(doubtful.state).map(({ id }) => id)).toEqual(["op-2"]);
  });

  test("not when a run continues inside the visit that it stopped in", () => {
    const cut = planned({
      answers: [calls("ops_act"), calls("ops_look")],
      onCalls: () => [INTERRUPT],
    });
    expect(planOf(cut.state)).toMatchObject([{ id: "op-1", node_failed: true }]);
    const resumed = planned({ past: cut.events, epoch: 1, resume: {}, answers: ["a"] });
    expect(planOf(resumed.state)).toEqual([expect.not.objectContaining({ node_failed: true })]);
  });
});

describe("once", () => {
  const once = workflowOf({ a: { output: { type: "object" } }, b: { ...NODE, once: "a.cause" } }, ["a -> b"]);
  const markerOf = (answer: string, text: string) => {
    const played = play(recordOf(once, { skills: [OPS], settings: { writes: "plan" } }), {
      answers: [answer, calls(["ops_act", { text }]), "b"],
    });
    return planOf(played.state)[0]?.marker;
  };

  test("identifies the finding, whatever the wording", () => {
    expect(markerOf('{"cause":"8f2c1e"}', "one")).toMatch(/^[0-9a-f]{64}$/);
    expect(markerOf('{"cause":"8f2c1e"}', "other words")).toBe(markerOf('{"cause":"8f2c1e"}', "one"));
    expect(markerOf('{"cause":"77aa00"}', "one")).not.toBe(markerOf('{"cause":"8f2c1e"}', "one"));
  });

  test.each(["nothing", '{"cause":""}', '{"cause":null}', '{"cause":{}}'])(
    "that finds no key in %s uses the digest",
    (answer) => {
      expect(markerOf(answer, "one")).toBeUndefined();
    },
  );
});

describe("once with a list", () => {
  /** Returns the marker of the write of a steps node. */
  const markerOf = (once: NodeParts["once"], input: JsonObject, cause: JsonObject = {}) => {
    const steps = [{ id: "one", tool: "act", with: { text: JSON.stringify(input) } }];
    const workflow = workflowOf(
      { a: { output: { type: "object" } }, b: { skills: ["ops"], steps, once: once ?? [] } },
      ["a -> b"],
    );
    const record = recordOf(workflow, { skills: [OPS], settings: { writes: "plan" }, input });
    return planOf(play(record, { answers: [gives(cause)] }).state)[0]?.marker;
  };
  const once = ["a.commit", "{{input.labels.service}}/{{input.startsAt:day}}"];
  const at = (startsAt: Json, service: Json = "shop") => ({ startsAt, labels: { service } });

  test("takes the first entry that resolves", () => {
    expect(markerOf(once, at("x"), { commit: "8f2c1e" })).toBe(markerOf("a.commit", {}, { commit: "8f2c1e" }));
    const day = markerOf(once, at("2026-11-20T08:00:00Z"));
    expect(day).toBe(markerOf(["{{a.key}}"], {}, { key: "shop/2026-11-20" }));
    expect(markerOf(once, at("2026-11-21T08:00:00Z"))).not.toBe(day);
  });

  test.each(["2026-11-20", "2026-11-20T23:59:59", "2026-11-21T01:30:00+02:00", "2026-11-19 23:00:00.5-0200"])(
    "uses the UTC day of %s",
    (startsAt) => expect(markerOf(once, at(startsAt))).toBe(markerOf(once, at("2026-11-20T12:00:00Z"))),
  );

  test.each([["yesterday"], ["2026-13-45"], [null], [{}], [20]])(
    "uses the digest for a key without a day, from %j",
    (startsAt) => {
      expect(markerOf(once, at(startsAt))).toBeUndefined();
      expect(markerOf(once, at("2026-11-20", ""))).toBeUndefined();
    },
  );
});

test("a skill that can only plan adds nothing to the prompt if planning is not possible", () => {
  const told = (effects: "read" | "write", plannable: object) => {
    const ops = { ...OPS, instruction: "how ops works", ...plannable };
    const workflow = workflowOf({ a: { ...NODE, effects, tools: { allow: ["act"] } } });
    const { asks } = play(recordOf(workflow, { skills: [ops], settings: { writes: "plan" } }), {});
    return JSON.stringify(asks[0]?.prompt).includes("how ops works");
  };
  expect([told("read", { plannable: true }), told("write", { plannable: true }), told("read", {})]).toEqual([
    ...[false, true, true],
  ]);
});

test("a key of `once` that can never exist causes a warning", () => {
  const found = (once: string | string[]) => {
    const workflow = workflowOf({ a: {}, b: { ...NODE, once } }, ["a -> b"]);
    return checkWorkflow(workflow, new Set(["ops"])).map(
      ({ severity, code, path }) => `${severity} ${code} ${path.join(".")}`,
    );
  };
  expect(found("diagnose.cause")).toEqual(["warning UNKNOWN_PATH_ROOT nodes.b.once"]);
  expect(found("a.summary")).toEqual([]);
  expect(found(["a.summary", "{{input.x}}/{{b:day}}"])).toEqual([]);
  expect(found(["a.summary", "{{input.x}}/{{nope.at:day}}"])).toEqual(["warning UNKNOWN_PATH_ROOT nodes.b.once.1"]);
});

describe("private text for a public target", () => {
  const desk = skillOf("desk", [
    toolOf("desk", "read", { reads: "private" }),
    toolOf("desk", "publish", { effect: "write", audience: "public", host: "sink.io" }),
    toolOf("desk", "post", { effect: "write" }),
  ]);
  const open = skillOf("open", [toolOf("open", "publish", { effect: "write", audience: "public" })]);
  const TEXT = { text: "ana@acme.io saw it at https://sink.io/7" };
  const run = (nodes: Parameters<typeof workflowOf>[0], settings = {}, edges: string[] = []) =>
    play(recordOf(workflowOf(nodes, edges), { skills: [desk, open], settings }), {
      answers: [calls(["desk_publish", TEXT], ["desk_post", TEXT]), "a"],
    });

  test("is queued as planned although writes are allowed, without addresses and host names", () => {
    const played = run({ a: { skills: ["desk"] } });
    expect(planOf(played.state)).toMatchObject([
      {
        tool: "publish",
        audience: "public",
        held: "taint.private_to_public",
        input: { text: "[removed:email] saw it at https://sink.io/7" },
        filtered: [{ kind: "email", count: 1 }],
      },
    ]);
    expect(played.called.map(({ tool }) => tool.name)).toEqual(["post"]);
  });

  test("is not planned if the tool refuses the remaining text, and the model gets an error", () => {
    const strict = {
      ...toolOf("desk", "publish", { effect: "write", audience: "public" }),
      input_schema: { type: "object", properties: { to: { enum: ["ana@acme.io", "x"] } } },
    };
    const skills = [skillOf("desk", [toolOf("desk", "read", { reads: "private" }), strict])];
    const played = play(recordOf(workflowOf({ a: { skills: ["desk"] } }), { skills }), {
      answers: [calls(["desk_publish", { to: "ana@acme.io" }], ["desk_publish", { to: "x" }]), "a"],
    });
    expect(planOf(played.state)).toMatchObject([{ id: "op-1", input: { to: "x" } }]);
    const results = played.events.filter(({ type }) => type === "tool:result");
    expect(results).toMatchObject([
      { error: expect.stringContaining("to must be one of"), code: "input.invalid", acted: "no" },
      { planned: true },
    ]);
  });

  test("has the same aliases in all its texts, and only the record maps them to the originals", () => {
    const texts = [{ text: "db.internal is slow" }, { text: "cache.internal waits for db.internal" }];
    const played = play(recordOf(workflowOf({ a: { skills: ["desk"] } }), { skills: [desk] }), {
      answers: [calls(...texts.map((text): [string, typeof text] => ["desk_publish", text])), "a"],
    });
    const plan = planOf(played.state);
    expect(plan.map(({ input }) => input)).toEqual([{ text: "host-1 is slow" }, { text: "host-2 waits for host-1" }]);
    expect(JSON.stringify(plan)).not.toContain("internal");
    const events = played.events.flatMap((event) => (event.type === "operation:planned" ? [event.aliases] : []));
    expect(events).toEqual([{ "host-1": "db.internal" }, { "host-2": "cache.internal" }]);
  });

  test("is filtered if writes are planned, too", () => {
    const plan = planOf(run({ a: { skills: ["desk"] } }, { writes: "plan" }).state);
    expect(plan).toMatchObject([{ held: "taint.private_to_public" }, { tool: "post", input: TEXT }]);
  });

  test("is written unchanged if that is allowed", () => {
    const played = run({ a: { skills: ["desk"] } }, { allow_public: true });
    expect(planOf(played.state)).toEqual([]);
    expect(played.called.map(({ input }) => input)).toEqual([TEXT, TEXT]);
  });

  const OPEN = { skills: ["open"] };
  const LOOKING = { skills: ["desk"], effects: "read" as const };
  test.each([
    ["the node itself", workflowOf({ a: OPEN }), 0],
    ["a node whose result it was given", workflowOf({ a: LOOKING, b: OPEN }, ["a -> b"]), 1],
  ])("depends on the content that was offered to %s", (_, workflow, held) => {
    const played = play(recordOf(workflow, { skills: [desk, open] }), {
      answers: (step) => (step.prompt.turns.length === 0 ? calls(["open_publish", TEXT]) : "done"),
    });
    expect(planOf(played.state)).toHaveLength(held);
  });

  test("is sent once the tool confirms that only the team reads the target", () => {
    const played = play(recordOf(workflowOf({ a: { skills: ["desk"] } }), { skills: [desk] }), {
      answers: [calls(["desk_publish", TEXT]), "a"],
      audience: "team",
    });
    expect(eventsOf(played.events, "tool:audience")).toMatchObject([{ node: "a", audience: "team" }]);
    expect(played.called).toHaveLength(1);
  });
});
