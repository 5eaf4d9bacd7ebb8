import { deepEqual, isObject, type Json } from "../../base/values.ts";
import type { StateEntry } from "../event/record.ts";
import { type Touch, timeOf } from "./entries.ts";

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

export type Verdict =
  | { readonly key: string; readonly isNew: true }
  | { readonly key: string; readonly isNew: false; readonly reason: string };

/** Decides for each item, in order, whether it is new. */
export function unseenItems({ items, entries, withinMs, unlessChanged = [], now }: Asked): readonly Verdict[] {
  const wanted = new Set(items.map(({ key }) => key));
  const known = new Map(entries.flatMap((entry) => (wanted.has(entry.key) ? [[entry.key, entry]] : [])));
  return items.map(({ key, values }): Verdict => {
    const judged = judgementIn(known.get(key)?.data);
    if (!judged) return { key, isNew: true };
    const age = now - judged.at;
    const isOld = withinMs !== undefined && age > withinMs;
    const changed = unlessChanged.some((path) => !deepEqual(own(judged.data, path) ?? null, own(values, path) ?? null));
    // A judgment from the future does not count.
    if (age < -MOST_AHEAD_MS || isOld || changed) return { key, isNew: true };
    const same = unlessChanged.length === 0 ? "" : `, ${unlessChanged.join(", ")} unchanged`;
    const was = judged.verdict === undefined ? "" : ` (was: ${judged.verdict})`;
    return { key, isNew: false, reason: `seen ${ageText(age)} ago${same}${was}` };
  });
}

/** Tolerates clock differences between machines. */
const MOST_AHEAD_MS = 10 * 60 * 1000;

/** Reads the judgment that a map stored. Data that a model stored under the same key does not count. */
function judgementIn(data: Json | undefined) {
  if (!isObject(data) || typeof data.judged_at !== "string") return undefined;
  const at = timeOf(data.judged_at);
  if (!Number.isFinite(at)) return undefined;
  const verdict = typeof data.verdict === "string" ? data.verdict : undefined;
  return { at, verdict, data };
}

function own(values: Readonly<Record<string, unknown>>, path: string): unknown {
  return Object.hasOwn(values, path) ? values[path] : undefined;
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

interface Judged extends Item {
  readonly state: string;
  /** Time of the judgment, ISO 8601. */
  readonly at: string;
  readonly verdict?: string | undefined;
  readonly tainted?: true | undefined;
}

/** Creates the entry for an item that a map judged. */
export function mapPut({ state, key, values, at, verdict, tainted }: Judged): Touch {
  const data = { ...values, judged_at: at, ...(verdict === undefined ? {} : { verdict }) };
  return { state, key, at, data, ...(tainted ? { tainted } : {}) };
}

/** Creates the touch for an item that a map skipped. */
export function mapMet({ state, key, at }: Pick<Touch, "state" | "key" | "at">): Touch {
  return { state, key, at };
}
