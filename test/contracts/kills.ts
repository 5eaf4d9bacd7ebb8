import { beforeEach, describe, expect, it } from "vitest";
import { createRedactor } from "../../src/core/base/redact/redact.ts";
import { linkProgram } from "../../src/core/engine/decide/link.ts";
import type { Call } from "../../src/core/engine/event/call.ts";
import type { RunEvent } from "../../src/core/engine/event/event.ts";
import type { RunRecord } from "../../src/core/engine/event/record.ts";
import { fold } from "../../src/core/engine/fold/fold.ts";
import { begin, type State } from "../../src/core/engine/fold/state.ts";
import type { Journal, Observer, Store } from "../../src/core/engine/ports.ts";
import { describeResult } from "../../src/core/engine/result/result.ts";
import type { Outcome } from "../../src/core/skill/skill.ts";
import { scriptModel } from "../../src/models/script.ts";
import { createAsk } from "../../src/run/ask.ts";
import { driveRun } from "../../src/run/drive.ts";
import { afterwardsIn } from "../../src/run/recall.ts";
import type { StoreWorld } from "./store.ts";
import { recordOf, SCRIPT } from "./triage.ts";

const RUN = "triage-1";

/**
 * Kills the process at every record of a run, or at every few. The run loses none of its past, and repeats nothing that
 * must not happen twice.
 */
export function describeKills(open: () => StoreWorld, every: number): void {
  describe("a run that is killed", () => {
    /** The first record or event that matches, in the middle of the first stretch. */
    const first = Math.ceil(every / 2);
    let undisturbed: Undisturbed;
    beforeEach(async () => {
      undisturbed ??= await runUndisturbed(open());
    });

    it("is one that has something to lose", () => {
      const { events, result } = undisturbed;
      const types = new Set(events.map((event) => event.type));
      expect(result.status).toBe("succeeded");
      expect([...types]).toEqual(
        expect.arrayContaining(["node:retry", "route", "tool:result", "warning", "tool:defined", "tool:removed"]),
      );
      expect(result.trace.steps.map((step) => step.node)).toEqual(
        ["gather", "gather", "assess", "gather", "assess", "report", "file"], // the first gather is the failed attempt
      );
      expect(undisturbed.records).toBeGreaterThan(40);
    });

    it.each(["before", "after"] as const)(
      "%s a record became durable ends as if it had not been killed",
      async (when) => {
        for (let position = first; position <= undisturbed.records; position += every) {
          const world = open();
          const effects = new Effects();
          await driveUntilKilled(await world.store.create(recordOf(RUN)), effects, { position, when });
          const left = (await world.store.read(RUN)).events;
          const store = world.crash();
          expect((await store.verify(RUN)).problems).toEqual([]);
          const state = await driveOn(store, effects);
          const { events } = await store.read(RUN);
          expect(await store.verify(RUN)).toMatchObject({ digest: events.at(-1)?.seal, problems: [] });
          checkSame(undisturbed, state, events, effects, doubtful(left), `killed ${when} record ${position}`);
          world.close();
        }
      },
    );

    const stride = Math.ceil(every / 9);
    it(`after ${stride === 1 ? "each" : `every ${stride}.`} of its records, one process after another, ends as if it had not been killed`, async () => {
      const world = open();
      const effects = new Effects();
      const doubts = new Set<string>();
      await driveUntilKilled(await world.store.create(recordOf(RUN)), effects, { position: 1, when: "after" });
      for (
        let position = 1 + stride;
        (await world.store.read(RUN)).events.at(-1)?.type !== "workflow:end";
        position += stride
      ) {
        const { journal, events } = await world.crash().open(RUN);
        for (const id of doubtful(events)) doubts.add(id);
        await driveRunOf(mortal(journal, { position, when: "after" }), effects, events).catch(survivor);
      }
      const state = await driveOn(world.crash(), effects);
      checkSame(undisturbed, state, (await world.store.read(RUN)).events, effects, doubts, "killed after every record");
      if (stride === 1) expect(doubts.size).toBe(6);
    });

    it("while a write was in progress reports it as in doubt, and does not repeat it", async () => {
      const world = open();
      const effects = new Effects();
      const post = undisturbed.groups.findIndex(([event]) => event?.type === "tool:result" && isPost(event));
      await driveUntilKilled(await world.store.create(recordOf(RUN)), effects, { position: post + 1, when: "before" });
      await driveOn(world.crash(), effects);
      const results = (await world.store.read(RUN)).events.filter((event) => event.type === "tool:result");
      const doubts = results.filter((event) => event.error?.startsWith("in doubt"));
      expect(doubts.map((event) => event.tool)).toEqual(["desk_post"]);
      expect(doubts[0]?.error).toContain("It was not repeated");
      expect(doubts.map((event) => effects.count(event.id))).toEqual([1]);
    });

    it("after it was interrupted at any event and resumed ends as if it had not been interrupted", async () => {
      for (const { seq, type } of undisturbed.events
        .slice(0, -1)
        .filter((_, index) => (index + 1) % every === first % every)) {
        const world = open();
        const effects = new Effects();
        const stop = new AbortController();
        const onEvent = (event: RunEvent) => event.seq === seq && stop.abort("interrupted");
        const journal = await world.store.create(recordOf(RUN));
        await driveRunOf(journal, effects, [], { observers: [{ onEvent }], signal: stop.signal });
        const left = (await world.store.read(RUN)).events;
        const state = await driveOn(world.crash(), effects);
        const { events } = await world.store.read(RUN);
        checkSame(undisturbed, state, events, effects, doubtful(left), `interrupted at ${type} ${seq}`);
        world.close();
      }
    });

    it("while it continues after its end loses nothing of either part", async () => {
      const settings = { ...recordOf(RUN).settings, limits: { max_steps: 3 } };
      const record = { ...recordOf(RUN), settings };
      for (const when of ["before", "after"] as const) {
        for (let position = first; position <= undisturbed.records; position += every) {
          const world = open();
          const effects = new Effects();
          await driveRunOf(await world.store.create(record), effects, [], { record });
          const stopped = (await world.store.read(RUN)).events;
          expect(stopped.at(-1)).toMatchObject({ type: "workflow:end", status: "stopped" });
          const { journal } = await world.crash().open(RUN);
          const kill = { position: stopped.filter((event) => !event.more).length + position, when };
          const killed = await driveRunOf(mortal(journal, kill), effects, stopped, { record }).catch(survivor);
          const left = (await world.store.read(RUN)).events;
          const state = await driveOn(world.crash(), effects);
          const { events } = await world.store.read(RUN);
          checkSame(
            undisturbed,
            state,
            events,
            effects,
            doubtful(left),
            `killed ${when} record ${position} after its end`,
          );
          expect(events.filter((event) => event.type === "run:resume")).toHaveLength(1);
          world.close();
          if (killed) break;
        }
      }
    });

    it("once it has ended remains ended", async () => {
      const world = open();
      const effects = new Effects();
      await driveRunOf(await world.store.create(recordOf(RUN)), effects, []);
      const before = await world.store.read(RUN);
      await driveOn(world.crash(), effects);
      expect(await world.store.read(RUN)).toEqual(before);
    });
  });
}

