import type { Json } from "skillflow";
import type { LoopbackRequest } from "skillflow/testing";
import * as z from "zod";
import { type Answer, type Asked, type RestService, type Route, type Script, startRest, swollen } from "./rest.ts";
import type { Vendor } from "./vendor.ts";

/** PagerDuty's REST API as published: unknown requests are refused, answers are its examples. */

export const KEY = "y_pdcanary0123456789";
export const OAUTH = "pdus+_0XBPWQQ_pdcanary-0123456789";
export const FROM = "ops@example.com";

export function startPagerDuty(script?: Script): Promise<RestService> {
  const fault = (message: string) => ({ error: { message: "Invalid Input Provided", code: 2001, errors: [message] } });
  return startRest({ routes: ROUTES, refuse, fault }, script);
}

/** Answers of maximum size. */
export function flood({ example }: Asked): Answer {
  return { body: swollen(example, ["title", "content", "description", "customKey", "source"]) };
}

function refuse({ headers, method }: LoopbackRequest): Answer | undefined {
  const known = [`Token token=${KEY}`, `Bearer ${OAUTH}`];
  const error = (status: number, message: string) => ({ status, body: { error: { message, code: 2006 } } });
  if (!known.includes(headers.authorization ?? "")) return error(401, "Invalid credentials");
  if (headers.accept !== "application/vnd.pagerduty+json;version=2") return error(406, "Unknown version");
  return method !== "GET" && !headers["from"] ? error(400, "Requester User Not Found") : undefined;
}

const digits = z.string().regex(/^\d+$/);
const paging = { limit: digits.optional(), offset: digits.optional() };
const time = z.iso.datetime().optional();
const id = "[A-Z0-9]+";
const user = (summary: string): Json => ({
  id: "PXPGF42",
  type: "user_reference",
  summary,
  self: "https://api.pagerduty.com/users/PXPGF42",
  html_url: "https://acme.pagerduty.com/users/PXPGF42",
});
const page = { limit: 25, offset: 0, more: false, total: null };

export const INCIDENT = {
  id: "PT4KHLK",
  type: "incident",
  summary: "[#1234] Checkout answers 5xx.",
  self: "https://api.pagerduty.com/incidents/PT4KHLK",
  html_url: "https://acme.pagerduty.com/incidents/PT4KHLK",
  incident_number: 1234,
  title: "Checkout answers 5xx.",
  created_at: "2026-01-31T08:01:42Z",
  updated_at: "2026-01-31T08:04:23Z",
  status: "triggered",
  incident_key: "baf7cf21b1da41b4b0221008339ff357",
  service: { id: "PIJ90N7", type: "service_reference", summary: "Checkout", self: "https://api.pagerduty.com/x" },
  assignments: [{ at: "2026-01-31T08:01:42Z", assignee: user("Earline Greenholt") }],
  assigned_via: "escalation_policy",
  last_status_change_at: "2026-01-31T08:01:42Z",
  resolved_at: null,
  alert_counts: { all: 2, triggered: 2, resolved: 0 },
  escalation_policy: { id: "PT20YPA", type: "escalation_policy_reference", summary: "Shop" },
  teams: [{ id: "PQ9K7I8", type: "team_reference", summary: "Engineering" }],
  pending_actions: [],
  acknowledgements: [],
  priority: { id: "P53ZZH5", type: "priority_reference", summary: "P2" },
  resolve_reason: null,
  urgency: "high",
} satisfies Json;

const LIKE = {
  id: "PFBE9I2",
  created_at: "2025-11-04T16:08:15Z",
  self: "https://api.pagerduty.com/incidents/PFBE9I2",
  title: "Checkout answers 5xx.",
} satisfies Json;

const RELATED: Json = [
  {
    incident: { ...LIKE, id: "PR2P3RW", status: "triggered", service: { id: "PNGCNV2", summary: "Payments" } },
    relationships: [
      {
        type: "machine_learning_inferred",
        metadata: {
          grouping_classification: "similar_contents",
          user_feedback: { positive_feedback_count: 12, negative_feedback_count: 3 },
        },
      },
      {
        type: "service_dependency",
        metadata: {
          dependent_services: {
            id: "P1L1YEE",
            type: "business_service_reference",
            self: "https://api.pagerduty.com/x",
          },
          supporting_services: {
            id: "PNGCNV2",
            type: "technical_service_reference",
            self: "https://api.pagerduty.com/y",
          },
        },
      },
    ],
  },
];

const POLICY: Json = {
  id: "PT20YPA",
  type: "escalation_policy",
  summary: "Shop",
  on_call_handoff_notifications: "if_has_services",
  html_url: "https://acme.pagerduty.com/escalation_policies/PT20YPA",
  name: "Shop",
  escalation_rules: [
    {
      id: "PGHDV41",
      escalation_delay_in_minutes: 30,
      targets: [user("Kyler Kuhn"), { id: "PI7DH85", type: "schedule_reference", summary: "Daily" }],
    },
  ],
  services: [{ id: "PIJ90N7", type: "service_reference", summary: "Checkout" }],
  num_loops: 2,
  teams: [{ id: "PQ9K7I8", type: "team_reference", summary: "Engineering" }],
  description: "Whoever is on call, then the lead.",
};

