import type { Json } from "skillflow";
import type { LoopbackRequest } from "skillflow/testing";
import * as z from "zod";
import { type Answer, type Asked, type RestService, type Route, type Script, startRest, swollen } from "./rest.ts";
import { PERIOD, type Vendor } from "./vendor.ts";

/** Datadog according to its published API description: unknown requests are refused, answers are its examples. */

export const API_KEY = "ddapicanary0123456789abcdef01234";
export const APP_KEY = "ddappcanary0123456789abcdef0123456789abcd";

export function startDatadog(script?: Script): Promise<RestService> {
  const downtimes: Json[] = [];
  const contract = { routes: routes(downtimes), refuse, fault: (message: string) => ({ errors: [message] }) };
  return startRest(contract, script);
}

/** Answers of maximum size. */
export function flood({ example }: Asked): Answer {
  return { body: swollen(example, LONG) };
}

const LONG = [
  "message",
  "content",
  "root_cause",
  "description",
  "stack",
  "resource_name",
  "query",
  "reason",
  "customer_impact_scope",
  "scope",
];

// Datadog answers a wrong API key and a wrong application key in the same way.
function refuse({ headers }: LoopbackRequest, operation: string): Answer | undefined {
  const isKnown = headers["dd-api-key"] === API_KEY;
  if (operation === "validate") return isKnown ? undefined : FORBIDDEN;
  return isKnown && headers["dd-application-key"] === APP_KEY ? undefined : FORBIDDEN;
}

const FORBIDDEN: Answer = { status: 403, body: { errors: ["Forbidden"] } };

const TIME = /^(now(-\d+[smhdw])?|\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?(Z|[+-]\d\d:\d\d))$/;
const time = z.string().regex(TIME);
const digits = z.string().regex(/^\d+$/);
const sort = z.enum(["timestamp", "-timestamp"]);
const eventPage = z.strictObject({ limit: z.int().min(1).max(1000).optional(), cursor: z.string().optional() });
const logFilter = z.strictObject({
  query: z.string().optional(),
  from: time.optional(),
  to: time.optional(),
  indexes: z.array(z.string()).optional(),
});
const aggregation = z.enum(
  "count cardinality pc75 pc90 pc95 pc98 pc99 sum min max avg median".split(" ") as [string, ...string[]],
);
const measure = { aggregation, metric: z.string().optional() };

const logSearch = z.strictObject({ filter: logFilter, sort: sort.optional(), page: eventPage.optional() });

const logAggregate = z.strictObject({
  filter: logFilter,
  compute: z.array(
    z.strictObject({ ...measure, type: z.enum(["total", "timeseries"]).optional(), interval: z.string().optional() }),
  ),
  group_by: z
    .array(
      z.strictObject({
        facet: z.string(),
        limit: z.int().max(1000).optional(),
        sort: z.strictObject({ ...measure, type: z.literal("measure"), order: z.enum(["asc", "desc"]) }).optional(),
      }),
    )
    .max(4)
    .optional(),
  page: z.strictObject({ cursor: z.string().optional() }).optional(),
});

const spanSearch = z.strictObject({
  data: z.strictObject({
    type: z.literal("search_request"),
    attributes: z.strictObject({
      filter: z.strictObject({ query: z.string().optional(), from: time.optional(), to: time.optional() }),
      sort: sort.optional(),
      page: eventPage.optional(),
    }),
  }),
});

const downtimeCreate = z.strictObject({
  data: z.strictObject({
    type: z.literal("downtime"),
    attributes: z.strictObject({
      monitor_identifier: z.strictObject({ monitor_id: z.int().positive() }),
      scope: z.string().min(1),
      message: z.string().optional(),
      schedule: z.strictObject({ start: time.optional(), end: time.optional() }).optional(),
    }),
  }),
});

