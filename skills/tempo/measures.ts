import {
  firstOf,
  highestFirst,
  isoPeriod,
  lastHour,
  periodOf,
  RANGE,
  resultSchema,
  seriesSummary,
  summarise,
  textLike,
} from "skillflow/internal";
import * as z from "zod";
import { answered, attribute, attributesOf, periodParameters, query, secondsOf, tempoTool, text } from "./service.ts";

export const measureTools = [
  tempoTool({
    name: "measure_spans",
    description:
      "Evaluates TraceQL that returns numbers, over a period: rates, errors and latencies by service or route, with the peak, first and last value and a few points of each series. Expensive over long periods. Call this first to see which service fails and since when.",
    ...RANGE,
    selects: ["query"],
    echoes: ["from", "to"],
    input_schema: z.strictObject({
      query: query.describe(
        "{status=error} | rate() by (resource.service.name), or {kind=server} | quantile_over_time(duration, .95) by (span.http.route).",
      ),
      ...lastHour,
      step: textLike(/^[1-9]\d{0,4}[smh]$/)
        .optional()
        .describe("Such as 5m. Default: gives 60 points."),
      points: z.int().min(0).max(60).optional().describe("Points shown per series. Default 20; 0 for none."),
      limit: z.int().min(1).max(30).optional().describe("Number of series, highest peak first. Default 10."),
    }),
    output_schema: resultSchema(
      "series series_total",
      `from to step series:[{ labels:any ${seriesSummary} }] series_total:number left_out:number note`,
    ),
    work: async (ask, input, context) => {
      const period = periodOf(input, context.now());
      const step = input.step ?? `${Math.max(15, Math.ceil((period.to - period.from) / 60_000))}s`;
      const told = await ask({
        path: ["metrics", "query_range"],
        query: { q: input.query, ...secondsOf(period), step },
        instead:
          "This Tempo does not compute span metrics. Use search_traces, or the skill prometheus if it has the metrics.",
        answer: seriesAnswer,
      });
      const all = (told.series ?? []).map(({ labels, samples }) => {
        const points = (samples ?? []).map(({ timestampMs, value }) => [Number(timestampMs), value ?? 0] as const);
        return { labels: attributesOf(labels), ...summarise(points, input.points ?? 20) };
      });
      const { shown, left_out } = highestFirst(all, input.limit ?? 10);
      return {
        ...isoPeriod(period),
        step,
        series: shown,
        series_total: all.length,
        left_out,
        note: all.length === 0 ? "The query is valid, but no span of this period matches." : undefined,
      };
    },
  }),
  tempoTool({
    name: "list_attributes",
    description:
      "Lists the attributes of spans, or with `attribute` the values of one: which services, routes, versions and status codes exist. Cheap. Use it before you write a query.",
    ...RANGE,
    selects: ["query", "contains"],
    input_schema: z.strictObject({
      attribute: textLike(/^[A-Za-z.][A-Za-z0-9_.:-]*$/, 200)
        .optional()
        .describe(
          "Attribute with its scope: resource.service.name, span.http.route; or name, status. Without it: the attribute names.",
        ),
      query: query.optional().describe('Only of spans with this: {resource.service.name="checkout"}.'),
      contains: z.string().min(1).max(200).optional().describe("In the name or value."),
      ...lastHour,
      limit: z.int().min(1).max(200).optional().describe("Default 60."),
    }),
    output_schema: resultSchema("values", "values:[text] matching:number left_out:number note"),
    work: async (ask, input, context) => {
      const asked = { query: { ...periodParameters(input, context.now()), q: input.query } };
      const all = input.attribute
        ? (
            await ask({ path: ["v2", "search", "tag", input.attribute, "values"], ...asked, answer: valuesAnswer })
          ).tagValues?.map(({ value }) => String(value))
        : (await ask({ path: ["v2", "search", "tags"], ...asked, answer: tagsAnswer })).scopes?.flatMap(scoped);
      const words = input.contains?.toLowerCase() ?? "";
      const matching = (all ?? []).filter((value) => value.toLowerCase().includes(words));
      const { shown, ...counts } = firstOf(matching, input.limit ?? 60);
      const none = "No match in this period. Check the scope (resource. or span.) and the period.";
      return { values: shown, ...counts, note: all?.length ? undefined : none };
    },
  }),
];

const sample = z.object({ timestampMs: z.union([z.string(), z.number()]), value: z.number().nullish() });
const series = z.object({ labels: z.array(attribute).nullish(), samples: z.array(sample).nullish() });
const seriesAnswer = answered({ series: z.array(series).nullish() });
const valuesAnswer = answered({ tagValues: z.array(z.object({ type: text, value: z.unknown() })).nullish() });
const tag = z.object({ name: z.string(), tags: z.array(z.string()).nullish() });
const tagsAnswer = answered({ scopes: z.array(tag).nullish() });

/** Returns names as TraceQL writes them. Only intrinsic ones have no scope. */
function scoped({ name, tags }: z.infer<typeof tag>): readonly string[] {
  return (tags ?? []).map((each) => (name === "intrinsic" ? each : `${name}.${each}`));
}
