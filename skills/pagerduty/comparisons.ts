import { defineTool, each, lenient, pick, resultSchema } from "skillflow";
import * as z from "zod";
import { id, incidentId, limit, number, READS, reference, text, withPagerDuty } from "./service.ts";

const OF_AIOPS = `${READS}, and AIOps in the account's plan`;
const NOT_FOUND = "list_incidents tells ids.";

const LIKE = { id: "text", title: "text", at: "text" } as const;

export const comparisonTools = [
  defineTool({
    name: "list_past_incidents",
    description:
      "Lists incidents of the same service in the last six months that PagerDuty holds for like this one, with a score: was it so before? How it ended then is in get_incident of the best one, in its notes. Without AIOps: list_incidents with `statuses: [resolved]` and the service.",
    effect: "read",
    input_schema: z.strictObject({ incident: incidentId, limit: limit.describe("Default 5.") }),
    output_schema: resultSchema(
      { incidents: [{ ...LIKE, score: "number" }], total: "number", note: "text" },
      "incidents",
    ),
    handler: (input, context) =>
      withPagerDuty(context, async (ask) => {
        const told = await ask({
          path: ["incidents", input.incident, "past_incidents"],
          query: { limit: input.limit ?? 5, total: true },
          needs: OF_AIOPS,
          instead: NOT_FOUND,
          answer: z.object({ past_incidents: z.array(z.object({ incident: brief, score: number })), total: number }),
        });
        return {
          incidents: told.past_incidents.map(({ incident, score }) => ({ ...briefOf(incident), score })),
          total: told.total,
          note:
            told.past_incidents.length === 0
              ? "None of the last six months is like it: for this service it is new, or its title is."
              : undefined,
        };
      }),
  }),
  defineTool({
    name: "list_related_incidents",
    description:
      "Lists up to twenty incidents of other services that PagerDuty holds for related to this one, and why: one cause behind several incidents, or a service that this one depends on. Those open at the same time, related or not: list_incidents.",
    effect: "read",
    input_schema: z.strictObject({ incident: incidentId }),
    output_schema: resultSchema(
      { incidents: [{ ...LIKE, status: "text", service: "text", why: ["text"] }], note: "text" },
      "incidents",
    ),
    handler: (input, context) =>
      withPagerDuty(context, async (ask) => {
        const told = await ask({
          path: ["incidents", input.incident, "related_incidents"],
          query: { "additional_details[]": "incident" },
          needs: OF_AIOPS,
          instead: NOT_FOUND,
          answer: z.object({
            related_incidents: z.array(z.object({ incident: brief, relationships: z.array(relationship).nullish() })),
          }),
        });
        return {
          incidents: told.related_incidents.map(({ incident, relationships }) => ({
            ...briefOf(incident),
            status: incident.status,
            service: incident.service?.summary,
            why: relationships?.map(whyOf),
          })),
          note:
            told.related_incidents.length === 0 ? "PagerDuty knows of no incident that is related to it." : undefined,
        };
      }),
  }),
  defineTool({
    name: "get_escalation_policy",
    description:
      "Reads whom a service's or an incident's escalation policy calls, in which order and after how many minutes: why nobody was told yet, or who is next. Who stands behind a schedule now: list_on_call.",
    effect: "read",
    origin: "team",
    input_schema: z.strictObject({ escalation_policy: id.describe("Its id, as list_services and incidents tell it.") }),
    output_schema: resultSchema(
      {
        ...each("text", "id name description"),
        rules: [
          { level: "number", targets: [{ type: "text", id: "text", name: "text" }], next_after_minutes: "number" },
        ],
        repeats: "number",
        teams: ["text"],
        url: "text",
      },
      "id",
      "rules",
    ),
    handler: (input, context) =>
      withPagerDuty(context, async (ask) => {
        const { escalation_policy: told } = await ask({
          path: ["escalation_policies", input.escalation_policy],
          needs: "an API key, or the scope escalation_policies.read",
          instead: "list_services tells ids.",
          answer: z.object({ escalation_policy: policy }),
        });
        return {
          ...pick(told, "id name description"),
          rules: told.escalation_rules.map(({ escalation_delay_in_minutes, targets }, index) => ({
            level: index + 1,
            targets: targets.map((target) => ({
              type: target?.type?.replace(/_reference$/, ""),
              id: target?.id,
              name: target?.summary,
            })),
            next_after_minutes: escalation_delay_in_minutes,
          })),
          repeats: told.num_loops,
          teams: told.teams?.map((team) => team?.summary ?? ""),
          url: told.html_url,
        };
      }),
  }),
];

const brief = z.object({ id: z.string(), title: text, created_at: text, status: text, service: reference });

function briefOf({ id: own, title, created_at }: z.infer<typeof brief>) {
  return { id: own, title, at: created_at };
}

const relationship = z.object({
  type: text,
  metadata: lenient(
    z.object({ grouping_classification: text, dependent_services: reference, supporting_services: reference }),
  ),
});

function whyOf({ type, metadata }: z.infer<typeof relationship>): string {
  const { grouping_classification: alike, dependent_services: above, supporting_services: below } = metadata ?? {};
  const names = [above, below].map((one) => one?.summary ?? one?.id).filter((one) => one);
  return [type, alike, names.join(" depends on ")]
    .filter((part) => part)
    .join(": ")
    .replaceAll("_", " ");
}

const policy = z.object({
  id: z.string(),
  ...each(text, "name description"),
  escalation_rules: z.array(z.object({ escalation_delay_in_minutes: number, targets: z.array(reference) })),
  num_loops: number,
  teams: lenient(z.array(reference)),
  html_url: text,
});
