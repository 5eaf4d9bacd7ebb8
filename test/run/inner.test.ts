import { rmSync } from "node:fs";
import { describe, expect, test } from "vitest";
import { SkillflowError } from "../../src/core/base/errors.ts";
import { createRedactor } from "../../src/core/base/redact/redact.ts";
import { linkProgram } from "../../src/core/engine/decide/link.ts";
import type { Call } from "../../src/core/engine/event/call.ts";
import type { EventBody, RunEvent } from "../../src/core/engine/event/event.ts";
import type { Prompt, Reply } from "../../src/core/engine/event/prompt.ts";
import type { RunRecord } from "../../src/core/engine/event/record.ts";
import { fold } from "../../src/core/engine/fold/fold.ts";
import { begin, type State } from "../../src/core/engine/fold/state.ts";
import type { Journal, Model, Observer, Store } from "../../src/core/engine/ports.ts";
import { describeResult } from "../../src/core/engine/result/result.ts";
import { lateWords, waitsIn, wordOf } from "../../src/core/engine/result/waiting.ts";
import type { Outcome } from "../../src/core/skill/skill.ts";
import { replayModel } from "../../src/models/replay.ts";
import { createAsk } from "../../src/run/ask.ts";
import { digestPrompt } from "../../src/run/digest.ts";
import { driveRun } from "../../src/run/drive.ts";
import { type Afterwards, afterwardsIn, bodyOf, type Recall, recallRun } from "../../src/run/recall.ts";
import { fileStore } from "../../src/stores/file/store.ts";
import { memoryStore } from "../../src/stores/memory.ts";
import { eventsOf, inline, OPS, recordOf, workflowOf } from "../harness/harness.ts";
import { LONG } from "../harness/long.ts";
import { makeQuickFolder } from "../harness/quick-folder.ts";

/** Inner runs, driven side by side with a real journal. */

interface DriveOptions {
  readonly model?: Model;
  readonly callTool?: (call: Call) => Promise<Outcome>;
  readonly signal?: AbortSignal;
  readonly observers?: readonly Observer[];
  /** Runs after the recorded ends, and after all of them. */
  readonly afterwards?: readonly Afterwards[];
  readonly recall?: Recall;
  /** Throws at an entry of the journal. */
  readonly mortal?: (journal: Journal) => Journal;
}

type Opened = Pick<Store, "create" | "open" | "read" | "list">;

async function drive(record: RunRecord, store: Opened, options: DriveOptions = {}): Promise<State> {
  const { model = worker(), callTool = async () => ({ output: "ok" }), mortal = (journal) => journal } = options;
  const isNew = !(await store.list()).includes(record.run);
  const { journal, events } = isNew
    ? { journal: await store.create(record), events: [] }
    : await store.open(record.run);
  return await driveRun({
    program: linkProgram(record),
    journal: mortal(journal),
    ask: createAsk({
      findModel: async (name) => ({ model, name }),
      priceOf: () => 0,
      clock: { random: () => 0, sleep: () => Promise.reject(new Error("nothing is worth waiting for")) },
      onProgress: () => undefined,
      onAnswering: () => undefined,
    }),
    callTool: (call, _, begun) => {
      begun?.();
      return callTool(call);
    },
    redactor: createRedactor([]),
    observers: options.observers ?? [],
    signal: options.signal ?? new AbortController().signal,
    afterwards: options.afterwards ?? afterwardsIn(events),
    recall: options.recall,
  }).finally(() => journal.close());
}

const usage = { inputTokens: 1, cachedTokens: 0, outputTokens: 1 };
const text = (said: string): Reply => ({ parts: [{ type: "text", text: said }], stop: "end", usage });
const call = (tool: string, input = {}): Reply => ({
  parts: [{ type: "call", id: "c0", tool, input }],
  stop: "end",
  usage,
});

const itemIn = (prompt: Prompt) => String(prompt.context?.input.item ?? "");

