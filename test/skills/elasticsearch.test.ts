import type { Json, JsonObject, ToolContext } from "skillflow";
import { toolContext } from "skillflow/testing";
import { afterAll, afterEach, describe, expect, it } from "vitest";
import elasticsearch from "../../skills/elasticsearch/skill.ts";
import { describeFaults } from "../contracts/faults.ts";
import { callTool, describeSkill, fits } from "../contracts/skill.ts";
import { API_KEY, flood, PASSWORD, startElasticsearch } from "../services/elasticsearch.ts";
import { forwarding, type RestService, type Script } from "../services/rest.ts";

const PERIOD = { from: "2026-01-31T08:00:00Z", to: "2026-01-31T09:00:00Z" };

/** One good input for every tool. */
const INPUTS: Readonly<Record<string, JsonObject>> = {
  search: { index: "logs-*", query: "level:error", ...PERIOD, fields: ["level", "message"], limit: 5 },
  count: { index: "logs-*", query: "level:error", ...PERIOD, by: "service.keyword", interval: "5m" },
  list_fields: { index: "logs-*" },
  list_indices: { index: "logs-*" },
  cluster_health: {},
};
const NAMES = elasticsearch.tools.map((tool) => tool.name);

let service: RestService;
afterEach(() => service?.close());

async function start(script?: Script, parts: Readonly<Record<string, string>> = {}): Promise<ToolContext> {
  service = await startElasticsearch(script);
  return toolContext({ config: { ...configFor(service.url), ...parts } });
}

function configFor(url: string): Record<string, string> {
  return { ELASTICSEARCH_URL: url, ELASTICSEARCH_API_KEY: API_KEY };
}

function call(name: string, context: ToolContext, input: JsonObject = INPUTS[name] ?? {}): Promise<JsonObject> {
  return callTool(elasticsearch, name, input, context) as Promise<JsonObject>;
}

function lastBody(): JsonObject {
  return JSON.parse(service.requests.at(-1)?.body ?? "{}") as JsonObject;
}

