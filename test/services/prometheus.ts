import type { Json } from "skillflow";
import type { LoopbackRequest } from "skillflow/testing";
import * as z from "zod";
import { type Answer, type Asked, type RestService, type Route, type Script, startRest, swollen } from "./rest.ts";
import { PERIOD, type Vendor } from "./vendor.ts";

/** Prometheus according to its published HTTP API: unknown requests are refused, answers are its examples. */

export const TOKEN = "glc_promcanary0123456789abcdef";
export const USERNAME = "123456";

export function startPrometheus(script?: Script): Promise<RestService> {
  const fault = (error: string) => ({ status: "error", errorType: "bad_data", error });
  return startRest({ routes: ROUTES, refuse, fault }, script);
}

/** Answers of maximum size. */
export function flood({ operation, example }: Asked): Answer {
  return { body: swollen(example, operation === "rules" ? [] : ["summary", "help", "lastError"]) };
}

function refuse({ headers }: LoopbackRequest): Answer | undefined {
  const basic = `Basic ${Buffer.from(`${USERNAME}:${TOKEN}`).toString("base64")}`;
  const isKnown = headers.authorization === `Bearer ${TOKEN}` || headers.authorization === basic;
  return isKnown ? undefined : { status: 401, text: "invalid authentication credentials" };
}

const seconds = z.string().regex(/^\d+(\.\d+)?$/);
const span = { start: seconds, end: seconds, "match[]": z.string().min(1).optional() };
const success = (data: Json) => ({ status: "success", data });

const ROUTES: readonly Route[] = [
  {
    id: "query",
    method: "GET",
    path: /^\/api\/v1\/query$/,
    query: z.strictObject({ query: z.string().min(1), time: seconds.optional() }),
    answer: () => success({ resultType: "vector", result: VECTOR }),
  },
  {
    id: "query_range",
    method: "GET",
    path: /^\/api\/v1\/query_range$/,
    query: z.strictObject({ query: z.string().min(1), start: seconds, end: seconds, step: seconds }),
    answer: () => success({ resultType: "matrix", result: MATRIX }),
  },
  { id: "alerts", method: "GET", path: /^\/api\/v1\/alerts$/, answer: () => success({ alerts: ALERTS }) },
  {
    id: "rules",
    method: "GET",
    path: /^\/api\/v1\/rules$/,
    query: z.strictObject({ type: z.enum(["alert", "record"]) }),
    answer: () => success({ groups: GROUPS }),
  },
  {
    id: "targets",
    method: "GET",
    path: /^\/api\/v1\/targets$/,
    query: z.strictObject({ state: z.enum(["active", "dropped", "any"]) }),
    answer: () => success({ activeTargets: TARGETS, droppedTargets: [] }),
  },
  {
    id: "labels",
    method: "GET",
    path: /^\/api\/v1\/labels$/,
    query: z.strictObject(span),
    answer: () => success(["__name__", "code", "instance", "job", "service"]),
  },
  {
    id: "label/values",
    method: "GET",
    path: /^\/api\/v1\/label\/[A-Za-z_][A-Za-z0-9_]*\/values$/,
    query: z.strictObject(span),
    answer: ({ path }) => success(path.includes("__name__") ? NAMES : ["200", "502", "504"]),
  },
  {
    id: "series",
    method: "GET",
    path: /^\/api\/v1\/series$/,
    query: z.strictObject({ ...span, "match[]": z.string().min(1), limit: seconds.optional() }),
    answer: () => success(SERIES),
  },
  {
    id: "metadata",
    method: "GET",
    path: /^\/api\/v1\/metadata$/,
    answer: () =>
      success({
        http_requests_total: [{ type: "counter", help: "Requests that were answered.", unit: "" }],
        http_request_duration_seconds: [{ type: "histogram", help: "How long they took.", unit: "seconds" }],
      }),
  },
];

const NAMES = ["go_goroutines", "http_request_duration_seconds_bucket", "http_requests_total", "up"];

const VECTOR: Json = [
  { metric: { __name__: "up", job: "checkout", instance: "10.0.0.1:9100" }, value: [1769846400.781, "1"] },
  { metric: { __name__: "up", job: "node", instance: "10.0.0.2:9100" }, value: [1769846400.781, "NaN"] },
];

