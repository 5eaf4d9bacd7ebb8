import type { StateEntry } from "../../core/engine/event/record.ts";
import type { StateStore } from "../../core/engine/ports.ts";
import { stateStore } from "./table.ts";

export function memoryState(now?: () => Date): StateStore {
  const states = new Map<string, readonly StateEntry[]>();
  const read = (names: readonly string[]) => new Map(names.map((name) => [name, states.get(name) ?? []]));
  return stateStore(
    {
      names: async () => [...states.keys()],
      read: async (names) => read(names),
      async change({ names, decide }) {
        for (const [name, entries] of decide(read(names)) ?? []) states.set(name, entries);
      },
    },
    now,
  );
}
