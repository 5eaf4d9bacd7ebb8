import { defineTool, type Json, NothingDone } from "skillflow";
import { resultSchema, SNAPSHOT } from "skillflow/internal";
import * as z from "zod";
import { onTable, type Supabase } from "../client.ts";
import { Refusal } from "../failure.ts";
import { type Place, readable, table } from "../places.ts";
import { fitRows, isCutAt, rowsOf } from "../rows.ts";
import { parseColumn, renderColumn } from "./columns.ts";
import { anyOf, renderFilter, where } from "./filters.ts";

const DEFAULT_LIMIT = 20;
const MEASURES = ["count", "sum", "avg", "min", "max"] as const;
type Measure = (typeof MEASURES)[number];

export const groupingTools = [
  defineTool({
    name: "group",
    description: "Counts or measures rows by the values of columns, largest group first.",
    ...SNAPSHOT,
    reads: "private",
    selects: ["where", "any_of"],
    input_schema: z.strictObject({
      table,
      by: z.array(z.string().min(1).max(300)).min(1).max(3).describe("Columns or json paths, as in query."),
      measure: z.enum(MEASURES).optional().describe("Default count. All others need `of`."),
      of: z.string().min(1).max(300).optional().describe("The column to measure."),
      where: where.optional(),
      any_of: anyOf,
      limit: z.int().min(1).max(100).optional().describe("Number of groups. Default 20."),
    }),
    output_schema: resultSchema(
      "groups groups_total",
      "groups:[any] groups_total:number rows_counted:number incomplete",
    ),
    handler: (input, context) => {
      const { measure = "count", limit = DEFAULT_LIMIT } = input;
      if (measure !== "count" && input.of === undefined) throw new Error(`${measure} needs of: the column to measure.`);
      const place = readable(input.table, context);
      const wanted: Wanted = {
        by: input.by.map((column) => renderColumn(parseColumn(column))),
        measure,
        of: measure === "count" ? undefined : renderColumn(parseColumn(input.of ?? "")),
        filter: renderFilter(input.where ?? [], input.any_of),
      };
      return onTable(place, context, async (supabase) => {
        const { groups, ...notes } = await groupsOf(supabase, place, wanted);
        const { rows } = fitRows(
          [...groups]
            .sort(largestFirst)
            .slice(0, limit)
            .map((group) => named(input.by, measure, group)),
        );
        return { groups: rows, groups_total: groups.length, ...notes };
      });
    },
  }),
];

interface Wanted {
  readonly by: readonly string[];
  readonly measure: Measure;
  readonly of: string | undefined;
  readonly filter: string | undefined;
}

interface Group {
  readonly key: readonly Json[];
  readonly value: Json;
}

interface Groups {
  readonly groups: readonly Group[];
  readonly rows_counted?: number;
  readonly incomplete?: string;
}

/** Sorts empty values last. The database also measures times and texts. */
function largestFirst({ value: a }: Group, { value: b }: Group): number {
  if (a === null || b === null) return Number(a === null) - Number(b === null);
  const difference = Number(b) - Number(a);
  return Number.isNaN(difference) ? Number(String(a) < String(b)) - Number(String(a) > String(b)) : difference;
}

/** Groups rows in the database if the project allows aggregates, which it does not by default. */
async function groupsOf(supabase: Supabase, place: Place, wanted: Wanted): Promise<Groups> {
  try {
    return await groupedThere(supabase, place, wanted);
  } catch (error) {
    if (!(error instanceof Refusal && error.code === "PGRST123")) throw error;
    return groupedHere(supabase, place, wanted);
  }
}

const MOST_GROUPS = 1_000;

async function groupedThere(supabase: Supabase, place: Place, { by, measure, of, filter }: Wanted): Promise<Groups> {
  const keys = by.map((column, index) => `k${index}:${column}`);
  const value = of === undefined ? "value:count()" : `value:${of}.${measure}()`;
  const read = (from: number, to: number) => {
    const request = supabase.table(place).select([...keys, value].join(","));
    return supabase.ask((filter ? request.or(filter) : request).range(from, to));
  };
  const { data } = await read(0, MOST_GROUPS - 1);
  const groups = rowsOf(data).map((row) => ({
    key: by.map((_, index) => row[`k${index}`] ?? null),
    value: row["value"] ?? null,
  }));
  const { length } = groups;
  const isCut = await isCutAt(length, () => read(length, length));
  const incomplete = `Only ${length} groups were read, and there are more. These may not be the largest.`;
  return { groups, ...(isCut ? { incomplete } : {}) };
}

const PAGE = 1_000;
const MOST_PAGES = 10;

/** Groups rows here: reads only the needed columns, page by page. */
async function groupedHere(supabase: Supabase, place: Place, { by, measure, of, filter }: Wanted): Promise<Groups> {
  const columns = [...by.map((column, index) => `k${index}:${column}`), ...(of === undefined ? [] : [`value:${of}`])];
  const found = new Map<string, { readonly key: readonly Json[]; readonly values: number[] }>();
  let counted = 0;
  for (let page = 0; page < MOST_PAGES; page++) {
    let request = supabase.table(place).select(columns.join(","));
    if (filter) request = request.or(filter);
    // The order can then change between requests only within a group, whose rows count alike.
    for (const column of by) request = request.order(column);
    const { data } = await supabase.ask(request.range(counted, counted + PAGE - 1));
    const rows = rowsOf(data);
    for (const row of rows) {
      const key = by.map((_, index) => row[`k${index}`] ?? null);
      const group = found.get(JSON.stringify(key)) ?? { key, values: [] };
      if (of === undefined) group.values.push(1);
      else if (row["value"] !== null && row["value"] !== undefined) group.values.push(numberOf(row["value"], of));
      found.set(JSON.stringify(key), group);
    }
    counted += rows.length;
    if (rows.length === 0) break;
    if (page === MOST_PAGES - 1)
      return { groups: measured(found.values(), measure), rows_counted: counted, incomplete: MORE };
  }
  return { groups: measured(found.values(), measure), rows_counted: counted };
}

function numberOf(value: Json, column: string): number {
  const number = Number(value);
  if (!Number.isNaN(number)) return number;
  throw new NothingDone(
    `${column} has values that are not numbers, which this project's database does not measure. Use query with order.`,
  );
}

const MORE = "Only this many rows were read, because this project's database does not allow grouping. Narrow `where`.";

function measured(
  groups: Iterable<{ readonly key: readonly Json[]; readonly values: readonly number[] }>,
  measure: Measure,
) {
  return [...groups].map(({ key, values }): Group => ({ key, value: measureOf(values, measure) }));
}

function measureOf(values: readonly number[], measure: Measure): Json {
  const sum = values.reduce((total, value) => total + value, 0);
  if (measure === "count" || measure === "sum") return sum;
  if (values.length === 0) return null;
  if (measure === "avg") return sum / values.length;
  return values.reduce((one, other) => (measure === "min" ? Math.min(one, other) : Math.max(one, other)));
}

function named(by: readonly string[], measure: Measure, { key, value }: Group): Json {
  return { ...Object.fromEntries(by.map((column, index) => [column, key[index] ?? null])), [measure]: value };
}
