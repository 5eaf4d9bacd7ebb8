import {
  each,
  firstOf,
  highestFirst,
  isoPeriod,
  lastHour,
  lenient,
  mentions,
  type Period,
  periodOf,
  resultSchema,
  seriesSummary,
  summarise,
  TEAM_RANGE,
  TEAM_SNAPSHOT,
  textLike,
} from "skillflow/internal";
import * as z from "zod";
import { contains, monitoringTool, namedOf, pairs, secondsOf, text } from "./service.ts";

const namespace = z.string().min(1).max(255).describe("Such as AWS/Lambda, AWS/ApplicationELB, or a custom namespace.");
const metric = z.string().min(1).max(255).describe("Such as Errors.");

/** A metric, or an expression instead. */
const measured = {
  namespace: namespace.optional(),
  metric: metric.optional(),
  dimensions: z
    .array(z.strictObject({ name: z.string().min(1).max(255), value: z.string().min(1).max(1024) }))
    .max(30)
    .optional()
    .describe("All dimensions of the metric, from list_metrics."),
  stat: textLike(/^(Average|Sum|Minimum|Maximum|SampleCount|p\d{1,2}(\.\d{1,2})?)$/, 20)
    .optional()
    .describe("Sum, Average, Maximum, p99 … Default Average."),
  expression: z.string().min(1).max(2048).optional(),
};

export const metricTools = [
  monitoringTool({
    name: "list_metrics",
    description:
      "Lists metrics that had data in the last three hours: namespace, name and dimensions. get_metric_data needs all dimensions. Give a namespace: an account has thousands of metrics.",
    ...TEAM_SNAPSHOT,
    selects: ["namespace", "metric", "contains"],
    input_schema: z.strictObject({
      namespace: namespace.optional(),
      metric: metric.optional(),
      contains: contains.describe("In namespace, name or dimensions. Case-insensitive."),
      limit: z.int().min(1).max(100).optional().describe("Default 30."),
    }),
    output_schema: resultSchema(
      "metrics matching",
      "metrics:[{ namespace metric dimensions:any }] matching:number left_out:number incomplete note",
    ),
    work: async (act, input) => {
      const all: z.infer<typeof listed>[] = [];
      let NextToken: string | undefined;
      for (let page = 1; page <= MOST_PAGES; page++) {
        const found = await act("ListMetrics", {
          input: { Namespace: input.namespace, MetricName: input.metric, RecentlyActive: "PT3H", NextToken },
          answer: z.object({ Metrics: z.array(listed), NextToken: text }),
        });
        all.push(...found.Metrics);
        NextToken = found.NextToken ?? undefined;
        if (NextToken === undefined) break;
      }
      const matching = all
        .map(({ Namespace, MetricName, Dimensions }) => {
          return { namespace: Namespace, metric: MetricName, dimensions: namedOf(Dimensions) };
        })
        .filter((one) => mentions(one, input.contains));
      const { shown, ...counts } = firstOf(matching, input.limit ?? 30);
      return {
        metrics: shown,
        ...counts,
        incomplete: NextToken ? `Only the first ${all.length} were checked. Give a namespace or a metric.` : undefined,
        note:
          matching.length === 0 && !NextToken
            ? "No metric of the last three hours matches. Older ones are not listed."
            : undefined,
      };
    },
  }),
  monitoringTool({
    name: "get_metric_data",
    description:
      "Reads a metric over a period: minimum, maximum, average, first and last value, when, and a few points. `expression` instead of a metric: SEARCH('{AWS/Lambda,FunctionName} MetricName=\"Errors\"', 'Sum') or SELECT SUM(Errors) FROM \"AWS/Lambda\" GROUP BY FunctionName (the last three hours). AWS bills per metric.",
    ...TEAM_RANGE,
    selects: ["dimensions", "expression"],
    echoes: ["from", "to"],
    input_schema: z.strictObject({
      ...measured,
      ...lastHour,
      points: z.int().min(0).max(60).optional().describe("Points shown per series. Default 20."),
      limit: z.int().min(1).max(30).optional().describe("Number of series, highest peak first. Default 10."),
    }),
    output_schema: resultSchema(
      "series series_total",
      `series:[{ label status ${seriesSummary} }] series_total:number left_out:number from to step_seconds:number
        remarks:[text] note`,
    ),
    work: async (act, input, context) => {
      const period = periodOf(input, context.now());
      const step = stepOf(period, context.now());
      const found = await act("GetMetricData", {
        input: {
          MetricDataQueries: [queryOf(input, step)],
          StartTime: secondsOf(period.from),
          EndTime: secondsOf(period.to),
          ScanBy: "TimestampAscending",
        },
        answer: dataAnswer,
      });
      const all = found.MetricDataResults.map(({ Label, StatusCode, Timestamps, Values }) => ({
        label: Label,
        status: StatusCode === "Complete" ? undefined : StatusCode,
        ...summarise(
          (Timestamps ?? []).map((at, index) => [at * 1000, Values?.[index] ?? Number.NaN]),
          input.points ?? 20,
        ),
      }));
      const { shown, left_out } = highestFirst(all, input.limit ?? 10);
      return {
        series: shown,
        series_total: all.length,
        left_out,
        ...isoPeriod(period),
        step_seconds: step,
        remarks: found.Messages?.flatMap(({ Value }) => (Value ? [Value] : [])).slice(0, 5),
        note: all.every(({ count }) => count === 0) ? NO_DATA : undefined,
      };
    },
  }),
];

const MOST_PAGES = 4;
const NO_DATA =
  "No data: nothing was reported, or a dimension of the metric is missing. Counters such as Errors have no data while nothing happens.";

const listed = z.object({ Namespace: text, MetricName: text, Dimensions: pairs });
const series = z.object({
  ...each(text, "Label StatusCode"),
  ...each(z.array(z.number()).nullish(), "Timestamps Values"),
});
const dataAnswer = z.object({
  MetricDataResults: z.array(series),
  Messages: lenient(z.array(z.object({ Value: text }))),
});

function queryOf(wanted: z.infer<z.ZodObject<typeof measured>>, Period: number) {
  const { namespace: Namespace, metric: MetricName, dimensions: all, stat, expression } = wanted;
  if (expression) {
    if (Namespace || MetricName || all || stat) throw new Error("Give either a metric or an `expression`, not both.");
    return { Id: "q", Expression: expression, Period };
  }
  if (!Namespace || !MetricName) throw new Error("Give the `namespace` and the `metric`, or an `expression`.");
  const Dimensions = all?.map(({ name: Name, value: Value }) => ({ Name, Value }));
  return { Id: "q", MetricStat: { Metric: { Namespace, MetricName, Dimensions }, Period, Stat: stat ?? "Average" } };
}

const POINTS = 240;
const DAY_MS = 8.64e7;

/** Returns a period in seconds that gives about 240 points and that AWS still keeps for data of this age. */
function stepOf({ from: start, to: end }: Period, now: number): number {
  const age = now - start;
  const least = age > 63 * DAY_MS ? 3600 : age > 15 * DAY_MS ? 300 : 60;
  return Math.max(least, Math.ceil((end - start) / 1000 / POINTS / least) * least);
}
