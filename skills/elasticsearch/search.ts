import {
  clip,
  firstOf,
  isoPeriod,
  isoTime,
  lastHour,
  lengthOf,
  lenient,
  memberAt,
  type Period,
  periodOf,
  RANGE,
  resultSchema,
  TEAM_SNAPSHOT,
  textLike,
} from "skillflow/internal";
import * as z from "zod";
import { elasticsearchTool, index } from "./service.ts";

const query = z
  .string()
  .min(1)
  .max(2000)
  .optional()
  .describe('Lucene: level:error AND service:checkout AND message:"timed out". Default: all.');

const field = z
  .string()
  .min(1)
  .max(200)
  .regex(/^[A-Za-z0-9_@.*-]+$/);

const timeName = field.optional().describe("Field with the time. Default @timestamp.");

export const searchTools = [
  elasticsearchTool({
    name: "search",
    description:
      "Reads the documents of a period, newest first. To count or group, use count: its result is small. Field names: list_fields. Index names: list_indices.",
    ...RANGE,
    selects: ["query"],
    echoes: ["from", "to"],
    input_schema: z.strictObject({
      index,
      query,
      ...lastHour,
      time_field: timeName,
      fields: z
        .array(field)
        .min(1)
        .max(20)
        .optional()
        .describe("Fields to show. Default: all. Give them, because documents are large."),
      oldest_first: z.boolean().optional().describe("Default false."),
      limit: z.int().min(1).max(100).optional().describe("Default 10."),
    }),
    output_schema: resultSchema(
      "documents total",
      `from to total:number total_is_least:flag documents:[{ id index at:any fields:any }] left_out:number incomplete
        note`,
    ),
    work: async (ask, input, context) => {
      const period = periodOf(input, context.now());
      const time = input.time_field ?? "@timestamp";
      const { hits, ...told } = await ask({
        path: [input.index, "_search"],
        body: {
          size: input.limit ?? 10,
          query: queryOf(input.query, time, period),
          sort: [{ [time]: { order: input.oldest_first ? "asc" : "desc", unmapped_type: "date" } }],
          ...(input.fields ? { _source: [...new Set([...input.fields, time])] } : {}),
          track_total_hits: 10_000,
          timeout: "20s",
        },
        instead: NO_INDEX,
        answer: searchAnswer,
      });
      const { value: total, relation } = hits.total;
      return {
        ...isoPeriod(period),
        total,
        total_is_least: relation === "gte" || undefined,
        documents: hits.hits.map(({ _id: id, _index, _source }) => {
          const { [time]: _, ...fields } = _source ?? {};
          return { id, index: _index, at: memberAt(_source, time), fields: shortened(fields) };
        }),
        left_out: total > hits.hits.length ? total - hits.hits.length : undefined,
        ...remarksOf(told, total),
      };
    },
  }),
  elasticsearchTool({
    name: "count",
    description:
      "Counts the documents of a period: in total, by the values of a field, over time, or both. Cheap, no matter how many match. To count by a text field, use its .keyword.",
    ...RANGE,
    selects: ["query"],
    echoes: ["from", "to"],
    input_schema: z.strictObject({
      index,
      query,
      ...lastHour,
      time_field: timeName,
      by: field.optional().describe("Such as service.keyword, level, http.response.status_code."),
      interval: textLike(/^[1-9]\d{0,3}[smhd]$/)
        .optional()
        .describe("Step for counts over time, such as 5m."),
      limit: z.int().min(1).max(50).optional().describe("Number of values, most frequent first. Default 10."),
    }),
    output_schema: resultSchema(
      "total",
      `from to total:number values:[{ value:any count:number over_time:any }] over_time:any other_values:number
        incomplete note`,
    ),
    work: async (ask, input, context) => {
      const period = periodOf(input, context.now());
      const time = input.time_field ?? "@timestamp";
      const steps = stepsOf(input.interval, time, period);
      const values = input.by
        ? { values: { terms: { field: input.by, size: input.limit ?? 10 }, ...(steps ? { aggs: steps } : {}) } }
        : undefined;
      const { hits, aggregations, ...told } = await ask({
        path: [input.index, "_search"],
        body: {
          size: 0,
          query: queryOf(input.query, time, period),
          track_total_hits: true,
          timeout: "20s",
          ...(values || steps ? { aggs: values ?? steps } : {}),
        },
        instead: NO_INDEX,
        answer: countAnswer,
      });
      return {
        ...isoPeriod(period),
        total: hits.total.value,
        values: aggregations?.values?.buckets.map(({ key, key_as_string, doc_count, steps: own }) => {
          return { value: key_as_string ?? key, count: doc_count, over_time: courseOf(own) };
        }),
        over_time: courseOf(aggregations?.steps),
        other_values: aggregations?.values?.sum_other_doc_count || undefined,
        ...remarksOf(told, hits.total.value),
      };
    },
  }),
  elasticsearchTool({
    name: "list_fields",
    description:
      "Lists the fields of indices with their types, and whether you can count and sort by them. Cheap. Use it before a query on unknown fields.",
    ...TEAM_SNAPSHOT,
    selects: ["contains"],
    input_schema: z.strictObject({
      index,
      contains: z
        .string()
        .min(1)
        .max(100)
        .optional()
        .describe("In the name. Case-insensitive. Give it: indices have hundreds of fields."),
      limit: z.int().min(1).max(200).optional().describe("Default 50."),
    }),
    output_schema: resultSchema("fields", "fields:[{ name type countable:flag }] matching:number left_out:number note"),
    work: async (ask, input) => {
      const { fields } = await ask({
        path: [input.index, "_field_caps"],
        query: { fields: "*" },
        needs: "the view_index_metadata privilege on these indices",
        instead: NO_INDEX,
        answer: fieldsAnswer,
      });
      const words = input.contains?.toLowerCase() ?? "";
      const all = Object.entries(fields).filter(
        ([name]) => !name.startsWith("_") && name.toLowerCase().includes(words),
      );
      const { shown, ...counts } = firstOf(
        all.sort(([a], [b]) => (a < b ? -1 : 1)),
        input.limit ?? 50,
      );
      return {
        fields: shown.map(([name, types]) => ({
          name,
          type: Object.keys(types).join(" or "),
          countable: Object.values(types).every(({ aggregatable }) => aggregatable),
        })),
        ...counts,
        note: Object.keys(fields).length === 0 ? NO_SHARDS : undefined,
      };
    },
  }),
];

