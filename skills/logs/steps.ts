/** Series in constant memory: sums per interval. The intervals grow with the series. */
export type Points = ReturnType<typeof createPoints>;

export interface Point {
  readonly time: number;
  readonly mean: number;
  readonly last: number;
  readonly count?: number;
}

/** Change of a series from one level to another. */
export interface Step {
  /** Time of the first value at the new level. For a drift, the time of the series' last value. */
  readonly time: number;
  /** Start of a drift, which has no single time. Absent for a jump. */
  readonly from?: number;
  readonly before: number;
  readonly after: number;
}

interface Stretch {
  time: number;
  sum: number;
  count: number;
  last: number;
  lastTime: number;
}

const MOST_STRETCHES = 512;

/**
 * Keeps a series in constant memory: sums per interval. The intervals grow with the series. `origin` begins an interval
 * of any length.
 */
export function createPoints({ most = MOST_STRETCHES, origin = 0 } = {}) {
  let length = 1;
  let stretches = new Map<number, Stretch>();
  /** The stretch of the last value, because the next one is mostly in it too. */
  let recent: Stretch | undefined;
  let recentKey = 0;
  const put = (time: number, sum: number, count: number, last: number, lastTime: number) => {
    const key = Math.floor((time - origin) / length);
    const known = recent && key === recentKey ? recent : stretches.get(key);
    if (!known) stretches.set(key, { time, sum, count, last, lastTime });
    else {
      [recent, recentKey] = [known, key];
      if (lastTime >= known.lastTime) {
        known.last = last;
        known.lastTime = lastTime;
      }
      known.time = Math.min(known.time, time);
      known.sum += sum;
      known.count += count;
    }
  };
  return {
    add(time: number, value: number): void {
      put(time, value, 1, value, time);
      while (stretches.size > most) {
        const old = stretches;
        length *= 2;
        stretches = new Map();
        recent = undefined;
        for (const each of old.values()) put(each.time, each.sum, each.count, each.last, each.lastTime);
      }
    },
    /** Returns the mean and last value of each interval, by time. */
    all: (): readonly Point[] =>
      [...stretches.values()]
        .sort((a, b) => a.time - b.time)
        .map(({ time, sum, count, last }) => ({ time, mean: sum / count, last, count })),
  };
}

/** Returns a counter's growth per second between points. A decrease means that the counter was reset. */
export function ratesOf(points: readonly Point[]): readonly Point[] {
  return points.slice(1).flatMap((point, index) => {
    const before = points[index] ?? point;
    const grown = point.last - before.last;
    const rate = (grown * 1000) / (point.time - before.time);
    return grown < 0 || !Number.isFinite(rate) ? [] : [{ time: point.time, mean: rate, last: rate }];
  });
}

const MOST_STEPS = 4;
const SHORTEST = 2;
/** Minimum size of a step as a share of the series' range. */
const WORTH_TELLING = 0.15;

/**
 * Finds the jumps that exceed the noise, in order. Without any, returns the change from the first to the last value. A
 * series with two values, such as up and down, has a step at each change unless it changes all the time.
 */
export function stepsOf(points: readonly Point[]): readonly Step[] {
  const flips = flipsOf(points);
  if (flips.length > 0) return flips;
  const jumps = jumpsOf(points);
  return jumps.length > 0 ? jumps : driftOf(points);
}

const MOST_FLIPS = 8;

function flipsOf(points: readonly Point[]): readonly Step[] {
  if (new Set(points.map(({ mean }) => mean)).size !== 2) return [];
  const flips = points.slice(1).flatMap(({ time, mean }, index) => {
    const before = points[index]?.mean ?? mean;
    return before === mean ? [] : [{ time, before, after: mean }];
  });
  return flips.length <= MOST_FLIPS ? flips : [];
}

/** Minimum number of values that show the difference between noise and a change. */
const FEW = 4;
const MANY = 8;