const MATRIX: Json = [
  {
    metric: { service: "checkout" },
    values: [
      [1769846400, "0.5"],
      [1769846700, "12"],
      [1769847000, "NaN"],
      [1769847300, "3.25"],
    ],
  },
  { metric: { service: "cart" }, values: [[1769846400, "90"]] },
];

const ALERTS: Json = [
  {
    activeAt: "2026-01-31T08:00:27.123Z",
    annotations: { summary: "checkout answers 5xx" },
    labels: { alertname: "CheckoutErrors", severity: "page", service: "checkout" },
    state: "firing",
    value: "1.2e+01",
  },
  {
    activeAt: "2026-01-31T07:00:00Z",
    annotations: {},
    labels: { alertname: "DiskFilling", severity: "ticket" },
    state: "pending",
    value: "0.9",
  },
];

const GROUPS: Json = [
  {
    name: "checkout",
    file: "/etc/prometheus/rules/checkout.yml",
    interval: 60,
    limit: 0,
    rules: [
      {
        type: "alerting",
        name: "CheckoutSlow",
        query: "checkout:latency:p99 > 2",
        duration: 300,
        keepFiringFor: 0,
        labels: { severity: "page" },
        annotations: { summary: "checkout is slow" },
        alerts: [],
        health: "err",
        lastError: "found duplicate series for the match group",
        state: "inactive",
        evaluationTime: 0.0001,
        lastEvaluation: "2026-01-31T08:00:00Z",
      },
      {
        type: "alerting",
        name: "CheckoutErrors",
        query: 'sum(rate(http_requests_total{service="checkout",code=~"5.."}[5m])) > 10',
        duration: 60,
        keepFiringFor: 0,
        labels: { severity: "page" },
        annotations: { summary: "checkout answers 5xx" },
        alerts: Array.isArray(ALERTS) ? ALERTS.slice(0, 1) : [],
        health: "ok",
        lastError: "",
        state: "firing",
      },
    ],
  },
];

const TARGETS: Json = [
  {
    discoveredLabels: { __address__: "10.0.0.1:9100", __meta_secret: "of the discovery" },
    labels: { instance: "10.0.0.1:9100", job: "node" },
    scrapePool: "node",
    scrapeUrl: "http://10.0.0.1:9100/metrics?token=of-the-target",
    globalUrl: "http://10.0.0.1:9100/metrics",
    lastError: "",
    lastScrape: "2026-01-31T08:00:00Z",
    lastScrapeDuration: 0.05,
    health: "up",
    scrapeInterval: "1m",
    scrapeTimeout: "10s",
  },
  {
    discoveredLabels: {},
    labels: { instance: "10.0.0.3:8080", job: "checkout" },
    scrapePool: "checkout",
    scrapeUrl: "http://10.0.0.3:8080/metrics",
    globalUrl: "http://10.0.0.3:8080/metrics",
    lastError: "connect: connection refused",
    lastScrape: "2026-01-31T08:00:10Z",
    lastScrapeDuration: 0.0002,
    health: "down",
    scrapeInterval: "1m",
    scrapeTimeout: "10s",
  },
];

const SERIES: Json = [
  { __name__: "http_requests_total", job: "checkout", path: "/pay", code: "200" },
  { __name__: "http_requests_total", job: "checkout", path: "/cart", code: "200" },
  { __name__: "http_requests_total", job: "checkout", path: "/pay", code: "502" },
];

export const vendor: Vendor = {
  start: startPrometheus,
  env: (url) => ({ PROMETHEUS_URL: url, PROMETHEUS_TOKEN: TOKEN }),
  secrets: [TOKEN],
  asked: ["list_alerts", {}],
  questions: {
    "What is wrong now?": {
      asks: [
        ["list_alerts", {}],
        ["list_rules", { contains: "CheckoutErrors" }],
        ["query", { query: 'sum(rate(http_requests_total{service="checkout",code=~"5.."}[5m]))' }],
      ],
      tells: ["CheckoutErrors", "2026-01-31T08:00:27", "> 10"],
    },
    "How bad, since when?": {
      asks: [["query_range", { ...PERIOD, query: 'sum by (service) (rate(http_requests_total{code=~"5.."}[5m]))' }]],
      tells: ['"max":', "12", "2026-01-31T08:05"],
    },
    "Is the data itself missing?": {
      asks: [
        ["list_targets", {}],
        ["query", { query: "up == 0" }],
      ],
      tells: ["connect: connection refused", "10.0.0.3:8080"],
    },
  },
};
