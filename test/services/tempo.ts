import type { Json } from "skillflow";
import type { LoopbackRequest } from "skillflow/testing";
import * as z from "zod";
import { type Answer, type Asked, type RestService, type Route, type Script, startRest, swollen } from "./rest.ts";
import { PERIOD, type Vendor } from "./vendor.ts";

/** Tempo according to its published HTTP API: unknown requests are refused, answers have its form. */

export const TOKEN = "glc_tempocanary0123456789abcdef";
export const USERNAME = "765432";
export const TRACE = "2f3e0cee77ae5dc9c17ade3689eb2e54";

export function startTempo(script?: Script): Promise<RestService> {
  // Its refusals are lines of text.
  return startRest({ routes: ROUTES, refuse, fault: (message: string) => message }, script);
}

/** Answers of maximum size. */
export function flood({ operation, example }: Asked): Answer {
  if (operation === "trace") return { body: { batches: Array.from({ length: 300 }, (_, n) => spanOf(n)) } };
  if (operation !== "search") return { body: swollen(example, []) };
  const [trace] = (example as { traces: Json[] }).traces;
  const rootTraceName = 'é"'.repeat(5000);
  return { body: { traces: Array.from({ length: 100 }, () => ({ ...(trace as object), rootTraceName })) } };
}

function refuse({ headers }: LoopbackRequest): Answer | undefined {
  const basic = `Basic ${Buffer.from(`${USERNAME}:${TOKEN}`).toString("base64")}`;
  const isKnown = headers.authorization === `Bearer ${TOKEN}` || headers.authorization === basic;
  return isKnown ? undefined : { status: 401, text: "no credentials provided" };
}

const seconds = z.string().regex(/^\d{10}$/);
const digits = z.string().regex(/^\d+$/);
const period = { start: seconds, end: seconds };
const traceql = z.string().regex(/^\{.*\}/);
const text = (key: string, stringValue: string): Json => ({ key, value: { stringValue } });

const ROUTES: readonly Route[] = [
  {
    id: "search",
    method: "GET",
    path: /^\/api\/search$/,
    query: z.strictObject({ q: traceql, ...period, limit: digits, spss: digits.optional() }),
    answer: () => ({
      traces: [
        {
          traceID: TRACE,
          rootServiceName: "shop",
          rootTraceName: "POST /pay",
          startTimeUnixNano: "1769846699699392724",
          durationMs: 5057,
          serviceStats: { shop: { spanCount: 2 }, payments: { spanCount: 2, errorCount: 2 } },
          spanSets: [
            {
              spans: [
                {
                  spanID: "563d623c76514f8e",
                  name: "charge",
                  startTimeUnixNano: "1769846699735077898",
                  durationNanos: "5001979497",
                  attributes: [text("status", "error"), { key: "span.http.status_code", value: { intValue: "502" } }],
                },
              ],
              matched: 1,
            },
          ],
        },
      ],
      metrics: { totalBlocks: 13 },
    }),
  },
  { id: "trace", method: "GET", path: /^\/api\/traces\/[0-9a-f]+$/, answer: () => ({ batches: BATCHES }) },
  {
    id: "metrics",
    method: "GET",
    path: /^\/api\/metrics\/query_range$/,
    query: z.strictObject({ q: traceql, ...period, step: z.string().regex(/^\d+[smh]$/) }),
    answer: () => ({
      series: [
        {
          labels: [text("resource.service.name", "payments")],
          samples: [
            { timestampMs: "1769846400000", value: 0.1 },
            { timestampMs: "1769846700000", value: 12.5 },
          ],
          promLabels: '{resource.service.name="payments"}',
        },
      ],
      metrics: { inspectedBytes: "377046" },
    }),
  },
  {
    id: "tags",
    method: "GET",
    path: /^\/api\/v2\/search\/tags$/,
    query: z.strictObject({ ...period, q: traceql.optional() }),
    answer: () => ({
      scopes: [
        { name: "resource", tags: ["service.name", "service.version"] },
        { name: "span", tags: ["http.route"] },
        { name: "intrinsic", tags: ["name", "status"] },
      ],
      metrics: { inspectedBytes: "377046" },
    }),
  },
  {
    id: "values",
    method: "GET",
    path: /^\/api\/v2\/search\/tag\/[A-Za-z0-9_.:-]+\/values$/,
    query: z.strictObject({ ...period, q: traceql.optional() }),
    answer: () => ({
      tagValues: [
        { type: "string", value: "payments" },
        { type: "string", value: "shop" },
      ],
      metrics: { inspectedBytes: "502756" },
    }),
  },
];