const ROUTES: readonly Route[] = [
  {
    id: "listIncidents",
    method: "GET",
    path: /^\/incidents$/,
    query: z.strictObject({
      ...paging,
      "statuses[]": z.enum(["triggered", "acknowledged", "resolved"]).optional(),
      "service_ids[]": z.string().optional(),
      "urgencies[]": z.enum(["high", "low"]).optional(),
      since: time,
      until: time,
      sort_by: z.string().optional(),
    }),
    answer: () => ({ incidents: [INCIDENT], limit: 1, offset: 0, more: true }),
  },
  {
    id: "getIncident",
    method: "GET",
    path: new RegExp(`^/incidents/${id}$`),
    answer: () => ({ incident: INCIDENT }),
  },
  {
    id: "updateIncident",
    method: "PUT",
    path: new RegExp(`^/incidents/${id}$`),
    body: z.strictObject({
      incident: z.strictObject({
        type: z.enum(["incident", "incident_reference"]),
        status: z.enum(["resolved", "acknowledged", "triggered"]),
        resolution: z.string().optional(),
      }),
    }),
    answer: ({ body }) => ({ incident: { ...INCIDENT, ...(body["incident"] as object), type: "incident" } }),
  },
  {
    id: "listIncidentLogEntries",
    method: "GET",
    path: new RegExp(`^/incidents/${id}/log_entries$`),
    query: z.strictObject({ ...paging, is_overview: z.enum(["true", "false"]).optional() }),
    answer: () => ({ ...page, log_entries: ENTRIES }),
  },
  {
    id: "listIncidentAlerts",
    method: "GET",
    path: new RegExp(`^/incidents/${id}/alerts$`),
    query: z.strictObject({
      ...paging,
      sort_by: z.enum(["created_at", "resolved_at", "created_at:asc", "created_at:desc"]).optional(),
    }),
    answer: () => ({ ...page, alerts: ALERTS, more: true }),
  },
  {
    id: "listIncidentNotes",
    method: "GET",
    path: new RegExp(`^/incidents/${id}/notes$`),
    answer: () => ({ notes: NOTES }),
  },
  {
    id: "createIncidentNote",
    method: "POST",
    path: new RegExp(`^/incidents/${id}/notes$`),
    body: z.strictObject({ note: z.strictObject({ content: z.string().min(1) }) }),
    answer: ({ body }) => ({
      note: { id: "PWL7QXT", user: user("Bot"), created_at: "2026-01-31T08:20:00Z", ...(body["note"] as object) },
    }),
  },
  {
    id: "listIncidentRelatedChangeEvents",
    method: "GET",
    path: new RegExp(`^/incidents/${id}/related_change_events$`),
    query: z.strictObject({ limit: digits.optional() }),
    answer: () => ({ ...page, change_events: CHANGES }),
  },
  {
    id: "listIncidentPastIncidents",
    method: "GET",
    path: new RegExp(`^/incidents/${id}/past_incidents$`),
    query: z.strictObject({ limit: digits.optional(), total: z.enum(["true", "false"]).optional() }),
    answer: () => ({ past_incidents: [{ incident: LIKE, score: 46.8249 }], total: 3, limit: 5 }),
  },
  {
    id: "listIncidentRelatedIncidents",
    method: "GET",
    path: new RegExp(`^/incidents/${id}/related_incidents$`),
    query: z.strictObject({ "additional_details[]": z.literal("incident").optional() }),
    answer: () => ({ related_incidents: RELATED }),
  },
  {
    id: "getEscalationPolicy",
    method: "GET",
    path: new RegExp(`^/escalation_policies/${id}$`),
    answer: () => ({ escalation_policy: POLICY }),
  },
  {
    id: "listChangeEvents",
    method: "GET",
    path: /^\/change_events$/,
    query: z.strictObject({ ...paging, since: time, until: time }),
    answer: () => ({ ...page, change_events: CHANGES }),
  },
  {
    id: "listOnCalls",
    method: "GET",
    path: /^\/oncalls$/,
    query: z.strictObject({
      ...paging,
      "escalation_policy_ids[]": z.string().optional(),
      earliest: z.enum(["true", "false"]).optional(),
    }),
    answer: () => ({ ...page, oncalls: ON_CALLS }),
  },
  {
    id: "listServices",
    method: "GET",
    path: /^\/services$/,
    query: z.strictObject({
      ...paging,
      query: z.string().optional(),
      sort_by: z.enum(["name", "name:asc"]).optional(),
    }),
    answer: () => ({ ...page, services: SERVICES }),
  },
];

