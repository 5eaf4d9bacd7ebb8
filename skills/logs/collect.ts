import type { Line } from "./selector.ts";
import { isoText } from "./timestamp.ts";

/** A line that is kept beyond its block. */
export interface KeptLine {
  readonly file: string;
  readonly offset: number;
  readonly text: string;
  readonly time?: number;
}

/** Keeps lines spread evenly over all that it is shown, without knowing how many come. */
export function createSpread(limit: number): { add(index: number, line: () => KeptLine): void; lines(): KeptLine[] } {
  let stride = 1;
  let kept: { readonly index: number; readonly line: KeptLine }[] = [];
  return {
    add(index, line) {
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
export function createNearest(
  at: number,
  limit: number,
): { add(time: number, line: () => KeptLine): void; lines(): KeptLine[] } {
  let kept: { readonly distance: number; readonly line: KeptLine }[] = [];
  let farthest = Number.POSITIVE_INFINITY;
  const trim = () => {
    kept = kept.sort((a, b) => a.distance - b.distance).slice(0, limit);
    if (kept.length === limit) farthest = kept.at(-1)?.distance ?? farthest;
  };
  return {
    add(time, line) {
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

export interface Tally {
  readonly value: string;
  readonly count: number;
  readonly buckets?: Readonly<Record<string, number>>;
}

const MOST_VALUES = 10_000;
const MOST_VALUES_WITH_BUCKETS = 200;
const MOST_BUCKETS = 500;
const VALUE_SHOWN = 200;

/** Counts values, and per time bucket when `bucket` gives its milliseconds. Values beyond a bound are counted together. */
export function createTally(bucket?: number): {
  add(value: string, time: number | undefined): void;
  result(top: number): { groups: readonly Tally[]; distinct: number; other: number };
} {
  const most = bucket ? MOST_VALUES_WITH_BUCKETS : MOST_VALUES;
  const counts = new Map<string, { count: number; buckets: Map<number, number> }>();
  const buckets = new Set<number>();
  let other = 0;
  return {
    add(value, time) {
      const key = value.slice(0, VALUE_SHOWN);
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
        throw new Error(`more than ${MOST_BUCKETS} time buckets; use a longer bucket, or since and until`);
      }
    },
    result(top) {
      const sorted = [...counts].sort(([a, x], [b, y]) => y.count - x.count || (a < b ? -1 : 1));
      const beyond = sorted.slice(top).reduce((sum, [, entry]) => sum + entry.count, 0);
      const groups = sorted.slice(0, top).map(([value, entry]) => ({
        value,
        count: entry.count,
        ...(bucket ? { buckets: inOrder(entry.buckets) } : {}),
      }));
      return { groups, distinct: counts.size, other: other + beyond };
    },
  };
}

function inOrder(buckets: ReadonlyMap<number, number>): Readonly<Record<string, number>> {
  return Object.fromEntries([...buckets].sort(([a], [b]) => a - b).map(([time, count]) => [isoText(time), count]));
}

/** What to keep of a line: its shown text, where it is, and its time if it was asked for. */
export function keptLine(file: string, line: Line, text: string): KeptLine {
  return { file, offset: line.offset, text, ...(line.time === undefined ? {} : { time: line.time }) };
}
