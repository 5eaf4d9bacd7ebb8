import { defineTool } from "skillflow";
import * as z from "zod";
import { anything, cursorMeta, pageNotes, picked, text, valueAt } from "./answers.ts";
import { withDatadog } from "./client.ts";
import { cursor, DEFAULT_LIMIT, from, limit, newestFirst, period, query, to } from "./fields.ts";

export const spanTools = [
  defineTool({
    name: "search_spans",
    description: "Searches trace spans: which requests failed or were slow, where, with what error.",
    effect: "read",
    input_schema: z.strictObject({
      query: query.describe("Such as service:checkout status:error @duration:>1s."),
      from,
      to,
      fields: z
        .array(z.string().min(1).max(200))
        .max(10)
        .optional()
        .describe("Attributes to show too: http.url, db.statement."),
      newest_first: newestFirst,
      limit,
      cursor,
    }),
    handler: (input, context) =>
      withDatadog(context, async (ask) => {
        const attributes = {
          filter: { query: input.query, ...period(input) },
          sort: input.newest_first === false ? "timestamp" : "-timestamp",
          page: { limit: input.limit ?? DEFAULT_LIMIT, ...(input.cursor ? { cursor: input.cursor } : {}) },
        };
        const { data, meta } = await ask({
          path: "/api/v2/spans/events/search",
          body: { data: { type: "search_request", attributes } },
          permission: "apm_read",
          answer: spansAnswer,
        });
        const spans = (data ?? []).map(({ id, attributes: span }) => ({ id, ...briefOf(span ?? {}, input.fields) }));
        return { spans, ...pageNotes(meta) };
      }),
  }),
];

const span = z.object({
  service: text,
  resource_name: text,
  type: text,
  env: text,
  host: text,
  trace_id: text,
  span_id: text,
  parent_id: text,
  start_timestamp: text,
  end_timestamp: text,
  attributes: anything,
  custom: anything,
});
const spansAnswer = z.object({
  data: z.array(z.object({ id: text, attributes: span.nullish() })).nullish(),
  meta: cursorMeta,
});

function briefOf(found: Partial<z.infer<typeof span>>, paths: readonly string[] | undefined) {
  const { start_timestamp, end_timestamp, custom, attributes, ...brief } = found;
  return {
    ...brief,
    start: start_timestamp,
    duration_ms: duration(start_timestamp, end_timestamp),
    error: valueAt(custom, "error"),
    fields: picked({ ...attributes, ...custom }, paths),
  };
}

function duration(start: string | null | undefined, end: string | null | undefined): number | undefined {
  const milliseconds = Date.parse(end ?? "") - Date.parse(start ?? "");
  return Number.isNaN(milliseconds) ? undefined : milliseconds;
}
