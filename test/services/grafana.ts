import type { Json } from "skillflow";
import type { LoopbackRequest } from "skillflow/testing";
import * as z from "zod";
import { type Answer, type Asked, type RestService, type Route, type Script, startRest, swollen } from "./rest.ts";
import { PERIOD, type Vendor } from "./vendor.ts";

/** Grafana according to its published API: unknown requests are refused, answers are its examples. */

export const TOKEN = "glsa_grafanacanary0123456789abcdef_01234567";

export function startGrafana(script?: Script): Promise<RestService> {
  return startRest({ routes: ROUTES, refuse, fault: (message: string) => ({ message }) }, script);
}

/** Answers of maximum size. */
export function flood({ operation, example }: Asked): Answer {
  if (operation === "policies") {
    const routes = Array.from({ length: 300 }, (_, n) => ({ receiver: `r${n}`, group_by: ["x é".repeat(300)] }));
    return { body: { ...(example as object), routes } };
  }
  const isDeep = operation === "rules" || operation === "getDashboardByUID";
  return { body: swollen(example, isDeep ? [] : ["summary", "text", "comment", "title"]) };
}

function refuse({ headers }: LoopbackRequest): Answer | undefined {
  if (headers.authorization === `Bearer ${TOKEN}`) return undefined;
  return { status: 401, body: { message: "Invalid API key", messageId: "api-key.invalid", statusCode: 401 } };
}

const digits = z.string().regex(/^\d+$/);
const ALERTMANAGER = "/api/alertmanager/grafana/api/v2";

const matcher = z.strictObject({
  name: z.string().min(1),
  value: z.string(),
  isRegex: z.boolean(),
  isEqual: z.boolean().optional(),
});
const postableSilence = z.strictObject({
  id: z.string().optional(),
  matchers: z.array(matcher).min(1),
  startsAt: z.iso.datetime(),
  endsAt: z.iso.datetime(),
  createdBy: z.string().min(1),
  comment: z.string().min(1),
});

const POLICIES: Json = {
  receiver: "everybody",
  group_by: ["grafana_folder", "alertname"],
  group_wait: "30s",
  group_interval: "5m",
  repeat_interval: "4h",
  routes: [
    {
      receiver: "shop-page",
      object_matchers: [
        ["service", "=~", "(checkout|cart)"],
        ["severity", "=", "page"],
      ],
      mute_time_intervals: ["weekend"],
      continue: true,
    },
    {
      object_matchers: [["team", "!=", ""]],
      routes: [{ receiver: "shop-chat", object_matchers: [["service", "!~", "cart.*"]] }],
    },
    { receiver: "lost", object_matchers: [["service", "=~", "((a+)+)+b"]] },
  ],
  provenance: "file",
};

const CONTACT_POINTS: Json = [
  {
    uid: "p1",
    name: "shop-page",
    type: "pagerduty",
    settings: { integrationKey: "[REDACTED]", url: "https://of-the-point.example" },
    disableResolveMessage: false,
    provenance: "file",
  },
  { uid: "p2", name: "shop-page", type: "slack", settings: { url: "[REDACTED]" }, disableResolveMessage: false },
  { uid: "p3", name: "shop-chat", type: "slack", settings: { recipient: "of-the-point" }, disableResolveMessage: true },
  { uid: "p4", name: "everybody", type: "email", settings: { addresses: "of-the-point@example.com" } },
];

const ROUTES: readonly Route[] = [
  { id: "policies", method: "GET", path: /^\/api\/v1\/provisioning\/policies$/, answer: () => POLICIES },
  {
    id: "contactPoints",
    method: "GET",
    path: /^\/api\/v1\/provisioning\/contact-points$/,
    answer: () => CONTACT_POINTS,
  },
  {
    id: "alerts",
    method: "GET",
    path: new RegExp(`^${ALERTMANAGER}/alerts$`),
    query: z.strictObject({
      active: z.enum(["true", "false"]),
      silenced: z.enum(["true", "false"]),
      inhibited: z.enum(["true", "false"]),
    }),
    answer: () => ALERTS,
  },
  {
    id: "silences",
    method: "GET",
    path: new RegExp(`^${ALERTMANAGER}/silences$`),
    answer: () => SILENCES,
  },
  {
    id: "silence",
    method: "GET",
    path: new RegExp(`^${ALERTMANAGER}/silence/[a-z0-9-]+$`),
    answer: () => SILENCE,
  },
  {
    id: "postSilences",
    method: "POST",
    path: new RegExp(`^${ALERTMANAGER}/silences$`),
    body: postableSilence,
    status: 202,
    answer: () => ({ silenceID: "0cbcdee6-9d44-4918-974f-30ed2b75b869" }),
  },
  {
    id: "deleteSilence",
    method: "DELETE",
    path: new RegExp(`^${ALERTMANAGER}/silence/[a-z0-9-]+$`),
    answer: () => ({ message: "silence deleted" }),
  },
  {
    id: "rules",
    method: "GET",
    path: /^\/api\/prometheus\/grafana\/api\/v1\/rules$/,
    query: z.strictObject({ limit_alerts: digits.optional(), state: z.string().optional() }),
    answer: () => ({ status: "success", data: { groups: GROUPS, totals: { firing: 1, inactive: 1 } } }),
  },
  {
    id: "getAnnotations",
    method: "GET",
    path: /^\/api\/annotations$/,
    query: z.strictObject({
      from: digits,
      to: digits,
      limit: digits,
      type: z.enum(["alert", "annotation"]).optional(),
      tags: z.string().optional(),
      dashboardUID: z.string().optional(),
    }),
    answer: () => ANNOTATIONS,
  },
  {
    id: "search",
    method: "GET",
    path: /^\/api\/search$/,
    query: z.strictObject({
      type: z.enum(["dash-db", "dash-folder"]),
      query: z.string().optional(),
      tag: z.string().optional(),
      limit: digits,
      page: digits.optional(),
    }),
    answer: () => HITS,
  },
  {
    id: "getDashboardByUID",
    method: "GET",
    path: /^\/api\/dashboards\/uid\/[A-Za-z0-9_-]+$/,
    answer: () => DASHBOARD,
  },
  { id: "getDataSources", method: "GET", path: /^\/api\/datasources$/, answer: () => DATA_SOURCES },
];