const base64 = (id: string) => Buffer.from(id, "hex").toString("base64");
const resource = (service: string): Json => ({ attributes: [text("service.name", service)] });
const nano = (ms: number) => `${1_769_846_699_000 + ms}000000`;

const BATCHES: Json = [
  {
    resource: resource("shop"),
    scopeSpans: [
      {
        scope: { name: "http" },
        spans: [
          {
            traceId: base64(TRACE),
            spanId: base64("00000000000000a1"),
            name: "POST /pay",
            kind: "SPAN_KIND_SERVER",
            startTimeUnixNano: nano(0),
            endTimeUnixNano: nano(5057),
            attributes: [text("http.route", "/pay"), { key: "http.response.status_code", value: { intValue: "502" } }],
            status: { code: "STATUS_CODE_ERROR" },
          },
          {
            traceId: base64(TRACE),
            spanId: base64("00000000000000a2"),
            parentSpanId: base64("00000000000000a1"),
            name: "call payments",
            kind: "SPAN_KIND_CLIENT",
            startTimeUnixNano: nano(20),
            endTimeUnixNano: nano(5040),
            status: {},
          },
        ],
      },
    ],
  },
  {
    resource: resource("payments"),
    scopeSpans: [
      {
        spans: [
          {
            traceId: base64(TRACE),
            spanId: base64("00000000000000b1"),
            parentSpanId: base64("00000000000000a2"),
            name: "charge",
            kind: "SPAN_KIND_SERVER",
            startTimeUnixNano: nano(25),
            endTimeUnixNano: nano(5030),
            status: { code: "STATUS_CODE_ERROR", message: "deadline exceeded" },
            events: [{ name: "exception", attributes: [text("exception.type", "TimeoutError")] }],
          },
        ],
      },
    ],
  },
];

function spanOf(number: number): Json {
  const span = { spanId: base64(number.toString(16).padStart(16, "0")), name: `é"${"x".repeat(900)}` };
  const times = { startTimeUnixNano: nano(number), endTimeUnixNano: nano(number + 100) };
  return { resource: resource(`service-${number}`), scopeSpans: [{ spans: [{ ...span, ...times }] }] };
}

export const vendor: Vendor = {
  start: startTempo,
  env: (url) => ({ TEMPO_URL: url, TEMPO_TOKEN: TOKEN }),
  secrets: [TOKEN],
  asked: ["search_traces", { query: "{status=error}" }],
  questions: {
    "What fails or is slow, and since when?": {
      asks: [["measure_spans", { ...PERIOD, query: "{status=error} | rate() by (resource.service.name)" }]],
      tells: ["payments", "2026-01-31T08:05", '"value":12.5'],
    },
    "What does such a request look like?": {
      asks: [
        ["list_attributes", { ...PERIOD, attribute: "resource.service.name" }],
        ["search_traces", { ...PERIOD, query: '{resource.service.name="payments" && status=error}' }],
      ],
      tells: ["POST /pay", '"duration_ms":5057'],
    },
    "Where is the fault?": {
      asks: [["get_trace", { trace: "2f3e0cee77ae5dc9c17ade3689eb2e54" }]],
      tells: ["deadline exceeded", '"own_ms":5005'],
    },
  },
  inputs: {
    tempo_search_traces: { query: "{status=error}", from: null, to: null },
    tempo_measure_spans: { query: "{status=error} | rate()", from: null, to: null },
  },
};
