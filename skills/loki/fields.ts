import { type Period, textLike } from "skillflow/internal";
import * as z from "zod";

/** Parameters that several tools share. */

export const query = z.string().min(1).max(4000);

export const selector = textLike(/^\s*\{[\s\S]*\}\s*$/, 2000).describe('Only labels: {app="checkout", env="prod"}.');

/** Returns the parameters of a period, in the nanoseconds that Loki uses. */
export function bounds({ from, to }: Period) {
  return { start: nanoseconds(from), end: nanoseconds(to) };
}

function nanoseconds(milliseconds: number): string {
  return `${BigInt(Math.round(milliseconds)) * 1_000_000n}`;
}

/** Formats nanoseconds as ISO 8601 with nine digits, which distinguish lines of the same millisecond. */
export function isoNanoseconds(text: string): string | undefined {
  if (!/^\d{10,19}$/.test(text)) return undefined;
  const moment = new Date(Number(BigInt(text) / 1_000_000n));
  return moment.toISOString().replace(/\d{3}Z$/, `${text.slice(-9)}Z`);
}