/** Answers based on the prompt alone: looks, then acts, then reports. */
function worker(
  before: (prompt: Prompt, key: string, signal: AbortSignal) => Promise<void> = async () => undefined,
): Model {
  return {
    provider: "script",
    async reply(prompt, { node, key, signal }) {
      await before(prompt, key, signal);
      const turns = prompt.turns.filter(({ role }) => role === "tools").length;
      if (itemIn(prompt) === "broken" && turns === 1) throw new SkillflowError("model.quota", "no more");
      if (node === "look" && turns === 0) return call("ops_look", { of: itemIn(prompt) });
      if (node === "look" && turns === 1) return call("ops_act", { of: itemIn(prompt) });
      if (node === "judge" && itemIn(prompt) === "slow" && !/attempt/i.test(prompt.text)) return text('{"y":1}');
      if (node === "judge") return text('{"x":1}');
      return text("done");
    },
  };
}

/** Waits until the expected number of callers has arrived, then releases all. */
function latch(awaited: number) {
  let come = 0;
  let open: () => void = () => undefined;
  const whole = new Promise<void>((resolve) => {
    open = resolve;
  });
  return {
    come: () => {
      come += 1;
      if (come === awaited) open();
      return whole;
    },
    get count() {
      return come;
    },
  };
}

const steps = inline(
  {
    look: { skills: ["ops"] },
    judge: {
      output: { type: "object" },
      eval: [{ name: "has_x", kind: "value", rule: { output_required: ["x"] } }],
      retry: { max: 1 },
    },
  },
  ["look -> judge"],
);
const over = (list: readonly string[], map: object = {}, node: object = {}) =>
  recordOf(workflowOf({ each: { map: { over: "input.list", as: "item", ...map }, ...steps, ...node } }), {
    input: { list: [...list] },
    skills: [OPS],
  });

const statuses = (state: State, node = "each") =>
  ((state.results.get(node)?.data.items ?? []) as { status: string }[]).map(({ status }) => status);

describe("items side by side", () => {
  test("run concurrently, up to the map's limit", async () => {
    const all = latch(3);
    const asked: string[] = [];
    const model = worker(async (_, key) => {
      asked.push(key);
      if (asked.length <= 3) await all.come();
    });
    const state = await drive(over(["a", "b", "c", "d"], { concurrency: 3 }), memoryStore(), { model });
    expect(all.count).toBe(3);
    expect(statuses(state)).toEqual(["success", "success", "success", "success"]);
  });

  test("do not wait for one another", async () => {
    let release: () => void = () => undefined;
    const held = new Promise<void>((resolve) => {
      release = resolve;
    });
    const model = worker(async (prompt) => {
      if (itemIn(prompt) === "a" && prompt.turns.length === 0) await held;
    });
    const observer: Observer = {
      onEvent: (event) => {
        if (event.type === "inner:end" && event.inner === "each[2]") release();
      },
    };
    const record = over(["a", "b", "c"], { concurrency: 2 });
    const store = memoryStore();
    const state = await drive(record, store, { model, observers: [observer] });
    expect(statuses(state)).toEqual(["success", "success", "success"]);
    const { events } = await store.read(record.run);
    expect(eventsOf(events, "inner:end").map(({ inner }) => inner)).toEqual(["each[1]", "each[2]", "each[0]"]);
  });

  test("have separate time limits", async () => {
    const model = worker((prompt, _, signal) =>
      itemIn(prompt) === "stuck"
        ? new Promise((_, reject) => signal.addEventListener("abort", reject))
        : Promise.resolve(),
    );
    const record = over(["a", "stuck", "c"], { concurrency: 3 }, { limits: { timeout: "50ms" } });
    const state = await drive(record, memoryStore(), { model });
    expect(statuses(state)[1]).toBe("failed");
    expect(state.end?.status).toBe("succeeded");
  });

  test("end with the node's timeout, with the place where they were stopped", async () => {
    const model = worker((prompt, _, signal) =>
      itemIn(prompt) === "stuck"
        ? new Promise((_, reject) => signal.addEventListener("abort", reject))
        : Promise.resolve(),
    );
    const record = over(["stuck", "stuck", "c"], { concurrency: 2 }, { timeout: "50ms" });
    const store = memoryStore();
    const state = await drive(record, store, { model });
    expect(state.results.get("each")).toMatchObject({ status: "failed", data: { left: 1 } });
    expect(statuses(state)).toEqual(["stopped", "stopped"]);
    const { events } = await store.read(record.run);
    expect(eventsOf(events, "limit:reached")).toMatchObject([{ limit: "node_timeout" }]);
    expect(gist((await replay(record, events)).replayed)).toEqual(gist(events));
  });
});