const ALERTS: Json = [
  {
    annotations: {
      __alertId__: "12",
      __dashboardUid__: "checkout-1",
      __panelId__: "4",
      __orgId__: "1",
      __value_string__: "[ var='B' labels={service=checkout} value=12.5 ]",
      summary: "checkout answers 5xx",
    },
    endsAt: "2026-01-31T08:09:00.000Z",
    fingerprint: "1c93eec3c0b2e2a5",
    receivers: [{ active: true, integrations: [], name: "on-call" }],
    startsAt: "2026-01-31T08:01:00.000Z",
    status: { inhibitedBy: [], silencedBy: [], state: "active" },
    updatedAt: "2026-01-31T08:05:00.000Z",
    generatorURL: "http://grafana.example/alerting/grafana/abc/view",
    labels: {
      __alert_rule_uid__: "ab1cd2",
      alertname: "CheckoutErrors",
      grafana_folder: "Shop",
      service: "checkout",
      severity: "page",
    },
  },
  {
    annotations: { summary: "disk of db-1 fills" },
    endsAt: "2026-01-31T08:09:00.000Z",
    fingerprint: "2c93eec3c0b2e2a5",
    receivers: [{ name: "tickets" }],
    startsAt: "2026-01-30T02:00:00.000Z",
    status: { inhibitedBy: [], silencedBy: ["9be7a32c-2a3d-4b51-9f4a-d3c5b6f5f1ab"], state: "suppressed" },
    updatedAt: "2026-01-31T08:05:00.000Z",
    labels: { __alert_rule_uid__: "ef3gh4", alertname: "DiskFilling", grafana_folder: "Infra", instance: "db-1" },
  },
];

const GROUPS: Json = [
  {
    name: "checkout",
    file: "Shop",
    folderUid: "shop-1",
    interval: 60,
    lastEvaluation: "2026-01-31T08:05:00Z",
    evaluationTime: 0.01,
    rules: [
      {
        state: "inactive",
        name: "CheckoutSlow",
        uid: "ij5kl6",
        folderUid: "shop-1",
        query: "histogram_quantile(0.99, sum by (le) (rate(http_request_duration_seconds_bucket[5m])))",
        duration: 300,
        annotations: {},
        labels: { severity: "page" },
        health: "error",
        lastError: "failed to execute query A: connection refused",
        type: "alerting",
        totals: { error: 1 },
      },
      {
        state: "firing",
        name: "CheckoutErrors",
        uid: "ab1cd2",
        folderUid: "shop-1",
        query: 'sum(rate(http_requests_total{service="checkout",code=~"5.."}[5m]))',
        duration: 60,
        annotations: { __dashboardUid__: "checkout-1", __panelId__: "4", summary: "checkout answers 5xx" },
        activeAt: "2026-01-31T08:01:00Z",
        alerts: [],
        totals: { alerting: 1, normal: 3 },
        labels: { severity: "page" },
        health: "ok",
        type: "alerting",
      },
    ],
  },
];

const ANNOTATIONS: Json = [
  {
    id: 7,
    alertId: 12,
    alertName: "CheckoutErrors",
    dashboardUID: "checkout-1",
    panelId: 4,
    userId: 0,
    newState: "Alerting",
    prevState: "Pending",
    created: 1769846460000,
    updated: 1769846460000,
    time: 1769846460000,
    timeEnd: 1769846460000,
    text: "CheckoutErrors {service=checkout} - B=12.5",
    tags: [],
    login: "",
    email: "",
    avatarUrl: "",
    data: {},
  },
  {
    id: 6,
    alertId: 0,
    alertName: "",
    dashboardUID: "",
    panelId: 0,
    userId: 3,
    newState: "",
    prevState: "",
    created: 1769846300000,
    updated: 1769846300000,
    time: 1769846280000,
    timeEnd: 1769846300000,
    text: "checkout 1.14.0 deployed",
    tags: ["deploy", "checkout"],
    login: "sa-pipeline",
    email: "pipeline@example.com",
    avatarUrl: "",
    data: {},
  },
];

