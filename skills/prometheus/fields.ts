import { timeField } from "skillflow/internal";
import * as z from "zod";

/** Parameters that several tools share. */

export const query = z.string().min(1).max(4000);

export const from = timeField.optional();

export const to = timeField.optional();
export const period = { from, to };

export const contains = z.string().min(1).max(200).optional();

export const selector = z.string().min(1).max(1000).optional().describe('Such as {job="checkout"}.');

export const limit = z.int().min(1).max(200).optional();

/** Converts milliseconds to the Unix seconds that Prometheus expects. */
export function seconds(milliseconds: number): number {
  return Math.round(milliseconds) / 1000;
}
