import { each, lenient, pick, resultSchema, TEAM_SNAPSHOT } from "skillflow/internal";
import * as z from "zod";
import { id, limit, namesOf, nextOffset, number, offset, paged, pagerdutyTool, reference, text } from "./service.ts";

export const peopleTools = [
  pagerdutyTool({
    name: "list_on_call",
    description:
      "Lists who is on call now, by escalation policy and level. Give the policy of a service or an incident: an account has dozens.",
    ...TEAM_SNAPSHOT,
    selects: ["escalation_policy"],
    input_schema: z.strictObject({
      escalation_policy: id.optional().describe("Id of the policy, from list_services or an incident."),
      limit: limit.describe("Default 30."),
      offset,
    }),
    output_schema: resultSchema(
      "on_call",
      "on_call:[{ person level:number policy schedule until }] next_offset:number note",
    ),
    work: async (ask, input) => {
      const page = await ask({
        path: ["oncalls"],
        query: {
          "escalation_policy_ids[]": input.escalation_policy,
          earliest: true,
          limit: input.limit ?? 30,
          offset: input.offset,
        },
        needs: "an API key, or the oncalls.read scope",
        answer: z.object({ oncalls: z.array(onCall), ...paged }),
      });
      return {
        on_call: page.oncalls
          .map(({ user, escalation_level, escalation_policy, schedule, end }) => ({
            person: user?.summary,
            level: escalation_level,
            policy: escalation_policy?.summary,
            schedule: schedule?.summary,
            until: end,
          }))
          .sort((a, b) => (a.policy ?? "").localeCompare(b.policy ?? "") || (a.level ?? 0) - (b.level ?? 0)),
        next_offset: nextOffset(page.oncalls, page, input.offset),
        note: page.oncalls.length === 0 ? "No one is on call there now." : undefined,
      };
    },
  }),
  pagerdutyTool({
    name: "list_services",
    description:
      "Lists services by name: id, state (critical: an incident is open; maintenance, disabled: no one is called), escalation policy, team, last incident. list_incidents and list_on_call need the ids.",
    ...TEAM_SNAPSHOT,
    selects: ["query"],
    input_schema: z.strictObject({
      query: z.string().min(1).max(100).optional().describe("Part of the name."),
      limit: limit.describe("Default 30."),
      offset,
    }),
    output_schema: resultSchema(
      "services",
      `services:[{ id name description status escalation_policy escalation_policy_id teams:[text] last_incident_at url
        }] next_offset:number`,
    ),
    work: async (ask, input) => {
      const page = await ask({
        path: ["services"],
        query: { query: input.query, sort_by: "name:asc", limit: input.limit ?? 30, offset: input.offset },
        needs: "an API key, or the services.read scope",
        answer: z.object({ services: z.array(service), ...paged }),
      });
      return {
        services: page.services.map((one) => ({
          ...pick(one, "id name description status"),
          escalation_policy: one.escalation_policy?.summary,
          escalation_policy_id: one.escalation_policy?.id,
          teams: namesOf(one.teams),
          last_incident_at: one.last_incident_timestamp,
          url: one.html_url,
        })),
        next_offset: nextOffset(page.services, page, input.offset),
      };
    },
  }),
];

const onCall = z.object({
  user: reference,
  escalation_level: number,
  escalation_policy: reference,
  schedule: reference,
  end: text,
});

const service = z.object({
  id: z.string(),
  ...each(text, "name description status"),
  escalation_policy: reference,
  teams: lenient(z.array(reference)),
  ...each(text, "last_incident_timestamp html_url"),
});