function routes(downtimes: Json[]): Route[] {
  return [
    { id: "validate", method: "GET", path: /^\/api\/v1\/validate$/, answer: () => ({ valid: true }) },
    {
      id: "logs/search",
      method: "POST",
      path: /^\/api\/v2\/logs\/events\/search$/,
      body: logSearch,
      answer: () => LOGS,
    },
    {
      id: "logs/aggregate",
      method: "POST",
      path: /^\/api\/v2\/logs\/analytics\/aggregate$/,
      body: logAggregate,
      answer: () => BUCKETS,
    },
    {
      id: "metrics/query",
      method: "GET",
      path: /^\/api\/v1\/query$/,
      query: z.strictObject({ from: digits, to: digits, query: z.string().min(1) }),
      answer: () => SERIES,
    },
    {
      id: "monitors/search",
      method: "GET",
      path: /^\/api\/v1\/monitor\/search$/,
      query: z.strictObject({
        query: z.string().optional(),
        page: digits,
        per_page: digits,
        sort: z.string().optional(),
      }),
      answer: () => MONITORS,
    },
    {
      id: "monitors/get",
      method: "GET",
      path: /^\/api\/v1\/monitor\/\d+$/,
      query: z.strictObject({
        group_states: z.string().optional(),
        with_downtimes: z.enum(["true", "false"]).optional(),
      }),
      answer: () => MONITOR,
    },
    {
      id: "events/search",
      method: "GET",
      path: /^\/api\/v2\/events$/,
      query: z.strictObject({
        "filter[query]": z.string().optional(),
        "filter[from]": time.optional(),
        "filter[to]": time.optional(),
        sort: sort.optional(),
        "page[limit]": digits.optional(),
        "page[cursor]": z.string().optional(),
      }),
      answer: () => EVENTS,
    },
    {
      id: "incidents/search",
      method: "GET",
      path: /^\/api\/v2\/incidents\/search$/,
      query: z.strictObject({
        query: z.string().min(1),
        sort: z.enum(["created", "-created"]).optional(),
        "page[size]": digits.optional(),
        "page[offset]": digits.optional(),
      }),
      answer: () => INCIDENTS,
    },
    {
      id: "spans/search",
      method: "POST",
      path: /^\/api\/v2\/spans\/events\/search$/,
      body: spanSearch,
      answer: () => SPANS,
    },
    {
      id: "spans/aggregate",
      method: "POST",
      path: /^\/api\/v2\/spans\/analytics\/aggregate$/,
      body: z.strictObject({
        data: z.strictObject({
          type: z.literal("aggregate_request"),
          attributes: z.strictObject({
            filter: z.strictObject({ query: z.string().optional(), from: time.optional(), to: time.optional() }),
            compute: logAggregate.shape.compute,
            group_by: logAggregate.shape.group_by,
          }),
        }),
      }),
      answer: () => SPAN_BUCKETS,
    },
    {
      id: "dependencies/list",
      method: "GET",
      path: /^\/api\/v1\/service_dependencies$/,
      query: z.strictObject({ env: z.string().min(1), start: digits.optional(), end: digits.optional() }),
      answer: () => ({ checkout: { calls: ["payments", "stock"] }, payments: { calls: [] } }),
    },
    {
      id: "dependencies/get",
      method: "GET",
      path: /^\/api\/v1\/service_dependencies\/[^/]+$/,
      query: z.strictObject({ env: z.string().min(1), start: digits.optional(), end: digits.optional() }),
      answer: () => ({ name: "checkout", calls: ["payments"], called_by: ["web"] }),
    },
    {
      id: "metrics/search",
      method: "GET",
      path: /^\/api\/v1\/search$/,
      query: z.strictObject({ q: z.string().regex(/^metrics:/) }),
      answer: () => ({ results: { metrics: ["checkout.latency", "checkout.errors"], hosts: [] } }),
    },
    {
      id: "metrics/get",
      method: "GET",
      path: /^\/api\/v1\/metrics\/[\w.]+$/,
      answer: () => ({
        type: "gauge",
        description: "How long a payment takes.",
        short_name: "latency",
        unit: "millisecond",
        per_unit: null,
      }),
    },
    {
      id: "metrics/tags",
      method: "GET",
      path: /^\/api\/v2\/metrics\/[\w.]+\/all-tags$/,
      answer: () => ({
        data: {
          id: "checkout.latency",
          type: "metrics",
          attributes: { tags: ["env:prod", "env:staging", "service:checkout", "url:http://a"], ingested_tags: [] },
        },
      }),
    },
    {
      id: "incidents/get",
      method: "GET",
      path: /^\/api\/v2\/incidents\/[0-9a-f-]{36}$/,
      query: z.strictObject({ include: z.enum(["users", "attachments"]).optional() }),
      answer: () => INCIDENT,
    },
    {
      id: "incidents/todos",
      method: "GET",
      path: /^\/api\/v2\/incidents\/[0-9a-f-]{36}\/relationships\/todos$/,
      answer: () => TODOS,
    },
    {
      id: "downtimes/cancel",
      method: "DELETE",
      path: /^\/api\/v2\/downtime\/[0-9a-f-]{36}$/,
      status: 204,
      answer: ({ path }) => {
        const at = downtimes.findIndex((one) => path.endsWith(`/${(one as { id: string }).id}`));
        downtimes.splice(at, at < 0 ? 0 : 1);
        return null;
      },
    },
    {
      id: "downtimes/list",
      method: "GET",
      path: /^\/api\/v2\/downtime$/,
      query: z.strictObject({
        current_only: z.enum(["true", "false"]).optional(),
        "page[limit]": digits.optional(),
        "page[offset]": digits.optional(),
      }),
      answer: ({ query }) => ({ data: downtimes.slice(Number(query["page[offset]"] ?? 0)).slice(0, 100) }),
    },
    {
      id: "downtimes/create",
      method: "POST",
      path: /^\/api\/v2\/downtime$/,
      body: downtimeCreate,
      answer: ({ body }) => {
        const downtime = { id: `00000000-0000-1234-0000-00000000000${downtimes.length}`, ...(body["data"] as object) };
        downtimes.push(downtime as Json);
        return { data: downtime } as Json;
      },
    },
  ];
}

