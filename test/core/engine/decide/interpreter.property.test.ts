import * as fc from "fast-check";
import { describe, expect, test } from "vitest";
import type { Json, JsonObject } from "../../../../src/core/base/values.ts";
import { checkWorkflow } from "../../../../src/core/document/check/workflow.ts";
import type { Condition } from "../../../../src/core/document/workflow/rule.ts";
import type { Workflow } from "../../../../src/core/document/workflow/workflow.ts";
import { next } from "../../../../src/core/engine/decide/interpreter.ts";
import { linkProgram } from "../../../../src/core/engine/decide/link.ts";
import type { RunEvent } from "../../../../src/core/engine/event/event.ts";
import type { RunRecord } from "../../../../src/core/engine/event/record.ts";
import { fold } from "../../../../src/core/engine/fold/fold.ts";
import { begin } from "../../../../src/core/engine/fold/state.ts";
import { describeResult } from "../../../../src/core/engine/result/result.ts";
import type { Outcome } from "../../../../src/core/skill/skill.ts";
import {
  type Answer,
  type AskStep,
  type Broken,
  breaks,
  calls,
  eventsOf,
  gives,
  INTERRUPT,
  MAKER,
  NODE_TIMEOUT,
  type NodeParts,
  OPS,
  play,
  recordOf,
  says,
  workflowOf,
} from "../../../harness/harness.ts";
import { runsOf } from "../../../harness/long.ts";

// ---- random small workflows

const IDS = ["a", "b", "c", "constructor"];
const TOOLS = ["ops_look", "ops_peek", "ops_act", "ops_put", "nope", "tool-maker_made", "tool-maker_other"];
const MAKING: readonly [Making, ...Making[]] = [
  ["tool-maker_define_tool", { name: "made", description: "made", code: "return 1;" }],
  ["tool-maker_define_tool", { name: "other", description: "other", code: "return 2;", persistent: "true" }],
  ["tool-maker_define_tool", { name: "look", description: "taken", code: "return 3;" }],
  ["tool-maker_remove_tool", { name: "made" }],
  ["read_skill", { skill_name: "ops" }],
  ["read_result", { ref: "r1" }],
  ["read_result", { ref: "[r3]", search: "result" }],
];
type Making = readonly [tool: string, input: JsonObject];

const evaluator = fc.oneof(
  fc.record({
    name: fc.constantFrom("e", "f"),
    kind: fc.constant("value" as const),
    rule: fc.constantFrom({ output_required: ["summary"] }, { output_required: ["x"] }),
  }),
  fc.record({
    name: fc.constantFrom("e", "f"),
    kind: fc.constant("function" as const),
    rule: fc.constant({ any_tool_called: ["look"] }),
  }),
  fc.record(
    {
      name: fc.constantFrom("e", "f"),
      kind: fc.constant("evidence" as const),
      rule: fc.record(
        {
          claims: fc.constantFrom("claims[*]", "any:claims[*]", "claims", "__proto__[*]"),
          min_supported: fc.integer({ min: 0, max: 2 }),
          independent: fc.boolean(),
        },
        { requiredKeys: ["claims"] },
      ),
      on_unsupported: fc.constantFrom("fail" as const, "drop" as const, "mark" as const),
    },
    { requiredKeys: ["name", "kind", "rule"] },
  ),
  fc.record({ name: fc.constantFrom("e", "f"), kind: fc.constant("judge" as const), rubric: fc.constant("good?") }),
);

const retry = fc.record({
  max: fc.integer({ min: 1, max: 2 }),
  instruction: fc.constantFrom("again", { auto: true as const }, { reflect: "why?" }),
});

const steps = fc.record(
  {
    skills: fc.constantFrom<string[][]>(["ops"], ["tool-maker", "ops"], []),
    steps: fc
      .array(
        fc.record(
          {
            tool: fc.constantFrom("look", "ops_peek", "act", "ops_put", "ops_nope"),
            with: fc.constantFrom<Record<string, string>[]>(
              { id: "{{input.id}}" },
              { "id?": "{{steps.s0}}" },
              { text: "is {{run.id}}" },
            ),
            if: fc.constantFrom("steps.s0 exists", "input.id = 1"),
            on_error: fc.constantFrom("fail" as const, "skip" as const),
          },
          { requiredKeys: ["tool"] },
        ),
        { minLength: 1, maxLength: 4 },
      )
      .map((made) => made.map((step, index) => ({ id: `s${index}`, ...step }))),
    fail_soft: fc.boolean(),
    requires: fc.record({
      output_required: fc.constantFrom<string[][]>(["input.id"], ["a.summary"]),
      on_fail: fc.constant("skip" as const),
    }),
  },
  { requiredKeys: ["skills", "steps"] },
);