const HITS: Json = [
  {
    id: 1,
    uid: "checkout-1",
    title: "Checkout",
    uri: "db/checkout",
    url: "/d/checkout-1/checkout",
    slug: "",
    type: "dash-db",
    tags: ["shop"],
    isStarred: false,
    folderId: 2,
    folderUid: "shop-1",
    folderTitle: "Shop",
    sortMeta: 0,
  },
];

const prometheus = { type: "prometheus", uid: "prom-1" };

const DASHBOARD: Json = {
  meta: {
    type: "db",
    canSave: false,
    slug: "checkout",
    url: "/d/checkout-1/checkout",
    created: "2025-01-01T00:00:00Z",
    updated: "2026-01-30T12:00:00Z",
    updatedBy: "ada",
    createdBy: "ada",
    version: 5,
    folderUid: "shop-1",
    folderTitle: "Shop",
    provisioned: false,
  },
  dashboard: {
    id: 1,
    uid: "checkout-1",
    title: "Checkout",
    schemaVersion: 39,
    templating: {
      list: [
        {
          name: "service",
          type: "query",
          query: { query: "label_values(up, job)", refId: "x" },
          current: { text: "checkout", value: "checkout" },
        },
        { name: "filters", type: "adhoc", datasource: prometheus },
      ],
    },
    panels: [
      {
        id: 4,
        title: "Errors",
        type: "timeseries",
        datasource: prometheus,
        gridPos: { h: 8, w: 12, x: 0, y: 0 },
        targets: [
          {
            refId: "A",
            datasource: prometheus,
            expr: 'sum(rate(http_requests_total{service="$service",code=~"5.."}[5m]))',
          },
        ],
      },
      {
        id: 9,
        title: "Queues",
        type: "row",
        collapsed: true,
        panels: [
          {
            id: 10,
            title: "Depth",
            type: "stat",
            datasource: "CloudWatch",
            targets: [{ refId: "A", namespace: "AWS/SQS", metricName: "ApproximateNumberOfMessagesVisible" }],
          },
        ],
      },
    ],
  },
};

const DATA_SOURCES: Json = [
  {
    id: 1,
    uid: "prom-1",
    orgId: 1,
    name: "Prometheus",
    type: "prometheus",
    typeName: "Prometheus",
    access: "proxy",
    url: "http://user:of-the-source@prometheus:9090/?token=of-the-source",
    user: "",
    database: "",
    basicAuth: true,
    isDefault: true,
    jsonData: { httpHeaderName1: "X-Key" },
    readOnly: false,
  },
];

const SILENCE: Json = {
  id: "9be7a32c-2a3d-4b51-9f4a-d3c5b6f5f1ab",
  status: { state: "active" },
  updatedAt: "2026-01-30T03:00:00.000Z",
  comment: "resized tonight (skillflow call 0123456789abcdef01234567)",
  createdBy: "ada",
  startsAt: "2026-01-30T03:00:00.000Z",
  endsAt: "2026-02-01T03:00:00.000Z",
  matchers: [
    { name: "alertname", value: "DiskFilling", isRegex: false, isEqual: true },
    { name: "instance", value: "db-.*", isRegex: true, isEqual: true },
    { name: "env", value: "prod", isRegex: false, isEqual: false },
  ],
};
const SILENCES: Json = [SILENCE];

export const vendor: Vendor = {
  start: startGrafana,
  env: (url) => ({ GRAFANA_URL: url, GRAFANA_TOKEN: TOKEN }),
  secrets: [TOKEN],
  asked: ["list_alerts", {}],
  questions: {
    "What is alerting, and since when?": {
      asks: [
        ["list_alerts", {}],
        ["list_silences", {}],
        ["list_rules", { contains: "checkout" }],
      ],
      tells: ["CheckoutErrors", "2026-01-31T08:01:00", "resized tonight", "sum(rate(http_requests_total"],
    },
    "What changed?": {
      asks: [["list_annotations", { ...PERIOD }]],
      tells: ["checkout 1.14.0 deployed", "2026-01-31T07:58"],
    },
    "What to measure?": {
      asks: [
        ["search_dashboards", { query: "checkout" }],
        ["get_dashboard", ([{ dashboards }]) => ({ dashboard: dashboards[0].uid })],
        ["list_datasources", {}],
      ],
      tells: ["http_requests_total", "prom-1"],
    },
  },
  inputs: {
    grafana_list_annotations: { from: null, to: null },
    grafana_silence_alerts: { labels: [{ name: "alertname", value: "CheckoutErrors" }] },
  },
};
