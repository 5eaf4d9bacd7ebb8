import { defineTool } from "skillflow";
import { resultSchema, SNAPSHOT } from "skillflow/internal";
import * as z from "zod";
import { onTable } from "./client.ts";
import { readable, table } from "./places.ts";
import { parseColumn, parseSelect, renderColumn, renderSelect } from "./query/columns.ts";
import { anyOf, renderFilter, where } from "./query/filters.ts";
import { fitRows, isCutAt, rowsOf } from "./rows.ts";

const DEFAULT_LIMIT = 20;

const order = z
  .array(z.strictObject({ column: z.string().min(1).max(300), descending: z.boolean().optional() }))
  .min(1)
  .max(5)
  .optional()
  .describe("Rows without a value come last.");

/** Read-only tools. PostgREST runs them in a read-only transaction, so even computed columns have no side effects. */
export const readingTools = [
  defineTool({
    name: "query",
    description: "Reads rows of one table or view, a page at a time.",
    ...SNAPSHOT,
    reads: "private",
    selects: ["where", "any_of"],
    input_schema: z.strictObject({
      table,
      select: z
        .string()
        .min(1)
        .max(1000)
        .optional()
        .describe("name, alias:name, name->key->>key, name::text. Default: all."),
      where: where.optional(),
      any_of: anyOf,
      order,
      limit: z.int().min(1).max(100).optional().describe("Default 20."),
      offset: z.int().min(0).max(100_000).optional(),
      total: z.boolean().optional().describe("Also count all matching rows."),
    }),
    output_schema: resultSchema("rows", "rows:[any] total:number next_offset:number"),
    handler: (input, context) => {
      const { select = "*", limit = DEFAULT_LIMIT, offset = 0 } = input;
      const place = readable(input.table, context);
      const columns = renderSelect(parseSelect(select));
      const filter = renderFilter(input.where ?? [], input.any_of);
      const sorting = (input.order ?? []).map(({ column, descending = false }) => ({
        column: renderColumn(parseColumn(column)),
        ascending: !descending,
      }));
      return onTable(place, context, async (supabase) => {
        const read = async (from: number, to: number) => {
          let request = supabase.table(place).select(columns, input.total ? { count: "exact" } : {});
          if (filter) request = request.or(filter);
          for (const { column, ascending } of sorting)
            request = request.order(column, { ascending, nullsFirst: false });
          const { data, count } = await supabase.ask(request.range(from, to));
          return { data: rowsOf(data), count };
        };
        // Requests one extra row to learn whether there are more.
        const { data, count } = await read(offset, offset + limit);
        const { rows } = fitRows(data.slice(0, limit));
        const end = offset + rows.length;
        const isBehind = async () => (count === undefined ? isCutAt(rows.length, () => read(end, end)) : end < count);
        const isMore = data.length > rows.length || (rows.length > 0 && (await isBehind()));
        return { rows, ...(count === undefined ? {} : { total: count }), ...(isMore ? { next_offset: end } : {}) };
      });
    },
  }),
  defineTool({
    name: "count",
    description: "Counts the rows of a table or view that match conditions.",
    ...SNAPSHOT,
    reads: "private",
    selects: ["where", "any_of"],
    echoes: ["method"],
    input_schema: z.strictObject({
      table,
      where: where.optional(),
      any_of: anyOf,
      method: z.enum(["exact", "estimated"]).optional().describe("Default exact. estimated is cheap on a large table."),
    }),
    output_schema: resultSchema("count", "count:number method"),
    handler: (input, context) => {
      const { method = "exact" } = input;
      const place = readable(input.table, context);
      const filter = renderFilter(input.where ?? [], input.any_of);
      return onTable(place, context, async (supabase) => {
        const request = supabase.table(place).select("*", { count: method });
        // Errors of HEAD requests have no message.
        const { count } = await supabase.ask((filter ? request.or(filter) : request).limit(0));
        if (count === undefined) throw new Error("Supabase's response has no count. Check SUPABASE_URL.");
        return { count, method };
      });
    },
  }),
];
