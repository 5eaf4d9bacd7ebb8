import * as z from "zod";

/** The parameters that several tools share. */

export const organization = z
  .string()
  .max(100)
  .regex(/^[A-Za-z0-9][A-Za-z0-9_-]*$/)
  .optional()
  .describe("The organization's slug. The configured one when absent.");

export const project = z
  .string()
  .max(100)
  .regex(/^[A-Za-z0-9][A-Za-z0-9_-]*$/)
  .optional()
  .describe("Only this project: its slug or id; `all` for all projects. The configured one when absent.");

export const issue = z
  .string()
  .max(110)
  .regex(/^(\d{1,20}|[A-Za-z0-9][A-Za-z0-9_-]*-[A-Za-z0-9]{1,10})$/)
  .describe("The issue as SHOP-1A, or its numeric id.");

export const environment = z
  .string()
  .max(64)
  .regex(/^[^\r\n/]+$/)
  .optional()
  .describe("Only this environment, such as production.");

const timestamp = z
  .string()
  .max(40)
  .regex(/^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}(\.\d{1,9})?(Z|[+-]\d{2}:\d{2})$/);

/** A time range, in one of two ways. */
export const period = {
  stats_period: z
    .string()
    .max(6)
    .regex(/^\d{1,4}[smhdw]$/)
    .optional()
    .describe("The time until now, such as 1h, 24h or 14d. Not together with start and end."),
  start: timestamp.optional().describe("The period's start in ISO 8601, such as 2026-01-31T08:00:00Z; with `end`."),
  end: timestamp.optional().describe("The period's end in ISO 8601; with `start`."),
};

interface Period {
  readonly stats_period?: string | undefined;
  readonly start?: string | undefined;
  readonly end?: string | undefined;
}

/** Sentry's parameters for a tool's period; times go as UTC. */
export function periodParameters({ stats_period, start, end }: Period) {
  if (stats_period && (start || end)) throw new Error("Give either `stats_period`, or `start` and `end`.");
  if (stats_period) return { statsPeriod: stats_period };
  if (!start && !end) return {};
  if (!start || !end) throw new Error("Give `start` and `end` together, or `stats_period`.");
  const [from, to] = [utc(start), utc(end)];
  if (from >= to) throw new Error("`start` must be before `end`.");
  return { start: from, end: to };
}

function utc(time: string): string {
  const milliseconds = Date.parse(time);
  if (Number.isNaN(milliseconds)) throw new Error(`"${time}" is not a time.`);
  return new Date(milliseconds).toISOString();
}

export const limit = z.int().min(1).max(50).optional().describe("How many items one page holds. 10 when absent.");

export const cursor = z
  .string()
  .max(120)
  .regex(/^[\w:.+-]+$/)
  .optional()
  .describe("`next_cursor` of the last answer, for the page after it.");

export const DEFAULT_LIMIT = 10;
