import { each, lenient, pick, resultSchema, TEAM_SNAPSHOT } from "skillflow/internal";
import * as z from "zod";
import {
  checkedId,
  flag,
  id,
  idAnswer,
  limit,
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
import { betterstackTool } from "./service.ts";

const MONITOR = "id name type status team monitored_url last_checked_at paused_at url";

export const monitorTools = [
  betterstackTool({
    name: "list_monitors",
    description: "Lists uptime monitors and their states.",
    ...TEAM_SNAPSHOT,
    selects: ["name", "url"],
    input_schema: z.strictObject({
      name: z.string().min(1).max(200).optional().describe("Exact name."),
      url: z.string().min(1).max(2000).optional().describe("Exact address."),
      limit,
      page,
    }),
    output_schema: pageSchema("monitors", MONITOR),
    work: async (ask, input) => {
      const filters = { pronounceable_name: input.name, url: input.url };
      const query = { ...filters, ...paging(input) };
      const answer = await ask({
        path: ["v2", "monitors"],
        query,
        answer: z.object({ data: z.array(monitor), pagination }),
      });
      return { monitors: answer.data.map(briefOf), next_page: nextPage(answer) };
    },
  }),
  betterstackTool({
    name: "get_monitor",
    description: "Reads one monitor: what it checks, how often, from where, and what counts as an error.",
    ...TEAM_SNAPSHOT,
    input_schema: z.strictObject({ monitor_id: id }),
    output_schema: resultSchema(
      "id",
      `${MONITOR} created_at check_frequency:number confirmation_period:number recovery_period:number
        request_timeout:number http_method expected_status_codes:[number] required_keyword verify_ssl:flag
        ssl_expiration:number domain_expiration:number port regions:[text] policy_id:any maintenance_from
        maintenance_to maintenance_timezone maintenance_days:[text]`,
    ),
    work: async (ask, input) => {
      const path = ["v2", "monitors", checkedId(input.monitor_id)];
      const { data } = await ask({ path, answer: z.object({ data: monitor }) });
      const { url: _, pronounceable_name: __, monitor_type: ___, team_name: ____, ...settings } = data.attributes;
      return { ...settings, ...briefOf(data) };
    },
  }),
];

/** Omits request headers, bodies, user names and passwords, which may contain secrets of the monitored service. */
const monitor = z.object({
  id: idAnswer,
  attributes: z.object({
    ...each(text, "pronounceable_name url monitor_type status team_name last_checked_at paused_at created_at"),
    ...each(number, "check_frequency confirmation_period recovery_period request_timeout"),
    http_method: text,
    expected_status_codes: lenient(z.array(z.number())),
    required_keyword: text,
    verify_ssl: flag,
    ...each(number, "ssl_expiration domain_expiration"),
    port: text,
    regions: texts,
    policy_id: lenient(z.union([z.string(), z.number()])),
    ...each(text, "maintenance_from maintenance_to maintenance_timezone"),
    maintenance_days: texts,
  }),
});

function briefOf({ id, attributes }: z.infer<typeof monitor>) {
  return {
    id,
    ...pick(attributes, "name:pronounceable_name type:monitor_type status team:team_name"),
    monitored_url: withoutLogin(attributes.url),
    last_checked_at: attributes.last_checked_at,
    paused_at: attributes.paused_at,
    url: `https://uptime.betterstack.com/team/0/monitors/${id}`,
  };
}
