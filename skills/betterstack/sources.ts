import { defineTool } from "skillflow";
import { each, SNAPSHOT } from "skillflow/internal";
import * as z from "zod";
import { flag, idAnswer, limit, nextPage, number, page, pageSchema, pagination, paging, text } from "./fields.ts";
import { withBetterStack } from "./service.ts";
import { declaredSources } from "./sql/gate.ts";

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
