import type { Json } from "skillflow";
import type { LoopbackRequest } from "skillflow/testing";
import * as z from "zod";
import { type Answer, type Asked, type RestService, type Route, type Script, startRest, swollen } from "./rest.ts";
import { PERIOD, type Vendor } from "./vendor.ts";

/** Elasticsearch according to its published API: unknown requests are refused, answers are its examples. */

export const API_KEY = "ZXNjYW5hcnk6MDEyMzQ1Njc4OWFiY2RlZg==";
export const PASSWORD = "escanary-password-0123456789";

export function startElasticsearch(script?: Script): Promise<RestService> {
  const fault = (reason: string) => ({ error: { root_cause: [{ reason }], type: "x", reason }, status: 400 });
  return startRest({ routes: ROUTES, refuse, fault }, script);
}

/** Answers of maximum size. */
export function flood({ operation, example }: Asked): Answer {
  if (operation !== "field_caps") return { body: swollen(example, ["message", "allocate_explanation"]) };
  const names = Array.from({ length: 2000 }, (_, n) => [`labels.some.rather.long.name.of.a.field.${n}`, KEYWORD]);
  return { body: { fields: Object.fromEntries(names) } };
}

function refuse({ headers }: LoopbackRequest): Answer | undefined {
  const basic = `Basic ${Buffer.from(`elastic:${PASSWORD}`).toString("base64")}`;
  const isKnown = headers.authorization === `ApiKey ${API_KEY}` || headers.authorization === basic;
  const reason = "missing authentication credentials for REST request";
  return isKnown ? undefined : { status: 401, body: { error: { type: "security_exception", reason }, status: 401 } };
}

const field = z.string().min(1);
const steps = z.strictObject({
  steps: z.strictObject({
    date_histogram: z.strictObject({
      field,
      fixed_interval: z.string().regex(/^\d+(ms|s|m|h|d)$/),
      min_doc_count: z.int().optional(),
    }),
  }),
});
const body = z.strictObject({
  size: z.int().min(0).max(10_000),
  query: z.strictObject({
    bool: z.strictObject({
      filter: z.array(
        z.union([
          z.strictObject({
            range: z.record(field, z.strictObject({ gte: z.int(), lt: z.int(), format: z.literal("epoch_millis") })),
          }),
          z.strictObject({ query_string: z.strictObject({ query: field, default_operator: z.enum(["AND", "OR"]) }) }),
        ]),
      ),
    }),
  }),
  sort: z.array(z.record(field, z.strictObject({ order: z.enum(["asc", "desc"]), unmapped_type: field }))).optional(),
  _source: z.array(field).optional(),
  track_total_hits: z.union([z.boolean(), z.int()]),
  timeout: z.string(),
  aggs: z
    .union([
      steps,
      z.strictObject({
        values: z.strictObject({ terms: z.strictObject({ field, size: z.int().max(65_536) }), aggs: steps.optional() }),
      }),
    ])
    .optional(),
});

const cat = z.strictObject({ format: z.literal("json"), bytes: z.literal("b").optional(), h: field, s: field });
const KEYWORD = { keyword: { type: "keyword", metadata_field: false, searchable: true, aggregatable: true } };

