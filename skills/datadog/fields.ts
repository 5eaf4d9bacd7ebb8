import * as z from "zod";

/** Parameters that several tools share. */

export const query = z.string().min(1).max(2000);

const TIME = /^(now(-[1-9]\d{0,3}[smhdw])?|\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}(\.\d{1,9})?(Z|[+-]\d{2}:\d{2}))$/;

const time = z.string().max(40).regex(TIME);

export const from = time.optional();

export const to = time.optional();

export const limit = z.int().min(1).max(50).optional();

export const page = z.int().min(1).max(100).optional();

export const cursor = z
  .string()
  .max(4000)
  .regex(/^[A-Za-z0-9_=+/.~-]+$/)
  .optional();

export const newestFirst = z.boolean().optional().describe("Default true.");

export const monitorId = z.int().min(1).max(Number.MAX_SAFE_INTEGER);

export const DEFAULT_LIMIT = 10;

/** Returns the period of a search in Datadog's form. */
export function period(input: { readonly from?: string | undefined; readonly to?: string | undefined }) {
  return { from: input.from ?? "now-1h", to: input.to ?? "now" };
}

const UNITS: Readonly<Record<string, number>> = { s: 1, m: 60, h: 3600, d: 86_400, w: 604_800 };

/** Converts a time to Unix seconds, the only form that the metrics API accepts. */
export function seconds(text: string): number {
  const [, amount, unit = ""] = /^now(?:-(\d+)([smhdw]))?$/.exec(text) ?? [];
  const milliseconds = text.startsWith("now")
    ? Date.now() - Number(amount ?? 0) * (UNITS[unit] ?? 0) * 1000
    : Date.parse(text);
  if (Number.isNaN(milliseconds)) throw new Error(`"${text}" is not a time: write now-15m, or 2026-01-31T08:00:00Z.`);
  return Math.floor(milliseconds / 1000);
}
