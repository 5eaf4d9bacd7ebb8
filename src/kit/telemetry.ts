import * as z from "zod";
import { clip } from "../core/base/preview.ts";
import type { ToolContext } from "../core/skill/skill.ts";
import { textLike } from "./fields.ts";
import { firstOf, jsonSize } from "./http.ts";

/** Times and series for skills that read telemetry. */

const TIME = /^(now(-[1-9]\d{0,3}[smhdw])?|\d{4}-\d{2}-\d{2}T\d{2}:\d{2}(:\d{2}(\.\d{1,9})?)?(Z|[+-]\d{2}:\d{2}))$/;

/** Time parameter: `now`, `now-15m`, or ISO 8601 with a zone. */
export const timeField = z.string().max(40).regex(TIME);

/** Time parameter in ISO 8601, with seconds and a zone. */
export const isoField = textLike(/^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}(\.\d{1,9})?(Z|[+-]\d{2}:\d{2})$/, 40);

/** Parameters of a tool that reads a period, by default the last hour. */
export const lastHour = {
  from: timeField.optional(),
  to: timeField.optional().describe("`from` and `to`: now-2h or ISO 8601. Default: the last hour."),
};

/** Returns the time after which nothing may be shown: that of a backtest's clock, which is in the past. */
export function limitOf({ now }: Pick<ToolContext, "now">): number {
  const time = now();
  return time < Date.now() - PAST_MS ? time : Number.POSITIVE_INFINITY;
}

const PAST_MS = 60_000;

/** Start and end in milliseconds since 1970. */
export interface Period {
  readonly from: number;
  readonly to: number;
}

/** Parameters of a period as given. */
export interface GivenPeriod {
  readonly from?: string | undefined;
  readonly to?: string | undefined;
}

/** Returns the period of a call. Defaults to the last hour. */
export function periodOf({ from = "now-1h", to = "now" }: GivenPeriod, now = Date.now()): Period {
  const period = { from: momentOf(from, now), to: momentOf(to, now) };
  if (period.from < period.to) return period;
  throw new Error("The period is empty: `from` must be before `to`.");
}

const UNITS: Readonly<Record<string, number>> = { s: 1e3, m: 6e4, h: 3.6e6, d: 8.64e7, w: 6.048e8 };

/** Parses a length of time, such as `5m`, into milliseconds. NaN for anything else. */
export function lengthOf(text: string): number {
  return Number(text.slice(0, -1)) * (UNITS[text.slice(-1)] ?? Number.NaN);
}

/** Parses a time into milliseconds since 1970. */
export function momentOf(text: string, now = Date.now()): number {
  const [, length = "0s"] = /^now(?:-(\d+[smhdw]))?$/.exec(text) ?? [];
  const moment = text.startsWith("now") ? now - lengthOf(length) : Date.parse(text);
  if (!Number.isNaN(moment)) return moment;
  throw new Error(`"${text}" is not a time: write now-15m, or 2026-01-31T08:00:00Z.`);
}

export function isoTime(milliseconds: number | null | undefined): string | undefined {
  const date = new Date(milliseconds ?? Number.NaN);
  return Number.isNaN(date.getTime()) ? undefined : date.toISOString();
}

/** Returns a period for a result. */
export function isoPeriod({ from, to }: Period) {
  return { from: isoTime(from), to: isoTime(to) };
}

/** Time in milliseconds and the value at that time. */
export type Point = readonly [at: number, value: number];

/** Series summary for a model: its ends, its extremes and a few points. */
export interface SeriesSummary {
  readonly count: number;
  readonly min?: Extreme;
  readonly max?: Extreme;
  readonly avg?: number;
  readonly first?: Extreme;
  readonly last?: Extreme;
  /** Each point is the mean of its neighbors, at the time of the first. */
  readonly points?: readonly (readonly [at: string | undefined, value: number])[];
}

interface Extreme {
  readonly at: string | undefined;
  readonly value: number;
}

/** Returns the series with the highest peaks, and the number of omitted ones. */
export function highestFirst<Series extends Pick<SeriesSummary, "max">>(series: readonly Series[], most: number) {
  const peakOf = ({ max }: Series) => max?.value ?? Number.NEGATIVE_INFINITY;
  return firstOf(
    [...series].sort((a, b) => peakOf(b) - peakOf(a)),
    most,
  );
}

/** Summary shape for a result's schema. */
export const seriesSummary = `count:number min:{ at value:number } max:{ at value:number } avg:number
  first:{ at value:number } last:{ at value:number } points:[any]`;

/** Summarizes points that are sorted by time. Ignores values that are not finite, and shows at most `most` points. */
export function summarise(all: readonly Point[], most: number): SeriesSummary {
  const points = all.filter(([, value]) => Number.isFinite(value));
  const [first, last] = [points[0], points.at(-1)];
  if (!first || !last) return { count: 0 };
  const least = points.reduce((a, b) => (b[1] < a[1] ? b : a));
  const largest = points.reduce((a, b) => (b[1] > a[1] ? b : a));
  return {
    count: points.length,
    min: extreme(least),
    max: extreme(largest),
    avg: rounded(mean(points)),
    first: extreme(first),
    last: extreme(last),
    ...(most > 0 ? { points: thinned(points, most).map(([at, value]) => [isoTime(at), rounded(value)] as const) } : {}),
  };
}

function extreme([at, value]: Point): Extreme {
  return { at: isoTime(at), value: rounded(value) };
}

function thinned(points: readonly Point[], most: number): readonly Point[] {
  const size = Math.ceil(points.length / most);
  if (size <= 1) return points;
  return Array.from({ length: Math.ceil(points.length / size) }, (_, index) => {
    const group = points.slice(index * size, (index + 1) * size);
    return [group[0]?.[0] ?? 0, mean(group)];
  });
}

function mean(points: readonly Point[]): number {
  return points.reduce((sum, [, value]) => sum + value, 0) / points.length;
}

export function rounded(value: number): number {
  return Number(value.toPrecision(6));
}

const LONGEST_LINE = 1500;

/** Returns the newest log lines that fit into `most` bytes, and the number of omitted lines. */
export function lastLines(lines: readonly string[], most = 16_000) {
  const shown: string[] = [];
  let size = 0;
  for (const line of lines.toReversed().map((each) => clip(each, LONGEST_LINE))) {
    size += jsonSize(line) + 1;
    if (size > most) break;
    shown.unshift(line);
  }
  return { shown, left_out: lines.length > shown.length ? lines.length - shown.length : undefined };
}