const modelNode = fc.record(
  {
    skills: fc.constantFrom([], ["ops"], ["tool-maker", "ops"]),
    max_turns: fc.integer({ min: 1, max: 3 }),
    fail_soft: fc.boolean(),
    output: fc.constant({ type: "object", properties: { x: { type: "number" } }, required: ["x"] }),
    eval: fc.array(evaluator, { minLength: 1, maxLength: 2 }),
    retry,
    requires: fc.record({
      output_required: fc.constantFrom(["input.id"], ["a.summary"]),
      on_fail: fc.constantFrom("fail" as const, "skip" as const),
    }),
    effects: fc.constantFrom("read" as const, "write" as const),
  },
  { requiredKeys: [] },
);

const node = fc.oneof({ weight: 3, arbitrary: modelNode }, { weight: 1, arbitrary: steps });

const condition: fc.Arbitrary<Condition> = fc.constantFrom<Condition[]>(
  "a.x = 1",
  "a.claims exists",
  "a.evals.e.pass != true",
  "any:a.claims[*].supported = true",
  "input.id in [1, 2]",
  "a.error exists",
  { output_required: ["a.summary"], output_matches: [{ path: "input.id", at_least: 1, not: true }] },
);

const edge = (ids: readonly string[]) =>
  fc.record(
    {
      from: fc.constantFrom(...ids),
      to: fc.constantFrom(...ids),
      when: fc.constantFrom("good", "bad", " "),
      if: condition,
      max_iterations: fc.integer({ min: 1, max: 2 }),
    },
    { requiredKeys: ["from", "to"] },
  );

const workflow: fc.Arbitrary<Workflow> = fc
  .integer({ min: 1, max: IDS.length })
  .chain((size) => {
    const ids = IDS.slice(0, size);
    return fc
      .record({ nodes: fc.tuple(...ids.map(() => node)), edges: fc.array(edge(ids), { maxLength: 6 }) })
      .map((made) =>
        workflowOf(
          Object.fromEntries(ids.map((id, index) => [id, (made.nodes[index] ?? {}) as NodeParts])),
          soundEdges(made.edges),
        ),
      );
  })
  .filter(
    (made) =>
      !checkWorkflow(made, new Set(["ops", "tool-maker"])).some(
        ({ severity, code }) => severity === "error" && code !== "UNREACHABLE_NODE",
      ),
  );

/** At most one unconditional edge out of a node, so that few graphs have to be thrown away. */
function soundEdges(edges: readonly Workflow["edges"][number][]): Workflow["edges"] {
  const seen = new Set<string>();
  return edges.filter(({ from, when, if: condition }) => {
    if (when?.trim() || condition !== undefined) return true;
    if (seen.has(from)) return false;
    return seen.add(from);
  });
}

const limits = fc.record(
  { max_steps: fc.integer({ min: 1, max: 20 }), max_tokens: fc.integer({ min: 1, max: 40 }) },
  { requiredKeys: ["max_steps"] },
);

const record: fc.Arbitrary<RunRecord> = fc
  .record({ workflow, limits, dryRun: fc.boolean(), id: fc.boolean(), onDemand: fc.boolean() })
  .map((made) =>
    recordOf(made.workflow, {
      skills: [{ ...OPS, instruction: "Look first." }, MAKER],
      settings: { limits: made.limits, context_mode: made.onDemand ? "readOnDemand" : "full" },
      input: { ...(made.dryRun ? { dryRun: true } : {}), ...(made.id ? { id: 1 } : {}) },
    }),
  );

// ---- random behavior: the result of a step depends on its key alone

function hash(text: string, seed: number): number {
  let value = seed | 0;
  for (const character of text) value = (Math.imul(value, 31) + character.charCodeAt(0)) | 0;
  value = Math.imul(value ^ (value >>> 15), 0x2c1b3c6d);
  return (value ^ (value >>> 13)) >>> 0;
}

const pick = <Value>(list: readonly [Value, ...Value[]], number: number): Value =>
  list[number % list.length] ?? list[0];

