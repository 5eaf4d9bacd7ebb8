import { each, lenient, memberAt, pick, resultSchema, SNAPSHOT, textLike } from "skillflow/internal";
import * as z from "zod";
import { anything, number, pageSchema, text } from "./answers.ts";
import { DEFAULT_LIMIT, limit, page } from "./fields.ts";
import { datadogTool, pageUrl } from "./service.ts";

const PERMISSION = "incident_read";
const UUID = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/;

const INCIDENT = `id public_id:number title state:any severity:any created detected modified resolved customer_impacted:flag
  customer_impact_scope customer_impact_start customer_impact_end services:any teams:any root_cause:any summary:any url`;

const filters = {
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
};

export const incidentTools = [
  datadogTool({
    name: "list_incidents",
    description: "Lists incidents that people declared, newest first.",
    ...SNAPSHOT,
    selects: ["states", "severities"],
    input_schema: z.strictObject({
      ...filters,
      limit,
      page,
    }),
    output_schema: pageSchema("incidents", INCIDENT, "total_count:number"),
    work: async (ask, input, context) => {
      const size = input.limit ?? DEFAULT_LIMIT;
      const offset = ((input.page ?? 1) - 1) * size;
      const { data } = await ask({
        path: ["api", "v2", "incidents", "search"],
        query: { query: incidentQuery(input), sort: "-created", "page[size]": size, "page[offset]": offset },
        needs: PERMISSION,
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
    },
  }),
  datadogTool({
    name: "get_incident",
    description: "Reads one declared incident: its fields, its timeline, its tasks and their assignees.",
    ...SNAPSHOT,
    input_schema: z.strictObject({
      incident_id: textLike(UUID, 36).describe("`id` from list_incidents, not the number."),
    }),
    output_schema: resultSchema(
      "id timeline tasks",
      `${INCIDENT} timeline:[{ at what }] people:[text] tasks:[{ task done_at due assignees:[any] }]
        tasks_left_out:number`,
    ),
    work: async (ask, { incident_id }, context) => {
      const path = ["api", "v2", "incidents", incident_id];
      const about = await ask({ path, query: { include: "users" }, needs: PERMISSION, answer: incidentAnswer });
      const todos = await ask({ path: [...path, "relationships", "todos"], needs: PERMISSION, answer: todosAnswer });
      const { id, attributes } = about.data;
      return {
        id,
        ...incidentBrief(attributes),
        timeline: timelineOf(attributes),
        people: about.included?.flatMap((one) => one.attributes?.name ?? one.attributes?.handle ?? []),
        tasks: todos.data.slice(0, MOST_TASKS).map(({ attributes: todo }) => ({
          ...pick(todo, "task:content done_at:completed due:due_date"),
          assignees: todo.assignees?.map((one) => memberAt(one, "name") ?? memberAt(one, "handle") ?? one),
        })),
        tasks_left_out: Math.max(0, todos.data.length - MOST_TASKS) || undefined,
        url: pageUrl(context.config, `incidents/${attributes.public_id ?? ""}`),
      };
    },
  }),
];

const MOST_TASKS = 30;

const incident = z.object({
  public_id: number,
  ...each(text, "title state severity created detected modified resolved"),
  customer_impacted: lenient(z.boolean()),
  ...each(text, "customer_impact_scope customer_impact_start customer_impact_end"),
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

const incidentAnswer = z.object({
  data: z.object({ id: text, attributes: incident }),
  included: lenient(z.array(z.object({ attributes: z.object({ name: text, handle: text }).nullish() }))),
});

const todo = z.object({ ...each(text, "content completed due_date"), assignees: lenient(z.array(z.unknown())) });
const todosAnswer = z.object({ data: z.array(z.object({ attributes: todo })) });

/** Returns an incident's dated facts in order. Datadog's API offers no other part of the timeline. */
function timelineOf(about: z.infer<typeof incident>) {
  const dated = [
    [about.customer_impact_start, "customers are affected"],
    [about.detected, "detected"],
    [about.created, "declared"],
    [about.customer_impact_end, "customers are no longer affected"],
    [about.resolved, "resolved"],
  ] as const;
  const known = dated.flatMap(([at, what]) => (at ? [{ at, what }] : []));
  return known.sort((a, b) => Date.parse(a.at) - Date.parse(b.at));
}

function incidentQuery({ states = ["active", "stable"], severities }: z.infer<z.ZodObject<typeof filters>>): string {
  const parts = [`state:(${states.join(" OR ")})`, ...(severities ? [`severity:(${severities.join(" OR ")})`] : [])];
  return parts.join(" AND ");
}

function incidentBrief({ fields, ...incidentItself }: z.infer<typeof incident>) {
  const field = (name: string) => memberAt(fields, `${name}.value`);
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
