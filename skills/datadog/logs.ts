import { defineTool } from "skillflow";
import * as z from "zod";
import { anything, cursorMeta, number, pageNotes, picked, text, texts } from "./answers.ts";
import { withDatadog } from "./client.ts";
import { cursor, DEFAULT_LIMIT, from, limit, newestFirst, period, query, to } from "./fields.ts";

const PERMISSION = "logs_read_data";

const logQuery = query.describe("Such as service:checkout status:error -@http.status_code:404.");

const indexes = z
  .array(
    z
      .string()
      .max(100)
      .regex(/^[A-Za-z0-9_*-]+$/),
  )
  .min(1)
  .max(10)
  .optional();

const facet = z
  .string()
  .max(200)
  .regex(/^[@A-Za-z_][A-Za-z0-9_.@/-]*$/);

export const logTools = [
  defineTool({
    name: "search_logs",
    description: "Searches log lines. To count or compare, use aggregate_logs.",
    effect: "read",
    input_schema: z.strictObject({
      query: logQuery,
      from,
      to,
      indexes,
      fields: z
        .array(z.string().min(1).max(200))
        .max(10)
        .optional()
        .describe("Attributes to show too: http.status_code, error.stack."),
      newest_first: newestFirst,
      limit,
      cursor,
    }),
    handler: (input, context) =>
      withDatadog(context, async (ask) => {
        const { data, meta } = await ask({
          path: "/api/v2/logs/events/search",
          body: {
            filter: { query: input.query, ...period(input), ...(input.indexes ? { indexes: input.indexes } : {}) },
            sort: input.newest_first === false ? "timestamp" : "-timestamp",
            page: { limit: input.limit ?? DEFAULT_LIMIT, ...(input.cursor ? { cursor: input.cursor } : {}) },
          },
          permission: PERMISSION,
          answer: logsAnswer,
        });
        const logs = (data ?? []).map(({ id, attributes }) => ({
          id,
          timestamp: attributes?.timestamp,
          status: attributes?.status,
          service: attributes?.service,
          host: attributes?.host,
          message: attributes?.message,
          fields: picked(attributes?.attributes, input.fields),
          tags: attributes?.tags?.slice(0, MOST_TAGS),
        }));
        return { logs, ...pageNotes(meta) };
      }),
  }),
  defineTool({
    name: "aggregate_logs",
    description: "Counts or measures logs: one number, by facet, over time, or both.",
    effect: "read",
    input_schema: z.strictObject({
      query: logQuery,
      from,
      to,
      indexes,
      measure: z
        .enum(["count", "cardinality", "avg", "sum", "min", "max", "median", "pc75", "pc90", "pc95", "pc99"])
        .optional()
        .describe("Default count; others need metric."),
      metric: facet.optional().describe("Such as @duration, or @usr.id for cardinality."),
      group_by: z.array(facet).min(1).max(3).optional().describe("Facets: service, status, @http.status_code."),
      interval: z
        .string()
        .regex(/^[1-9]\d{0,3}[smhd]$/)
        .optional()
        .describe("A step, such as 5m, for a series over time."),
      limit: z.int().min(1).max(50).optional().describe("Values of each facet, largest first."),
      cursor,
    }),
    handler: (input, context) =>
      withDatadog(context, async (ask) => {
        const { data, meta } = await ask({
          path: "/api/v2/logs/analytics/aggregate",
          body: {
            filter: { query: input.query, ...period(input), ...(input.indexes ? { indexes: input.indexes } : {}) },
            ...computation(input),
            ...(input.cursor ? { page: { cursor: input.cursor } } : {}),
          },
          permission: PERMISSION,
          answer: bucketsAnswer,
        });
        const buckets = (data?.buckets ?? []).map(({ by, computes }) => ({ by, ...measured(computes?.["c0"]) }));
        return { measure: input.measure ?? "count", buckets, ...pageNotes(meta) };
      }),
  }),
];

const MOST_TAGS = 15;
const MOST_STEPS = 100;

const logsAnswer = z.object({
  data: z
    .array(
      z.object({
        id: text,
        attributes: z
          .object({
            timestamp: text,
            status: text,
            service: text,
            host: text,
            message: text,
            tags: texts,
            attributes: anything,
          })
          .nullish(),
      }),
    )
    .nullish(),
  meta: cursorMeta,
});

const step = z.object({ time: text, value: number });
const bucketsAnswer = z.object({
  data: z.object({ buckets: z.array(z.object({ by: anything, computes: anything })).nullish() }).nullish(),
  meta: cursorMeta,
});

interface Measuring {
  readonly measure?: string | undefined;
  readonly metric?: string | undefined;
  readonly group_by?: readonly string[] | undefined;
  readonly interval?: string | undefined;
  readonly limit?: number | undefined;
}

function computation({ measure = "count", metric, group_by, interval, limit: most = DEFAULT_LIMIT }: Measuring) {
  if (measure !== "count" && !metric) throw new Error(`${measure} needs metric: the attribute to measure.`);
  const measured = { aggregation: measure, ...(metric ? { metric } : {}) };
  const over = interval ? { type: "timeseries", interval } : { type: "total" };
  const sort = { type: "measure", ...measured, order: "desc" };
  return {
    compute: [{ ...measured, ...over }],
    ...(group_by ? { group_by: group_by.map((name) => ({ facet: name, limit: most, sort })) } : {}),
  };
}

/** A total is a number; a series is a list of steps. */
function measured(value: unknown) {
  const steps = z.array(step).safeParse(value);
  if (!steps.success) return { value };
  const { data } = steps;
  const left = data.length - MOST_STEPS;
  const points = data.slice(0, MOST_STEPS).map(({ time, value: at }) => [time, at]);
  return { points, ...(left > 0 ? { more_points: `${left} left out: take a wider interval` } : {}) };
}
