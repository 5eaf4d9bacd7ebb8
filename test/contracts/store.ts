import { afterEach, describe, expect, it } from "vitest";
import { SkillflowError } from "../../src/core/base/errors.ts";
import type { Entry, EventBody } from "../../src/core/engine/event/event.ts";
import { skimEvent } from "../../src/core/engine/event/skim.ts";
import type { Journal, Store } from "../../src/core/engine/ports.ts";
import { describeKills } from "./kills.ts";
import { recordOf } from "./triage.ts";

/** A place for runs, and the processes that use it one after another. */
export interface StoreWorld {
  /** The store as the present process sees it. */
  readonly store: Store;
  /** Ends the present process, as kill -9 does. Returns the store as the next process sees it. */
  crash(): Store;
  close(): void;
}

/** The contract of every store. It is killed at every record, or at every few. */
export function describeStore(name: string, { killsEvery }: { killsEvery: number }, makeWorld: () => StoreWorld): void {
  describe(name, () => {
    const worlds: StoreWorld[] = [];
    afterEach(() => {
      for (const world of worlds.splice(0)) world.close();
    });
    const open = () => {
      const world = makeWorld();
      worlds.push(world);
      return world;
    };

    describe("a journal", () => {
      it("stores records in their order, every event with its place and the key of its step", async () => {
        const { store } = open();
        const journal = await store.create(recordOf("a"));
        await journal.record("one", does(warning("1"), warning("2")));
        await journal.record("two", does(warning("3")));
        const { events } = await store.read("a");
        expect(events.map(({ seq, key, epoch, more }) => ({ seq, key, epoch, more }))).toEqual([
          { seq: 0, key: "one", epoch: 0, more: true },
          { seq: 1, key: "one", epoch: 0, more: undefined },
          { seq: 2, key: "two", epoch: 0, more: undefined },
        ]);
        expect(events.map((event) => "message" in event && event.message)).toEqual(["1", "2", "3"]);
      });

      it("returns what it has recorded", async () => {
        const { store } = open();
        const journal = await store.create(recordOf("a"));
        const given = await journal.record("one", does(warning("ä\n\u2028🚒"), warning("2")));
        expect((await store.read("a")).events).toEqual(given);
      });

      it("answers recorded positions from the record without doing the work again", async () => {
        const world = open();
        const journal = await world.store.create(recordOf("a"));
        const first = await journal.record("one", does(warning("first"), warning("and more")));
        await journal.record("two", does(warning("second")));
        const again = await world.crash().open("a");
        expect(await again.journal.record("one", fails("the work was done again"))).toEqual(first);
        expect(messages(await again.journal.record("two", fails("the work was done again")))).toEqual(["second"]);
        expect(messages(await again.journal.record("three", does(warning("third"))))).toEqual(["third"]);
        expect(messages((await world.store.read("a")).events)).toEqual(["first", "and more", "second", "third"]);
      });

      it("refuses a position that was recorded under another key, and records nothing", async () => {
        const world = open();
        await (await world.store.create(recordOf("a"))).record("one", does(warning("1")));
        const { journal } = await world.crash().open("a");
        expect(await codeOf(journal.record("other", does(warning("2"))))).toBe("journal.diverged");
        expect(messages((await world.store.read("a")).events)).toEqual(["1"]);
        expect(messages(await journal.record("one", fails("the work was done again")))).toEqual(["1"]);
      });

      it("keeps the key and the inner run that an event names itself", async () => {
        const { store } = open();
        const journal = await store.create(recordOf("a"));
        const own = { ...warning("2"), key: "each[b]/1", at: "each[b]" };
        const given = await journal.record("one", does(warning("1"), own, { ...warning("3"), at: "each[c]" }));
        const { events } = await store.read("a");
        expect(events).toEqual(given);
        expect(events.map(({ key, at }) => ({ key, at }))).toEqual([
          { key: "one", at: undefined },
          { key: "each[b]/1", at: "each[b]" },
          { key: "one", at: "each[c]" },
        ]);
        const envelope = ["seq", "time", "epoch", "key", "at", "more", "type", "message"];
        expect(events[1] && Object.keys(events[1])).toEqual(envelope);
        expect((await store.verify("a")).problems).toEqual([]);
      });

      it("uses the first of several keys for events that name none", async () => {
        const journal = await open().store.create(recordOf("a"));
        const events = await journal.record(["one", "two"], does(warning("1"), { ...warning("2"), key: "two" }));
        expect(events.map(({ key }) => key)).toEqual(["one", "two"]);
      });

      it("answers a recorded position by any of the keys that its first event may have, and by no other", async () => {
        const world = open();
        const first = await world.store.create(recordOf("a"));
        await first.record(["one", "two"], does({ ...warning("2"), key: "two" }, { ...warning("1"), key: "one" }));
        const { journal } = await world.crash().open("a");
        expect(await codeOf(journal.record("one", does(warning("3"))))).toBe("journal.diverged");
        expect(await codeOf(journal.record(["one", "three"], does(warning("3"))))).toBe("journal.diverged");
        expect(messages(await journal.record(["one", "two"], fails("the work was done again")))).toEqual(["2", "1"]);
        expect(messages((await world.store.read("a")).events)).toEqual(["2", "1"]);
      });

      it("refuses a record that starts before the previous one is done", async () => {
        const journal = await open().store.create(recordOf("a"));
        let finish: (bodies: readonly EventBody[]) => void = () => undefined;
        const slow = journal.record("one", () => new Promise((resolve) => (finish = resolve)));
        expect(await codeOf(journal.record("two", does(warning("2"))))).toBe("internal.fault");
        finish([warning("1")]);
        expect(messages(await slow)).toEqual(["1"]);
        expect(messages(await journal.record("two", does(warning("2"))))).toEqual(["2"]);
      });

      it("records nothing when the work throws, and accepts the same position again", async () => {
        const { store } = open();
        const journal = await store.create(recordOf("a"));
        await expect(journal.record("one", fails("no luck"))).rejects.toThrow("no luck");
        expect((await store.read("a")).events).toEqual([]);
        await journal.record("one", does(warning("1")));
        expect(messages((await store.read("a")).events)).toEqual(["1"]);
      });

      it("counts how often the run was opened by events, so that a process recognizes its own events", async () => {
        const world = open();
        const first = await world.store.create(recordOf("a"));
        await first.record("one", does(warning("1")));
        const second = (await world.crash().open("a")).journal;
        await second.record("one", fails("the work was done again"));
        await second.record("two", does(warning("2")));
        const third = (await world.crash().open("a")).journal;
        expect([first.epoch, second.epoch, third.epoch]).toEqual([0, 1, 2]);
        expect((await world.store.read("a")).events.map((event) => event.epoch)).toEqual([0, 1]);
      });
    });

    describe("a record", () => {
      it("is a chain: the seal in the last event of each record covers everything before it", async () => {
        const write = async (first: string, at: string) => {
          const { store } = open();
          const journal = await store.create({ ...recordOf("a"), at });
          await journal.record("one", does(warning(first), warning("2")));
          await journal.record("two", does(warning("3")));
          return { given: await store.read("a"), check: await store.verify("a") };
        };
        const { given, check } = await write("1", "2026-11-20T12:00:00.000Z");
        const digests = given.events.map(({ seal }) => seal);
        expect(new Set(digests).size).toBe(3);
        const sealed = expect.stringMatching(/^[0-9a-f]{64}$/);
        expect(digests).toEqual([undefined, sealed, sealed]);
        expect(given.events.map(({ record }) => typeof record)).toEqual(["string", "undefined", "undefined"]);
        expect(check).toMatchObject({ run: given, records: 3, digest: digests[2], problems: [] });
        for (const other of [
          await write("0", "2026-11-20T12:00:00.000Z"),
          await write("1", "2026-11-20T12:00:00.001Z"),
        ]) {
          expect(other.check.problems).toEqual([]);
          expect(digests).not.toContain(other.check.digest);
        }
      });

      it("continues as one chain in every process that drives the run, whatever the previous one left unfinished", async () => {
        const world = open();
        const first = await world.store.create(recordOf("a"));
        await first.record("one", does(warning("1"), warning("2")));
        expect(await codeOf(first.record("two", fails("undone")))).toContain("undone");
        const second = (await world.crash().open("a")).journal;
        await second.record("one", does());
        await second.record("two", does(warning("3")));
        const third = (await world.crash().open("a")).journal;
        for (const known of ["one", "two"]) await third.record(known, does());
        await third.record("three", does(warning("4")));
        const { events } = await world.store.read("a");
        const { digest, problems, records } = await world.store.verify("a");
        expect({ digest, problems, records }).toEqual({ digest: events.at(-1)?.seal, problems: [], records: 4 });
      });

      it("that has only started is valid, and one that does not exist is unknown", async () => {
        const { store } = open();
        await store.create(recordOf("a"));
        expect(await store.verify("a")).toMatchObject({ records: 1, problems: [], run: { events: [] } });
        expect(await codeOf(store.verify("b"))).toBe("run.unknown");
      });
    });

    describe("a lock", () => {
      it("allows one driver per run until its journal is closed", async () => {
        const { store } = open();
        const journal = await store.create(recordOf("a"));
        expect(await codeOf(store.open("a"))).toBe("store.locked");
        await journal.close();
        const opened = await store.open("a");
        expect(await codeOf(store.open("a"))).toBe("store.locked");
        await opened.journal.close();
        await (await store.open("a")).journal.close();
      });

      it("does not block other runs, nor readers", async () => {
        const { store } = open();
        const journal = await store.create(recordOf("a"));
        await journal.record("one", does(warning("1")));
        await store.create(recordOf("b"));
        expect(messages((await store.read("a")).events)).toEqual(["1"]);
        expect(await store.list()).toHaveLength(2);
      });

      it("ends with the process that held it", async () => {
        const world = open();
        await world.store.create(recordOf("a"));
        const { journal } = await world.crash().open("a");
        expect(await codeOf(world.store.open("a"))).toBe("store.locked");
        await journal.close();
      });
    });

    describe("the runs", () => {
      it("are returned as they were created", async () => {
        const world = open();
        const record = recordOf("a");
        await world.store.create(record);
        expect((await world.store.read("a")).record).toEqual(record);
        expect((await world.crash().open("a")).record).toEqual(record);
      });

      it("can be skimmed for the data of their line in a list", async () => {
        const { store } = open();
        const journal = await store.create(recordOf("a"));
        const entered = { type: "node:enter", node: "gather", instruction: 'a "quoted" \\ one', iteration: 1 } as const;
        await journal.record('1:gather/"', does(entered, warning("w")));
        await journal.record("2", does(warning("w")));
        const { record, events } = await store.skim("a");
        const whole = await store.read("a");
        expect(whole.record).toMatchObject(record);
        expect(events).toEqual(whole.events.map(skimEvent));
        expect(events).toMatchObject([{ type: "other" }, { type: "other" }, { type: "other" }]);
        expect(await codeOf(store.skim("b"))).toBe("run.unknown");
      });

      it("are listed newest first", async () => {
        const { store } = open();
        expect(await store.list()).toEqual([]);
        for (const id of ["run-1", "run-2", "run-3"]) await (await store.create(recordOf(id))).close();
        expect(await store.list()).toEqual(["run-3", "run-2", "run-1"]);
      });

      it("are listed by their start time, whatever was created or continued later", async () => {
        const { store } = open();
        const begin = async (run: string, at: string) => (await store.create({ ...recordOf(run), at })).close();
        await begin("noon", "2026-11-20T12:00:00.000Z");
        await begin("morning", "2026-11-20T08:00:00.000Z");
        await begin("evening", "2026-11-20T20:00:00.000Z");
        await begin("abroad", "2026-11-20T23:30:00.000+09:00");
        const { journal } = await store.open("morning");
        await journal.record("one", does(warning("carried on")));
        await journal.close();
        expect(await store.list()).toEqual(["evening", "abroad", "noon", "morning"]);
      });

      it("are removed, and can be created again", async () => {
        const { store } = open();
        expect(await codeOf(store.remove("a"))).toBe("run.unknown");
        const journal = await store.create(recordOf("a"));
        await journal.record("one", does(warning("1")));
        expect(await codeOf(store.remove("a"))).toBe("store.locked");
        await journal.close();
        await store.remove("a");
        expect(await store.list()).toEqual([]);
        expect(await codeOf(store.read("a"))).toBe("run.unknown");
        await (await store.create(recordOf("a"))).close();
        expect((await store.read("a")).events).toEqual([]);
      });

      it("have unique ids: a second run with the same id is refused, driven or not", async () => {
        const { store } = open();
        const journal = await store.create(recordOf("a"));
        await journal.record("one", does(warning("1")));
        expect(await codeOf(store.create(recordOf("a")))).toBe("run.exists");
        await journal.close();
        expect(await codeOf(store.create(recordOf("a")))).toBe("run.exists");
        expect(messages((await store.read("a")).events)).toEqual(["1"]);
      });

      it("that do not exist are unknown", async () => {
        const { store } = open();
        expect(await codeOf(store.open("nobody"))).toBe("run.unknown");
        expect(await codeOf(store.read("nobody"))).toBe("run.unknown");
      });

      it("are separate", async () => {
        const { store } = open();
        const [a, b] = [await store.create(recordOf("a")), await store.create(recordOf("b"))];
        await a.record("one", does(warning("of a")));
        await b.record("one", does(warning("of b")));
        await a.record("two", does(warning("of a too")));
        expect(messages((await store.read("a")).events)).toEqual(["of a", "of a too"]);
        expect(messages((await store.read("b")).events)).toEqual(["of b"]);
      });
    });

    describeKills(open, killsEvery);
  });
}

export async function codeOf(work: unknown): Promise<string> {
  const error = await Promise.resolve(work).then(
    () => new Error("it did not fail"),
    (reason: unknown) => reason,
  );
  return error instanceof SkillflowError ? error.code : String(error);
}

export function warning(message: string): EventBody {
  return { type: "warning", message };
}

export function does(...bodies: readonly Entry[]): Parameters<Journal["record"]>[1] {
  return async () => bodies;
}

export function messages(events: readonly EventBody[]): string[] {
  return events.map((event) => (event.type === "warning" ? event.message : event.type));
}

function fails(message: string): () => Promise<never> {
  return async () => {
    throw new Error(message);
  };
}
