import { each, RANGE, textLike } from "skillflow/internal";
import * as z from "zod";
import { BUCKET, computation, measured, measuring } from "./aggregation.ts";
import { anything, cursorMeta, pageNotes, pageSchema, picked, text, texts } from "./answers.ts";
import { attributes, between, cursor, DEFAULT_LIMIT, newestFirst, paged, period, query } from "./fields.ts";
import { datadogTool } from "./service.ts";

const PERMISSION = "logs_read_data";

const logQuery = query.describe("Such as service:checkout status:error -@http.status_code:404.");

const indexes = z
  .array(textLike(/^[A-Za-z0-9_*-]+$/, 100))
  .min(1)
  .max(10)
  .optional();

export const logTools = [
  datadogTool({
    name: "search_logs",
    description: "Searches log lines. To count: aggregate_logs.",
    ...RANGE,
    selects: ["query", "indexes"],
    input_schema: z.strictObject({
      query: logQuery,
      ...between,
      indexes,
      fields: attributes.describe("Additional attributes to show: http.status_code, error.stack."),
      newest_first: newestFirst,
      ...paged,
    }),
    output_schema: pageSchema("logs", "id timestamp status service host message fields:{} tags:[text]"),
    work: async (ask, input, context) => {
      const { data, meta } = await ask({
        path: ["api", "v2", "logs", "events", "search"],
        body: {
          filter: { query: input.query, indexes: input.indexes, ...period(input, context.now()) },
          sort: input.newest_first === false ? "timestamp" : "-timestamp",
          page: { limit: input.limit ?? DEFAULT_LIMIT, cursor: input.cursor },
        },
        needs: PERMISSION,
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
    },
  }),
  datadogTool({
    name: "aggregate_logs",
    description: "Counts or measures logs: in total, by facet, over time, or both.",
    ...RANGE,
    selects: ["query", "indexes"],
    echoes: ["measure"],
    input_schema: z.strictObject({
      query: logQuery,
      ...between,
      indexes,
      ...measuring,
      cursor,
    }),
    output_schema: pageSchema("buckets", BUCKET, "measure"),
    work: async (ask, input, context) => {
      const { data, meta } = await ask({
        path: ["api", "v2", "logs", "analytics", "aggregate"],
        body: {
          filter: { query: input.query, indexes: input.indexes, ...period(input, context.now()) },
          ...computation(input),
          page: input.cursor ? { cursor: input.cursor } : undefined,
        },
        needs: PERMISSION,
        answer: bucketsAnswer,
      });
      const buckets = (data?.buckets ?? []).map(({ by, computes }) => ({ by, ...measured(computes?.["c0"]) }));
      return { measure: input.measure ?? "count", buckets, ...pageNotes(meta) };
    },
  }),
];

const MOST_TAGS = 15;

const log = z.object({
  ...each(text, "timestamp status service host message"),
  tags: texts,
  attributes: anything,
});
const logsAnswer = z.object({
  data: z.array(z.object({ id: text, attributes: log.nullish() })).nullish(),
  meta: cursorMeta,
});

const bucketsAnswer = z.object({
  data: z.object({ buckets: z.array(z.object({ by: anything, computes: anything })).nullish() }).nullish(),
  meta: cursorMeta,
});