const cite = (ref: string, quote: Json) => ({ ref, quote });
const claim = (...evidence: Json[]) => ({ claim: "so it is", evidence });
const CLAIMS: readonly [Json, ...Json[]] = [
  [claim(cite("r1", "result number 4"), cite("r2", "result number 5")), claim(cite("r9", "the disk is full"))],
  [claim(cite("[r2]", "result number … of many"), cite("r1", 4)), "no claim", null, [claim()]],
  [claim(cite("r1", "result number"), cite("r01", "result number"), cite("R1", "result number"))],
  [claim(cite("r3", "kept beside the run"), cite("r2", "kept beside the run"))],
  claim(cite("r1", "result number")),
  [],
];

function behaviour(seed: number, troubles: boolean) {
  return (step: AskStep): Answer | Broken => {
    const number = hash(step.key.replace(/~\d+$/, ""), seed);
    const { purpose } = step;
    if (troubles && number % 11 === 0) {
      const late = purpose === "route" ? INTERRUPT : NODE_TIMEOUT;
      return pick<Answer | Broken>([breaks(), INTERRUPT, late, says("", { stop: "refusal" })], number >>> 4);
    }
    if (purpose === "judge") return pick([says("VERDICT: yes"), says("VERDICT: no"), says("hm")], number >>> 4);
    if (purpose === "reflect") return pick([says("look again"), says(" ")], number >>> 4);
    if (purpose === "route") {
      const schema = step.prompt.output as { properties: { choice: { enum: string[] } } };
      const { enum: ids } = schema.properties.choice;
      return pick(
        [gives({ reason: "", choice: ids[(number >>> 6) % ids.length] ?? "" }), says("unclear")],
        number >>> 4,
      );
    }
    const tool = pick(["ops_look", ...TOOLS], number >>> 8);
    const other = pick(["ops_peek", ...TOOLS], number >>> 12);
    const making = pick(MAKING, number >>> 16);
    return pick(
      [
        says("done"),
        gives({ x: 1 }),
        calls(tool, other),
        calls(making, tool),
        calls(tool),
        says(""),
        gives({ y: 1 }),
        gives({ x: 1, claims: pick(CLAIMS, number >>> 8) }),
      ],
      number >>> 4,
    );
  };
}

const KEPT = { blob_id: "blob:1", kind: "text/plain", size_bytes: 27 };
const BLOBS: readonly [string, string][] = [[KEPT.blob_id, "a text kept beside the run\n"]];

const tools =
  (seed: number) =>
  ({ key }: { readonly key: string }): Outcome => {
    const number = hash(key, seed);
    if (number % 3 === 0) return { error: "no", code: "tool.failed", acted: "no" };
    if (number % 3 === 1) return { output: { ...KEPT }, blobs: [KEPT] };
    return { output: `result number ${number % 10} of many` };
  };

const RUNS = { numRuns: runsOf(300) } as const;
const runs = (troubles: boolean) => fc.record({ record, seed: fc.integer(), troubles: fc.constant(troubles) });
const playing = ({ record, seed, troubles }: { record: RunRecord; seed: number; troubles: boolean }) =>
  play(record, { answers: behaviour(seed, troubles), tools: tools(seed), blobs: BLOBS });

