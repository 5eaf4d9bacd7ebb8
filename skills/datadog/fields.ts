import { type GivenPeriod, momentOf, periodOf, textLike, timeField } from "skillflow/internal";
import * as z from "zod";

/** Parameters that several tools share. */

export const query = z.string().min(1).max(2000);

export const between = { from: timeField.optional(), to: timeField.optional() };

export const attributes = z.array(z.string().min(1).max(200)).max(10).optional();

export const limit = z.int().min(1).max(50).optional();

export const page = z.int().min(1).max(100).optional();

export const cursor = textLike(/^[A-Za-z0-9_=+/.~-]+$/, 4000).optional();
export const paged = { limit, cursor };

export const newestFirst = z.boolean().optional().describe("Default true.");

export const monitorId = z.int().min(1).max(Number.MAX_SAFE_INTEGER);

export const DEFAULT_LIMIT = 10;

/** Returns the period of a search. Datadog's own clock would be wrong in a backtest. */
export function period(input: GivenPeriod, now: number) {
  const { from, to } = periodOf(input, now);
  return { from: new Date(from).toISOString(), to: new Date(to).toISOString() };
}

/** Converts a time to Unix seconds, the only form that the metrics API accepts. */
export function seconds(text: string): number {
  return Math.floor(momentOf(text) / 1000);
}
