import { textLike } from "skillflow/internal";
import * as z from "zod";
import { number, text } from "./answers.ts";
import { DEFAULT_LIMIT } from "./fields.ts";

/** Parameters for counting and measuring logs and spans. */

const facet = textLike(/^[@A-Za-z_][A-Za-z0-9_.@/-]*$/, 200);

export const measuring = {
  measure: z
    .enum(["count", "cardinality", "avg", "sum", "min", "max", "median", "pc75", "pc90", "pc95", "pc99"])
    .optional()
    .describe("Default count. All others need metric."),
  metric: facet.optional().describe("Such as @duration, or @usr.id for cardinality."),
  group_by: z.array(facet).min(1).max(3).optional().describe("Facets: service, status, @http.status_code."),
  interval: textLike(/^[1-9]\d{0,3}[smhd]$/)
    .optional()
    .describe("Step for a series over time, such as 5m."),
  limit: z.int().min(1).max(50).optional().describe("Number of values per facet, largest first."),
};

type Measuring = z.infer<z.ZodObject<typeof measuring>>;

export const BUCKET = "by:{} value:any points:[[any]] more_points";

export function computation({ measure = "count", metric, group_by, interval, limit: most = DEFAULT_LIMIT }: Measuring) {
  if (measure !== "count" && !metric) throw new Error(`${measure} needs metric: the attribute to measure.`);
  const measured = { aggregation: measure, metric };
  const over = interval ? { type: "timeseries", interval } : { type: "total" };
  const sort = { type: "measure", ...measured, order: "desc" };
  return {
    compute: [{ ...measured, ...over }],
    group_by: group_by?.map((name) => ({ facet: name, limit: most, sort })),
  };
}

const MOST_STEPS = 100;

const step = z.object({ time: text, value: number });

/** Returns a total as a number, or a series as a list of points. */
export function measured(value: unknown) {
  const steps = z.array(step).safeParse(value);
  if (!steps.success) return { value };
  const { data } = steps;
  const left = data.length - MOST_STEPS;
  const points = data.slice(0, MOST_STEPS).map(({ time, value: at }) => [time, at]);
  return { points, ...(left > 0 ? { more_points: `${left} left out: use a longer interval` } : {}) };
}