interface Undisturbed {
  readonly events: readonly RunEvent[];
  readonly groups: readonly (readonly RunEvent[])[];
  readonly records: number;
  readonly result: ReturnType<typeof describeResult>;
}

async function runUndisturbed({ store }: StoreWorld): Promise<Undisturbed> {
  const effects = new Effects();
  const state = await driveRunOf(await store.create(recordOf(RUN)), effects, []);
  const { events } = await store.read(RUN);
  const ends = events.filter((event) => !event.more);
  const groups = ends.map((end) => events.filter((event) => event.seq <= end.seq && event.key === end.key));
  return { events, groups, records: ends.length, result: describeResult(recordOf(RUN), state) };
}

/** The effects of handlers, by the call that they belong to. */
class Effects {
  readonly #counts = new Map<string, number>();

  readonly callTool = async (call: Call): Promise<Outcome> => {
    this.#counts.set(call.key, this.count(call.key) + 1);
    if (call.tool.name === "peek") await new Promise((resolve) => setImmediate(resolve));
    return { output: { did: call.tool.name } };
  };

  count(key: string): number {
    return this.#counts.get(key) ?? 0;
  }
}

interface Kill {
  /** Counted from 1. */
  readonly position: number;
  readonly when: "before" | "after";
}

class Killed extends Error {}

function survivor(error: unknown): undefined {
  if (!(error instanceof Killed)) throw error;
}

/**
 * Before: the work was done and the record is lost. After: the record is stored, and the process died before it used
 * it.
 */