describe("a run that ends while items are running", () => {
  test("records their results so far, and its replay is the same run", async () => {
    let release: () => void = () => undefined;
    const held = new Promise<void>((resolve) => {
      release = resolve;
    });
    const model = worker(async (prompt) => {
      if (itemIn(prompt) === "a") await held;
    });
    const onEvent = (event: RunEvent) => {
      if (event.type === "node:exit" && event.at === "each[1]") release();
    };
    const record = over(["a", "b"], { concurrency: 2 });
    const limited = { ...record, settings: { ...record.settings, limits: { max_steps: 3 } } };
    const store = memoryStore();
    const state = await drive(limited, store, { model, observers: [{ onEvent }] });
    expect(state.end?.status).toBe("stopped");
    const { events } = await store.read(record.run);
    const exit = events.findIndex(({ type, at }) => type === "node:exit" && at === undefined);
    expect(events[exit + 1]).toMatchObject({ type: "model:reply", at: "each[0]", key: "1:each[0]/1:look/0/0" });
    expect(gist((await replay(limited, events)).replayed)).toEqual(gist(events));
    const again: Afterwards = { key: "resume/1", body: { type: "run:resume", settings: { limits: {} } } };
    const whole = await drive(limited, store, { afterwards: [again] });
    expect(statuses(whole)).toEqual(["success", "success"]);
    const { events: all } = await store.read(record.run);
    expect(eventsOf(all, "model:reply").filter(({ key }) => key.startsWith("1:each[0]/1:look/0/0"))).toHaveLength(1);
    expect(gist((await replay(limited, all)).replayed)).toEqual(gist(all));
  });
});

// ---- replays

async function replay(record: RunRecord, events: readonly RunEvent[]) {
  const recording = { record, events };
  const changed: unknown[] = [];
  const store = memoryStore();
  await drive(record, store, {
    model: replayModel({ recording, resumed: "each", digest: digestPrompt, onChanged: (each) => changed.push(each) }),
    callTool: async ({ key }) => {
      throw new Error(`${key} was carried out`);
    },
    afterwards: afterwardsIn(events),
    recall: recallRun(recording, "recorded"),
  });
  return { replayed: (await store.read(record.run)).events, changed };
}

function gist(events: readonly RunEvent[]) {
  return events.map((event) => {
    const body = bodyOf(event) as EventBody;
    const { key, at } = event;
    if (body.type === "model:reply") return { key, at, ...body, model: "", usage: null };
    if (body.type !== "workflow:end") return { key, at, ...body };
    return { key, at, ...body, waiting: body.waiting?.map(({ since: _, until: __, ...wait }) => wait) };
  });
}

// ---- a run of everything

