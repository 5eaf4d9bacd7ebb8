import type { Json, JsonObject } from "skillflow";
import type { LoopbackRequest } from "skillflow/testing";
import * as z from "zod";
import { type Answer, type Asked, type RestService, type Route, type Script, startRest, swollen } from "./rest.ts";
import type { Vendor } from "./vendor.ts";

/**
 * Better Stack as documented: Uptime's JSON:API with its pagination object, Telemetry's sources, and the SQL API, which
 * is ClickHouse over HTTP. Undocumented requests are refused.
 */

export const TOKEN = "bscanarytoken0123456789";
export const USERNAME = "uCanaryName0123";
export const PASSWORD = "canaryPassword0123456789";
export const SOURCE = "t123456_checkout";

export function startBetterStack(script?: Script): Promise<RestService> {
  const incidents = new Map<string, JsonObject>([["25", INCIDENT]]);
  const fault = (message: string) => ({ errors: message });
  return startRest({ routes: routes(incidents), refuse, fault }, script);
}

/** Answers of maximum size. */
export function flood({ example }: Asked): Answer {
  return { body: swollen(example, LONG) };
}

const LONG = ["text", "cause", "response_content", "raw", "description", "required_keyword", "name", "url"];

function refuse({ headers }: LoopbackRequest, operation: string): Answer | undefined {
  if (operation === "sql") {
    const login = Buffer.from(`${USERNAME}:${PASSWORD}`).toString("base64");
    return headers.authorization === `Basic ${login}`
      ? undefined
      : exception(516, 403, "default: Authentication failed");
  }
  if (headers.authorization === `Bearer ${TOKEN}`) return undefined;
  return { status: 401, body: { errors: "Invalid Team API token" } };
}

/** An exception as ClickHouse words it. */
export function exception(code: number, status: number, words: string): Answer {
  return {
    status,
    text: `Code: ${code}. DB::Exception: ${words}. (SOME_NAME) (version 24.8.4.13 (official build))\n`,
    headers: { "x-clickhouse-exception-code": String(code), "content-type": "text/plain" },
  };
}

const digits = z.string().regex(/^\d+$/);
const day = z.string().regex(/^\d{4}-\d\d-\d\d$/);
const boolean = z.enum(["true", "false"]);
const pages = { page: digits.optional(), per_page: digits.refine((value) => Number(value) <= 50).optional() };

const incidentFilters = z.strictObject({
  from: day.optional(),
  to: day.optional(),
  monitor_id: digits.optional(),
  heartbeat_id: digits.optional(),
  resolved: boolean.optional(),
  acknowledged: boolean.optional(),
  ...pages,
});

const newIncident = z.strictObject({
  requester_email: z.email(),
  name: z.string().optional(),
  summary: z.string().min(1).max(255),
  description: z.string().optional(),
  policy_id: z.string().optional(),
  call: z.boolean().optional(),
  sms: z.boolean().optional(),
  email: z.boolean().optional(),
  push: z.boolean().optional(),
  team_wait: z.int().optional(),
});

const READS =
  "remote\\(t123456_(?:checkout|cart)_(?:logs|spans|metrics)\\)|s3Cluster\\(primary, t123456_checkout_s3\\)";

const settings = z.strictObject({
  readonly: z.literal("2"),
  limit: digits,
  max_result_rows: digits,
  max_result_bytes: digits,
  result_overflow_mode: z.literal("throw"),
  max_execution_time: digits,
  wait_end_of_query: z.literal("1"),
  output_format_json_quote_64bit_integers: z.literal("1"),
});

