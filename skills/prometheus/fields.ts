import { type Period, timeField } from "skillflow/internal";
import * as z from "zod";

/** Parameters that several tools share. */

export const query = z.string().min(1).max(4000);

export const period = { from: timeField.optional(), to: timeField.optional() };

export const contains = z.string().min(1).max(200).optional();

export const selector = z.string().min(1).max(1000).optional().describe('Such as {job="checkout"}.');

export const limit = z.int().min(1).max(200).optional();

/** Returns the parameters of a period. */
export function bounds({ from, to }: Period) {
  return { start: seconds(from), end: seconds(to) };
}

/** Converts milliseconds to the Unix seconds that Prometheus expects. */
export function seconds(milliseconds: number): number {
  return Math.round(milliseconds) / 1000;
}
