import { each, lenient, pick, RANGE, resultSchema, SNAPSHOT } from "skillflow/internal";
import * as z from "zod";
import {
  checkedId,
  day,
  flag,
  id,
  idAnswer,
  limit,
  nextPage,
  page,
  pageSchema,
  pagination,
  paging,
  text,
  texts,
  withoutLogin,
} from "./fields.ts";
import { betterstackTool } from "./service.ts";

export const INCIDENT = `id name cause status team monitor_id monitored_url started_at acknowledged_at acknowledged_by resolved_at resolved_by
  regions:[text] url`;

export const incidentTools = [
  betterstackTool({
    name: "list_incidents",
    description: "Lists incidents, newest first: what is or was down.",
    ...RANGE,
    selects: ["monitor_id", "resolved", "acknowledged"],
    input_schema: z.strictObject({
      from: day.describe("YYYY-MM-DD."),
      to: day.describe("YYYY-MM-DD, inclusive."),
      monitor_id: id.optional(),
      resolved: z.boolean().optional(),
      acknowledged: z.boolean().optional(),
      limit,
      page,
    }),
    output_schema: pageSchema("incidents", INCIDENT),
    work: async (ask, input) => {
      const { limit: _, page: __, monitor_id, ...filters } = input;
      const of = monitor_id === undefined ? {} : { monitor_id: checkedId(monitor_id) };
      const query = { ...filters, ...of, ...paging(input) };
      const answer = await ask({ path: ["v3", "incidents"], query, answer: listAnswer });
      return { incidents: answer.data.map(briefOf), next_page: nextPage(answer) };
    },
  }),
  betterstackTool({
    name: "get_incident",
    description:
      "Reads one incident: cause, the response that failed the check, metadata, who acknowledged it and when.",
    ...SNAPSHOT,
    input_schema: z.strictObject({ incident_id: id }),
    output_schema: resultSchema(
      "id",
      `${INCIDENT} http_method response_content response_options screenshot_url origin_url notified_by:[text]
        metadata:{}`,
    ),
    work: async (ask, input) => {
      const path = ["v3", "incidents", checkedId(input.incident_id)];
      const { data } = await ask({ path, answer: incidentAnswer });
      return wholeOf(data);
    },
  }),
];

const incident = z.object({
  id: idAnswer,
  attributes: z.object({
    ...each(text, "name url http_method cause status team_name started_at acknowledged_at acknowledged_by resolved_at"),
    ...each(text, "resolved_by response_content response_options"),
    regions: texts,
    ...each(text, "screenshot_url origin_url"),
    ...each(flag, "call sms email push"),
    metadata: lenient(z.record(z.string(), z.unknown())),
  }),
  relationships: lenient(z.object({ monitor: z.object({ data: z.object({ id: idAnswer }).nullish() }).nullish() })),
});
export type Incident = z.infer<typeof incident>;

export const listAnswer = z.object({ data: z.array(incident), pagination });

export const incidentAnswer = z.object({ data: incident });

/** Returns the fields of an incident that lists show. */
export function briefOf({ id, attributes, relationships }: Incident) {
  return {
    id,
    ...pick(attributes, "name cause status team:team_name"),
    monitor_id: relationships?.monitor?.data?.id,
    monitored_url: withoutLogin(attributes.url),
    ...pick(attributes, "started_at acknowledged_at acknowledged_by resolved_at resolved_by regions"),
    url: `https://uptime.betterstack.com/team/0/incidents/${id}`,
  };
}

function wholeOf(found: Incident) {
  const { metadata } = found.attributes;
  return {
    ...briefOf(found),
    ...pick(found.attributes, "http_method response_content response_options screenshot_url origin_url"),
    notified_by: (["call", "sms", "email", "push"] as const).filter((way) => found.attributes[way] === true),
    metadata: metadata ? plainMetadata(metadata) : undefined,
  };
}

/** Simplifies version 3 metadata, where each key has a list of `{type, value}`. */
function plainMetadata(metadata: Readonly<Record<string, unknown>>) {
  const valued = z.array(z.object({ value: z.unknown() }));
  return Object.fromEntries(
    Object.entries(metadata).map(([key, values]) => {
      const listed = valued.safeParse(values);
      return [key, listed.success ? listed.data.map(({ value }) => value) : values];
    }),
  );
}
