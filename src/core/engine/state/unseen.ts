import { deepEqual, isObject, type Json, memberAt } from "../../base/values.ts";
import type { StateEntry } from "../event/record.ts";
import { timeOf } from "./entries.ts";

/** Filters the items of a map that earlier runs have already judged (`unseen`). */

export interface Item {
  readonly key: string;
  /** The value at each path of `unless_changed`. Paths that do not resolve are left out. */
  readonly values: Readonly<Record<string, Json>>;
}

interface Asked {
  readonly items: readonly Item[];
  readonly entries: readonly StateEntry[];
  /** How long a judgment is valid. Undefined: as long as its entry is kept. */
  readonly withinMs?: number | undefined;
  readonly unlessChanged?: readonly string[] | undefined;
  readonly now: number;
}

/** Returns the items that an earlier run judged, and that are not new since, with the reason by key. */
export function seenItems({ items, entries, withinMs, unlessChanged = [], now }: Asked): ReadonlyMap<string, string> {
  const wanted = new Set(items.map(({ key }) => key));
  const known = new Map(entries.flatMap((entry) => (wanted.has(entry.key) ? [[entry.key, entry]] : [])));
  const seen = items.flatMap(({ key, values }): [string, string][] => {
    const judged = judgementIn(known.get(key)?.data);
    if (!judged) return [];
    const age = now - judged.at;
    const isOld = withinMs !== undefined && age > withinMs;
    const changed = unlessChanged.some(
      (path) => !deepEqual(memberAt(judged.data, path) ?? null, memberAt(values, path) ?? null),
    );
    // A judgment from the future does not count.
    if (age < -MOST_AHEAD_MS || isOld || changed) return [];
    const same = unlessChanged.length === 0 ? "" : `, ${unlessChanged.join(", ")} unchanged`;
    const was = judged.verdict === undefined ? "" : ` (was: ${judged.verdict})`;
    return [[key, `seen ${ageText(age)} ago${same}${was}`]];
  });
  return new Map(seen);
}

/** Tolerates clock differences between machines. */
const MOST_AHEAD_MS = 10 * 60 * 1000;

/** Field with the time of a map's judgment. A call that puts an entry cannot set it. */
export const JUDGED_AT = "judged_at";

/** Reads the judgment that a map stored. Data that a model stored under the same key does not count. */
function judgementIn(data: Json | undefined) {
  const judged = isObject(data) ? data[JUDGED_AT] : undefined;
  if (!isObject(data) || typeof judged !== "string") return undefined;
  const at = timeOf(judged);
  if (!Number.isFinite(at)) return undefined;
  const verdict = typeof data.verdict === "string" ? data.verdict : undefined;
  return { at, verdict, data };
}

const UNITS = [
  [24 * 60 * 60 * 1000, "d"],
  [60 * 60 * 1000, "h"],
  [60 * 1000, "min"],
] as const;

/** Formats an age in the largest unit that fits, such as `3 d`. */
export function ageText(ms: number): string {
  const [unit, name] = UNITS.find(([size]) => ms >= size) ?? [1000, "s"];
  return `${Math.max(0, Math.floor(ms / unit))} ${name}`;
}

/** Returns the data of a judgment: the values that it depends on, its time in ISO 8601, and the verdict. */
export function judgementData(values: Item["values"], at: string, verdict: Json | undefined): Json {
  return { ...values, [JUDGED_AT]: at, ...(typeof verdict === "string" ? { verdict } : {}) };
}