describe("every elasticsearch tool, against the published contract", () => {
  it.each(NAMES)("%s sends what the contract allows and returns what a model needs", async (name) => {
    const context = await start();
    const result = await call(name, context);
    expect(service.refusals).toEqual([]);
    expect(result).toMatchSnapshot();
  });

  it("lets itself in by a key, or by a user and a password as OpenSearch wants it", async () => {
    const user = { ELASTICSEARCH_API_KEY: "", ELASTICSEARCH_USERNAME: "elastic", ELASTICSEARCH_PASSWORD: PASSWORD };
    await call("list_indices", await start(undefined, user), {});
    expect(service.operations).toEqual(["indices"]);
    await service.close();
    await expect(call("search", await start(undefined, { ELASTICSEARCH_API_KEY: "" }))).rejects.toThrow(
      /refused authentication \(401 .*missing authentication.*ELASTICSEARCH_API_KEY and ELASTICSEARCH_PASSWORD are not set/,
    );
  });

  it("is live when the cluster tells its name", async () => {
    expect(await elasticsearch.probe?.(await start())).toBe("logs, elasticsearch 9.1.0");
  });
});

describe("documents", () => {
  it("are filtered by a period and a query, never by a script", async () => {
    const context = await start();
    await call("search", context, {
      index: "logs-*",
      query: 'a:"b" OR _script:x',
      time_field: "event.created",
      oldest_first: true,
    });
    expect(lastBody()["query"]).toEqual({
      bool: {
        filter: [
          { range: { "event.created": { gte: expect.any(Number), lt: expect.any(Number), format: "epoch_millis" } } },
          { query_string: { query: 'a:"b" OR _script:x', default_operator: "AND" } },
        ],
      },
    });
    expect(lastBody()["sort"]).toEqual([{ "event.created": { order: "asc", unmapped_type: "date" } }]);
    expect(service.refusals).toEqual([]);
  });

  it("say how many were not shown, and what did not answer", async () => {
    const partial = (total: number, shards: number) => () => ({
      body: {
        timed_out: true,
        _shards: { total: shards, failed: shards > 0 ? 1 : 0 },
        hits: { total: { value: total, relation: "eq" }, hits: [] },
      },
    });
    expect(await call("search", await start(partial(7, 3)))).toMatchObject({
      left_out: 7,
      incomplete: expect.stringMatching(/timed out.*1 of 3 shards/),
    });
    await service.close();
    expect((await call("count", await start(partial(0, 3))))["note"]).toMatch(/valid, but no document/);
    await service.close();
    expect((await call("search", await start(partial(0, 0))))["note"]).toMatch(/or the key cannot read it/);
  });

  it("that are long are cut, and what is cut is told", async () => {
    const source = { message: "y".repeat(5000), nested: { list: Array.from({ length: 50 }, () => 1) } };
    const context = await start(({ example }) => {
      const hits = { total: { value: 1, relation: "eq" }, hits: [{ _index: "a", _id: "1", _source: source }] };
      return { body: { ...(example as JsonObject), hits } };
    });
    const text = JSON.stringify(await call("search", context));
    expect(text).toContain("… [3000 more characters]");
    expect(text).toContain(JSON.stringify(Array.from({ length: 20 }, () => 1)));
  });
});

describe("counts", () => {
  it("are one number, over time, or by a field", async () => {
    const context = await start();
    await call("count", context, { index: "logs-*" });
    expect(lastBody()).toMatchObject({ size: 0, track_total_hits: true });
    expect(lastBody()["aggs"]).toBeUndefined();
    await call("count", context, { index: "logs-*", interval: "1m" });
    expect(lastBody()["aggs"]).toEqual({
      steps: { date_histogram: { field: "@timestamp", fixed_interval: "1m", min_doc_count: 1 } },
    });
    await expect(call("count", context, { index: "a", from: "now-7d", interval: "1m" })).rejects.toThrow(
      /10080 steps. The maximum is 200/,
    );
    expect(service.refusals).toEqual([]);
  });
});

describe("the cluster", () => {
  it("is not asked why, where every shard is assigned", async () => {
    const well = await start(({ operation, example }) =>
      operation === "health"
        ? { body: { ...(example as JsonObject), status: "green", unassigned_shards: 0 } }
        : undefined,
    );
    expect(await call("cluster_health", well)).toMatchObject({ status: "green", shards: { unassigned: 0 } });
    expect(service.operations).toEqual(["health", "nodes"]);
  });

  it("of the cluster holds, if the last shard is assigned before its state is explained", async () => {
    const reason = "unable to find any unassigned shards to explain";
    const recovering = await start(({ operation }) =>
      operation === "allocation/explain"
        ? { status: 400, body: { error: { type: "illegal_argument_exception", reason }, status: 400 } }
        : undefined,
    );
    const result = await call("cluster_health", recovering);
    expect(result["nodes"]).toBeDefined();
    expect(result["unassigned"]).toBeUndefined();
  });

  it("without an index of that name says so", async () => {
    const none = await start(() => ({ body: [] as Json }));
    expect(await call("list_indices", none)).toMatchObject({
      indices: [],
      note: expect.stringContaining("cannot see those"),
    });
    await service.close();
    const missing = await start(() => ({ status: 404, body: { error: { reason: "no such index [a]" }, status: 404 } }));
    await expect(call("search", missing)).rejects.toThrow(/no such index \[a\]\. list_indices lists names/);
  });
});

it.each([
  ["search", { index: "../_cluster" }],
  ["search", { index: "_all" }],
  ["search", { index: "a/_delete_by_query" }],
  ["search", { index: "a", fields: ["a b"] }],
  ["search", { index: "a", limit: 10_000 }],
  ["count", { index: "a", interval: "0m" }],
  ["count", { index: "a", by: "doc['x'].value" }],
] as const)("%s refuses %o", (name, input) => {
  expect(fits(elasticsearch.tools.find((tool) => tool.name === name)?.input_schema, input as JsonObject)).toBe(false);
});

const flooded = await startElasticsearch(flood);
afterAll(() => flooded.close());

describeFaults(elasticsearch, {
  service: "Elasticsearch",
  address: "ELASTICSEARCH_URL",
  keys: ["ELASTICSEARCH_API_KEY"],
  config: configFor,
  inputs: INPUTS,
});
describeSkill(elasticsearch, { config: configFor, inputs: INPUTS, flood: forwarding(flooded) });
