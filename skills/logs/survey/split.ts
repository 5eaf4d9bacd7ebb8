import type { Point } from "../steps.ts";

export type Counts = readonly [before: number, after: number];

/** Covered time, in Unix milliseconds. */
export interface Span {
  from: number;
  to: number;
}

export interface Split {
  readonly time: number;
  readonly counts: Counts;
  /** Measure of how unlikely the numbers are without a change. */
  readonly gain: number;
}

/** Shares of the covered time between which a change is looked for. At first, everything begins. */
const [FIRST, LAST] = [0.1, 0.9];

export function createSpan(): Span {
  return { from: Number.POSITIVE_INFINITY, to: Number.NEGATIVE_INFINITY };
}

export function widen(span: Span, time: number): void {
  span.from = Math.min(span.from, time);
  span.to = Math.max(span.to, time);
}

/** Returns true if a time is not within the first tenth of the covered time. */
export function isLate(time: number, { from, to }: Span): boolean {
  return time - from >= FIRST * (to - from);
}

/** Finds the instant at which the number of lines changed most, or rose most. */
export function splitOf(points: readonly Point[], span: Span, { onlyRises = false } = {}): Split {
  const total = points.reduce((sum, { count = 1 }) => sum + count, 0);
  let best: Split = { time: points[0]?.time ?? 0, counts: [0, total], gain: 0 };
  let before = 0;
  for (const { time, count = 1 } of points) {
    const counts = [before, total - before] as const;
    const share = shareAt(time, span);
    const isWanted = isLate(time, span) && (!onlyRises || before < total * share);
    const gain = isWanted ? surprise(counts, share) : 0;
    if (gain > best.gain) best = { time, counts, gain };
    before += count;
  }
  return best;
}

/** Compares two numbers with the share that the first one should have. */
export function surprise([before, after]: Counts, share: number): number {
  const term = (part: number, own: number) => (part === 0 ? 0 : part * Math.log(part / (before + after) / own));
  return term(before, share) + term(after, 1 - share);
}

/** Returns the share of the covered time before an instant. Near the ends it shows too little. */
export function shareAt(time: number, { from, to }: Span): number {
  return Math.min(LAST, Math.max(FIRST, (time - from) / (to - from || 1)));
}

export function countsAt(points: readonly Point[], since: number): Counts {
  const sum = (fits: (time: number) => boolean) =>
    points.reduce((all, { time, count = 1 }) => all + (fits(time) ? count : 0), 0);
  return [sum((time) => time < since), sum((time) => time >= since)];
}
