import { type Ask, each, fitting, memberAt, RANGE, resultSchema, TEAM_RANGE, textLike } from "skillflow/internal";
import * as z from "zod";
import { BUCKET, computation, measured, measuring } from "./aggregation.ts";
import { anything, cursorMeta, pageNotes, pageSchema, picked, text } from "./answers.ts";
import { attributes, between, DEFAULT_LIMIT, newestFirst, paged, period, query, seconds } from "./fields.ts";
import { datadogTool } from "./service.ts";

const SPAN =
  "service resource_name type env host trace_id span_id parent_id start duration_ms:number error:any fields:{}";

export const spanTools = [
  datadogTool({
    name: "search_spans",
    description:
      "Searches trace spans: which requests failed or were slow, where, and with what error. To count: aggregate_spans.",
    ...RANGE,
    selects: ["query"],
    input_schema: z.strictObject({
      query: query.describe("Such as service:checkout status:error @duration:>1s."),
      ...between,
      fields: attributes.describe("Additional attributes to show: http.url, db.statement."),
      newest_first: newestFirst,
      ...paged,
    }),
    output_schema: pageSchema("spans", `id ${SPAN}`),
    work: async (ask, input, context) => {
      const { data, meta } = await searchSpans(ask, {
        filter: { query: input.query, ...period(input, context.now()) },
        sort: input.newest_first === false ? "timestamp" : "-timestamp",
        page: { limit: input.limit ?? DEFAULT_LIMIT, cursor: input.cursor },
      });
      const spans = (data ?? []).map(({ id, attributes: span }) => ({ id, ...briefOf(span ?? {}, input.fields) }));
      return { spans, ...pageNotes(meta) };
    },
  }),
  datadogTool({
    name: "get_trace",
    description: "Reads one trace: its spans by start time, with their depth in the call tree.",
    ...RANGE,
    echoes: ["trace_id"],
    input_schema: z.strictObject({
      trace_id: z.string().regex(/^[0-9a-f]{1,32}$/),
      from: between.from,
      to: between.to.describe("The hour of the trace. Default: the last one."),
      limit: z.int().min(1).max(200).optional().describe("Number of spans. Default 60."),
    }),
    output_schema: resultSchema(
      "trace_id spans",
      `trace_id services:[text] errors:number spans:[{ depth:number ${SPAN} }] incomplete warnings:[text] note`,
    ),
    work: async (ask, input, context) => {
      const { data, meta } = await searchSpans(ask, {
        filter: { query: `trace_id:${input.trace_id}`, ...period(input, context.now()) },
        sort: "timestamp",
        page: { limit: input.limit ?? 60 },
      });
      const found = (data ?? []).map(({ attributes }) => attributes ?? {});
      const { next_cursor, ...notes } = pageNotes(meta);
      return {
        trace_id: input.trace_id,
        services: [...new Set(found.flatMap(({ service }) => service ?? []))],
        errors: found.filter(({ custom }) => memberAt(custom, "error") !== undefined).length,
        spans: found.map((one) => ({ depth: depthOf(one, found), ...briefOf(one, undefined) })),
        ...notes,
        note: noteOn(found.length, next_cursor),
      };
    },
  }),
  datadogTool({
    name: "aggregate_spans",
    description: "Counts or measures spans: errors and latencies by service or resource, over time.",
    ...RANGE,
    selects: ["query"],
    echoes: ["measure"],
    input_schema: z.strictObject({
      query: query.describe("Such as service:checkout status:error."),
      ...between,
      ...measuring,
    }),
    output_schema: pageSchema("buckets", BUCKET, "measure"),
    work: async (ask, input, context) => {
      const attributes = { filter: { query: input.query, ...period(input, context.now()) }, ...computation(input) };
      const { data, meta } = await ask({
        path: ["api", "v2", "spans", "analytics", "aggregate"],
        body: { data: { type: "aggregate_request", attributes } },
        needs: PERMISSION,
        answer: bucketsAnswer,
      });
      const buckets = (data ?? []).map(({ attributes: bucket }) => {
        const values = bucket?.computes ?? bucket?.compute;
        return { by: bucket?.by, ...measured(values?.["c0"]) };
      });
      return { measure: input.measure ?? "count", buckets, ...pageNotes(meta) };
    },
  }),
  datadogTool({
    name: "get_dependencies",
    description:
      "Lists what a service calls and what calls it, from its traces. Without service: all services and what each calls.",
    ...TEAM_RANGE,
    selects: ["service"],
    input_schema: z.strictObject({
      env: textLike(/^[A-Za-z0-9_.:/-]+$/, 100).describe("Such as prod."),
      service: textLike(/^\.*[A-Za-z0-9_:-][A-Za-z0-9_.:-]*$/, 100).optional(),
      ...between,
    }),
    output_schema: resultSchema("", "service calls:[text] called_by:[text] services:{} services_left_out:number note"),
    work: async (ask, input, context) => {
      const span = period(input, context.now());
      const asked = { env: input.env, start: seconds(span.from), end: seconds(span.to) };
      const path = ["api", "v1", "service_dependencies"];
      if (input.service === undefined) {
        const all = await ask({ path, query: asked, needs: PERMISSION, answer: dependenciesAnswer });
        const found = Object.entries(all).map(([name, { calls }]) => [name, calls] as const);
        const shown = fitting(found.slice(0, MOST_SERVICES));
        return {
          services: Object.fromEntries(shown),
          services_left_out: Math.max(0, found.length - shown.length) || undefined,
          note: found.length === 0 ? NO_SERVICES : undefined,
        };
      }
      const { calls, called_by } = await ask({
        path: [...path, input.service],
        query: asked,
        needs: PERMISSION,
        answer: z.object({ calls: z.array(z.string()), called_by: z.array(z.string()) }),
      });
      return {
        service: input.service,
        calls,
        called_by,
        note: calls.length + called_by.length === 0 ? NO_SERVICES : undefined,
      };
    },
  }),
];

