import type { Json } from "../../base/values.ts";
import type { StateEntry } from "../event/state-entry.ts";
import type { StateChange, StateDelta, StateLimits, States } from "../ports.ts";
import { mergeChanges } from "./entries.ts";

/** What a run writes into states, as one piece that is applied once (extensions G31). */

/** One time that a run put an entry, or that a map met one. */
export interface Touch {
  readonly state: string;
  readonly key: string;
  /** ISO 8601. */
  readonly at: string;
  /** What it put; absent where it was only met. */
  readonly data?: Json;
  /** The node that put it had read text from strangers. */
  readonly tainted?: true;
}

/** What a run's touches change, by state and key. Those before `from` were written by an earlier end of the same run. */
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

/** What a run sees of a state: what it found there, and over it what it has put itself. */
export function viewOf(found: readonly StateEntry[], state: string, touches: readonly Touch[]): readonly StateEntry[] {
  const changes = changesOf(touches.filter((touch) => touch.state === state)).get(state);
  if (!changes) return found;
  return mergeChanges(found, changes, { limits: {}, now: Number.POSITIVE_INFINITY });
}

/** Where the ids of deltas that were applied are kept, beside the states. */
export const APPLIED = "_applied";
/** What the workflows have used in a day. */
export const DAYS = "_days";
/** The last run of each key that runs cool down by. */
export const COOL_DOWNS = "_cool_downs";

const DAY_MS = 24 * 60 * 60 * 1000;
const APPLIED_LIMITS: StateLimits = { keepMs: 400 * DAY_MS, maxEntries: 20_000 };

/** The files that a delta changes; undefined where it was applied before. */
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

/** Whether a delta would change anything. */
export function isEmpty({ states }: StateDelta): boolean {
  return Object.values(states).every(({ changes }) => changes.length === 0);
}
