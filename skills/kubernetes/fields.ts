import { each, lenient, pick, textLike } from "skillflow/internal";
import * as z from "zod";

/** Parameters and response fields that several tools share. */

export const name = textLike(/^[a-z0-9]([a-z0-9.-]*[a-z0-9])?$/, 253);

export const namespace = textLike(/^(\*|[a-z0-9]([a-z0-9-]*[a-z0-9])?)$/, 63)
  .optional()
  .describe("* for all.");

export const selector = z
  .string()
  .min(1)
  .max(500)
  .regex(/^[A-Za-z0-9_./=!,() -]+$/)
  .optional()
  .describe("Labels: app=checkout,tier!=cache.");

export const text = lenient(z.string());

export const number = lenient(z.number());

const condition = z.object(each(text, "type status reason message lastTransitionTime lastUpdateTime"));

export const conditions = z.array(condition).nullish();

export function conditionOf(of: z.infer<typeof condition>) {
  return pick(of, "type status reason message since:lastTransitionTime");
}

interface Timed {
  readonly at: string | null | undefined;
}

/** Compares by time, because times of one list differ in their number of digits. */
export function newestFirst(a: Timed, b: Timed): number {
  return (Date.parse(b.at ?? "") || 0) - (Date.parse(a.at ?? "") || 0);
}
