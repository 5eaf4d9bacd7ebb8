import { isObject, type Json, parseJson } from "../../base/values.ts";
import type { StateEntry } from "../event/state-entry.ts";
import type { StateChange, StateLimits } from "../ports.ts";

/** Entries of a state: parsing, merging and pruning. */

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

/** Compares entries: newest first, then by key. */
export function byLastSeen(a: StateEntry, b: StateEntry): number {
  return timeOf(b.last_seen) - timeOf(a.last_seen) || (a.key < b.key ? -1 : 1);
}

/** Leaves out entries older than `keepMs`, which readers must not see either. */
export function keptEntries(
  entries: readonly StateEntry[],
  keepMs: number | undefined,
  now: number,
): readonly StateEntry[] {
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
