import { isObject, type Json, parseJson } from "../../base/values.ts";
import type { StateEntry } from "../event/record.ts";
import type { StateChange, StateDelta, StateLimits, States } from "../ports.ts";

/**
 * Merges a run's changes into the entries, and prunes them. The merge order of two runs does not matter: counts add up,
 * and the later `last_seen` decides the data. A matched entry that was deleted meanwhile stays deleted.
 */
export function mergeChanges(
  entries: readonly StateEntry[],
  changes: readonly StateChange[],
  { limits, now }: { readonly limits: StateLimits; readonly now: number },
): StateEntry[] {
  const merged = new Map(entries.map((entry) => [entry.key, entry]));
  for (const change of changes) {
    const entry = mergeChange(merged.get(change.key), change, now);
    if (entry) merged.set(change.key, entry);
  }
  return prune([...merged.values()], limits, now);
}

function mergeChange(known: StateEntry | undefined, change: StateChange, now: number): StateEntry | undefined {
  const { key, first, last, runs, seen, data, add, tainted } = change;
  if (!known) {
    if (data === undefined && !add) return undefined;
    const found = { key, first_seen: first, last_seen: last, runs, seen, data: add ? summed({}, add) : (data ?? null) };
    return tainted ? { ...found, tainted } : found;
  }
  const { tainted: was, ...entry } = known;
  // A time in the future counts as now, so that a wrong clock does not win forever.
  const isLater = timeOf(last) >= Math.min(timeOf(known.last_seen), now);
  const isPut = data !== undefined && isLater;
  const mark = isPut ? tainted : was;
  return {
    ...entry,
    first_seen: earlier(known.first_seen, first),
    last_seen: isLater ? last : known.last_seen,
    runs: known.runs + runs,
    seen: known.seen + seen,
    data: add ? summed(known.data, add) : isPut ? data : known.data,
    ...(mark ? { tainted: mark } : {}),
  };
}

function summed(known: Json, add: Readonly<Record<string, number>>): Json {
  const sums = new Map<string, Json>(isObject(known) ? Object.entries(known as { [key: string]: Json }) : []);
  for (const [name, amount] of Object.entries(add)) {
    const before = sums.get(name);
    sums.set(name, round((typeof before === "number" ? before : 0) + amount));
  }
  return Object.fromEntries(sums);
}

/** Rounds off the floating-point error of summed prices. */
const round = (amount: number) => Math.round(amount * 1e9) / 1e9;

export function timeOf(text: string): number {
  return Date.parse(text);
}

function earlier(a: string, b: string): string {
  return timeOf(b) < timeOf(a) ? b : a;
}

/** Removes entries that are too old, then the least recently seen ones. */
function prune(entries: StateEntry[], { keepMs, maxEntries }: StateLimits, now: number): StateEntry[] {
  const kept = keptEntries(entries, keepMs, now);
  if (maxEntries === undefined || kept.length <= maxEntries) return [...kept];
  const newest = [...kept].sort(byLastSeen).slice(0, maxEntries);
  const stays = new Set(newest);
  return kept.filter((entry) => stays.has(entry));
}

export function byLastSeen(a: StateEntry, b: StateEntry): number {
  return timeOf(b.last_seen) - timeOf(a.last_seen) || (a.key < b.key ? -1 : 1);
}

/** Leaves out entries older than `keepMs`, which readers must not see either. */
export function keptEntries(entries: readonly StateEntry[], keepMs: number | undefined, now: number) {
  if (keepMs === undefined) return entries;
  return entries.filter(({ last_seen }) => timeOf(last_seen) >= now - keepMs);
}

/** Parses a line of a state's file. Returns undefined if it is invalid. */
export function parseEntry(line: string): StateEntry | undefined {
  const value = parseJson(line);
  if (!isObject(value)) return undefined;
  const { key, first_seen, last_seen, runs, seen, tainted, data = null } = value as Record<string, Json>;
  if (typeof key !== "string" || !isTime(first_seen) || !isTime(last_seen) || !isCount(runs) || !isCount(seen))
    return undefined;
  return { key, first_seen, last_seen, runs, seen, data, ...(tainted === true ? { tainted } : {}) };
}

function isTime(value: Json | undefined): value is string {
  return typeof value === "string" && Number.isFinite(timeOf(value));
}

function isCount(value: Json | undefined): value is number {
  return Number.isSafeInteger(value) && Number(value) >= 0;
}

export function entryLine(entry: StateEntry): string {
  return `${JSON.stringify(entry)}\n`;
}

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
