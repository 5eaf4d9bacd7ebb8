import type { StateChange, StateDelta } from "../../src/core/engine/ports.ts";

/** The deltas that runs write into states, for tests of state stores. */

export const AT = "2026-11-22T10:00:00.000Z";

export function putOf(key: string, parts: Partial<StateChange> = {}): StateChange {
  return { key, first: AT, last: AT, runs: 1, seen: 1, data: { by: key }, ...parts };
}

export function deltaOf(id: string, changes: readonly StateChange[], limits = {}, state = "board"): StateDelta {
  return { id, states: { [state]: { changes, limits } } };
}
