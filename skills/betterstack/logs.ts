import { defineTool, type ToolContext } from "skillflow";
import { each, resultSchema, SNAPSHOT, textLike } from "skillflow/internal";
import * as z from "zod";
import { flag, idAnswer, limit, nextPage, number, page, pageSchema, pagination, paging, text } from "./fields.ts";
import { withBetterStack } from "./service.ts";
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
      limit: z.int().min(1).max(200).optional().describe("Number of rows. Default 50."),
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

export const sourceTools = [
  defineTool({
    name: "list_sources",
    description: "Lists the sources that send logs, and whether query_logs can read them.",
    ...SNAPSHOT,
    input_schema: z.strictObject({ limit, page }),
    output_schema: pageSchema(
      "sources",
      `id name platform data_region ingesting_paused:flag created_at updated_at team source logs_kept_days:number
        metrics_kept_days:number queryable:flag`,
    ),
    handler: (input, context) =>
      withBetterStack(
        context,
        async (ask) => {
          const declared = declaredSources(context.config);
          const answer = await ask({
            path: ["v1", "sources"],
            query: paging(input),
            answer: z.object({ data: z.array(source), pagination }),
          });
          const sources = answer.data.map((one) => {
            const brief = briefOf(one);
            return { ...brief, queryable: brief.source !== undefined && declared.includes(brief.source) };
          });
          return { sources, next_page: nextPage(answer) };
        },
        "telemetry",
      ),
  }),
];

/** Omits the ingestion token, with which anyone could send logs, and the scrape settings. */
const source = z.object({
  id: idAnswer,
  attributes: z.object({
    name: text,
    team_id: number,
    ...each(text, "team_name table_name platform data_region"),
    ingesting_paused: flag,
    ...each(number, "logs_retention metrics_retention"),
    ...each(text, "created_at updated_at"),
  }),
});

function briefOf({ id, attributes }: z.infer<typeof source>) {
  const { team_id, team_name, table_name, logs_retention, metrics_retention, ...rest } = attributes;
  return {
    id,
    ...rest,
    team: team_name,
    source: team_id && table_name ? `t${team_id}_${table_name}` : undefined,
    logs_kept_days: logs_retention,
    metrics_kept_days: metrics_retention,
  };
}
