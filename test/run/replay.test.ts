import { describe, expect, test } from "vitest";
import { SkillflowError } from "../../src/core/base/errors.ts";
import { createRedactor } from "../../src/core/base/redact/redact.ts";
import { linkProgram } from "../../src/core/engine/decide/link.ts";
import { planOf } from "../../src/core/engine/decide/planning.ts";
import type { Call } from "../../src/core/engine/event/call.ts";
import type { EventBody, EventOf, RunEvent } from "../../src/core/engine/event/event.ts";
import type { ChangedPrompt } from "../../src/core/engine/event/prompt.ts";
import type { RunRecord } from "../../src/core/engine/event/record.ts";
import { fold } from "../../src/core/engine/fold/fold.ts";
import { begin } from "../../src/core/engine/fold/state.ts";
import type { Model, Observer } from "../../src/core/engine/ports.ts";
import type { Script } from "../../src/core/outward/testing/script.ts";
import type { Outcome } from "../../src/core/skill/skill.ts";
import { replayModel } from "../../src/models/replay.ts";
import { scriptModel } from "../../src/models/script.ts";
import { createAsk } from "../../src/run/ask.ts";
import { digestPrompt } from "../../src/run/digest.ts";
import { driveRun } from "../../src/run/drive.ts";
import { type Afterwards, afterwardsIn, bodyOf, type Recall, recallRun } from "../../src/run/recall.ts";
import { memoryStore } from "../../src/stores/memory.ts";
import { SCRIPT, recordOf as triageOf } from "../contracts/triage.ts";
import { eventsOf, lines, OPS, recordOf, workflowOf } from "../harness/harness.ts";
import { LONG } from "../harness/long.ts";

/** A recorded run, run again from its recording alone. */

type Store = ReturnType<typeof memoryStore>;

interface DriveOptions {
  readonly model: Model;
  readonly callTool?: (call: Call) => Promise<Outcome>;
  readonly resumes?: readonly EventOf<"run:resume">[];
  /** Instead of them, with what was applied. */
  readonly afterwards?: readonly Afterwards[];
  readonly recall?: Recall;
  readonly signal?: AbortSignal;
  readonly observers?: readonly Observer[];
  readonly prices?: number;
}

async function drive(record: RunRecord, store: Store, options: DriveOptions) {
  const { model, callTool = async () => ({ output: "ok" }), resumes = [], prices = 0, observers = [] } = options;
  const isNew = !(await store.list()).includes(record.run);
  const journal = isNew ? await store.create(record) : (await store.open(record.run)).journal;
  await driveRun({
    program: linkProgram(record),
    journal,
    ask: createAsk({
      findModel: async (name) => ({ model, name }),
      priceOf: () => prices,
      clock: { random: () => 0, sleep: () => Promise.reject(new Error("nothing is worth waiting for")) },
      onProgress: () => undefined,
      onAnswering: () => undefined,
    }),
    callTool,
    redactor: createRedactor([]),
    observers,
    signal: options.signal ?? new AbortController().signal,
    afterwards: options.afterwards ?? resumes.map((body, index) => ({ key: `resume/${index + 1}`, body })),
    recall: options.recall,
  }).finally(() => journal.close());
  return (await store.read(record.run)).events;
}

/** Replays the recording with its own record, or with another. */
async function replay(record: RunRecord, events: readonly RunEvent[], now = record) {
  const recording = { record, events };
  const changed: ChangedPrompt[] = [];
  const onChanged = (change: ChangedPrompt) => changed.push(change);
  const replayed = await drive(now, memoryStore(), {
    model: replayModel({ recording, resumed: "each", digest: digestPrompt, onChanged }),
    callTool: async ({ key }) => {
      throw new Error(`${key} was carried out`);
    },
    afterwards: afterwardsIn(events),
    recall: recallRun(recording, "recorded"),
  });
  return { replayed, changed };
}

/** The events without the parts of a replay that differ: time, and the model with its price. */
function gist(events: readonly RunEvent[]) {
  return events.map((event): EventBody => {
    const body = bodyOf(event) as EventBody;
    return body.type === "model:reply" ? { ...body, model: "", usage: null } : body;
  });
}

const script = (replies: Script["replies"], past: readonly RunEvent[] = []) => scriptModel({ replies }, past);
const again: EventOf<"run:resume"> = { type: "run:resume", settings: {} };

