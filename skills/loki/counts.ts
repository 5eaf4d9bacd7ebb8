import {
  clip,
  defineTool,
  each,
  firstOf,
  isoTime,
  lenient,
  type Period,
  periodOf,
  resultSchema,
  seriesSummary,
  summarise,
} from "skillflow";
import * as z from "zod";
import { from, nanoseconds, query, selector, to } from "./fields.ts";
import { API, answered, labels, NEEDS, readOf, sample, stats, withLoki } from "./service.ts";

const COUNTS = {
  ...each("text", "from to"),
  step_seconds: "number",
  series: [{ labels: "any", ...seriesSummary }],
  ...each("number", "series_total left_out"),
  read: { bytes: "number", lines: "number" },
  note: "text",
} as const;

export const countTools = [
  defineTool({
    name: "count_logs",
    description:
      "Evaluates LogQL that gives numbers, over a period: of each series minimum, maximum, average, first and last value, when, and a few points. One small answer, however many lines; Loki still reads them all. For lines take search_logs.",
    effect: "read",
    input_schema: z.strictObject({
      query: query.describe('Such as sum by (level) (count_over_time({app="checkout"} |= "error" [5m])).'),
      from,
      to,
      step: z
        .string()
        .regex(/^[1-9]\d{0,4}[smhd]$/)
        .optional()
        .describe("Best the query's own range: 5m. Default what gives 60 points."),
      points: z.int().min(0).max(60).optional().describe("Shown of each series; default 20, 0 for none."),
      limit: z.int().min(1).max(30).optional().describe("Series, highest peak first; default 10."),
    }),
    output_schema: resultSchema(COUNTS, "series", "series_total"),
    handler: (input, context) =>
      withLoki(context, async (ask) => {
        const period = periodOf(input);
        const step = stepOf(input.step, period);
        const { data } = await ask({
          path: [...API, "query_range"],
          query: { query: input.query, start: nanoseconds(period.from), end: nanoseconds(period.to), step },
          needs: NEEDS,
          answer: matrixAnswer,
        });
        if (data.resultType !== "matrix")
          throw new Error(
            "This query gives lines, not numbers: wrap it in count_over_time(… [5m]), or read it with search_logs.",
          );
        const all = data.result.map(({ metric, values }) => {
          const points = values.map(([at, value]) => [at * 1000, Number(value)] as const);
          return { labels: metric, ...summarise(points, input.points ?? 20) };
        });
        const highest = all.sort((a, b) => (b.max?.value ?? -Infinity) - (a.max?.value ?? -Infinity));
        const { shown, left_out } = firstOf(highest, input.limit ?? 10);
        return {
          from: isoTime(period.from),
          to: isoTime(period.to),
          step_seconds: step,
          series: shown,
          series_total: all.length,
          left_out,
          read: readOf(data.stats),
          note:
            all.length === 0 ? "The query is valid and no line of this period fits: nothing was counted." : undefined,
        };
      }),
  }),
  defineTool({
    name: "list_patterns",
    description:
      "Lists the patterns of lines that Loki found under a selector, most frequent first, how often and when: what a service logs, and which kind of line is new. Cheap: reads no lines. Where patterns are not switched on, count_logs with filters.",
    effect: "read",
    input_schema: z.strictObject({
      selector,
      from,
      to,
      contains: z.string().min(1).max(200).optional().describe("In the pattern, case aside: error."),
      limit: z.int().min(1).max(50).optional().describe("Default 15."),
    }),
    output_schema: resultSchema(
      {
        ...each("text", "from to"),
        patterns: [{ pattern: "text", level: "text", count: "number", first: "text", last: "text", peak: "any" }],
        ...each("number", "lines_total patterns_total left_out"),
        note: "text",
      },
      "patterns",
    ),
    handler: (input, context) =>
      withLoki(context, async (ask) => {
        const period = periodOf(input);
        const { data } = await ask({
          path: [...API, "patterns"],
          query: {
            query: input.selector,
            start: nanoseconds(period.from),
            end: nanoseconds(period.to),
            step: stepOf(undefined, period),
          },
          needs: NEEDS,
          instead: "Patterns are not switched on here: use count_logs with filters in place of them.",
          answer: patternsAnswer,
        });
        const words = input.contains?.toLowerCase() ?? "";
        const all = (data ?? []).map(describePattern).sort((a, b) => b.count - a.count);
        const matching = all.filter(({ pattern }) => pattern.toLowerCase().includes(words));
        const { shown, left_out } = firstOf(matching, input.limit ?? 15);
        return {
          from: isoTime(period.from),
          to: isoTime(period.to),
          patterns: shown.map((one) => ({ ...one, pattern: clip(one.pattern, 700) })),
          lines_total: all.reduce((sum, { count }) => sum + count, 0),
          patterns_total: all.length,
          left_out,
          note: all.length === 0 ? NO_PATTERNS : undefined,
        };
      }),
  }),
];

const NO_PATTERNS =
  "No patterns for this selector and period: there are no lines, too few of a kind, or they are older than patterns are kept. count_logs tells which.";

const matrixAnswer = answered(
  z.discriminatedUnion("resultType", [
    z.object({
      resultType: z.literal("matrix"),
      result: z.array(z.object({ metric: labels, values: z.array(sample) })),
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
const UNITS: Readonly<Record<string, number>> = { s: 1, m: 60, h: 3600, d: 86_400 };

/** Returns the step in seconds, widened for long periods because Loki refuses more than 11,000 points. */
function stepOf(step: string | undefined, { from: begin, to: end }: Period): number {
  const span = (end - begin) / 1000;
  const [, amount = "", unit = ""] = /^(\d+)([smhd])$/.exec(step ?? "") ?? [];
  if (step === undefined) return Math.max(10, Math.ceil(span / MOST_POINTS));
  return Math.max(Number(amount) * (UNITS[unit] ?? 1), Math.ceil(span / 5000));
}
