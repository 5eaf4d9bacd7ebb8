import { resultSchema, SNAPSHOT, TEAM_SNAPSHOT } from "skillflow/internal";
import * as z from "zod";
import { admit } from "./gate.ts";
import { hide, withHiding } from "./hidden.ts";
import { postgresTool } from "./session.ts";

const sql = z.string().min(1).max(8000);

export const queryTools = [
  postgresTool({
    name: "query",
    description:
      "Runs one SELECT (or WITH, VALUES, TABLE) in a read-only transaction, for at most 15 seconds. Expensive on large tables without an index: call explain first. For tables and columns: list_tables, describe_table.",
    ...SNAPSHOT,
    reads: "private",
    selects: ["sql"],
    input_schema: z.strictObject({
      sql: sql.describe(
        "Such as SELECT state, count(*) FROM orders WHERE created_at > now() - interval '1 hour' GROUP BY 1.",
      ),
      limit: z.int().min(1).max(200).optional().describe("Number of rows. Default 50. For more, aggregate."),
    }),
    output_schema: resultSchema(
      "columns rows row_count",
      "columns:[text] rows:[any] row_count:number more:flag never_shown:[text] note",
    ),
    work: async (session, input, context) => {
      const tokens = await admit(input.sql, session);
      const hiding = await hide(tokens, session, context.config);
      const limit = input.limit ?? 50;
      // A cursor accepts only a query and limits the rows that are sent.
      await session.read(`DECLARE answer NO SCROLL CURSOR FOR ${withHiding(input.sql, tokens, hiding)}`);
      const { columns, lists } = await session.read(`FETCH ${limit + 1} FROM answer`);
      const rows = lists.slice(0, limit);
      const more = lists.length > limit;
      return {
        columns,
        rows,
        row_count: rows.length,
        more: more || undefined,
        never_shown: hiding.hidden.length > 0 ? hiding.hidden.slice(0, 20) : undefined,
        note: noteOf(rows.length, more),
      };
    },
  }),
  postgresTool({
    name: "explain",
    description:
      "Shows the plan of a statement without running it: indexes, expected rows and cost. Also for INSERT, UPDATE and DELETE. Use it before an expensive query, and for a slow one from list_queries.",
    ...TEAM_SNAPSHOT,
    reads: "private",
    input_schema: z.strictObject({ sql: sql.describe("Without EXPLAIN.") }),
    output_schema: resultSchema("plan", "plan:[text] left_out:number"),
    work: async (session, input, { config }) => {
      const tokens = await admit(input.sql, session);
      const hiding = await hide(tokens, session, config);
      // A write names the table itself, so that the expected rows depend on values of its hidden columns.
      if (hiding.hidden.length > 0 && tokens.some(({ text, isQuoted }) => !isQuoted && CHANGES.has(text)))
        throw new Error("Not allowed: a statement that changes a table with columns that are never shown.");
      const { lists } = await session.read(`EXPLAIN (FORMAT TEXT, COSTS ON) ${withHiding(input.sql, tokens, hiding)}`);
      const lines = lists.map(([line]) => String(line));
      const left = lines.length - MOST_LINES;
      return { plan: lines.slice(0, MOST_LINES), left_out: left > 0 ? left : undefined };
    },
  }),
];

const MOST_LINES = 120;
const CHANGES = new Set(["insert", "update", "delete", "merge"]);

function noteOf(count: number, more: boolean): string | undefined {
  if (count === 0) return "The statement is valid and the role can read the data, but no row matches.";
  return more ? "There are more rows. Aggregate, or narrow it with WHERE." : undefined;
}
