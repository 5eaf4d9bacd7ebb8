import { each, lenient, pick, resultSchema, SNAPSHOT, TEAM_SNAPSHOT } from "skillflow/internal";
import * as z from "zod";
import { id, incidentId, limit, NOT_FOUND, namesOf, number, pagerdutyTool, READS, reference, text } from "./service.ts";

const OF_AIOPS = `${READS}, and AIOps in the account's plan`;

const LIKE = "id title at";

export const comparisonTools = [
  pagerdutyTool({
    name: "list_past_incidents",
    description:
      "Lists incidents of the same service in the last six months that PagerDuty considers similar to this one, with a score. To see how the best match was resolved, read its notes with get_incident. Without AIOps: list_incidents with `statuses: [resolved]` and the service.",
    ...SNAPSHOT,
    input_schema: z.strictObject({ incident: incidentId, limit: limit.describe("Default 5.") }),
    output_schema: resultSchema("incidents", `incidents:[{ ${LIKE} score:number }] total:number note`),
    work: async (ask, input) => {
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
            ? "No similar incident in the last six months: the problem, or its title, is new for this service."
            : undefined,
      };
    },
  }),
  pagerdutyTool({
    name: "list_related_incidents",
    description:
      "Lists up to 20 incidents of other services that PagerDuty considers related to this one, with the reason: a common cause, or a service that this one depends on. For all incidents open at the same time: list_incidents.",
    ...SNAPSHOT,
    input_schema: z.strictObject({ incident: incidentId }),
    output_schema: resultSchema("incidents", `incidents:[{ ${LIKE} status service why:[text] }] note`),
    work: async (ask, input) => {
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
        note: told.related_incidents.length === 0 ? "PagerDuty knows no related incident." : undefined,
      };
    },
  }),
  pagerdutyTool({
    name: "get_escalation_policy",
    description:
      "Reads whom an escalation policy calls, in which order and after how many minutes: why no one was notified yet, or who is next. For who is on call in a schedule now: list_on_call.",
    ...TEAM_SNAPSHOT,
    echoes: ["id"],
    input_schema: z.strictObject({
      escalation_policy: id.describe("Id of the policy, from list_services or an incident."),
    }),
    output_schema: resultSchema(
      "id rules",
      `id name description rules:[{ level:number targets:[{ type id name }] next_after_minutes:number }]
        repeats:number teams:[text] url`,
    ),
    work: async (ask, input) => {
      const { escalation_policy: told } = await ask({
        path: ["escalation_policies", input.escalation_policy],
        needs: "an API key, or the escalation_policies.read scope",
        instead: "list_services lists the ids.",
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
        teams: namesOf(told.teams),
        url: told.html_url,
      };
    },
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
