import { defineTool, type ToolContext } from "skillflow";
import { resultSchema, SNAPSHOT, textLike } from "skillflow/internal";
import * as z from "zod";
import { withSql } from "./sql/api.ts";
import { declaredSources, gate, tablesOf } from "./sql/gate.ts";

const DEFAULT_ROWS = 50;

export const logTools = [
  defineTool({
    name: "query_logs",
    description:
      "Runs one ClickHouse SELECT on the configured source: FROM logs (recent), history (older), spans or metrics.",
    ...SNAPSHOT,
    selects: ["sql"],
    echoes: ["source"],
    needs: [
      "BETTERSTACK_QUERY_ENDPOINT",
      "BETTERSTACK_QUERY_USERNAME",
      "BETTERSTACK_QUERY_PASSWORD",
      "BETTERSTACK_SOURCE",
    ],
    input_schema: z.strictObject({
      sql: z
        .string()
        .min(1)
        .max(6000)
        .describe("SELECT dt, raw FROM logs WHERE dt > now() - INTERVAL 1 HOUR ORDER BY dt DESC"),
      source: textLike(/^[A-Za-z][A-Za-z0-9_]*$/, 100)
        .optional()
        .describe("Name from list_sources: t123456_my_app. Default: the first one configured."),
      limit: z.int().min(1).max(200).optional().describe("Maximum number of rows. Default 50."),
    }),
    output_schema: resultSchema("source rows", "source row_count:number rows:[{}] more"),
    handler: (input, context) =>
      withSql(context, async (run) => {
        const source = chosen(input.source, context);
        const most = input.limit ?? DEFAULT_ROWS;
        const rows = await run(gate(input.sql, tablesOf(source)), most + 1);
        const isMore = rows.length > most;
        return {
          source,
          row_count: Math.min(rows.length, most),
          rows: rows.slice(0, most),
          more: isMore
            ? "There are more rows. Count or group, narrow the time, or get the next page by dt."
            : undefined,
        };
      }),
  }),
];

function chosen(named: string | undefined, { config }: ToolContext): string {
  const sources = declaredSources(config);
  const [first] = sources;
  if (first === undefined) {
    throw new Error("BETTERSTACK_SOURCE is not set. query_logs needs it to know which source it may read.");
  }
  if (named === undefined || sources.includes(named)) return named ?? first;
  throw new Error(`The source ${named} is not listed in BETTERSTACK_SOURCE. Use one of: ${sources.join(", ")}.`);
}