function mortal(journal: Journal, { position, when }: Kill): Journal {
  let current = 0;
  return {
    ...journal,
    async record(key, work, isRepeatable) {
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
}

async function driveUntilKilled(journal: Journal, effects: Effects, kill: Kill, past: readonly RunEvent[] = []) {
  await expect(driveRunOf(mortal(journal, kill), effects, past)).rejects.toBeInstanceOf(Killed);
}

async function driveOn(store: Store, effects: Effects): Promise<State> {
  const { record, journal, events } = await store.open(RUN);
  const state = await driveRunOf(journal, effects, events, { record });
  await journal.close();
  return state;
}

const AGAIN = { type: "run:resume", settings: { limits: { max_steps: 50 } } } as const;

function driveRunOf(
  journal: Journal,
  effects: Effects,
  past: readonly RunEvent[],
  run: { readonly record?: RunRecord; readonly observers?: readonly Observer[]; readonly signal?: AbortSignal } = {},
): Promise<State> {
  const afterwards = afterwardsIn(past);
  const last = past.findLast((event) => event.type === "run:resume" || event.type === "workflow:end");
  const goesOn = last?.type === "workflow:end" && last.status !== "succeeded";
  const model = scriptModel(SCRIPT, past);
  return driveRun({
    program: linkProgram(run.record ?? recordOf(RUN)),
    journal,
    ask: createAsk({
      findModel: async (name) => ({ model, name }),
      priceOf: () => 0,
      clock: { random: () => 0, sleep: () => Promise.reject(new Error("nothing is worth waiting for")) },
      onProgress: () => undefined,
      onAnswering: () => undefined,
    }),
    callTool: effects.callTool,
    redactor: createRedactor([]),
    observers: run.observers ?? [],
    signal: run.signal ?? new AbortController().signal,
    afterwards: goesOn ? [...afterwards, { key: `resume/${afterwards.length + 1}`, body: AGAIN }] : afterwards,
  });
}

/** Calls that are not safe to repeat, announced and without a result. */
function doubtful(events: readonly RunEvent[]): ReadonlySet<string> {
  const done = new Set(events.map((event) => (event.type === "tool:result" ? event.id : "")));
  return new Set(
    events.flatMap((event) => (event.type === "tool:call" && isOnce(event) && !done.has(event.id) ? [event.id] : [])),
  );
}

/** Neither may be repeated. */
function isOnce({ tool }: { readonly tool: string }): boolean {
  return tool === "desk_post" || tool === "tool-maker_page";
}

function isPost(event: { readonly tool: string }): boolean {
  return event.tool === "desk_post";
}

/** Compares the runs except for the calls in doubt, each of which happened once or not at all. */
function checkSame(
  { result }: Undisturbed,
  state: State,
  events: readonly RunEvent[],
  effects: Effects,
  doubts: ReadonlySet<string>,
  hint: string,
): void {
  const ended = describeResult(recordOf(RUN), state);
  expect(ended.trace, hint).toEqual(result.trace);
  expect(ended.status, hint).toBe(result.status);
  expect(certain(ended.results), hint).toEqual(certain(result.results));
  expect(ended.usage.modelCalls, hint).toBe(result.usage.modelCalls);
  expect(events.map((event) => event.seq)).toEqual(events.map((_, index) => index));
  expect(describeResult(recordOf(RUN), events.reduce(fold, begin(recordOf(RUN)))).results).toEqual(ended.results);
  expect(
    state.run.made.map(({ tool, code }) => [tool.name, code]),
    hint,
  ).toEqual([["page", "return 1;"]]);
  expect(events.filter((event) => event.type === "tool:defined")).toHaveLength(2);
  const results = events.filter((event) => event.type === "tool:result");
  const inDoubt = results.filter((event) => event.error?.startsWith("in doubt"));
  expect(new Set(inDoubt.map((event) => event.id)), hint).toEqual(doubts);
  for (const { id, tool, error } of results) {
    if (isNotBegun(error)) expect(effects.count(id), `${hint}: ${id} was not started`).toBe(0);
    else if (doubts.has(id)) expect(effects.count(id), `${hint}: ${id} is in doubt`).toBeLessThanOrEqual(1);
    else if (isOnce({ tool })) expect(effects.count(id), `${hint}: ${id}`).toBe(1);
    else if (["desk_unknown", "tool-maker_spare"].includes(tool))
      expect(effects.count(id), `${hint}: ${error}`).toBe(0);
    else expect(effects.count(id), `${hint}: ${id}`).toBeGreaterThanOrEqual(1);
  }
}

/** Interrupted between its announcement and its start: the model sees this error, and may call again. */
function isNotBegun(error: string | undefined): boolean {
  return error === "was not started: interrupted";
}

/** Results without those of calls in doubt or calls that were not started. */
function certain(results: ReturnType<typeof describeResult>["results"]) {
  return Object.entries(results).map(([node, { toolCalls, data, ...rest }]) => ({
    node,
    ...rest,
    // The data of steps repeats the outputs of their calls.
    data: toolCalls.some(({ step }) => step !== undefined) ? {} : data,
    toolCalls: toolCalls.map(({ error, ...call }) =>
      error?.startsWith("in doubt") || isNotBegun(error)
        ? { ...call, output: { did: call.tool.replace(/^.*_/, "") } }
        : { ...call, ...(error ? { error } : {}) },
    ),
  }));
}
