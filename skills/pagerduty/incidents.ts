import {
  clip,
  each,
  isoTime,
  lenient,
  momentOf,
  periodOf,
  pick,
  RANGE,
  resultSchema,
  SNAPSHOT,
  TEAM_RANGE,
  timeField,
  withoutMarkers,
} from "skillflow/internal";
import * as z from "zod";
import {
  id,
  incidentId,
  limit,
  NOT_FOUND,
  namesOf,
  nextOffset,
  number,
  offset,
  paged,
  pagerdutyTool,
  reference,
  text,
} from "./service.ts";

export const INCIDENT = `id number:number title status urgency priority service service_id escalation_policy_id assigned_to:[text]
  acknowledged_by:[text] alerts:number created_at resolved_at url`;

const time = timeField.optional();
const PAGED = "next_offset:number note";

export const incidentTools = [
  pagerdutyTool({
    name: "list_incidents",
    description:
      "Lists incidents, newest first: title, service, urgency, assignee. By default, open ones of the last month: change it with `statuses` and `from`. Call this first. For one with its notes: get_incident.",
    ...RANGE,
    selects: ["statuses", "service", "urgency"],
    input_schema: z.strictObject({
      statuses: z
        .array(z.enum(["triggered", "acknowledged", "resolved"]))
        .min(1)
        .max(3)
        .optional()
        .describe("Default triggered and acknowledged."),
      service: id.optional().describe("Id of a service."),
      urgency: z.enum(["high", "low"]).optional(),
      from: time.describe("now-2d or ISO 8601; at most six months before `to`."),
      to: time,
      limit: limit.describe("Default 20."),
      offset,
    }),
    output_schema: resultSchema("incidents", `incidents:[{ ${INCIDENT} }] ${PAGED}`),
    work: async (ask, input, context) => {
      const page = await ask({
        path: ["incidents"],
        query: {
          "statuses[]": input.statuses ?? ["triggered", "acknowledged"],
          "service_ids[]": input.service,
          "urgencies[]": input.urgency,
          since: input.from && isoTime(momentOf(input.from, context.now())),
          until: input.to && isoTime(momentOf(input.to, context.now())),
          sort_by: "created_at:desc",
          limit: input.limit ?? 20,
          offset: input.offset,
        },
        answer: z.object({ incidents: z.array(incident), ...paged }),
      });
      return {
        incidents: page.incidents.map(briefOf),
        next_offset: nextOffset(page.incidents, page, input.offset),
        note: page.incidents.length === 0 ? "No incident with these statuses in this period." : undefined,
      };
    },
  }),
  pagerdutyTool({
    name: "get_incident",
    description:
      "Reads one incident with the notes of responders, newest first. For monitor data: list_alerts. For who was called and when: get_timeline. For earlier deployments: list_changes.",
    ...SNAPSHOT,
    input_schema: z.strictObject({ incident: incidentId }),
    output_schema: resultSchema(
      "id notes",
      `${INCIDENT} escalation_policy teams:[text] last_changed_at notes:[{ at by text }] notes_left_out:number`,
    ),
    work: async (ask, input) => {
      const place = ["incidents", input.incident];
      const told = await ask({ path: place, instead: NOT_FOUND, answer: incidentAnswer });
      const { notes } = await ask({ path: [...place, "notes"], answer: notesAnswer });
      const shown = notes.slice(0, MOST_NOTES);
      return {
        ...briefOf(told.incident),
        escalation_policy: told.incident.escalation_policy?.summary,
        teams: namesOf(told.incident.teams),
        last_changed_at: told.incident.last_status_change_at,
        notes: shown.map(({ created_at, user, content }) => {
          return { at: created_at, by: user?.summary, text: withoutMarkers(content ?? "") };
        }),
        notes_left_out: notes.length - shown.length || undefined,
      };
    },
  }),
  pagerdutyTool({
    name: "get_timeline",
    description:
      "Reads an incident's timeline, newest first: triggered, who was notified and how, acknowledged, escalated, noted, resolved. Shows whether a person handles it. get_incident is cheaper and returns the details.",
    effect: "read",
    clock: "range",
    input_schema: z.strictObject({
      incident: incidentId,
      every: z.boolean().optional().describe("Include every notification. Default: only the key events."),
      limit: limit.describe("Default 30."),
      offset,
    }),
    output_schema: resultSchema("entries", `entries:[{ at kind what by via }] ${PAGED}`),
    work: async (ask, input) => {
      const page = await ask({
        path: ["incidents", input.incident, "log_entries"],
        query: { is_overview: !input.every, limit: input.limit ?? 30, offset: input.offset },
        instead: NOT_FOUND,
        answer: z.object({ log_entries: z.array(entry), ...paged }),
      });
      return {
        entries: page.log_entries.map((one) => ({
          at: one.created_at,
          kind: one.type.replace(/_log_entry$/, ""),
          ...pick(one, "what:summary by:agent?.summary via:channel?.type"),
        })),
        next_offset: nextOffset(page.log_entries, page, input.offset),
      };
    },
  }),
  pagerdutyTool({
    name: "list_alerts",
    description:
      "Lists the alerts that monitors sent for an incident, newest first: severity, summary and details, such as the query and the value. Grouped incidents have hundreds: set `limit`.",
    ...SNAPSHOT,
    input_schema: z.strictObject({ incident: incidentId, limit: limit.describe("Default 10."), offset }),
    output_schema: resultSchema("alerts", `alerts:[{ id status severity summary at from details }] ${PAGED}`),
    work: async (ask, input) => {
      const page = await ask({
        path: ["incidents", input.incident, "alerts"],
        query: { sort_by: "created_at:desc", limit: input.limit ?? 10, offset: input.offset },
        instead: NOT_FOUND,
        answer: z.object({ alerts: z.array(alert), ...paged }),
      });
      return {
        alerts: page.alerts.map(({ id: own, status, severity, summary, created_at, integration, body }) => {
          const details = body?.details === undefined ? undefined : clip(wordsOf(body.details), LONGEST_DETAILS);
          return { id: own, status, severity, summary, at: created_at, from: integration?.summary, details };
        }),
        next_offset: nextOffset(page.alerts, page, input.offset),
      };
    },
  }),
  pagerdutyTool({
    name: "list_changes",
    description:
      "Lists changes that pipelines reported to PagerDuty, newest first: those that it considers related to an incident, or all of a period. Shows deployments before the first symptom, if pipelines report them.",
    ...TEAM_RANGE,
    input_schema: z.strictObject({
      incident: incidentId.optional(),
      from: time,
      to: time.describe("`from` and `to`: now-2h or ISO 8601. Default: the last hour. Only without an incident."),
      limit: limit.describe("Default 20."),
      offset,
    }),
    output_schema: resultSchema("changes", `changes:[{ at summary source reason links:[text] }] ${PAGED}`),
    work: async (ask, input, context) => {
      const most = input.limit ?? 20;
      const period = periodOf(input, context.now());
      const page = await ask({
        ...(input.incident
          ? { path: ["incidents", input.incident, "related_change_events"], query: { limit: most } }
          : {
              path: ["change_events"],
              query: { since: isoTime(period.from), until: isoTime(period.to), limit: most, offset: input.offset },
            }),
        needs: "an API key, or the incidents.read and change_events.read scopes",
        instead: NOT_FOUND,
        answer: z.object({ change_events: z.array(change), ...paged }),
      });
      return {
        changes: page.change_events.map(({ timestamp, summary, source, correlation_reason, links }) => ({
          at: timestamp,
          summary,
          source,
          reason: correlation_reason?.reason,
          links: links?.flatMap(({ href }) => (href ? [href] : [])).slice(0, 3),
        })),
        next_offset: input.incident ? undefined : nextOffset(page.change_events, page, input.offset),
        note:
          page.change_events.length === 0
            ? "No change was reported. Pipelines may not send changes to PagerDuty."
            : undefined,
      };
    },
  }),
];