/** Returns the change from the first to the last value if it exceeds the noise. */
function driftOf(points: readonly Point[]): readonly Step[] {
  const [first, last] = [points[0], points.at(-1)];
  if (!first || !last) return [];
  const values = points.map(({ mean }) => mean);
  const slope = (last.mean - first.mean) / Math.max(1, values.length - 1);
  const noise = Math.min(noiseOf(values), noiseOf(values.map((value, index) => value - slope * index)));
  const least = values.length < FEW ? 0 : noise * (values.length < MANY ? 1 : 3);
  if (Math.abs(last.mean - first.mean) <= least) return [];
  const { count, gain } = splitAt(values, 1);
  // A change that one split explains better than a line has a time.
  const isJump = values.length === 2 || gain > lineGain(values, meanOf(values)) * (1 + 1e-9);
  const ends = { before: first.mean, after: last.mean };
  return [
    isJump ? { time: points[count]?.time ?? last.time, ...ends } : { time: last.time, from: first.time, ...ends },
  ];
}

function jumpsOf(points: readonly Point[]): readonly Step[] {
  if (points.length < 2 * SHORTEST) return [];
  const values = points.map(({ mean }) => mean);
  const range = values.reduce((a, b) => Math.max(a, b)) - values.reduce((a, b) => Math.min(a, b));
  const noise = noiseOf(values);
  const least = { size: Math.max(2 * noise, range * WORTH_TELLING), gain: 4 * noise * noise * Math.log(values.length) };
  const cuts = new Set<number>([0, values.length]);
  while (cuts.size - 2 < MOST_STEPS) {
    const bounds = [...cuts].sort((a, b) => a - b);
    const splits = bounds
      .slice(1)
      .flatMap((to, index) => bestSplit(values.slice(bounds[index], to), bounds[index] ?? 0, least) ?? []);
    const [best] = splits.sort((a, b) => b.gain - a.gain);
    if (!best) break;
    cuts.add(best.at);
  }
  const bounds = [...cuts].sort((a, b) => a - b);
  return bounds.slice(1, -1).map((at, index) => ({
    time: points[at]?.time ?? 0,
    before: meanOf(values.slice(bounds[index], at)),
    after: meanOf(values.slice(at, bounds[index + 2])),
  }));
}

interface Split {
  readonly at: number;
  readonly gain: number;
}

/** Finds the split that explains most of the variance. Returns undefined if a line fits as well, or for small steps. */
function bestSplit(
  part: readonly number[],
  from: number,
  least: { readonly size: number; readonly gain: number },
): Split | undefined {
  const mean = meanOf(part);
  const { count, gain } = splitAt(part, SHORTEST);
  const size = Math.abs(meanOf(part.slice(0, count)) - meanOf(part.slice(count)));
  return gain > Math.max(lineGain(part, mean), least.gain) && size > least.size
    ? { at: from + count, gain }
    : undefined;
}

/** Finds the split that explains most of the variance, with at least `shortest` values on either side. */
function splitAt(part: readonly number[], shortest: number): { readonly count: number; readonly gain: number } {
  const mean = meanOf(part);
  let best = { count: 0, gain: 0 };
  let sum = 0;
  for (let count = 1; count <= part.length - shortest; count++) {
    sum += (part[count - 1] ?? 0) - mean;
    const gain = (sum * sum * part.length) / (count * (part.length - count));
    if (count >= shortest && gain > best.gain) best = { count, gain };
  }
  return best;
}

/** Returns the variance that a straight line explains. */
function lineGain(values: readonly number[], mean: number): number {
  const middle = (values.length - 1) / 2;
  const shared = sumOf(values.map((value, index) => (index - middle) * (value - mean)));
  const width = sumOf(values.map((_, index) => (index - middle) ** 2));
  return width === 0 ? 0 : (shared * shared) / width;
}

/** Returns the noise level: about the median difference between neighbors, which a few steps do not affect. */
function noiseOf(values: readonly number[]): number {
  const differences = values.slice(1).map((value, index) => Math.abs(value - (values[index] ?? value)));
  const sorted = differences.sort((a, b) => a - b);
  return (sorted[Math.floor(sorted.length / 2)] ?? 0) * 1.05;
}

function meanOf(values: readonly number[]): number {
  return values.length === 0 ? 0 : sumOf(values) / values.length;
}

function sumOf(values: readonly number[]): number {
  return values.reduce((sum, value) => sum + value, 0);
}
