import type { Json } from "../../base/values.ts";
import type { StateEntry } from "../event/state-entry.ts";
import type { StateChange, StateDelta, StateLimits, States } from "../ports.ts";
import { mergeChanges } from "./entries.ts";

/** A run's changes to its states, applied as one unit, exactly once. */

/** One write of an entry by a run, or one match by a map. */
export interface Touch {
  readonly state: string;
  readonly key: string;
  /** ISO 8601. */
  readonly at: string;
  /** The data written. Absent for a match. */
  readonly data?: Json;
  /** True if the node that wrote it had read untrusted text. */
  readonly tainted?: true;
}

/** Combines touches into changes per state and key. Those before `from` were saved at an earlier end. */
export function changesOf(touches: readonly Touch[], from = 0): ReadonlyMap<string, readonly StateChange[]> {
  const states = new Map<string, Map<string, StateChange>>();
  const before = new Set(touches.slice(0, from).flatMap((touch) => (isPut(touch) ? nameOf(touch) : [])));
  for (const touch of touches.slice(from)) {
    const { state, key } = touch;
    const changes = states.get(state) ?? new Map<string, StateChange>();
    states.set(state, changes);
    changes.set(key, changeWith(changes.get(key), touch, before.has(nameOf(touch))));
  }
  return new Map([...states].map(([state, changes]) => [state, [...changes.values()]]));
}

function isPut({ data }: Touch): boolean {
  return data !== undefined;
}

function nameOf({ state, key }: Touch): string {
  return `${state}\n${key}`;
}

function changeWith(known: StateChange | undefined, touch: Touch, wasPut: boolean): StateChange {
  const { key, at, data, tainted } = touch;
  const runs = isPut(touch) && !wasPut ? 1 : (known?.runs ?? 0);
  const counted = { key, first: known?.first ?? at, last: at, runs, seen: (known?.seen ?? 0) + 1 };
  if (data !== undefined) return { ...counted, data, ...(tainted ? { tainted } : {}) };
  const { data: was, tainted: mark } = known ?? {};
  return { ...counted, ...(was === undefined ? {} : { data: was }), ...(mark ? { tainted: mark } : {}) };
}

/** Returns a state as the run sees it: the entries that it found, updated by its own writes. */
export function viewOf(found: readonly StateEntry[], state: string, touches: readonly Touch[]): readonly StateEntry[] {
  const changes = changesOf(touches.filter((touch) => touch.state === state)).get(state);
  if (!changes) return found;
  return mergeChanges(found, changes, { limits: {}, now: Number.POSITIVE_INFINITY });
}

/** Internal state with the ids of applied deltas. */
export const APPLIED = "_applied";
/** Internal state with the daily usage of workflows. */
export const DAYS = "_days";
/** Internal state with the last run per cool-down key. */
export const COOL_DOWNS = "_cool_downs";

const DAY_MS = 24 * 60 * 60 * 1000;
const APPLIED_LIMITS: StateLimits = { keepMs: 400 * DAY_MS, maxEntries: 20_000 };

/** Returns the states that a delta changes, or undefined if it was applied before. */
export function applyDelta(known: States, { id, states }: StateDelta, now: Date): States | undefined {
  const entriesOf = (state: string) => known.get(state) ?? [];
  const applied = entriesOf(APPLIED);
  if (applied.some(({ key }) => key === id)) return undefined;
  const [at, ms] = [now.toISOString(), now.getTime()];
  const mark: StateChange = { key: id, first: at, last: at, runs: 1, seen: 1, data: null };
  const changed = Object.entries(states).map(([state, { changes, limits }]) => {
    return [state, mergeChanges(entriesOf(state), changes, { limits, now: ms })] as const;
  });
  return new Map([...changed, [APPLIED, mergeChanges(applied, [mark], { limits: APPLIED_LIMITS, now: ms })]]);
}