const MOST_NOTES = 20;
const LONGEST_DETAILS = 1500;

const incident = z.object({
  id: z.string(),
  incident_number: number,
  title: text,
  status: z.string(),
  urgency: text,
  priority: reference,
  service: reference,
  escalation_policy: reference,
  teams: lenient(z.array(reference)),
  assignments: lenient(z.array(z.object({ assignee: reference }))),
  acknowledgements: lenient(z.array(z.object({ acknowledger: reference }))),
  alert_counts: lenient(z.object({ all: number })),
  ...each(text, "created_at last_status_change_at resolved_at html_url"),
});
export type Incident = z.infer<typeof incident>;
export const incidentAnswer = z.object({ incident });

const note = z.object({ content: text, created_at: text, user: reference });
export const notesAnswer = z.object({ notes: z.array(note.extend({ id: z.string() })) });

const entry = z.object({
  type: z.string(),
  ...each(text, "created_at summary"),
  agent: reference,
  channel: lenient(z.object({ type: text })),
});

const alert = z.object({
  ...each(text, "id status severity summary created_at"),
  integration: reference,
  body: lenient(z.object({ details: z.unknown().optional() })),
});

const change = z.object({
  ...each(text, "timestamp summary source"),
  correlation_reason: lenient(z.object({ reason: text })),
  links: lenient(z.array(z.object({ href: text }))),
});

export function briefOf(told: Incident) {
  return {
    ...pick(told, "id number:incident_number title status urgency priority:priority?.summary"),
    ...pick(told, "service:service?.summary service_id:service?.id escalation_policy_id:escalation_policy?.id"),
    assigned_to: namesOf(told.assignments?.map(({ assignee }) => assignee)),
    acknowledged_by: namesOf(told.acknowledgements?.map(({ acknowledger }) => acknowledger)),
    ...pick(told, "alerts:alert_counts?.all created_at resolved_at url:html_url"),
  };
}

function wordsOf(details: unknown): string {
  return typeof details === "string" ? details : (JSON.stringify(details) ?? "");
}