const ROUTES: readonly Route[] = [
  {
    id: "info",
    method: "GET",
    path: /^\/$/,
    answer: () => ({ name: "es-1", cluster_name: "logs", version: { number: "9.1.0", build_flavor: "default" } }),
  },
  {
    id: "search",
    method: "POST",
    path: /^\/[a-z0-9.*][^/]*\/_search$/,
    body,
    answer: ({ body: asked }) =>
      asked["aggs"] ? { ...FOUND, hits: { total: FOUND.hits.total, hits: [] }, aggregations: AGGREGATIONS } : FOUND,
  },
  {
    id: "field_caps",
    method: "GET",
    path: /^\/[a-z0-9.*][^/]*\/_field_caps$/,
    query: z.strictObject({ fields: z.literal("*") }),
    answer: () => ({
      indices: ["logs-1"],
      fields: {
        _id: { _id: { type: "_id", searchable: true, aggregatable: false } },
        message: { text: { type: "text", searchable: true, aggregatable: false } },
        "service.keyword": KEYWORD,
        status: { long: { aggregatable: true }, keyword: { aggregatable: true } },
      },
    }),
  },
  {
    id: "indices",
    method: "GET",
    path: /^\/_cat\/indices(\/[^/]+)?$/,
    query: cat,
    answer: () => [
      {
        index: "logs-1",
        health: "yellow",
        status: "open",
        "docs.count": "120000",
        "store.size": "48000000",
        pri: "1",
        rep: "1",
      },
      { index: "old", health: "green", status: "close", "docs.count": null, "store.size": null, pri: "1", rep: "0" },
    ],
  },
  {
    id: "health",
    method: "GET",
    path: /^\/_cluster\/health$/,
    answer: () => ({
      cluster_name: "logs",
      status: "yellow",
      timed_out: false,
      number_of_nodes: 1,
      active_shards: 10,
      relocating_shards: 0,
      initializing_shards: 0,
      unassigned_shards: 1,
      number_of_pending_tasks: 3,
    }),
  },
  {
    id: "nodes",
    method: "GET",
    path: /^\/_cat\/nodes$/,
    query: cat,
    answer: () => [
      {
        name: "es-1",
        "node.role": "dim",
        master: "*",
        "heap.percent": "81",
        "disk.used_percent": "93.4",
        cpu: "7",
        load_1m: "1.2",
      },
    ],
  },
  {
    id: "allocation/explain",
    method: "GET",
    path: /^\/_cluster\/allocation\/explain$/,
    answer: () => ({
      index: "logs-1",
      shard: 0,
      primary: false,
      unassigned_info: { reason: "NODE_LEFT", at: "2026-01-31T08:00:00.000Z" },
      allocate_explanation: "cannot allocate because allocation is not permitted to any of the nodes",
      node_allocation_decisions: [
        {
          node_name: "es-1",
          deciders: [{ decider: "disk_threshold", decision: "NO", explanation: "above the low watermark" }],
        },
      ],
    }),
  },
];

const FOUND = {
  took: 5,
  timed_out: false,
  _shards: { total: 3, successful: 3, skipped: 0, failed: 0 },
  hits: {
    total: { value: 10_000, relation: "gte" },
    max_score: null,
    hits: [
      {
        _index: "logs-1",
        _id: "a1",
        _score: null,
        _source: {
          "@timestamp": "2026-01-31T08:00:01.000Z",
          level: "error",
          service: "checkout",
          message: "PoolTimeoutError: no connection free",
          http: { response: { status_code: 503 } },
        },
        sort: [1769846401000],
      },
    ],
  },
} satisfies Json;

const AGGREGATIONS: Json = {
  values: {
    doc_count_error_upper_bound: 0,
    sum_other_doc_count: 12,
    buckets: [
      {
        key: "checkout",
        doc_count: 480,
        steps: { buckets: [{ key_as_string: "x", key: 1769846400000, doc_count: 480 }] },
      },
      { key: "cart", doc_count: 8, steps: { buckets: [] } },
    ],
  },
};

export const vendor: Vendor = {
  start: startElasticsearch,
  env: (url) => ({ ELASTICSEARCH_URL: url, ELASTICSEARCH_API_KEY: API_KEY }),
  secrets: [API_KEY],
  isWrite: ({ method, url }) => method !== "GET" && !url.includes("/_search"),
  asked: ["list_indices", {}],
  questions: {
    "How bad, since when?": {
      asks: [
        ["count", { ...PERIOD, index: "logs-*", query: "level:error", interval: "5m" }],
        ["count", { ...PERIOD, index: "logs-*", query: "level:error", by: "service.keyword" }],
      ],
      tells: ["checkout", "480"],
    },
    "What exactly failed?": {
      asks: [["search", { ...PERIOD, index: "logs-*", query: "level:error", fields: ["message"], oldest_first: true }]],
      tells: ["PoolTimeoutError: no connection free"],
    },
    "Is Elasticsearch itself the cause?": {
      asks: [
        ["cluster_health", {}],
        ["list_indices", {}],
      ],
      tells: ["yellow", "93.4", "above the low watermark"],
    },
  },
  inputs: {
    elasticsearch_search: { index: "logs-*", from: null, to: null, fields: null, time_field: null },
  },
};
