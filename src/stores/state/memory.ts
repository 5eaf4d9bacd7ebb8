import type { StateEntry } from "../../core/engine/event/record.ts";
import type { StateStore } from "../../core/engine/ports.ts";
import { stateStore } from "./table.ts";

/** Creates a state store in memory, for tests and for states that need not be kept. */
export function memoryState(now?: () => Date): StateStore {
  const states = new Map<string, readonly StateEntry[]>();
  const table = {
    names: async () => [...states.keys()],
    read: async (names: readonly string[]) => new Map(names.map((name) => [name, states.get(name) ?? []])),
  };
  return stateStore(
    {
      ...table,
      async change({ names, decide }) {
        const known = new Map(names.map((name) => [name, states.get(name) ?? []]));
        const changed = decide(known) ?? new Map<string, readonly StateEntry[]>();
        for (const [name, entries] of changed) states.set(name, entries);
        return new Map([...known, ...changed]);
      },
    },
    now,
  );
}