const LOGS: Json = {
  data: [
    {
      id: "AAAAAWgN8Xwgr1vKDQAAAABBV2dOOFh3ZzZobm1mWXJFYTR0OA",
      type: "log",
      attributes: {
        timestamp: "2026-01-31T08:00:01.000Z",
        status: "error",
        service: "checkout",
        host: "web-1",
        message: "connection refused by payments:443",
        tags: ["env:prod", "version:2.1.0"],
        attributes: {
          http: { status_code: 502 },
          "error.kind": "ECONNREFUSED",
          error: { stack: "Error: refused\n  at pay()" },
        },
      },
    },
  ],
  links: { next: "https://api.datadoghq.com/api/v2/logs/events?page[cursor]=eyJhZnRlciI6" },
  meta: {
    elapsed: 132,
    page: { after: "eyJhZnRlciI6IkFRQUFBWFVBOFdVVUFBQUFBRUZZVlV0" },
    request_id: "abc",
    status: "done",
  },
};

const BUCKETS: Json = {
  data: {
    buckets: [
      { by: { service: "checkout" }, computes: { c0: 128 } },
      { by: { service: "cart" }, computes: { c0: 3 } },
    ],
  },
  meta: { elapsed: 10, request_id: "abc", status: "done" },
};

const SPAN_BUCKETS: Json = {
  data: [
    { id: "1", type: "bucket", attributes: { by: { service: "checkout" }, computes: { c0: 250.5 } } },
    { id: "2", type: "bucket", attributes: { by: { service: "cart" }, compute: { c0: 12 } } },
  ],
  meta: { elapsed: 10, request_id: "abc", status: "done", warnings: [] },
};

const SERIES: Json = {
  status: "ok",
  resp_version: 1,
  series: [
    {
      metric: "system.cpu.idle",
      display_name: "system.cpu.idle",
      scope: "host:web-1",
      expression: "system.cpu.idle{host:web-1}",
      interval: 300,
      start: 1769846400000,
      end: 1769847899000,
      length: 5,
      aggr: null,
      tag_set: ["host:web-1"],
      query_index: 0,
      attributes: {},
      unit: [
        { family: "percentage", scale_factor: 1, name: "percent", short_name: "%", plural: "percent", id: 17 },
        null,
      ],
      pointlist: [
        [1769846400000, 91.5],
        [1769846700000, 90.5],
        [1769847000000, null],
        [1769847300000, 12],
        [1769847600000, 14],
      ],
    },
  ],
  query: "system.cpu.idle{*}",
  message: "",
  res_type: "time_series",
  from_date: 1769846400000,
  to_date: 1769850000000,
  group_by: [],
};

