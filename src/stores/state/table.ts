import type { StateStore, States } from "../../core/engine/ports.ts";
import { APPLIED, applyDelta } from "../../core/engine/state/entries.ts";

interface StateTable {
  names(): Promise<readonly string[]>;
  read(names: readonly string[]): Promise<States>;
  /**
   * Reads some states, calls `decide` and writes its result, atomically and without other writes in between. `decide`
   * may run several times and returns undefined if nothing changes.
   */
  change(change: {
    readonly names: readonly string[];
    /** Description of the change for the storage's history. */
    readonly why: string;
    readonly decide: (known: States) => States | undefined;
  }): Promise<void>;
}

export function stateStore(table: StateTable, now: () => Date = () => new Date()): StateStore {
  return {
    read: (names) => table.read(names),
    async apply(delta) {
      const names = Object.keys(delta.states);
      let known: States = new Map();
      await table.change({
        names: [...names, APPLIED],
        why: `Run ${delta.id}`,
        decide(found) {
          const changed = applyDelta(found, delta, now());
          known = new Map([...found, ...(changed ?? [])]);
          return changed;
        },
      });
      return new Map(names.map((name) => [name, known.get(name) ?? []]));
    },
    list: async () => [...(await table.names())].sort(),
    async forget(name, keys) {
      let gone: readonly string[] = [];
      await table.change({
        names: [name],
        why: `Forget ${keys === "all" ? "all" : keys.length} of ${name}`,
        decide(found) {
          const entries = found.get(name) ?? [];
          const leaves = new Set(keys === "all" ? entries.map(({ key }) => key) : keys);
          gone = entries.flatMap(({ key }) => (leaves.has(key) ? [key] : []));
          return gone.length === 0 ? undefined : new Map([[name, entries.filter(({ key }) => !leaves.has(key))]]);
        },
      });
      return gone;
    },
  };
}
