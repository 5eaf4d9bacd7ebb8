import { firstOf, periodOf, resultSchema, TEAM_RANGE, textLike } from "skillflow/internal";
import * as z from "zod";
import { bounds, contains, limit, period, selector } from "./fields.ts";
import { answered, labels, prometheusTool, remarksOf, text } from "./service.ts";

export const nameTools = [
  prometheusTool({
    name: "list_metrics",
    description:
      "Finds metrics by words in their names, with type and help. Use it before you write a query, unless you know the name.",
    ...TEAM_RANGE,
    selects: ["contains", "selector"],
    input_schema: z.strictObject({
      contains: z.string().min(1).max(100).describe("In the name. Case-insensitive: http, 5xx, queue."),
      selector,
      ...period,
      limit: limit.describe("Default 30."),
    }),
    output_schema: resultSchema(
      "metrics matching",
      "metrics:[{ name type help }] matching:number left_out:number note",
    ),
    work: async (ask, input, context) => {
      const names = await ask({
        path: ["label", "__name__", "values"],
        query: { ...bounds(periodOf(input, context.now())), "match[]": input.selector },
        answer: answered(z.array(z.string())),
      });
      const words = input.contains.toLowerCase();
      const { shown, ...counts } = firstOf(
        names.data.filter((name) => name.toLowerCase().includes(words)),
        input.limit ?? 30,
      );
      const known = shown.length === 0 ? { data: {} } : await ask({ path: ["metadata"], answer: metadata });
      return {
        metrics: shown.map((name) => describeMetric(name, known.data)),
        ...counts,
        note:
          shown.length === 0
            ? `None of ${names.data.length} metrics of this period has a name that contains it.`
            : undefined,
      };
    },
  }),
  prometheusTool({
    name: "list_labels",
    description:
      "Lists the labels of the series that match a selector, or with `label` the values of one label: which services, instances and codes exist. The result is small. For complete series: list_series.",
    ...TEAM_RANGE,
    selects: ["selector", "contains"],
    input_schema: z.strictObject({
      label: textLike(/^[A-Za-z_][A-Za-z0-9_]*$/, 200)
        .optional()
        .describe("Label whose values to list. Without it: the label names."),
      selector,
      contains: contains.describe("In the name or value."),
      ...period,
      limit: limit.describe("Default 50."),
    }),
    output_schema: resultSchema("values matching", "values:[text] matching:number left_out:number remarks:[text] note"),
    work: async (ask, input, context) => {
      const { data, ...told } = await ask({
        path: input.label ? ["label", input.label, "values"] : ["labels"],
        query: { ...bounds(periodOf(input, context.now())), "match[]": input.selector },
        answer: answered(z.array(z.string())),
      });
      const words = input.contains?.toLowerCase() ?? "";
      const matching = data.filter((value) => value.toLowerCase().includes(words));
      const { shown, ...counts } = firstOf(matching, input.limit ?? 50);
      return {
        values: shown,
        ...counts,
        remarks: remarksOf(told),
        note: data.length === 0 ? "No match in this period. Check the label, the selector and the period." : undefined,
      };
    },
  }),
  prometheusTool({
    name: "list_series",
    description:
      "Lists the series that match a selector, by their labels, and how many values each label has: why a query is expensive or matches nothing. Give a narrow selector. For values over time: query_range.",
    ...TEAM_RANGE,
    selects: ["selector"],
    input_schema: z.strictObject({
      selector: z.string().min(1).max(1000).describe('Such as http_requests_total{job="checkout"}.'),
      ...period,
      limit: z.int().min(1).max(50).optional().describe("Default 10."),
    }),
    output_schema: resultSchema(
      "series series_total",
      "series:[any] label_values:any series_total:number left_out:number remarks:[text] note",
    ),
    work: async (ask, input, context) => {
      const { data, ...told } = await ask({
        path: ["series"],
        query: { ...bounds(periodOf(input, context.now())), "match[]": input.selector, limit: MOST_SERIES },
        answer: answered(z.array(labels)),
      });
      const { shown, left_out } = firstOf(data, input.limit ?? 10);
      return {
        series: shown,
        label_values: valueCounts(data),
        series_total: data.length,
        left_out,
        remarks: remarksOf(told),
        note: seriesNote(data.length),
      };
    },
  }),
];

const MOST_SERIES = 5000;

const metadata = answered(z.record(z.string(), z.array(z.object({ type: text, help: text }))));

/** Describes a metric. Parts of histograms and summaries have the metadata of the whole. */
function describeMetric(name: string, known: Readonly<Record<string, readonly { type?: unknown; help?: unknown }[]>>) {
  const whole = name.replace(/_(bucket|count|sum)$/, "");
  const [first] = (Object.hasOwn(known, name) && known[name]) || (Object.hasOwn(known, whole) && known[whole]) || [];
  return { name, type: first?.type, help: first?.help || undefined };
}

function valueCounts(series: readonly Readonly<Record<string, string>>[]) {
  const values = new Map<string, Set<string>>();
  for (const own of series)
    for (const [label, value] of Object.entries(own)) values.set(label, (values.get(label) ?? new Set()).add(value));
  const counts = [...values].map(([label, { size }]) => [label, size] as const).sort((a, b) => b[1] - a[1]);
  return Object.fromEntries(counts.slice(0, 40));
}

function seriesNote(total: number): string | undefined {
  if (total === 0) return "The selector is valid, but matches no series of this period.";
  return total >= MOST_SERIES ? `Counted over the first ${MOST_SERIES} series. There may be more.` : undefined;
}