const EVERYTHING = recordOf(
  workflowOf(
    {
      each: { map: { over: "input.list", as: "item", concurrency: 3 }, ...steps },
      ask: { call: "gate", with: { of: "{{each.items[0].key}}" } },
      gates: {
        map: { over: "input.gates", as: "item" },
        ...inline({ first: {}, agree: { approval: { ask: "Shall it?" } }, after: {} }, [
          "first -> agree",
          "agree -> after",
        ]),
      },
      last: {},
    },
    ["each -> ask", "ask -> gates", "gates -> last"],
  ),
  {
    input: { list: ["a", "slow", "broken", "d"], gates: ["x", "y", "z"] },
    skills: [OPS],
    files: {
      gate: workflowOf({ agree: { approval: { ask: "Go on?" } }, tell: { skills: ["ops"] } }, ["agree -> tell"]),
    },
  },
);

class Killed extends Error {}

/** Before: the work was done and the record is lost. After: the record is stored, and was not used. */
const mortal = (position: number, when: "before" | "after") => (journal: Journal) => {
  let current = 0;
  return {
    ...journal,
    record: async (...[key, work, isRepeatable]: Parameters<Journal["record"]>) => {
      current += 1;
      if (current < position) return journal.record(key, work, isRepeatable);
      if (when === "after") await journal.record(key, work, isRepeatable);
      else
        await journal.record(key, async () => {
          await work();
          throw new Killed();
        });
      throw new Killed();
    },
  };
};

interface World {
  readonly store: Opened;
  /** Ends as if the process had died. */
  crash(): Opened;
  close(): void;
}

/** Number of records between two that are tried. */
const worlds: readonly (readonly [string, number, () => World])[] = [
  [
    "in memory",
    9,
    () => {
      const store = memoryStore();
      return {
        store,
        crash: () => {
          store.crash();
          return store;
        },
        close: () => undefined,
      };
    },
  ],
  [
    "in files",
    29,
    () => {
      const folder = makeQuickFolder("inner-");
      const process = (pid: number) =>
        fileStore({ directory: folder, self: { pid, host: "h", started: "" }, isAlive: () => false });
      return {
        store: process(1),
        crash: () => process(2),
        close: () => rmSync(folder, { recursive: true }),
      };
    },
  ],
];

/** Continues until the run ends and waits for no decision: everything is approved. */
async function toTheEnd(record: RunRecord, store: Opened, options: DriveOptions): Promise<RunEvent[]> {
  for (let rounds = 0; rounds < 20; rounds++) {
    const { events } = (await store.list()).includes(record.run) ? await store.read(record.run) : { events: [] };
    const [wait] = waitsIn(events);
    const said = { node: wait?.node ?? "", approved: true, by: "me" };
    const words = wait ? [wordOf(events, said, { now: Date.now(), settings: {} })] : [];
    const last = events.findLast(({ type }) => type === "workflow:end" || type === "run:resume");
    const isOver = last?.type === "workflow:end" && events.at(-1)?.type === "workflow:end";
    if (isOver && !wait && last.status !== "interrupted") return [...events];
    const count = events.filter(({ type }) => type === "run:resume").length;
    const again: Afterwards[] =
      isOver && !wait ? [{ key: `resume/${count + 1}`, body: { type: "run:resume", settings: {} } }] : [];
    await drive(record, store, { ...options, afterwards: [...afterwardsIn(events), ...words, ...again] });
  }
  throw new Error("the run does not end");
}

/** The outcome of a run, except for calls that a crash leaves in doubt. */
function outcome(events: readonly RunEvent[]) {
  const { status, results, trace, usage } = describeResult(EVERYTHING, events.reduce(fold, begin(EVERYTHING)));
  const { items } = results.each?.data ?? {};
  return { status, items, ask: results.ask?.data, gates: results.gates?.data, trace, calls: usage.modelCalls };
}

function counting() {
  const counts = new Map<string, number>();
  const callTool = async ({ key }: Call): Promise<Outcome> => {
    counts.set(key, (counts.get(key) ?? 0) + 1);
    return { output: "ok" };
  };
  return { counts, callTool };
}

const doubtful = (events: readonly RunEvent[]) =>
  eventsOf(events, "tool:result").filter(({ error }) => error?.startsWith("in doubt"));

