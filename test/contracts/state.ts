import { describe, expect, it } from "vitest";
import type { StateEntry } from "../../src/core/engine/event/record.ts";
import type { StateStore } from "../../src/core/engine/ports.ts";
import { AT, deltaOf, putOf } from "./deltas.ts";

/**
 * The contract of every store of states. `open` returns an unused one, and a function that opens it as a later process.
 */
export function describeStates(name: string, open: () => Promise<{ store: StateStore; again(): StateStore }>): void {
  describe(name, () => {
    const entriesOf = async (store: StateStore, state = "board"): Promise<readonly StateEntry[]> =>
      (await store.read([state])).get(state) ?? [];

    it("is empty at first", async () => {
      const { store } = await open();
      expect(await store.list()).toEqual([]);
      expect(await entriesOf(store)).toEqual([]);
      expect(await store.forget("board", ["a"])).toEqual([]);
    });

    it("returns in later processes what was applied", async () => {
      const { store, again } = await open();
      const whole = { text: "ä\u2028\n\u001b[31m", deep: [{ n: 1.5 }, null] };
      const applied = await store.apply(
        deltaOf("r1", [putOf("a", { data: whole, tainted: true }), putOf("__proto__")]),
      );
      const expected = [
        { key: "a", first_seen: AT, last_seen: AT, runs: 1, seen: 1, data: whole, tainted: true },
        { key: "__proto__", first_seen: AT, last_seen: AT, runs: 1, seen: 1, data: { by: "__proto__" } },
      ];
      expect(applied.get("board")).toEqual(expected);
      expect(await entriesOf(again())).toEqual(expected);
      expect(await again().list()).toEqual(["_applied", "board"]);
    });

    it("applies a delta once, also from another process", async () => {
      const { store, again } = await open();
      const delta = deltaOf("r1", [putOf("a")]);
      await store.apply(delta);
      expect((await store.apply(delta)).get("board")).toMatchObject([{ key: "a", runs: 1, seen: 1 }]);
      await again().apply(delta);
      expect(await entriesOf(store)).toMatchObject([{ key: "a", runs: 1, seen: 1 }]);
    });

    it("merges the deltas of concurrent runs", async () => {
      const { store, again } = await open();
      const ids = ["r1", "r2", "r3"];
      await Promise.all(
        ids.map((id, index) => (index === 0 ? store : again()).apply(deltaOf(id, [putOf("a"), putOf(id)]))),
      );
      const entries = new Map((await entriesOf(store)).map((entry) => [entry.key, entry]));
      expect([...entries.keys()].sort()).toEqual(["a", ...ids]);
      expect(entries.get("a")).toMatchObject({ runs: 3, seen: 3 });
    });

    it("prunes when it is written", async () => {
      const { store } = await open();
      const old = "2020-01-01T00:00:00.000Z";
      await store.apply(deltaOf("r1", [putOf("old", { first: old, last: old }), putOf("a")]));
      await store.apply(deltaOf("r2", [putOf("b", { last: "2026-11-22T11:00:00.000Z" })], { maxEntries: 2 }));
      expect((await entriesOf(store)).map(({ key }) => key)).toEqual(["a", "b"]);
    });

    it("separates states", async () => {
      const { store } = await open();
      await store.apply({
        id: "r1",
        states: { board: { changes: [putOf("a")], limits: {} }, other: { changes: [putOf("b")], limits: {} } },
      });
      const both = await store.read(["board", "other", "third"]);
      expect([...both].map(([state, entries]) => [state, entries.map(({ key }) => key)])).toEqual([
        ["board", ["a"]],
        ["other", ["b"]],
        ["third", []],
      ]);
    });

    it("forgets the given keys", async () => {
      const { store, again } = await open();
      await store.apply(deltaOf("r1", [putOf("a"), putOf("b"), putOf("c")]));
      expect(await store.forget("board", ["b", "nobody"])).toEqual(["b"]);
      expect((await entriesOf(again())).map(({ key }) => key)).toEqual(["a", "c"]);
      expect(await store.forget("board", "all")).toEqual(["a", "c"]);
      expect(await entriesOf(again())).toEqual([]);
    });
  });
}