function routes(incidents: Map<string, JsonObject>): Route[] {
  const comments: JsonObject[] = [];
  return [
    {
      id: "incidents/list",
      method: "GET",
      path: /^\/api\/v3\/incidents$/,
      query: incidentFilters,
      answer: () => ({ data: [...incidents.values()].reverse(), pagination: paginationOf("incidents") }),
    },
    {
      id: "incidents/get",
      method: "GET",
      path: /^\/api\/v3\/incidents\/\d+$/,
      answer: ({ path }) => ({ data: incidents.get(path.split("/").at(-1) ?? "") ?? INCIDENT }),
    },
    {
      id: "incidents/timeline",
      method: "GET",
      path: /^\/api\/v3\/incidents\/\d+\/timeline$/,
      answer: () => ({ data: TIMELINE }),
    },
    {
      id: "comments/list",
      method: "GET",
      path: /^\/api\/v2\/incidents\/\d+\/comments$/,
      answer: () => ({ data: comments }),
    },
    {
      id: "comments/create",
      method: "POST",
      path: /^\/api\/v2\/incidents\/\d+\/comments$/,
      body: z.strictObject({ content: z.string().min(1) }),
      status: 201,
      answer: ({ body }) => {
        const id = String(123 + comments.length);
        const attributes = { id: Number(id), ...body, created_at: "2026-01-31T08:10:00.000Z" };
        comments.push({ id, type: "incident_comment", attributes });
        return { data: comments.at(-1) ?? null };
      },
    },
    {
      id: "on-calls/list",
      method: "GET",
      path: /^\/api\/v2\/on-calls$/,
      query: z.strictObject(pages),
      answer: () => ({ ...ON_CALLS, pagination: paginationOf("on-calls") }),
    },
    settling("acknowledge", z.strictObject({ acknowledged_by: z.string().optional() })),
    settling("resolve", z.strictObject({ resolved_by: z.string().optional() })),
    {
      id: "incidents/create",
      method: "POST",
      path: /^\/api\/v3\/incidents$/,
      body: newIncident,
      status: 201,
      answer: ({ body }) => {
        const id = String(100 + incidents.size);
        const { name = null, summary = "" } = body;
        const attributes = {
          ...BLANK,
          name,
          cause: summary,
          started_at: "2026-01-31T08:10:00.000Z",
          status: "Started",
        };
        incidents.set(id, { id, type: "incident", attributes, relationships: {} });
        return { data: incidents.get(id) ?? null };
      },
    },
    {
      id: "monitors/list",
      method: "GET",
      path: /^\/api\/v2\/monitors$/,
      query: z.strictObject({ url: z.string().optional(), pronounceable_name: z.string().optional(), ...pages }),
      answer: () => ({ data: [MONITOR], pagination: paginationOf("monitors") }),
    },
    { id: "monitors/get", method: "GET", path: /^\/api\/v2\/monitors\/\d+$/, answer: () => ({ data: MONITOR }) },
    {
      id: "monitors/sla",
      method: "GET",
      path: /^\/api\/v2\/monitors\/\d+\/sla$/,
      query: z.strictObject({ from: day.optional(), to: day.optional() }),
      answer: () => ({ data: AVAILABILITY }),
    },
    {
      id: "monitors/response-times",
      method: "GET",
      path: /^\/api\/v2\/monitors\/\d+\/response-times$/,
      answer: () => ({ data: RESPONSE_TIMES }),
    },
    {
      id: "heartbeats/list",
      method: "GET",
      path: /^\/api\/v2\/heartbeats$/,
      query: z.strictObject(pages),
      answer: () => ({ data: [HEARTBEAT], pagination: paginationOf("heartbeats") }),
    },
    {
      id: "sources/list",
      method: "GET",
      path: /^\/api\/v1\/sources$/,
      query: z.strictObject(pages),
      answer: () => ({ data: [SOURCE_ANSWER], pagination: paginationOf("sources") }),
    },
    {
      id: "sql",
      method: "POST",
      path: /^\/$/,
      query: settings,
      body: z.strictObject({
        text: z.string().regex(new RegExp(`^(?:SELECT|WITH) [^]*\\b(?:${READS})[^]*\\nFORMAT JSONEachRow$`)),
      }),
      isLines: true,
      answer: ({ query }) => ROWS.slice(0, Number(query["limit"])),
    },
  ];
}

function settling(verb: "acknowledge" | "resolve", body: z.ZodType): Route {
  return {
    id: `incidents/${verb}`,
    method: "POST",
    path: new RegExp(`^/api/v3/incidents/\\d+/${verb}$`),
    body,
    answer: () => ({ data: settled(verb) }),
  };
}