describe("a replay", () => {
  test("of a run with every feature is the same run", async () => {
    const events = await drive(triageOf("t"), memoryStore(), { model: scriptModel(SCRIPT) });
    const { replayed, changed } = await replay(triageOf("t"), events);
    expect(gist(replayed)).toEqual(gist(events));
    expect(changed).toEqual([]);
  });

  test("of a run that was interrupted anywhere ends interrupted, and when resumed ends as the run did", async () => {
    const calm = await drive(triageOf("t"), memoryStore(), { model: scriptModel(SCRIPT) });
    for (const { seq, type } of calm.slice(0, -1).filter((_, index) => LONG || index % 5 === 0)) {
      const store = memoryStore();
      const stop = new AbortController();
      const onEvent = (event: RunEvent) => event.seq === seq && stop.abort("interrupted");
      const observed = { signal: stop.signal, observers: [{ onEvent }] };
      const first = await drive(triageOf("t"), store, { model: scriptModel(SCRIPT), ...observed });
      expect(gist((await replay(triageOf("t"), first)).replayed), `${type} ${seq}`).toEqual(gist(first));
      const whole = await drive(triageOf("t"), store, { model: scriptModel(SCRIPT, first), resumes: [again] });
      expect(gist((await replay(triageOf("t"), whole)).replayed), `${type} ${seq}, resumed`).toEqual(gist(whole));
    }
  });

  describe("of a run that planned its writes", () => {
    const planning = { ...triageOf("t"), settings: { ...triageOf("t").settings, writes: "plan" as const } };
    const writes: string[] = [];
    const callTool = async ({ tool }: Call): Promise<Outcome> => {
      if (tool.effect === "write") writes.push(tool.exposed);
      return { output: "ok" };
    };
    const plannedIn = (events: readonly RunEvent[]) => planOf(events.reduce(fold, begin(planning)));

    test("and was interrupted anywhere is the same run, with the same plan", async () => {
      const calm = await drive(planning, memoryStore(), { model: scriptModel(SCRIPT), callTool });
      const plan = plannedIn(calm).map(({ skill, tool, input }) => ({ skill, tool, input }));
      expect(plan.length).toBeGreaterThan(2);
      for (const { seq, type } of calm.slice(0, -1).filter((_, index) => LONG || index % 6 === 0)) {
        const store = memoryStore();
        const stop = new AbortController();
        const onEvent = (event: RunEvent) => event.seq === seq && stop.abort("interrupted");
        const first = await drive(planning, store, {
          ...{ model: scriptModel(SCRIPT), callTool, signal: stop.signal, observers: [{ onEvent }] },
        });
        const resumed = { model: scriptModel(SCRIPT, first), callTool, resumes: [again] };
        const whole = await drive(planning, store, resumed);
        const now = plannedIn(whole).map(({ skill, tool, input }) => ({ skill, tool, input }));
        expect(now, `${type} ${seq}`).toEqual(plan);
        expect(gist((await replay(planning, whole)).replayed), `${type} ${seq}`).toEqual(gist(whole));
      }
      expect(writes).toEqual([]);
    });

    test("and was redone after a part of them was applied is the same run", async () => {
      const store = memoryStore();
      const calm = await drive(planning, store, { model: scriptModel(SCRIPT), callTool });
      const [first] = plannedIn(calm);
      if (!first) throw new Error("nothing was planned");
      const about = { operation: first.id, digest: first.digest };
      const afterwards: Afterwards[] = [
        { key: "after/1", body: { type: "operation:begun", ...about, call: first.digest, by: "me" } },
        { key: "after/2", body: { type: "operation:ended", ...about, output: { url: "https://x/1" } } },
        { key: "resume/1", body: { ...again, from: first.node } },
      ];
      const whole = await drive(planning, store, { model: scriptModel(SCRIPT), callTool, afterwards });
      expect(plannedIn(whole)[0]).toEqual({ ...first, applied: true });
      expect(gist((await replay(planning, whole)).replayed)).toEqual(gist(whole));
    });
  });

  test.each<[string, object, object]>([
    ["visits", { max_steps: 2 }, { max_steps: 50 }],
    ["money", { max_cost_usd: 2.5 }, { max_cost_usd: 99 }],
    ["tokens", { max_tokens: 40 }, { max_tokens: 9_999 }],
  ])(
    "of a run that a limit of %s stopped stops there, and continues where the run was resumed",
    async (_, low, high) => {
      const record = { ...triageOf("t"), settings: { ...triageOf("t").settings, limits: low } };
      const store = memoryStore();
      const stopped = await drive(record, store, { model: scriptModel(SCRIPT), prices: 1 });
      expect(stopped.at(-1)).toMatchObject({ type: "workflow:end", status: "stopped" });
      expect(gist((await replay(record, stopped)).replayed).slice(-1)).toEqual(gist(stopped).slice(-1));
      const resumes = [{ ...again, settings: { limits: high } }];
      const whole = await drive(record, store, { model: scriptModel(SCRIPT, stopped), prices: 1, resumes });
      const { replayed, changed } = await replay(record, whole);
      expect(gist(replayed)).toEqual(gist(whole));
      expect(changed).toEqual([]);
    },
  );

  const chain = recordOf(workflowOf({ a: { skills: ["ops"] }, b: { skills: ["ops"] } }, ["a -> b"]), { skills: [OPS] });

  test("of a run that failed and was redone follows both paths", async () => {
    const store = memoryStore();
    const busy: Model = {
      provider: "script",
      reply: async () => {
        throw new SkillflowError("model.quota", "no more");
      },
    };
    const first = await drive(chain, store, { model: busy });
    const second = await drive(chain, store, { model: script([{ text: "a" }, { text: "b" }]), resumes: [again] });
    const resumes = [again, { ...again, from: "a" }];
    const model = script([{ text: "other a" }, { text: "other b" }]);
    const third = await drive(chain, store, { model, resumes });
    for (const events of [first, second, third]) {
      expect(gist((await replay(chain, events)).replayed)).toEqual(gist(events));
    }
    expect(eventsOf(third, "workflow:end").map(({ status }) => status)).toEqual(["failed", "succeeded", "succeeded"]);
  });

  test("returns the recorded reads of a blob", async () => {
    const blob = { blob_id: `blob:${"0".repeat(32)}`, kind: "text/plain", size_bytes: 9 };
    const read = { tool: "read_blob", input: { blob_id: blob.blob_id } };
    const model = script([{ calls: [{ tool: "ops_look", input: {} }] }, { calls: [read] }, { text: "seen" }]);
    const callTool = async ({ tool }: Call): Promise<Outcome> =>
      tool.name === "look" ? { output: blob, blobs: [blob] } : { output: { text: "the lines" } };
    const record = recordOf(workflowOf({ a: { skills: ["ops"] } }), { skills: [OPS] });
    const events = await drive(record, memoryStore(), { model, callTool });
    expect(eventsOf(events, "tool:result").at(-1)?.output).toEqual({ text: "the lines" });
    const { replayed, changed } = await replay(record, events);
    expect(gist(replayed)).toEqual(gist(events));
    expect(changed).toEqual([]);
  });

  const look = { calls: [{ tool: "ops_look", input: {} }] };
  const caught = (node = {}) =>
    recordOf(workflowOf({ a: { skills: ["ops"], ...node }, b: {} }, ["a -> b: a failed", "a -> b"]), { skills: [OPS] });
  const route = { choice: "b#1" };

  test.each([
    ["a reply", "model:reply"],
    ["a result", "tool:result"],
  ])("that misses %s fails, whatever edges and softening there are", async (_, type) => {
    const record = caught({ fail_soft: true });
    const model = script([look, { text: "t" }, route, { node: "b", text: "b" }]);
    const events = await drive(record, memoryStore(), { model });
    expect(events.at(-1)).toMatchObject({ status: "succeeded" });
    const lost = events.find((event) => event.type === type);
    const { replayed } = await replay(
      record,
      events.filter((event) => event !== lost),
    );
    expect(replayed.at(-1)).toMatchObject({
      type: "workflow:end",
      status: "failed",
      error: { code: "replay.missing", node: "a" },
    });
    expect(eventsOf(replayed, "route")).toEqual([]);
  });

  test("that diverged from its recording ignores the recorded resumes", async () => {
    const store = memoryStore();
    await drive(chain, store, { model: script([{ text: "a" }, { text: "b" }]) });
    const resumes = [{ ...again, from: "b" }];
    const events = await drive(chain, store, { model: script([{ text: "b again" }]), resumes });
    const { replayed } = await replay(
      chain,
      events.filter((event) => event.key !== "2:b/0/0"),
    );
    expect(lines(replayed).slice(-2)).toEqual(["node:exit b failed", "workflow:end failed"]);
    expect(eventsOf(replayed, "run:resume")).toEqual([]);
  });

  test("reports that other tools were offered, even if the model called none of them", async () => {
    const events = await drive(caught(), memoryStore(), { model: script([{ text: "t" }, route, { text: "b" }]) });
    const { changed } = await replay(caught(), events, { ...caught(), skills: [] });
    expect(changed.map(({ node, recorded, now }) => [node, recorded?.tools.length, now.tools.length])).toEqual([
      ["a", [...OPS.tools, "read_result"].length, 0],
    ]);
  });
});

describe("a script without a reply left", () => {
  test("ends the run, which no edge handles and nothing softens", async () => {
    const record = recordOf(workflowOf({ a: { fail_soft: true }, b: {} }, ["a -> b: a failed", "a -> b"]));
    const events = await drive(record, memoryStore(), { model: script([]) });
    expect(events.at(-1)).toMatchObject({ status: "failed", error: { code: "script.exhausted", node: "a" } });
    expect(eventsOf(events, "route")).toEqual([]);
  });

  test("continues inside the node once there is one", async () => {
    const record = recordOf(workflowOf({ a: {} }));
    const store = memoryStore();
    await drive(record, store, { model: script([]) });
    const events = await drive(record, store, { model: script([{ text: "late" }]), resumes: [again] });
    expect(events.at(-1)).toMatchObject({ status: "succeeded", results: { a: { data: { summary: "late" } } } });
    expect(eventsOf(events, "node:enter")).toHaveLength(1);
  });
});
