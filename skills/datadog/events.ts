import { defineTool } from "skillflow";
import * as z from "zod";
import { anything, cursorMeta, number, pageNotes, text, texts, valueAt } from "./answers.ts";
import { withDatadog } from "./client.ts";
import { cursor, DEFAULT_LIMIT, from, limit, newestFirst, page, period, query, to } from "./fields.ts";
import { pageUrl } from "./site.ts";

export const eventTools = [
  defineTool({
    name: "list_events",
    description: "Lists events: deployments, alerts, configuration changes, autoscaling.",
    effect: "read",
    input_schema: z.strictObject({
      query: query.optional().describe("Such as source:deployment service:checkout."),
      from,
      to,
      newest_first: newestFirst,
      limit,
      cursor,
    }),
    handler: (input, context) =>
      withDatadog(context, async (ask) => {
        const span = period(input);
        const { data, meta } = await ask({
          path: "/api/v2/events",
          query: {
            "filter[query]": input.query,
            "filter[from]": span.from,
            "filter[to]": span.to,
            sort: input.newest_first === false ? "timestamp" : "-timestamp",
            "page[limit]": input.limit ?? DEFAULT_LIMIT,
            "page[cursor]": input.cursor,
          },
          permission: "events_read",
          answer: eventsAnswer,
        });
        const events = (data ?? []).map(({ id, attributes }) => ({
          id,
          timestamp: attributes?.timestamp,
          title: valueAt(attributes?.attributes, "title"),
          message: attributes?.message,
          status: valueAt(attributes?.attributes, "status"),
          service: valueAt(attributes?.attributes, "service"),
          monitor_id: valueAt(attributes?.attributes, "monitor.id") ?? valueAt(attributes?.attributes, "monitor_id"),
          tags: attributes?.tags?.slice(0, MOST_TAGS),
        }));
        return { events, ...pageNotes(meta) };
      }),
  }),
  defineTool({
    name: "list_incidents",
    description: "Lists declared incidents, newest first.",
    effect: "read",
    input_schema: z.strictObject({
      states: z
        .array(z.enum(["active", "stable", "resolved"]))
        .min(1)
        .max(3)
        .optional()
        .describe("Default active and stable."),
      severities: z
        .array(z.enum(["SEV-1", "SEV-2", "SEV-3", "SEV-4", "SEV-5", "UNKNOWN"]))
        .min(1)
        .max(6)
        .optional(),
      limit,
      page,
    }),
    handler: (input, context) =>
      withDatadog(context, async (ask) => {
        const size = input.limit ?? DEFAULT_LIMIT;
        const offset = ((input.page ?? 1) - 1) * size;
        const { data } = await ask({
          path: "/api/v2/incidents/search",
          query: { query: incidentQuery(input), sort: "-created", "page[size]": size, "page[offset]": offset },
          permission: "incident_read",
          answer: incidentsAnswer,
        });
        const { incidents, total } = data.attributes;
        const listed = (incidents ?? []).map(({ data: incident }) => ({
          id: incident.id,
          ...incidentBrief(incident.attributes),
          url: pageUrl(context.config, `incidents/${incident.attributes.public_id ?? ""}`),
        }));
        const more = offset + listed.length < (total ?? 0) && listed.length > 0;
        return { total_count: total, incidents: listed, next_page: more ? (input.page ?? 1) + 1 : undefined };
      }),
  }),
];

const MOST_TAGS = 15;

const eventsAnswer = z.object({
  data: z
    .array(
      z.object({
        id: text,
        attributes: z.object({ timestamp: text, message: text, tags: texts, attributes: anything }).nullish(),
      }),
    )
    .nullish(),
  meta: cursorMeta,
});

const incident = z.object({
  public_id: number,
  title: text,
  state: text,
  severity: text,
  created: text,
  detected: text,
  modified: text,
  resolved: text,
  customer_impacted: z.boolean().nullish().catch(undefined),
  customer_impact_scope: text,
  customer_impact_start: text,
  fields: anything,
});
const incidentsAnswer = z.object({
  data: z.object({
    attributes: z.object({
      incidents: z.array(z.object({ data: z.object({ id: text, attributes: incident }) })).nullish(),
      total: number,
    }),
  }),
});

interface IncidentFilter {
  readonly states?: readonly string[] | undefined;
  readonly severities?: readonly string[] | undefined;
}

function incidentQuery({ states = ["active", "stable"], severities }: IncidentFilter): string {
  const parts = [`state:(${states.join(" OR ")})`, ...(severities ? [`severity:(${severities.join(" OR ")})`] : [])];
  return parts.join(" AND ");
}

function incidentBrief({ fields, ...incidentItself }: z.infer<typeof incident>) {
  const field = (name: string) => valueAt(fields, `${name}.value`);
  return {
    ...incidentItself,
    state: incidentItself.state ?? field("state"),
    severity: incidentItself.severity ?? field("severity"),
    services: field("services"),
    teams: field("teams"),
    root_cause: field("root_cause"),
    summary: field("summary"),
  };
}
