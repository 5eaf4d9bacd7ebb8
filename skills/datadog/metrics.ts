import {
  clip,
  each,
  fitting,
  isoTime,
  lenient,
  type Point,
  pick,
  resultSchema,
  summarise,
  TEAM_RANGE,
  TEAM_SNAPSHOT,
  textLike,
} from "skillflow/internal";
import * as z from "zod";
import { number, text, texts } from "./answers.ts";
import { between, DEFAULT_LIMIT, period, query, seconds } from "./fields.ts";
import { datadogTool } from "./service.ts";

export const metricTools = [
  datadogTool({
    name: "query_metrics",
    description: "Reads metrics: minimum, maximum, average, last value and points of each series.",
    ...TEAM_RANGE,
    selects: ["query"],
    echoes: ["from", "to"],
    input_schema: z.strictObject({
      query: query.describe("Such as sum:trace.http.request.errors{service:checkout} by {env}.as_count()."),
      ...between,
      points: z.int().min(0).max(60).optional().describe("Points per series. Default 20; 0 for none."),
      limit: z.int().min(1).max(30).optional().describe("Number of series, highest peak first."),
    }),
    output_schema: resultSchema(
      "series series_total",
      `from to series:[{ metric scope expression unit interval_seconds:number count:number min:number max:number
        avg:number last:{ at value:number } points:[[any]] }] series_total:number note`,
    ),
    work: async (ask, input, context) => {
      const span = period(input, context.now());
      const bounds = { from: seconds(span.from), to: seconds(span.to) };
      if (bounds.from >= bounds.to) throw new Error("The period is empty: from must be before to.");
      const answer = await ask({
        path: ["api", "v1", "query"],
        query: { ...bounds, query: input.query },
        needs: "timeseries_query",
        answer: seriesAnswer,
      });
      // Datadog reports an invalid query with status 200.
      if (answer.error) throw new Error(`Datadog rejected the query: ${clip(answer.error, 500)}`);
      const series = (answer.series ?? []).map((one) => briefOf(one, input.points ?? MOST_POINTS));
      const highest = series.sort((a, b) => (b.max ?? -Infinity) - (a.max ?? -Infinity));
      return {
        from: isoTime(bounds.from * 1000),
        to: isoTime(bounds.to * 1000),
        series: highest.slice(0, input.limit ?? DEFAULT_LIMIT),
        series_total: series.length,
        note: series.length === 0 ? "No data. Check the metric's name, its tags and the period." : undefined,
      };
    },
  }),
  datadogTool({
    name: "find_metrics",
    description: "Finds metrics of the last 24 hours by a part of their name.",
    ...TEAM_SNAPSHOT,
    selects: ["name"],
    input_schema: z.strictObject({
      name: textLike(/^[A-Za-z0-9_.]+$/, 200).describe("Such as checkout or http.request."),
      limit: z.int().min(1).max(200).optional().describe("Default 50."),
    }),
    output_schema: resultSchema("total metrics", "total:number metrics:[text] left_out:number"),
    work: async (ask, input) => {
      const { results } = await ask({
        path: ["api", "v1", "search"],
        query: { q: `metrics:${input.name}` },
        needs: "metrics_read",
        answer: z.object({ results: z.object({ metrics: z.array(z.string()) }) }),
      });
      const shown = results.metrics.slice(0, input.limit ?? 50);
      const total = results.metrics.length;
      return { total, metrics: shown, left_out: total > shown.length ? total - shown.length : undefined };
    },
  }),
  datadogTool({
    name: "describe_metric",
    description: "Reads a metric's type and unit, and the tags to filter and group by.",
    ...TEAM_SNAPSHOT,
    echoes: ["metric"],
    input_schema: z.strictObject({
      metric: textLike(/^[A-Za-z][A-Za-z0-9_.]*$/, 200),
    }),
    output_schema: resultSchema(
      "metric tags",
      "metric type unit per_unit description tags:{} tags_total:number left_out",
    ),
    work: async (ask, { metric }) => {
      const needs = "metrics_read";
      const about = await ask({ path: ["api", "v1", "metrics", metric], needs, answer: metricAnswer });
      const { data } = await ask({ path: ["api", "v2", "metrics", metric, "all-tags"], needs, answer: tagsAnswer });
      return { metric, ...about, ...tagsOf(data.attributes?.tags ?? []) };
    },
  }),
];

const metricAnswer = z.object({ type: text, unit: text, per_unit: text, description: text });
const tagsAnswer = z.object({ data: z.object({ attributes: z.object({ tags: texts }).nullish() }) });

const MOST_KEYS = 40;
const MOST_VALUES = 8;

/** Groups tags such as `env:prod` by key, with some values of each key. */
function tagsOf(tags: readonly string[]) {
  const byKey = new Map<string, string[]>();
  for (const tag of tags) {
    const [key = "", ...value] = tag.split(":");
    const values = byKey.get(key) ?? [];
    values.push(value.join(":"));
    byKey.set(key, values);
  }
  const brief = [...byKey].slice(0, MOST_KEYS).map(([key, values]) => {
    const left = values.length - MOST_VALUES;
    return [key, [...values.slice(0, MOST_VALUES), ...(left > 0 ? [`… ${left} more`] : [])]] as const;
  });
  const shown = fitting(brief);
  const left = byKey.size - shown.length;
  return {
    tags: Object.fromEntries(shown),
    tags_total: tags.length,
    left_out: left > 0 ? `${left} more keys` : undefined,
  };
}

const MOST_POINTS = 20;

const point = z.tuple([z.number(), z.number().nullable()]);
const seriesOf = z.object({
  ...each(text, "metric scope expression"),
  interval: number,
  unit: lenient(z.array(z.object({ short_name: text, name: text }).nullish())),
  pointlist: z.array(point).nullish(),
});
type Series = z.infer<typeof seriesOf>;
const seriesAnswer = z.object({ error: text, series: z.array(seriesOf).nullish() });

function briefOf(series: Series, most: number) {
  const all: Point[] = (series.pointlist ?? []).flatMap(([at, value]) => (value === null ? [] : [[at, value]]));
  const values = all.map(([, value]) => value);
  const last = all.at(-1);
  const { count, avg, points = [] } = summarise(all, most);
  return {
    ...pick(series, "metric scope expression"),
    unit: unitOf(series),
    interval_seconds: series.interval,
    count,
    min: values.length > 0 ? least(values) : undefined,
    max: values.length > 0 ? -least(values.map((value) => -value)) : undefined,
    avg,
    last: last && { at: isoTime(last[0]), value: last[1] },
    points: most === 0 ? undefined : points,
  };
}

/** Returns a unit such as `bytes` or `requests/s`. The second unit is the divisor. */
function unitOf({ unit }: Series): string | undefined {
  const names = (unit ?? []).flatMap((part) => part?.short_name ?? part?.name ?? []);
  return names.length > 0 ? names.join("/") : undefined;
}

function least(values: readonly number[]): number {
  return values.reduce((a, b) => Math.min(a, b));
}