const NO_INDEX = "list_indices lists names.";
const NO_SHARDS = "No index matches this name, or the key cannot read it. list_indices lists those that it can see.";

const shards = lenient(z.object({ total: z.number(), failed: z.number() }));
const total = z.object({ value: z.number(), relation: z.string() });
const hit = z.object({
  _id: z.string().nullish(),
  _index: z.string(),
  _source: z.record(z.string(), z.unknown()).nullish(),
});
const searchAnswer = z.object({
  timed_out: z.boolean().nullish(),
  _shards: shards,
  hits: z.object({ total, hits: z.array(hit) }),
});

const steps = z.object({ buckets: z.array(z.object({ key: z.number(), doc_count: z.number() })) }).optional();
const bucket = z.object({
  key: z.union([z.string(), z.number(), z.boolean()]),
  key_as_string: z.string().optional(),
  doc_count: z.number(),
  steps,
});
const values = z.object({ buckets: z.array(bucket), sum_other_doc_count: z.number().optional() }).optional();
const countAnswer = z.object({
  timed_out: z.boolean().nullish(),
  _shards: shards,
  hits: z.object({ total }),
  aggregations: z.object({ values, steps }).optional(),
});

const fieldsAnswer = z.object({
  fields: z.record(z.string(), z.record(z.string(), z.object({ aggregatable: z.boolean() }))),
});

/** Builds a query of filters only: it needs no scores and runs no script from the input. */
function queryOf(text: string | undefined, time: string, { from: begin, to: end }: Period) {
  const range = { range: { [time]: { gte: begin, lt: end, format: "epoch_millis" } } };
  const words = text === undefined ? [] : [{ query_string: { query: text, default_operator: "AND" } }];
  return { bool: { filter: [range, ...words] } };
}

const MOST_STEPS = 200;

function stepsOf(interval: string | undefined, time: string, { from: begin, to: end }: Period) {
  if (interval === undefined) return undefined;
  const count = (end - begin) / lengthOf(interval);
  if (count > MOST_STEPS)
    throw new Error(
      `An interval of ${interval} gives ${Math.ceil(count)} steps. The maximum is ${MOST_STEPS}: use a longer one.`,
    );
  return { steps: { date_histogram: { field: time, fixed_interval: interval, min_doc_count: 1 } } };
}

function courseOf(told: z.infer<typeof steps>) {
  return told?.buckets.map(({ key, doc_count }) => [isoTime(key), doc_count]);
}

interface Told {
  readonly timed_out?: boolean | null | undefined;
  readonly _shards?: { readonly total: number; readonly failed: number } | null | undefined;
}

function remarksOf({ timed_out, _shards }: Told, found: number) {
  const failed = _shards?.failed ?? 0;
  const parts = [
    timed_out ? "Elasticsearch timed out. Narrow the query or the period." : "",
    failed > 0 ? `${failed} of ${_shards?.total} shards did not answer. See cluster_health.` : "",
  ].filter((part) => part !== "");
  const none = _shards?.total === 0 ? NO_SHARDS : NOTHING;
  return { incomplete: parts.length > 0 ? parts.join(" ") : undefined, note: found === 0 ? none : undefined };
}

const NOTHING =
  "The query is valid, but no document of this period matches. Check the field names with list_fields, and check time_field.";

const LONGEST_TEXT = 2000;

function shortened(value: unknown): unknown {
  if (typeof value === "string") return clip(value, LONGEST_TEXT);
  if (Array.isArray(value)) return value.slice(0, 20).map(shortened);
  if (typeof value !== "object" || value === null) return value;
  return Object.fromEntries(Object.entries(value).map(([name, member]) => [name, shortened(member)]));
}
