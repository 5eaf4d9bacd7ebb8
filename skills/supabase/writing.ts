import { defineTool, type Json, NothingDone } from "skillflow";
import { resultSchema } from "skillflow/internal";
import * as z from "zod";
import { type Answer, onTable, type Supabase, withSupabase } from "./client.ts";
import { Refusal } from "./failure.ts";
import { callable, functionName, type Place, table, writable } from "./places.ts";
import { args, bounded, parseName, quoted, row, rowOf } from "./query/columns.ts";
import { type Condition, columnsIn, renderFilter, requireSelective, where } from "./query/filters.ts";
import { fitRows } from "./rows.ts";

const DEFAULT_MOST_ROWS = 50;

const rowsMeant = where.describe("All must hold. At least one eq, or in with a list.");

const maxRows = z.int().min(1).max(500).optional().describe("If more match, nothing changes. Default 50.");

export const writingTools = [
  defineTool({
    name: "insert",
    description: "Adds rows to a listed table and returns them as stored. Adds all rows or none.",
    effect: "write",
    targets: ["table"],
    needs: ["SUPABASE_TABLES"],
    input_schema: z.strictObject({
      table,
      rows: z.array(row).min(1).max(100).describe("Values by column. Omitted columns get their defaults."),
      unless_exists: z
        .array(z.string().min(1).max(100))
        .min(1)
        .max(10)
        .optional()
        .describe("Columns of a unique key. Rows whose key exists are not changed."),
    }),
    output_schema: resultSchema(
      "inserted rows",
      "inserted:number left_as_they_were:number rows:[any] rows_not_shown:number",
    ),
    handler: (input, context) => {
      const place = writable(input.table, context);
      const rows = bounded(input.rows.map((given) => filled(rowOf(given))));
      const key = input.unless_exists?.map((column) => quoted(parseName(column))).join(",");
      return onTable(place, context, async (supabase) => {
        const target = supabase.table(place);
        const request =
          key === undefined
            ? target.insert(rows, { defaultToNull: false })
            : target.upsert(rows, { onConflict: key, ignoreDuplicates: true, defaultToNull: false });
        const stored = rowsIn(await supabase.ask(request.select("*")));
        const existing = rows.length - stored.length;
        return { inserted: stored.length, ...(existing > 0 ? { left_as_they_were: existing } : {}), ...shown(stored) };
      });
    },
  }),
  defineTool({
    name: "update",
    description: "Sets columns in the matching rows of a listed table, and returns them as stored.",
    effect: "write",
    targets: ["table"],
    needs: ["SUPABASE_TABLES"],
    input_schema: z.strictObject({
      table,
      set: row.describe("Values by column."),
      where: rowsMeant,
      max_rows: maxRows,
    }),
    output_schema: resultSchema("updated", "updated:number rows:[any] rows_not_shown:number note"),
    handler: (input, context) => {
      const place = writable(input.table, context);
      const values = bounded(filled(rowOf(input.set)));
      const filter = selectiveFilter(input.where);
      const { max_rows: most = DEFAULT_MOST_ROWS } = input;
      return onTable(place, context, async (supabase) => {
        const matching = await countMatching(supabase, place, input.where);
        refuseMany(matching, most);
        if (matching === 0) return { updated: 0, note: NONE };
        const stored = await changeAtMost(most, (limited) => {
          const request = supabase.table(place).update(values).or(filter);
          return supabase.ask((limited ? request.maxAffected(most) : request).select("*"));
        });
        return { updated: stored.length, ...shown(stored) };
      });
    },
  }),
  defineTool({
    name: "delete",
    description: "Deletes the matching rows of a listed table, and returns them.",
    effect: "write",
    targets: ["table"],
    needs: ["SUPABASE_TABLES"],
    input_schema: z.strictObject({ table, where: rowsMeant, max_rows: maxRows }),
    output_schema: resultSchema("deleted", "deleted:number rows:[any] rows_not_shown:number note"),
    handler: (input, context) => {
      const place = writable(input.table, context);
      const filter = selectiveFilter(input.where);
      const { max_rows: most = DEFAULT_MOST_ROWS } = input;
      return onTable(place, context, async (supabase) => {
        const matching = await countMatching(supabase, place, input.where);
        refuseMany(matching, most);
        if (matching === 0) return { deleted: 0, note: NONE };
        const gone = await changeAtMost(most, (limited) => {
          const request = supabase.table(place).delete().or(filter);
          return supabase.ask((limited ? request.maxAffected(most) : request).select("*"));
        });
        return { deleted: gone.length, ...shown(gone) };
      });
    },
  }),
];