describe("any workflow under any behaviour", () => {
  test("ends, with a reason", () => {
    fc.assert(
      fc.property(runs(true), (run) => {
        const { events, state } = playing(run);
        expect(events.at(-1)?.type).toBe("workflow:end");
        const result = describeResult(run.record, state);
        expect(result.exitCode === 0).toBe(result.status === "succeeded");
        expect(typeof result.exitCode).toBe("number");
      }),
      RUNS,
    );
  });

  test("emits well-formed events", () => {
    fc.assert(
      fc.property(runs(true), (run) => checkOrder(playing(run).events)),
      RUNS,
    );
  });

  test("gives every step a unique key", () => {
    fc.assert(
      fc.property(runs(true), (run) => {
        const keys = playing(run).steps.map(({ key }) => key);
        expect(new Set(keys).size).toBe(keys.length);
      }),
      RUNS,
    );
  });

  test("makes the same decisions from the same events", () => {
    fc.assert(
      fc.property(runs(true), (run) => {
        const { events } = playing(run);
        const program = linkProgram(run.record);
        const again = linkProgram(structuredClone(run.record));
        let state = begin(run.record);
        let twin = begin(structuredClone(run.record));
        for (const event of events) {
          expect(next(program, state)).toEqual(next(again, twin));
          state = fold(state, event);
          twin = fold(twin, structuredClone(event));
        }
      }),
      { numRuns: 100 },
    );
  });

  test("continues after a crash at any record as if nothing had happened", () => {
    fc.assert(
      fc.property(runs(false), fc.nat(), (run, at) => {
        const whole = playing(run);
        const cuts = recordEnds(whole.events);
        const past = whole.events.slice(0, cuts[at % cuts.length]);
        const answers = behaviour(run.seed, false);
        const rest = play(run.record, { answers, tools: tools(run.seed), blobs: BLOBS, past, epoch: 0 });
        expect(rest.events).toEqual(whole.events);
        expect(rest.state).toEqual(whole.state);
      }),
      RUNS,
    );
  });

  test("continues in another process, and only calls in doubt differ", () => {
    const readOnly = record.map((made): RunRecord => ({ ...made, settings: { ...made.settings, writes: "deny" } }));
    fc.assert(
      fc.property(readOnly, fc.integer(), fc.nat(), (record, seed, at) => {
        const options = { answers: behaviour(seed, false), tools: tools(seed), blobs: BLOBS };
        const whole = play(record, options);
        const cuts = recordEnds(whole.events);
        const past = whole.events.slice(0, cuts[at % cuts.length]);
        const rest = play(record, { ...options, past, epoch: 1 });
        const plain = (events: readonly RunEvent[]) => events.map(({ epoch: _, ...event }) => event);
        expect(plain(rest.events)).toEqual(plain(whole.events));
      }),
      RUNS,
    );
  });

  test("can be resumed after any end, and ends again", () => {
    fc.assert(
      fc.property(runs(true), fc.integer(), (run, seed) => {
        const first = playing(run);
        const second = play(run.record, {
          past: first.events,
          epoch: 1,
          resume: { settings: { limits: { max_steps: 100 } } },
          answers: behaviour(seed, true),
          tools: tools(seed),
          blobs: BLOBS,
        });
        expect(second.events.at(-1)?.type).toBe("workflow:end");
        const keys = [...first.steps, ...second.steps].map(({ key }) => key);
        expect(new Set(keys).size).toBe(keys.length);
      }),
      RUNS,
    );
  });
});

/** The lengths of the prefixes that a crash may leave: whole records only. */
function recordEnds(events: readonly RunEvent[]): number[] {
  return [0, ...events.flatMap((event, index) => (events[index + 1]?.key === event.key ? [] : [index + 1]))];
}

function checkOrder(events: readonly RunEvent[]): void {
  expect(events.slice(0, 2).map(({ type }) => type)).toEqual(["workflow:start", "sources:resolved"]);
  expect(eventsOf(events, "workflow:start")).toHaveLength(1);
  expect(eventsOf(events, "workflow:end")).toHaveLength(1);
  let inside: string | undefined;
  let left: string | undefined;
  let heading: string | undefined;
  const open = new Map<string, string>();
  const visits = new Map<string, number>();
  for (const [index, event] of events.entries()) {
    if (event.type === "tool:defined" || event.type === "tool:removed") {
      expect(events[index - 1]).toMatchObject({ type: "tool:result", id: event.id, key: event.key });
    }
    if (event.type === "node:enter") {
      expect(inside).toBeUndefined();
      expect(heading ?? event.node).toBe(event.node);
      visits.set(event.node, (visits.get(event.node) ?? 0) + 1);
      expect(event.iteration).toBe(visits.get(event.node));
      inside = event.node;
      left = undefined;
    } else if (event.type === "node:exit") {
      expect(inside).toBe(event.node);
      expect(["success", "skipped", "failed"]).toContain(event.result.status);
      if (event.result.status === "failed") expect(typeof event.result.data.error).toBe("string");
      inside = undefined;
      left = event.node;
    } else if (event.type === "route") {
      expect(inside).toBeUndefined();
      expect(left).toBe(event.from);
      heading = event.to;
      left = undefined;
    } else if (
      ["tool:call", "tool:result", "tool:defined", "tool:removed", "node:retry", "reply:rejected"].includes(event.type)
    ) {
      expect((event as { node?: string }).node).toBe(inside);
    }
    if (event.type === "tool:call") open.set(event.id, event.tool);
    if (event.type === "tool:result") {
      expect(open.get(event.id)).toBe(event.ref === undefined ? undefined : event.tool);
      expect("output" in event).toBe(event.error === undefined);
      open.delete(event.id);
    }
  }
  expect(inside).toBeUndefined();
  expect(open.size).toBe(0);
}