/** The incident once it was acknowledged, or has ended. */
export function settled(verb: "acknowledge" | "resolve"): JsonObject {
  const taken = { acknowledged_at: "2026-01-31T08:05:00.000Z", acknowledged_by: "Ada", status: "Acknowledged" };
  const ended = { resolved_at: "2026-01-31T08:30:00.000Z", resolved_by: "Ada", status: "Resolved" };
  const attributes = { ...(INCIDENT["attributes"] as JsonObject), ...taken, ...(verb === "resolve" ? ended : {}) };
  return { ...INCIDENT, attributes };
}

export function paginationOf(what: string, next: number | null = null): JsonObject {
  const page = (number: number) => `https://uptime.betterstack.com/api/v3/${what}?page=${number}&per_page=10`;
  return { first: page(1), last: page(next ?? 1), prev: null, next: next === null ? null : page(next) };
}

const BLANK: JsonObject = {
  name: null,
  url: null,
  http_method: null,
  cause: null,
  incident_group_id: null,
  started_at: null,
  acknowledged_at: null,
  acknowledged_by: null,
  resolved_at: null,
  resolved_by: null,
  status: null,
  team_name: "Shop",
  response_content: null,
  response_options: null,
  regions: null,
  response_url: null,
  screenshot_url: null,
  origin_url: null,
  escalation_policy_id: null,
  call: false,
  sms: false,
  email: true,
  push: true,
  metadata: {},
};

const INCIDENT: JsonObject = {
  id: "25",
  type: "incident",
  attributes: {
    ...BLANK,
    name: "Checkout",
    url: "https://probe:hunter2@shop.example/pay?x=1",
    http_method: "get",
    cause: "Status 502",
    started_at: "2026-01-31T08:00:00.000Z",
    status: "Started",
    response_content: "<h1>Bad gateway</h1>",
    response_options: "{}",
    regions: ["us", "eu"],
    call: true,
    metadata: {
      "Request duration": [{ type: "String", value: "0.036304" }],
      "Response code": [{ type: "String", value: "502" }],
    },
  },
  relationships: { monitor: { data: { id: "2", type: "monitor" } } },
};

const TIMELINE: Json = [
  {
    id: "23",
    type: "timeline_item",
    attributes: {
      item_type: "comment",
      at: "2026-01-31T08:06:00.000Z",
      data: { title: null, content: { text: "Looking.\n\n<!-- skillflow:a:b -->", user: { id: 1, name: "Ada" } } },
    },
  },
  {
    id: "22",
    type: "timeline_item",
    attributes: {
      item_type: "generic",
      at: "2026-01-31T08:00:30.000Z",
      data: { title: "Called Ada", content: null },
    },
  },
];

const ON_CALLS: JsonObject = {
  data: [
    {
      id: "174939",
      type: "on_call_calendar",
      attributes: { name: "Shop", default_calendar: true, team_name: "Shop" },
      relationships: { on_call_users: { data: [{ id: "2345", type: "user", meta: { email: "ada@example.com" } }] } },
    },
  ],
  included: [
    {
      id: "2345",
      type: "user",
      attributes: { first_name: "Ada", last_name: "L.", email: "ada@example.com", phone_numbers: ["+44 hunter2"] },
    },
  ],
};

const AVAILABILITY: Json = {
  id: "2",
  type: "monitor_sla",
  attributes: {
    availability: 99.98,
    total_downtime: 600,
    number_of_incidents: 3,
    longest_incident: 300,
    average_incident: 200,
  },
};

const responseTime = (at: string, response_time: number, connection_time: number): Json => ({
  at,
  response_time,
  name_lookup_time: 0.00002,
  connection_time,
  tls_handshake_time: 0.19929,
  data_transfer_time: 0.13154,
});

const RESPONSE_TIMES: Json = {
  id: "2",
  type: "monitor_response_times",
  attributes: {
    regions: [
      {
        region: "us",
        response_times: [
          responseTime("2026-01-31T07:00:57.000Z", 0.47273, 0.14187),
          responseTime("2026-01-31T08:01:27.000Z", 3.41211, 3.13058),
        ],
      },
    ],
  },
};

