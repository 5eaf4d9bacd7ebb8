import type { Json } from "skillflow";
import type { LoopbackRequest } from "skillflow/testing";
import * as z from "zod";
import { type Answer, type Asked, type RestService, type Route, type Script, startRest, swollen } from "./rest.ts";
import { PERIOD, type Vendor } from "./vendor.ts";

/** Loki according to its published HTTP API: unknown requests are refused, answers are its examples. */

export const TOKEN = "glc_lokicanary0123456789abcdef";
export const USERNAME = "654321";

export function startLoki(script?: Script): Promise<RestService> {
  // Its refusals are lines of text.
  return startRest({ routes: ROUTES, refuse, fault: (message: string) => message }, script);
}

/** Answers of maximum size. */
export function flood({ operation, example }: Asked): Answer {
  if (operation === "query_range" && JSON.stringify(example).includes('"streams"')) return { body: MANY_LINES };
  return { body: swollen(example, ["pattern"]) };
}

function refuse({ headers }: LoopbackRequest): Answer | undefined {
  const basic = `Basic ${Buffer.from(`${USERNAME}:${TOKEN}`).toString("base64")}`;
  const isKnown = headers.authorization === `Bearer ${TOKEN}` || headers.authorization === basic;
  return isKnown ? undefined : { status: 401, text: "no credentials provided" };
}

const time = z.string().regex(/^\d{19}$/);
const seconds = z.string().regex(/^\d+$/);
const span = { start: time, end: time };
const selector = z.string().regex(/^\{.*\}$/);
const success = (data: Json) => ({ status: "success", data });

const ROUTES: readonly Route[] = [
  {
    id: "query_range",
    method: "GET",
    path: /^\/loki\/api\/v1\/query_range$/,
    query: z.strictObject({
      query: z.string().min(1),
      ...span,
      limit: seconds.optional(),
      direction: z.enum(["forward", "backward"]).optional(),
      step: seconds.optional(),
    }),
    answer: ({ query }) => success(String(query["query"]).includes("_over_time") ? MATRIX : STREAMS),
  },
  {
    id: "patterns",
    method: "GET",
    path: /^\/loki\/api\/v1\/patterns$/,
    query: z.strictObject({ query: selector, ...span, step: seconds.optional() }),
    answer: () => success(PATTERNS),
  },
  {
    id: "labels",
    method: "GET",
    path: /^\/loki\/api\/v1\/labels$/,
    query: z.strictObject({ ...span, query: selector.optional() }),
    answer: () => success(["app", "env", "level"]),
  },
  {
    id: "label/values",
    method: "GET",
    path: /^\/loki\/api\/v1\/label\/[A-Za-z_][A-Za-z0-9_]*\/values$/,
    query: z.strictObject({ ...span, query: selector.optional() }),
    answer: () => success(["cart", "checkout", "payments"]),
  },
  {
    id: "series",
    method: "GET",
    path: /^\/loki\/api\/v1\/series$/,
    query: z.strictObject({ ...span, "match[]": selector }),
    answer: () =>
      success([
        { app: "checkout", env: "prod", pod: "checkout-1" },
        { app: "checkout", env: "prod", pod: "checkout-2" },
      ]),
  },
  {
    id: "index/stats",
    method: "GET",
    path: /^\/loki\/api\/v1\/index\/stats$/,
    query: z.strictObject({ ...span, query: selector }),
    answer: () => ({ streams: 2, chunks: 40, entries: 120_000, bytes: 48_000_000 }),
  },
];

const STATS = {
  summary: { bytesProcessedPerSecond: 1, totalBytesProcessed: 48_000_000, totalLinesProcessed: 120_000 },
};

const STREAMS: Json = {
  resultType: "streams",
  result: [
    {
      stream: { app: "checkout", env: "prod", pod: "checkout-1", detected_level: "error" },
      values: [
        ["1769846402000000007", "PoolTimeoutError: no connection free after 500 ms"],
        ["1769846400000000001", "PoolTimeoutError: no connection free after 500 ms"],
      ],
    },
    {
      stream: { app: "checkout", env: "prod", pod: "checkout-2", detected_level: "info" },
      values: [["1769846401000000000", "GET /health 200"]],
    },
  ],
  stats: STATS,
};

const MANY_LINES: Json = success({
  resultType: "streams",
  result: Array.from({ length: 30 }, (_, pod) => ({
    stream: { app: "checkout", pod: `checkout-${pod}` },
    values: Array.from({ length: 10 }, (__, n) => [`17698464${10 + pod}0000000${10 + n}`, 'x é"\n'.repeat(2000)]),
  })),
  stats: STATS,
});

const MATRIX: Json = {
  resultType: "matrix",
  result: [
    {
      metric: { level: "info" },
      values: [
        [1769846400, "120"],
        [1769846700, "118"],
      ],
    },
    {
      metric: { level: "error" },
      values: [
        [1769846400, "2"],
        [1769846700, "480"],
      ],
    },
  ],
  stats: STATS,
};

const PATTERNS: Json = [
  {
    pattern: "GET <_> 200",
    level: "info",
    samples: [
      [1769846400, 105],
      [1769846410, 222],
    ],
  },
  {
    pattern: "PoolTimeoutError: no connection free after <_> ms",
    level: "error",
    samples: [
      [1769846400, 0],
      [1769846410, 480],
      [1769846420, 3],
    ],
  },
];

export const vendor: Vendor = {
  start: startLoki,
  env: (url) => ({ LOKI_URL: url, LOKI_TOKEN: TOKEN }),
  secrets: [TOKEN],
  asked: ["list_labels", {}],
  questions: {
    "Where are the logs?": {
      asks: [
        ["list_labels", {}],
        ["list_labels", { label: "app" }],
        ["list_streams", { selector: '{app="checkout"}' }],
      ],
      tells: ["app", "checkout", '"bytes":48000000'],
    },
    "How bad, since when?": {
      asks: [
        ["count_logs", { ...PERIOD, query: 'sum by (level) (count_over_time({app="checkout"} |= "error" [5m]))' }],
        ["list_patterns", { ...PERIOD, selector: '{app="checkout"}' }],
      ],
      tells: ["480", "2026-01-31T08:05", "no connection free after <_> ms"],
    },
    "What exactly failed?": {
      asks: [["search_logs", { ...PERIOD, query: '{app="checkout"} |= "Error"', oldest_first: true }]],
      tells: ["PoolTimeoutError: no connection free after 500 ms"],
    },
  },
  inputs: {
    loki_search_logs: { query: '{app="checkout"}', from: null, to: null },
    loki_list_patterns: { selector: '{app="checkout"}', from: null, to: null, contains: null },
  },
};