const NONE = "No row matches the conditions. Nothing was changed.";

function filled<Row extends object>(row: Row): Row {
  if (Object.keys(row).length > 0) return row;
  throw new NothingDone("Give at least one column with its value. Nothing was changed.");
}

function selectiveFilter(conditions: readonly Condition[]): string {
  requireSelective(conditions);
  const filter = renderFilter(conditions);
  if (filter === undefined) throw new NothingDone("Select the rows: there are no conditions.");
  return filter;
}

/**
 * Counts the rows that match. One row shows the table's own columns. In conditions, Postgres also accepts any function
 * of a row as a column (`num_nulls` equals 0 in every row). In a write it may have side effects.
 */
async function countMatching(supabase: Supabase, place: Place, conditions: readonly Condition[]): Promise<number> {
  const filter = selectiveFilter(conditions);
  const request = supabase.table(place).select("*", { count: "exact" }).or(filter).limit(1);
  const { data, count } = await supabase.ask(request);
  const sample: unknown = Array.isArray(data) ? data[0] : undefined;
  if (count === undefined) throw new Error("Supabase's response has no count. Nothing was changed.");
  if (count === 0) return 0;
  const own = typeof sample === "object" && sample !== null ? Object.keys(sample) : [];
  const foreign = columnsIn(conditions).find((column) => !own.includes(column));
  if (foreign === undefined) return count;
  throw new Error(`"${foreign}" is not a column of the table, so it cannot select rows to change.`);
}

function refuseMany(matching: number, most: number): void {
  if (matching <= most) return;
  throw new Error(
    `The conditions match ${matching} rows, more than max_rows (${most}). Nothing was changed. Narrow the conditions, ` +
      "or raise max_rows to change all of these rows.",
  );
}

/**
 * Makes the server enforce the limit too, because more rows may match after counting. Servers before PostgREST 13
 * refuse the preference and change nothing. Then only the count limits the change.
 */
async function changeAtMost(most: number, change: (limited: boolean) => Promise<Answer>): Promise<readonly Json[]> {
  try {
    return rowsIn(await change(true));
  } catch (error) {
    if (!(error instanceof Refusal)) throw error;
    if (error.code === "PGRST124") throw new Error(`More than ${most} rows match now. Nothing was changed.`);
    if (error.code !== "PGRST122") throw error;
    return rowsIn(await change(false));
  }
}

function rowsIn({ data }: Answer): readonly Json[] {
  if (Array.isArray(data)) return data;
  throw new Error(
    "Supabase's response has no rows. Whether it took effect is unclear: check before you repeat it. Check SUPABASE_URL.",
  );
}

function shown(stored: readonly Json[]) {
  const { rows, leftOut } = fitRows(stored);
  return { rows, ...(leftOut > 0 ? { rows_not_shown: leftOut } : {}) };
}

const DEFAULT_LIMIT = 20;

export const functionTools = [
  defineTool({
    name: "rpc",
    description:
      "Calls a listed function of the database. It may write: call it once, and check before you call it again.",
    effect: "write",
    targets: ["function"],
    reads: "private",
    needs: ["SUPABASE_FUNCTIONS"],
    input_schema: z.strictObject({
      function: functionName,
      args,
      limit: z.int().min(1).max(100).optional().describe("Number of rows of a set. Default 20."),
    }),
    output_schema: resultSchema("result", "result:any more"),
    handler: (input, context) => {
      const place = callable(input.function, context);
      const given = bounded(rowOf(input.args ?? {}));
      const { limit = DEFAULT_LIMIT } = input;
      return withSupabase(context, async (supabase) => {
        const { data } = await supabase.ask(supabase.call(place, given).limit(limit + 1));
        if (!Array.isArray(data)) return { result: fitRows([data]).rows[0] ?? null };
        const { rows } = fitRows(data.slice(0, limit));
        return {
          result: rows,
          ...(rows.length < data.length ? { more: `There are more than these ${rows.length}.` } : {}),
        };
      });
    },
  }),
];
