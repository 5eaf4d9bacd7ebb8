import { defineTool, resultSchema } from "skillflow";
import * as z from "zod";
import { withBetterStack } from "./client.ts";
import {
  checkedId,
  flag,
  idAnswer,
  limit,
  monitorId,
  nextPage,
  number,
  page,
  pageSchema,
  pagination,
  paging,
  text,
  texts,
  withoutLogin,
} from "./fields.ts";

const MONITOR = {
  id: "text",
  name: "text",
  type: "text",
  status: "text",
  team: "text",
  monitored_url: "text",
  last_checked_at: "text",
  paused_at: "text",
  url: "text",
} as const;

export const monitorTools = [
  defineTool({
    name: "list_monitors",
    description: "Lists uptime monitors and their states.",
    effect: "read",
    origin: "team",
    input_schema: z.strictObject({
      name: z.string().min(1).max(200).optional().describe("Whole name."),
      url: z.string().min(1).max(2000).optional().describe("Whole address."),
      limit,
      page,
    }),
    output_schema: pageSchema("monitors", MONITOR),
    handler: (input, context) =>
      withBetterStack(context, async (ask) => {
        const filters = { pronounceable_name: input.name, url: input.url };
        const query = { ...filters, ...paging(input) };
        const answer = await ask({
          path: "/api/v2/monitors",
          query,
          answer: z.object({ data: z.array(monitor), pagination }),
        });
        return { monitors: answer.data.map(briefOf), next_page: nextPage(answer) };
      }),
  }),
  defineTool({
    name: "get_monitor",
    description: "Reads one monitor: what it checks, how often, from where, what counts as an error.",
    effect: "read",
    origin: "team",
    input_schema: z.strictObject({ monitor_id: monitorId }),
    output_schema: resultSchema(
      {
        ...MONITOR,
        created_at: "text",
        check_frequency: "number",
        confirmation_period: "number",
        recovery_period: "number",
        request_timeout: "number",
        http_method: "text",
        expected_status_codes: ["number"],
        required_keyword: "text",
        verify_ssl: "flag",
        ssl_expiration: "number",
        domain_expiration: "number",
        port: "text",
        regions: ["text"],
        policy_id: "any",
        maintenance_from: "text",
        maintenance_to: "text",
        maintenance_timezone: "text",
        maintenance_days: ["text"],
      },
      "id",
    ),
    handler: (input, context) =>
      withBetterStack(context, async (ask) => {
        const path = `/api/v2/monitors/${checkedId(input.monitor_id)}`;
        const { data } = await ask({ path, answer: z.object({ data: monitor }) });
        const { url: _, pronounceable_name: __, monitor_type: ___, team_name: ____, ...settings } = data.attributes;
        return { ...settings, ...briefOf(data) };
      }),
  }),
];

/** Omits request headers, bodies, user names and passwords, which may contain secrets of the monitored service. */
const monitor = z.object({
  id: idAnswer,
  attributes: z.object({
    pronounceable_name: text,
    url: text,
    monitor_type: text,
    status: text,
    team_name: text,
    last_checked_at: text,
    paused_at: text,
    created_at: text,
    check_frequency: number,
    confirmation_period: number,
    recovery_period: number,
    request_timeout: number,
    http_method: text,
    expected_status_codes: z.array(z.number()).nullish().catch(undefined),
    required_keyword: text,
    verify_ssl: flag,
    ssl_expiration: number,
    domain_expiration: number,
    port: text,
    regions: texts,
    policy_id: z.union([z.string(), z.number()]).nullish().catch(undefined),
    maintenance_from: text,
    maintenance_to: text,
    maintenance_timezone: text,
    maintenance_days: texts,
  }),
});

function briefOf({ id, attributes }: z.infer<typeof monitor>) {
  return {
    id,
    name: attributes.pronounceable_name,
    type: attributes.monitor_type,
    status: attributes.status,
    team: attributes.team_name,
    monitored_url: withoutLogin(attributes.url),
    last_checked_at: attributes.last_checked_at,
    paused_at: attributes.paused_at,
    url: `https://uptime.betterstack.com/team/0/monitors/${id}`,
  };
}