describe.each(worlds)("a run with maps, calls and approvals, stored %s", (_, apart, open) => {
  test("that is killed at any record continues as if it had not been killed", async () => {
    const calm = open();
    const whole = await toTheEnd(EVERYTHING, calm.store, counting());
    calm.close();
    expect(outcome(whole)).toMatchObject({ status: "succeeded" });
    const records = whole.filter(({ more }) => !more).length;
    for (const when of ["before", "after"] as const) {
      for (let position = 1; position <= records; position += LONG ? 1 : apart) {
        const hint = `killed ${when} record ${position}`;
        const world = open();
        const { counts, callTool } = counting();
        let kills = 0;
        // The records of one process: the run waits in between.
        const killing = async (): Promise<RunEvent[]> => {
          try {
            return await toTheEnd(EVERYTHING, world.store, { callTool, mortal: mortal(position, when) });
          } catch (error) {
            if (!(error instanceof Killed)) throw error;
            kills += 1;
            return toTheEnd(EVERYTHING, world.crash(), { callTool });
          }
        };
        const events = await killing();
        expect(kills, hint).toBe(1);
        const doubts = doubtful(events);
        const writes = eventsOf(events, "tool:call").filter(({ tool }) => tool === "ops_act");
        for (const { id } of writes) expect(counts.get(id) ?? 0, `${hint}: ${id}`).toBeLessThanOrEqual(1);
        for (const { id } of writes.filter((write) => !doubts.some((doubt) => doubt.id === write.id))) {
          expect(counts.get(id), `${hint}: ${id}`).toBe(1);
        }
        expect(outcome(events), hint).toEqual(outcome(whole));
        const { replayed, changed } = await replay(EVERYTHING, events);
        expect(gist(replayed), hint).toEqual(gist(events));
        expect(changed, hint).toEqual([]);
        world.close();
      }
    }
  });
});

describe("a run with maps, calls and approvals", () => {
  test("that is interrupted anywhere loses nothing once it is resumed, and its replay is the same run", async () => {
    const whole = await toTheEnd(EVERYTHING, memoryStore(), counting());
    for (const { seq, type } of whole.slice(0, -1).filter((_, index) => LONG || index % 13 === 0)) {
      const hint = `${type} ${seq}`;
      const store = memoryStore();
      const { counts, callTool } = counting();
      const stop = new AbortController();
      const onEvent = (event: RunEvent) => event.seq === seq && stop.abort("interrupted");
      const observers = [{ onEvent }];
      await drive(EVERYTHING, store, { callTool, signal: stop.signal, observers });
      const first = (await store.read(EVERYTHING.run)).events;
      expect(gist((await replay(EVERYTHING, first)).replayed), hint).toEqual(gist(first));
      const events = await toTheEnd(EVERYTHING, store, { callTool });
      expect(
        [...counts.values()].every((count) => count <= 1),
        hint,
      ).toBe(true);
      expect(outcome(events), hint).toEqual(outcome(whole));
      const { replayed, changed } = await replay(EVERYTHING, events);
      expect(gist(replayed), hint).toEqual(gist(events));
      expect(changed, hint).toEqual([]);
    }
  });

  test("whose approval times out continues without a decision", async () => {
    const gate = { approval: { ask: "Go?", timeout: "1ms", on_timeout: "deny" as const } };
    const record = recordOf(workflowOf({ agree: gate, go: {} }, ["agree -> go"]));
    const store = memoryStore();
    await drive(record, store);
    const { events } = await store.read(record.run);
    const words = lateWords(events, Date.now() + 10_000);
    const state = await drive(record, store, { afterwards: words });
    expect(state.results.get("agree")).toMatchObject({ status: "success", data: { approved: false, by: "timeout" } });
    expect([...state.results.keys()]).toEqual(["agree"]);
    const { events: all } = await store.read(record.run);
    expect(gist((await replay(record, all)).replayed)).toEqual(gist(all));
  });
});
