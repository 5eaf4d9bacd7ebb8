import { defineTool } from "skillflow";
import { resultSchema } from "skillflow/internal";
import * as z from "zod";
import { withSupabase } from "./client.ts";
import { callable, functionName } from "./places.ts";
import { args, bounded, rowOf } from "./query/assignments.ts";
import { fitRows } from "./rows.ts";

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