const ENTRIES: Json = [
  {
    id: "R02JTSNZWHSEKV",
    type: "notify_log_entry",
    summary: "Notified Earline Greenholt by phone.",
    created_at: "2026-01-31T08:02:20Z",
    agent: { id: "PIJ90N7", type: "service_reference", summary: "Checkout" },
    channel: { type: "auto", notification: { type: "phone", address: "+1 555 0100" } },
    teams: [],
    contexts: [],
  },
  {
    id: "Q02JTSNZWHSEKV",
    type: "trigger_log_entry",
    summary: "Triggered through the API.",
    created_at: "2026-01-31T08:01:42Z",
    agent: { id: "PIJ90N7", type: "service_reference", summary: "Checkout" },
    channel: { type: "api" },
    teams: [],
    contexts: [],
    event_details: { description: "5xx above 10 per second" },
  },
];

const ALERTS: Json = [
  {
    id: "PT4KHLL",
    type: "alert",
    summary: "Checkout answers 5xx.",
    self: "https://api.pagerduty.com/incidents/PT4KHLK/alerts/PT4KHLL",
    html_url: "https://acme.pagerduty.com/alerts/PT4KHLL",
    created_at: "2026-01-31T08:01:42Z",
    status: "triggered",
    alert_key: "baf7cf21b1da41b4b0221008339ff357",
    body: {
      type: "alert_body",
      contexts: [{ type: "link" }],
      details: { query: "rate 5xx > 10", customKey: "12.5/s" },
    },
    suppressed: false,
    severity: "critical",
    integration: { id: "PQ12345", type: "events_api_v2_inbound_integration_reference", summary: "Prometheus" },
  },
];

const NOTES: Json = [
  {
    id: "PWL7QXS",
    user: user("Earline Greenholt"),
    channel: { summary: "The PagerDuty website or APIs" },
    content: "Rolling back 1.14.0.\n\n(skillflow call 0123456789abcdef01234567)",
    created_at: "2026-01-31T08:10:51Z",
  },
];

const CHANGES: Json = [
  {
    summary: "checkout 1.14.0 deployed",
    id: "01BBYA6PEVW6A852BUO6QYUE7O",
    timestamp: "2026-01-31T07:58:00Z",
    type: "change_event",
    source: "acme-pipeline",
    integration: { id: "PEYSGVF", type: "inbound_integration_reference" },
    services: [{ id: "PIJ90N7", type: "service_reference" }],
    custom_details: { build_state: "passed" },
    links: [{ href: "https://ci.example/build/2", text: "View more" }],
    correlation_reason: { reason: "most_recent" },
  },
];

const ON_CALLS: Json = [2, 1].map((level) => ({
  user: user(level === 1 ? "Tim Wright" : "Ada Young"),
  schedule: { id: "PI7DH85", type: "schedule_reference", summary: "Daily" },
  escalation_policy: { id: "PT20YPA", type: "escalation_policy_reference", summary: "Shop" },
  escalation_level: level,
  start: "2026-01-30T15:28:51Z",
  end: "2026-02-07T15:28:51Z",
}));

const SERVICES: Json = [
  {
    id: "PIJ90N7",
    summary: "Checkout",
    type: "service",
    html_url: "https://acme.pagerduty.com/service-directory/PIJ90N7",
    name: "Checkout",
    description: "Takes orders.",
    auto_resolve_timeout: 14400,
    created_at: "2025-11-06T11:12:51Z",
    status: "critical",
    last_incident_timestamp: "2026-01-31T08:01:42Z",
    integrations: [],
    escalation_policy: { id: "PT20YPA", type: "escalation_policy_reference", summary: "Shop" },
    teams: [{ id: "PQ9K7I8", type: "team_reference", summary: "Engineering" }],
  },
];

export const vendor: Vendor = {
  start: startPagerDuty,
  env: (url) => ({ PAGERDUTY_API_URL: url, PAGERDUTY_API_KEY: KEY, PAGERDUTY_FROM: FROM }),
  secrets: [KEY],
  asked: ["list_incidents", {}],
  questions: {
    "What is open?": {
      asks: [
        ["list_incidents", {}],
        ["list_incidents", { service: "PIJ90N7", statuses: ["resolved"] }],
        ["get_incident", ([{ incidents }]) => ({ incident: incidents[0].id })],
      ],
      tells: ["Checkout answers 5xx", "2026-01-31T08:01:42", "Rolling back 1.14.0"],
    },
    "What triggered it?": {
      asks: [
        ["list_alerts", { incident: "PT4KHLK" }],
        ["list_changes", { incident: "PT4KHLK" }],
      ],
      tells: ["rate 5xx > 10", "checkout 1.14.0 deployed", "2026-01-31T07:58"],
    },
    "Who is handling it?": {
      asks: [
        ["get_timeline", { incident: "PT4KHLK" }],
        ["list_on_call", { escalation_policy: "PT20YPA" }],
      ],
      tells: ["Notified Earline Greenholt", "Tim Wright"],
    },
  },
  inputs: { pagerduty_list_incidents: { from: null, to: null }, pagerduty_list_changes: { from: null, to: null } },
};
