import { SkillflowError } from "../../core/base/errors.ts";
import type { Json } from "../../core/base/values.ts";
import type { StateEntry } from "../../core/engine/event/record.ts";
import type { StateChanges, StateStore } from "../../core/engine/ports.ts";

/** Helpers for the listener: its own states, runs that may be gone, and work that must not overlap. */

export async function entriesIn(state: StateStore, name: string): Promise<readonly StateEntry[]> {
  return (await state.read([name])).get(name) ?? [];
}

/** Returns the change that saves an entry as of now. */
export function savedEntry(key: string, data: Json): StateChanges["changes"][number] {
  const at = new Date().toISOString();
  return { key, first: at, last: at, runs: 1, seen: 1, data };
}

/** Returns undefined if there is no such run. */
export async function ifKnown<Value>(read: () => Promise<Value>): Promise<Value | undefined> {
  try {
    return await read();
  } catch (error) {
    if (error instanceof SkillflowError && error.code === "run.unknown") return undefined;
    throw error;
  }
}

/** Runs work with the same name one at a time. */
export function turns() {
  const last = new Map<string, Promise<unknown>>();
  return <Value>(name: string, work: () => Promise<Value>): Promise<Value> => {
    const mine = (last.get(name) ?? Promise.resolve()).then(work, work);
    last.set(name, mine);
    const clear = () => {
      if (last.get(name) === mine) last.delete(name);
    };
    mine.then(clear, clear);
    return mine;
  };
}