const HEARTBEAT: Json = {
  id: "7",
  type: "heartbeat",
  attributes: {
    url: "https://uptime.betterstack.com/api/v1/heartbeat/hunter2",
    name: "Nightly backup",
    period: 86400,
    grace: 3600,
    call: false,
    sms: false,
    email: true,
    push: true,
    team_wait: 180,
    heartbeat_group_id: null,
    team_name: "Shop",
    sort_index: null,
    paused_at: null,
    created_at: "2025-06-01T00:00:00.000Z",
    updated_at: "2026-01-30T03:10:20.202Z",
    status: "down",
  },
};

const MONITOR: Json = {
  id: "2",
  type: "monitor",
  attributes: {
    url: "https://probe:hunter2@shop.example/pay",
    pronounceable_name: "Checkout",
    monitor_type: "status",
    monitor_group_id: "12345",
    last_checked_at: "2026-01-31T08:00:30.000Z",
    status: "down",
    policy_id: null,
    team_name: "Shop",
    required_keyword: null,
    verify_ssl: true,
    check_frequency: 30,
    call: true,
    sms: true,
    email: true,
    push: true,
    team_wait: null,
    http_method: "get",
    request_timeout: 15,
    recovery_period: 0,
    request_headers: [{ id: "123", name: "Authorization", value: "Bearer hunter2" }],
    request_body: "password=hunter2",
    auth_username: "probe",
    auth_password: "hunter2",
    paused_at: null,
    created_at: "2020-02-18T13:38:16.586Z",
    updated_at: "2020-09-08T13:10:20.202Z",
    ssl_expiration: 7,
    domain_expiration: 14,
    regions: ["us", "eu"],
    maintenance_from: null,
    maintenance_to: null,
    port: null,
    confirmation_period: 120,
    expected_status_codes: [200],
  },
};

const SOURCE_ANSWER: Json = {
  id: "95",
  type: "source",
  attributes: {
    team_id: 123456,
    team_name: "Shop",
    name: "Checkout",
    table_name: "checkout",
    platform: "vercel_integration",
    token: "hunter2FczKcxEhjEDE58dBX7XaeX1q",
    data_region: "germany",
    ingesting_host: "s95.eu-nbg-2.betterstackdata.com",
    ingesting_paused: false,
    logs_retention: 30,
    metrics_retention: 90,
    live_tail_pattern: "{level} {message}",
    scrape_request_basic_auth_password: "hunter2",
    created_at: "2025-05-27T12:30:41.695Z",
    updated_at: "2025-06-11T14:00:50.756Z",
  },
};

const ROWS: readonly JsonObject[] = Array.from({ length: 12 }, (_, index) => ({
  dt: `2026-01-31 08:00:${String(index).padStart(2, "0")}.000000`,
  raw: '{"level":"error","message":"connection refused"}',
}));

export const vendor: Vendor = {
  start: startBetterStack,
  env: (url) => ({
    BETTERSTACK_API_TOKEN: TOKEN,
    BETTERSTACK_API_URL: url,
    BETTERSTACK_QUERY_ENDPOINT: url,
    BETTERSTACK_QUERY_USERNAME: USERNAME,
    BETTERSTACK_QUERY_PASSWORD: PASSWORD,
    BETTERSTACK_SOURCE: SOURCE,
  }),
  secrets: [TOKEN],
  asked: ["list_incidents", { resolved: false }],
  questions: {
    "What is down, and since when?": {
      asks: [
        ["list_incidents", { resolved: false }],
        ["get_incident", ([{ incidents }]) => ({ incident_id: incidents[0].id })],
        ["get_monitor", { monitor_id: "2" }],
        ["list_incidents", { monitor_id: "2" }],
      ],
      tells: ["Status 502", "2026-01-31T08:00:00", "Bad gateway", '"expected_status_codes":[200]'],
    },
    "Who is handling it?": {
      asks: [
        ["get_timeline", { incident_id: "25" }],
        ["list_on_call", {}],
      ],
      tells: ["Called Ada", "Looking", "ada@example.com"],
    },
    "What do the logs show?": {
      asks: [
        [
          "query_logs",
          { sql: "SELECT dt, raw FROM logs WHERE dt > '2026-01-31 07:55:00' ORDER BY dt DESC LIMIT 20", limit: 5 },
        ],
      ],
      tells: ["connection refused"],
    },
  },
  inputs: { betterstack_create_incident: { requester_email: "ops@example.com" } },
};