const MONITORS: Json = {
  counts: { status: [{ name: "Alert", count: 1 }], muted: [{ name: false, count: 1 }], tag: [], type: [] },
  metadata: { page: 0, page_count: 1, per_page: 30, total_count: 1 },
  monitors: [
    {
      id: 2779251,
      org_id: 321813,
      name: "Checkout error rate",
      status: "Alert",
      type: "metric alert",
      classification: "metric",
      query: "avg(last_5m):sum:trace.http.request.errors{service:checkout} > 100",
      metrics: ["trace.http.request.errors"],
      notifications: [{ handle: "pagerduty", name: "Pagerduty" }],
      creator: { handle: "ada@example.com", id: 1379811, name: "Ada" },
      tags: ["service:checkout"],
      scopes: ["service:checkout"],
      priority: 1,
      last_triggered_ts: 1769846401,
      muted_until_ts: null,
      overall_state_modified: null,
      restricted_roles: [],
    },
  ],
};

const MONITOR: Json = {
  id: 2779251,
  name: "Checkout error rate",
  type: "metric alert",
  query: "avg(last_5m):sum:trace.http.request.errors{service:checkout} by {host} > 100",
  message: "Errors are up. @pagerduty",
  tags: ["service:checkout"],
  overall_state: "Alert",
  overall_state_modified: "2026-01-31T08:00:01.000000+00:00",
  priority: 1,
  created: "2025-01-31T08:00:00.000000+00:00",
  modified: "2025-06-30T08:00:00.000000+00:00",
  creator: { email: "ada@example.com", handle: "ada@example.com", name: "Ada" },
  multi: true,
  options: { thresholds: { critical: 100, warning: 50 }, notify_no_data: false, include_tags: true },
  state: {
    groups: {
      "host:web-1": {
        name: "host:web-1",
        status: "Alert",
        last_triggered_ts: 1769846401,
        last_notified_ts: 1769846401,
      },
      "host:web-2": { name: "host:web-2", status: "OK", last_resolved_ts: 1769846401 },
    },
  },
  matching_downtimes: [{ id: 1625, scope: ["env:staging"], start: 1769846401, end: 1769850000 }],
};

const EVENTS: Json = {
  data: [
    {
      id: "AwAAAYLoIchYAAABAAAAAA",
      type: "event",
      attributes: {
        timestamp: "2026-01-31T07:58:00.000Z",
        message: "checkout 2.1.0 is out",
        tags: ["source:deployment", "service:checkout"],
        attributes: {
          aggregation_key: "deploy",
          title: "Deployed checkout",
          service: "checkout",
          status: "info",
          evt: { id: "6509751066204996294", name: "deploy", source_id: 36, type: "deployment" },
        },
      },
    },
  ],
  links: { next: "https://api.datadoghq.com/api/v2/events?page[cursor]=eyJ" },
  meta: { elapsed: 132, page: { after: "eyJhZnRlciI6IkV2ZW50cyJ9" }, request_id: "abc", status: "done" },
};

const INCIDENTS: Json = {
  data: {
    type: "incidents_search_results",
    attributes: {
      facets: { state: [{ name: "active", count: 1 }] },
      total: 1,
      incidents: [
        {
          data: {
            id: "00000000-aaaa-0000-0000-000000000000",
            type: "incidents",
            attributes: {
              public_id: 17,
              title: "Checkout is down",
              state: "active",
              severity: "SEV-1",
              created: "2026-01-31T08:05:00+00:00",
              detected: "2026-01-31T08:00:00+00:00",
              modified: "2026-01-31T08:06:00+00:00",
              resolved: null,
              customer_impacted: true,
              customer_impact_scope: "No one can pay.",
              customer_impact_start: "2026-01-31T08:00:00+00:00",
              fields: {
                services: { type: "autocomplete", value: ["checkout"] },
                root_cause: { type: "textbox", value: null },
              },
            },
            relationships: { commander_user: { data: { id: "ada", type: "users" } } },
          },
        },
      ],
    },
  },
  meta: { pagination: { next_offset: 1, offset: 0, size: 1 } },
};

