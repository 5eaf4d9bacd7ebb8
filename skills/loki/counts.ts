import {
  clip,
  firstOf,
  highestFirst,
  isoPeriod,
  lastHour,
  lengthOf,
  lenient,
  type Period,
  periodOf,
  RANGE,
  resultSchema,
  seriesSummary,
  summarise,
  textLike,
} from "skillflow/internal";
import * as z from "zod";
import { bounds, query, selector } from "./fields.ts";
import { answered, labels, lokiTool, readOf, stats } from "./service.ts";

const COUNTS = `from to step_seconds:number series:[{ labels:any ${seriesSummary} }] series_total:number left_out:number read:{
  bytes:number lines:number } note`;

export const countTools = [
  lokiTool({
    name: "count_logs",
    description:
      "Evaluates LogQL that returns numbers, over a period: minimum, maximum, average, first and last value of each series with times, and a few points. The result is small, but Loki reads all matching lines. For lines, use search_logs.",
    ...RANGE,
    selects: ["query"],
    echoes: ["from", "to"],
    input_schema: z.strictObject({
      query: query.describe('Such as sum by (level) (count_over_time({app="checkout"} |= "error" [5m])).'),
      ...lastHour,
      step: textLike(/^[1-9]\d{0,4}[smhd]$/)
        .optional()
        .describe("Best set to the query's range: 5m. Default: gives 60 points."),
      points: z.int().min(0).max(60).optional().describe("Points shown per series. Default 20; 0 for none."),
      limit: z.int().min(1).max(30).optional().describe("Number of series, highest peak first. Default 10."),
    }),
    output_schema: resultSchema("series series_total", COUNTS),
    work: async (ask, input, context) => {
      const period = periodOf(input, context.now());
      const step = stepOf(input.step, period);
      const { data } = await ask({
        path: ["query_range"],
        query: { query: input.query, ...bounds(period), step },
        answer: matrixAnswer,
      });
      if (data.resultType !== "matrix")
        throw new Error(
          "This query returns lines, not numbers. Wrap it in count_over_time(… [5m]), or use search_logs.",
        );
      const all = data.result.map(({ metric, values }) => {
        const points = values.map(([at, value]) => [at * 1000, Number(value)] as const);
        return { labels: metric, ...summarise(points, input.points ?? 20) };
      });
      const { shown, left_out } = highestFirst(all, input.limit ?? 10);
      return {
        ...isoPeriod(period),
        step_seconds: step,
        series: shown,
        series_total: all.length,
        left_out,
        read: readOf(data.stats),
        note: all.length === 0 ? "The query is valid, but no line of this period matches." : undefined,
      };
    },
  }),
  lokiTool({
    name: "list_patterns",
    description:
      "Lists the line patterns that Loki detected for a selector, most frequent first, with counts and times: what a service logs, and which kind of line is new. Cheap: reads no lines. If patterns are disabled, use count_logs with filters.",
    ...RANGE,
    selects: ["selector", "contains"],
    echoes: ["from", "to"],
    input_schema: z.strictObject({
      selector,
      ...lastHour,
      contains: z.string().min(1).max(200).optional().describe("In the pattern. Case-insensitive: error."),
      limit: z.int().min(1).max(50).optional().describe("Default 15."),
    }),
    output_schema: resultSchema(
      "patterns",
      `from to patterns:[{ pattern level count:number first last peak:any }] lines_total:number patterns_total:number
        left_out:number note`,
    ),
    work: async (ask, input, context) => {
      const period = periodOf(input, context.now());
      const { data } = await ask({
        path: ["patterns"],
        query: {
          query: input.selector,
          ...bounds(period),
          step: stepOf(undefined, period),
        },
        instead: "Patterns are disabled on this server. Use count_logs with filters.",
        answer: patternsAnswer,
      });
      const words = input.contains?.toLowerCase() ?? "";
      const all = (data ?? []).map(describePattern).sort((a, b) => b.count - a.count);
      const matching = all.filter(({ pattern }) => pattern.toLowerCase().includes(words));
      const { shown, left_out } = firstOf(matching, input.limit ?? 15);
      return {
        ...isoPeriod(period),
        patterns: shown.map((one) => ({ ...one, pattern: clip(one.pattern, 700) })),
        lines_total: all.reduce((sum, { count }) => sum + count, 0),
        patterns_total: all.length,
        left_out,
        note: all.length === 0 ? NO_PATTERNS : undefined,
      };
    },
  }),
];

const NO_PATTERNS =
  "No patterns for this selector and period: there are no lines, too few of each kind, or the patterns are no longer stored. Check with count_logs.";

const matrixAnswer = answered(
  z.discriminatedUnion("resultType", [
    z.object({
      resultType: z.literal("matrix"),
      result: z.array(z.object({ metric: labels, values: z.array(z.tuple([z.number(), z.string()])) })),
      stats,
    }),
    z.object({ resultType: z.enum(["streams", "vector", "scalar"]) }),
  ]),
);

const pattern = z.object({
  pattern: z.string(),
  level: lenient(z.string()),
  samples: z.array(z.tuple([z.number(), z.number()])).nullish(),
});
const patternsAnswer = answered(z.array(pattern).nullish());

function describePattern({ pattern: text, level, samples }: z.infer<typeof pattern>) {
  const seen = (samples ?? []).filter(([, count]) => count > 0);
  const summary = summarise(
    seen.map(([at, count]) => [at * 1000, count] as const),
    0,
  );
  const count = seen.reduce((sum, [, times]) => sum + times, 0);
  return { pattern: text, level, count, first: summary.first?.at, last: summary.last?.at, peak: summary.max };
}

const MOST_POINTS = 60;

/** Returns the step in seconds, widened for long periods because Loki refuses more than 11,000 points. */
function stepOf(step: string | undefined, { from: begin, to: end }: Period): number {
  const span = (end - begin) / 1000;
  if (step === undefined) return Math.max(10, Math.ceil(span / MOST_POINTS));
  return Math.max(lengthOf(step) / 1000, Math.ceil(span / 5000));
}
