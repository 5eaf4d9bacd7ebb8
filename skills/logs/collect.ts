import { labelTimes } from "./buckets.ts";
import { shortened } from "./line/text.ts";
import type { KeptLine } from "./view.ts";

/** Keeps lines spread evenly over all lines added, without knowing their number in advance. */
export function createSpread(limit: number) {
  let stride = 1;
  let kept: { readonly index: number; readonly line: KeptLine }[] = [];
  return {
    add(index: number, line: () => KeptLine): void {
      if (index % stride !== 0) return;
      kept.push({ index, line: line() });
      if (kept.length < limit * 2) return;
      stride *= 2;
      kept = kept.filter((each) => each.index % stride === 0);
    },
    lines() {
      const wanted = Math.min(limit, kept.length);
      return Array.from({ length: wanted }, (_, index) => kept[Math.floor((index * kept.length) / wanted)])
        .map((each) => each?.line)
        .filter((line) => line !== undefined);
    },
  };
}

/** Keeps the lines nearest to an instant. */
export function createNearest(at: number, limit: number) {
  let kept: { readonly distance: number; readonly line: KeptLine }[] = [];
  let farthest = Number.POSITIVE_INFINITY;
  const trim = () => {
    kept = kept.sort((a, b) => a.distance - b.distance).slice(0, limit);
    if (kept.length === limit) farthest = kept.at(-1)?.distance ?? farthest;
  };
  return {
    add(time: number, line: () => KeptLine): void {
      const distance = Math.abs(time - at);
      if (distance >= farthest) return;
      kept.push({ distance, line: line() });
      if (kept.length >= limit * 4) trim();
    },
    lines() {
      trim();
      return kept.map((each) => each.line).sort((a, b) => (a.time ?? 0) - (b.time ?? 0) || a.offset - b.offset);
    },
  };
}

/** Keeps the first or last lines of several files by time. Lines of one time keep the order of their files. */
export function createEnds(end: "first" | "last", limit: number) {
  const sign = end === "first" ? 1 : -1;
  const kept = createFirst(limit, (a, b) => sign * (a.time - b.time || a.index - b.index));
  /** Lines of the current file before its first time, which they take. */
  let untimed = createFirst(limit, (a, b) => sign * (a.index - b.index));
  let earliest = { index: Number.POSITIVE_INFINITY, time: Number.NEGATIVE_INFINITY };
  return {
    /** Adds a line of the current file. `index` is its number among all lines, in order. */
    add(index: number, time: number | undefined, line: () => KeptLine): void {
      if (time === undefined) untimed.add({ index, time: 0 }, line);
      else {
        if (index < earliest.index) earliest = { index, time };
        kept.add({ index, time }, line);
      }
    },
    /** Ends the current file. */
    merge(): void {
      for (const { index, line } of untimed.all()) kept.add({ index, time: earliest.time }, () => line);
      untimed = createFirst(limit, (a, b) => sign * (a.index - b.index));
      earliest = { index: Number.POSITIVE_INFINITY, time: Number.NEGATIVE_INFINITY };
    },
    lines() {
      const lines = kept.all().map(({ line }) => line);
      return end === "first" ? lines : lines.reverse();
    },
  };
}

/** Keeps the first lines in an order. Builds only lines that may be among them. */
function createFirst(limit: number, order: (a: Place, b: Place) => number) {
  let kept: (Place & { readonly line: KeptLine })[] = [];
  let bound: Place | undefined;
  const cut = () => {
    kept = kept.sort(order).slice(0, limit);
    if (kept.length === limit) bound = kept.at(-1);
  };
  return {
    add(place: Place, line: () => KeptLine): void {
      if (bound && order(place, bound) > 0) return;
      kept.push({ ...place, line: line() });
      if (kept.length >= 2 * limit) cut();
    },
    all() {
      cut();
      return kept;
    },
  };
}

interface Place {
  readonly index: number;
  readonly time: number;
}

/** Values of a line's group, one for each criterion, null if the line has none. */
export type Values = readonly (string | null)[];

export interface Group {
  readonly values: Values;
  readonly count: number;
  readonly buckets?: ReadonlyMap<number, number>;
}

const MOST_VALUES = 10_000;
const MOST_VALUES_WITH_BUCKETS = 200;
const MOST_BUCKETS = 500;
const VALUE_SHOWN = 400;

/** Counts lines by value, and by time bucket if `bucket` gives its milliseconds. Counts excess values together. */
export function createTally(bucket?: number) {
  const most = bucket ? MOST_VALUES_WITH_BUCKETS : MOST_VALUES;
  const counts = new Map<string, { count: number; buckets: Map<number, number> }>();
  const buckets = new Set<number>();
  let other = 0;
  return {
    add(values: Values, time: number | undefined): void {
      const key = JSON.stringify(values.map((value) => (value == null ? null : shortened(value, VALUE_SHOWN))));
      const entry = counts.get(key) ?? { count: 0, buckets: new Map<number, number>() };
      if (entry.count === 0 && counts.size >= most) {
        other++;
        return;
      }
      entry.count++;
      counts.set(key, entry);
      if (!bucket || time === undefined) return;
      const at = Math.floor(time / bucket) * bucket;
      entry.buckets.set(at, (entry.buckets.get(at) ?? 0) + 1);
      if (buckets.add(at).size > MOST_BUCKETS) {
        throw new Error(`more than ${MOST_BUCKETS} time buckets; use a longer bucket, or give since and until`);
      }
    },
    result(top: number) {
      const sorted = [...counts].sort(([a, x], [b, y]) => y.count - x.count || (a < b ? -1 : 1));
      const beyond = sorted.slice(top).reduce((sum, [, entry]) => sum + entry.count, 0);
      const groups: Group[] = sorted.slice(0, top).map(([key, entry]) => ({
        values: JSON.parse(key) as Values,
        count: entry.count,
        ...(bucket ? { buckets: entry.buckets } : {}),
      }));
      return { groups, distinct: counts.size, other: other + beyond };
    },
  };
}

/** Returns counts by bucket for several groups, with shared labels. */
export function labelBuckets(groups: readonly (ReadonlyMap<number, number> | undefined)[], length: number) {
  const maps = groups.map((buckets) => buckets ?? new Map<number, number>());
  const { day, of } = labelTimes(
    maps.flatMap((buckets) => [...buckets.keys()]),
    length,
  );
  const counts = maps.map((buckets) =>
    Object.fromEntries([...buckets].sort(([a], [b]) => a - b).map(([time, count]) => [of(time), count])),
  );
  return { day: day === undefined ? {} : { day }, counts };
}