const PERMISSION = "apm_read";
const MOST_SERVICES = 100;
const NO_SERVICES = "No traces in this environment and period. Check env and the service's name.";

const dependenciesAnswer = z.record(z.string(), z.object({ calls: z.array(z.string()) }));

const bucketsAnswer = z.object({
  data: z
    .array(z.object({ attributes: z.object({ by: anything, computes: anything, compute: anything }).nullish() }))
    .nullish(),
  meta: cursorMeta,
});

function searchSpans(ask: Ask, attributes: object) {
  return ask({
    path: ["api", "v2", "spans", "events", "search"],
    body: { data: { type: "search_request", attributes } },
    needs: PERMISSION,
    answer: spansAnswer,
  });
}

type Span = Partial<z.infer<typeof span>>;

const DEEPEST = 50;

function depthOf(one: Span, spans: readonly Span[]): number {
  let depth = 0;
  for (let at: Span | undefined = one; at && depth < DEEPEST; depth++) {
    const parent: string | null | undefined = at.parent_id;
    at = parent ? spans.find(({ span_id }) => span_id === parent) : undefined;
  }
  return depth - 1;
}

function noteOn(found: number, next: string | null | undefined): string | undefined {
  if (found === 0)
    return "No span of this trace is stored for this period. Give the time of the trace, or it was not sampled.";
  return next
    ? "The trace has more spans. Raise limit, or call search_spans with trace_id and the services that matter."
    : undefined;
}

const span = z.object({
  ...each(text, "service resource_name type env host trace_id span_id parent_id start_timestamp end_timestamp"),
  ...each(anything, "attributes custom"),
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
    error: memberAt(custom, "error"),
    fields: picked({ ...attributes, ...custom }, paths),
  };
}

function duration(start: string | null | undefined, end: string | null | undefined): number | undefined {
  const milliseconds = Date.parse(end ?? "") - Date.parse(start ?? "");
  return Number.isNaN(milliseconds) ? undefined : milliseconds;
}
