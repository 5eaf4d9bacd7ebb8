import {
  firstOf,
  highestFirst,
  isoPeriod,
  isoTime,
  lastHour,
  lengthOf,
  momentOf,
  type Point,
  periodOf,
  resultSchema,
  seriesSummary,
  summarise,
  TEAM_RANGE,
  textLike,
  timeField,
} from "skillflow/internal";
import * as z from "zod";
import { checkTimes } from "./clock.ts";
import { bounds, query, seconds } from "./fields.ts";
import { answered, labels, prometheusTool, remarksOf } from "./service.ts";

const COUNTS = "series_total:number left_out:number remarks:[text] note";

export const queryTools = [
  prometheusTool({
    name: "query",
    description:
      "Evaluates PromQL at one moment, now or in the past. Cheap. For values over time: query_range. For a metric's name: list_metrics.",
    effect: "read",
    origin: "team",
    clock: "range",
    range: { to: "at" },
    selects: ["query"],
    input_schema: z.strictObject({
      query: query.describe('Such as topk(5, sum by (service) (rate(http_requests_total{code=~"5.."}[5m]))).'),
      at: timeField.optional().describe("now-15m or ISO 8601. Default: now."),
      limit: z.int().min(1).max(100).optional().describe("Number of series. Default 20."),
    }),
    output_schema: resultSchema("series series_total", `kind at series:[{ labels:any value:any at }] ${COUNTS}`),
    work: async (ask, input, context) => {
      checkTimes(input.query, context);
      const at = momentOf(input.at ?? "now", context.now());
      const { data, ...told } = await ask({
        path: ["query"],
        query: { query: input.query, time: seconds(at) },
        answer: instantAnswer,
      });
      const all = instantSeries(data);
      const { shown, left_out } = firstOf(all, input.limit ?? 20);
      return {
        kind: data.resultType,
        at: isoTime(at),
        series: shown,
        series_total: all.length,
        left_out,
        remarks: remarksOf(told),
        note: noteOf(all.length, left_out, "narrow the query, or rank it with topk(10, …)"),
      };
    },
  }),
  prometheusTool({
    name: "query_range",
    description:
      "Evaluates PromQL over a period: minimum, maximum, average, first and last value of each series with times, and a few points. For one moment, query is cheaper. The cost grows with the number of series times the period, so aggregate first: sum by (…).",
    ...TEAM_RANGE,
    selects: ["query"],
    echoes: ["from", "to"],
    input_schema: z.strictObject({
      query: query.describe("Without a range around the query: sum by (service) (rate(http_requests_total[5m]))."),
      ...lastHour,
      step: textLike(/^[1-9]\d{0,4}[smhd]$/)
        .optional()
        .describe("Such as 30s. Default: gives 240 points."),
      points: z.int().min(0).max(60).optional().describe("Points shown per series. Default 20; 0 for none."),
      limit: z.int().min(1).max(30).optional().describe("Number of series, highest peak first. Default 10."),
    }),
    output_schema: resultSchema(
      "series series_total",
      `from to step_seconds:number series:[{ labels:any ${seriesSummary} }] ${COUNTS}`,
    ),
    work: async (ask, input, context) => {
      checkTimes(input.query, context);
      const period = periodOf(input, context.now());
      const step = stepOf(input.step, period.to - period.from);
      const { data, ...told } = await ask({
        path: ["query_range"],
        query: { query: input.query, ...bounds(period), step },
        answer: rangeAnswer,
      });
      const all = data.result.map(({ metric, values }) => {
        const points = (values ?? []).map(([at, value]): Point => [at * 1000, Number(value)]);
        return { labels: metric, ...summarise(points, input.points ?? 20) };
      });
      const { shown, left_out } = highestFirst(all, input.limit ?? 10);
      return {
        ...isoPeriod(period),
        step_seconds: step,
        series: shown,
        series_total: all.length,
        left_out,
        remarks: remarksOf(told),
        note: noteOf(all.length, left_out, "those with the highest peaks are shown"),
      };
    },
  }),
];

const sample = z.tuple([z.number(), z.string()]);
const histogram = z.tuple([z.number(), z.object({ count: z.string(), sum: z.string() })]);
const vector = z.object({ metric: labels, value: sample.optional(), histogram: histogram.optional() });
const matrix = z.object({ metric: labels, values: z.array(sample).optional() });

const instantAnswer = answered(
  z.discriminatedUnion("resultType", [
    z.object({ resultType: z.literal("vector"), result: z.array(vector) }),
    z.object({ resultType: z.literal("matrix"), result: z.array(matrix) }),
    z.object({ resultType: z.enum(["scalar", "string"]), result: sample }),
  ]),
);
const rangeAnswer = answered(z.object({ resultType: z.literal("matrix"), result: z.array(matrix) }));

/** Returns a number, or NaN, +Inf and -Inf as text because JSON does not have them. */
function measured(text: string): number | string {
  const value = Number(text);
  return text !== "" && Number.isFinite(value) ? value : text;
}

function instantSeries(data: z.infer<typeof instantAnswer>["data"]) {
  if (data.resultType === "vector")
    return data.result.map(({ metric, ...sampled }) => ({ labels: metric, ...lastOne(sampled) }));
  if (data.resultType === "matrix") {
    return data.result.map(({ metric, values = [] }) => ({ labels: metric, ...lastOf(values) }));
  }
  const value = data.resultType === "scalar" ? measured(data.result[1]) : data.result[1];
  return [{ labels: {}, value }];
}

function lastOne({ value, histogram: buckets }: Omit<z.infer<typeof vector>, "metric">) {
  if (value) return { value: measured(value[1]) };
  return { value: { count: measured(buckets?.[1].count ?? ""), sum: measured(buckets?.[1].sum ?? "") } };
}

/** Returns the newest sample. A query that ends in a range returns raw samples. */
function lastOf(values: readonly z.infer<typeof sample>[]) {
  const [at, value] = values.at(-1) ?? [Number.NaN, ""];
  return { value: measured(value), at: isoTime(at * 1000) };
}

const MOST_POINTS = 240;

/** Returns the step in seconds, widened for long periods because Prometheus refuses more than 11,000 points. */
function stepOf(step: string | undefined, span: number): number {
  const wanted = step === undefined ? span / 1000 / MOST_POINTS : lengthOf(step) / 1000;
  const least = step === undefined ? 5 : span / 1000 / 5000;
  return Math.max(1, Math.ceil(Math.max(wanted, least)));
}

function noteOf(total: number, left: number | undefined, advice: string): string | undefined {
  if (total === 0)
    return "The query is valid, but matches no series in this period. Check names with list_metrics and labels with list_labels.";
  return left ? `${left} series are not shown: ${advice}.` : undefined;
}
