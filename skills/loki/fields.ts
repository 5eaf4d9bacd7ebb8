import { timeField } from "skillflow";
import * as z from "zod";

/** The parameters that several tools share. */

export const query = z.string().min(1).max(4000);

export const selector = z
  .string()
  .max(2000)
  .regex(/^\s*\{[\s\S]*\}\s*$/)
  .describe('Labels alone: {app="checkout", env="prod"}.');

export const from = timeField.optional();

export const to = timeField.optional().describe("`from` and `to`: now-2h or ISO 8601; default the last hour.");

/** As Loki takes and gives times. */
export function nanoseconds(milliseconds: number): string {
  return `${BigInt(Math.round(milliseconds)) * 1_000_000n}`;
}

/** With all nine digits, by which lines of one millisecond are told apart. */
export function isoNanoseconds(text: string): string | undefined {
  if (!/^\d{10,19}$/.test(text)) return undefined;
  const moment = new Date(Number(BigInt(text) / 1_000_000n));
  return moment.toISOString().replace(/\d{3}Z$/, `${text.slice(-9)}Z`);
}