const INCIDENT: Json = {
  data: {
    id: "00000000-aaaa-0000-0000-000000000000",
    type: "incidents",
    attributes: {
      public_id: 17,
      title: "Checkout is down",
      created: "2026-01-31T08:05:00+00:00",
      detected: "2026-01-31T08:00:00+00:00",
      modified: "2026-01-31T09:06:00+00:00",
      resolved: "2026-01-31T09:00:00+00:00",
      customer_impacted: true,
      customer_impact_scope: "No one can pay.",
      customer_impact_start: "2026-01-31T07:58:00+00:00",
      customer_impact_end: "2026-01-31T08:55:00+00:00",
      fields: {
        state: { type: "dropdown", value: "resolved" },
        severity: { type: "dropdown", value: "SEV-1" },
        services: { type: "autocomplete", value: ["checkout"] },
        root_cause: { type: "textbox", value: "The pool was too small." },
      },
    },
    relationships: { commander_user: { data: { id: "ada", type: "users" } } },
  },
  included: [{ id: "ada", type: "users", attributes: { name: "Ada", handle: "ada@example.com", icon: "x" } }],
};

const TODOS: Json = {
  data: [
    {
      id: "00000000-0000-0000-1234-000000000000",
      type: "incident_todos",
      attributes: {
        content: "Restore the pool.",
        completed: "2026-01-31T08:50:00+00:00",
        due_date: null,
        assignees: ["@ada@example.com", { handle: "bob", name: "Bob", icon: "x", id: "b", source: "slack" }],
      },
    },
  ],
};

const SPANS: Json = {
  data: [
    {
      id: "AAAAAWgN8Xwgr1vKDQAAAABBV2dOOFh3ZzZobm1mWXJFYTR0OA",
      type: "spans",
      attributes: {
        service: "checkout",
        resource_name: "POST /pay",
        type: "web",
        env: "prod",
        host: "web-1",
        trace_id: "5856001379994862107",
        span_id: "1234567890987654321",
        parent_id: "0",
        start_timestamp: "2026-01-31T08:00:00.000Z",
        end_timestamp: "2026-01-31T08:00:01.250Z",
        single_span: false,
        tags: ["env:prod"],
        attributes: { version: "2.1.0" },
        custom: { duration: 1250000000, error: { message: "refused", type: "Error" }, http: { url: "/pay" } },
      },
    },
  ],
  links: { next: "https://api.datadoghq.com/api/v2/spans/events?page[cursor]=eyJ" },
  meta: { elapsed: 132, page: { after: "eyJhZnRlciI6IlNwYW5zIn0=" }, request_id: "abc", status: "done" },
};

export const vendor: Vendor = {
  start: startDatadog,
  env: (url) => ({ DD_API_KEY: API_KEY, DD_APP_KEY: APP_KEY, DD_API_URL: url }),
  secrets: [API_KEY, APP_KEY],
  isWrite: ({ method, url }) => method !== "GET" && !/search|aggregate|query|analytics/.test(url),
  asked: ["search_logs", { query: "service:checkout", from: "2026-11-20T14:30:00Z", to: "2026-11-20T14:45:00Z" }],
  questions: {
    "How bad, since when?": {
      asks: [
        ["aggregate_logs", { ...PERIOD, query: "status:error", group_by: ["service"] }],
        ["find_metrics", { name: "checkout" }],
        ["describe_metric", ([, { metrics }]) => ({ metric: metrics[0] })],
        ["query_metrics", { ...PERIOD, query: "avg:system.cpu.idle{*} by {host}" }],
        ["aggregate_spans", { ...PERIOD, query: "status:error", group_by: ["service"] }],
      ],
      tells: ['"service":"checkout"', "128", "checkout.latency", "host:web-1"],
    },
    "What exactly failed?": {
      asks: [
        ["search_logs", { ...PERIOD, query: "service:checkout status:error" }],
        ["search_spans", { ...PERIOD, query: "service:checkout status:error" }],
        ["get_trace", ([, { spans }]) => ({ ...PERIOD, trace_id: spans[0].trace_id })],
        ["get_dependencies", { ...PERIOD, env: "prod", service: "checkout" }],
      ],
      tells: ["connection refused by payments:443", "POST /pay", "payments"],
    },
    "What changed before?": {
      asks: [["list_events", { ...PERIOD, query: "source:deployment" }]],
      tells: ["checkout 2.1.0 is out", "07:58"],
    },
  },
};
