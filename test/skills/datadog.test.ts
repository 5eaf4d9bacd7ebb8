import type { Json, JsonObject, ToolContext } from "skillflow";
import { toolContext } from "skillflow/testing";
import { afterAll, afterEach, describe, expect, it } from "vitest";
import datadog from "../../skills/datadog/skill.ts";
import { callTool, describeSkill, failureOf, fits } from "../contracts/skill.ts";
import { turnOf } from "../harness/long.ts";
import { API_KEY, APP_KEY, flood, startDatadog } from "../services/datadog.ts";
import { readPublished } from "../services/published.ts";
import type { Answer, RestService, Script } from "../services/rest.ts";

const PERIOD = { from: "2026-01-31T08:00:00Z", to: "2026-01-31T09:00:00Z" };
const MONITOR = 2_779_251;

/** One good input for every tool. */
const INPUTS: Readonly<Record<string, JsonObject>> = {
  search_logs: {
    query: "service:checkout status:error",
    ...PERIOD,
    indexes: ["main"],
    fields: ["http.status_code", "error.kind", "absent.one"],
    newest_first: false,
  },
  aggregate_logs: {
    query: "status:error",
    ...PERIOD,
    measure: "pc95",
    metric: "@duration",
    group_by: ["service"],
    limit: 5,
  },
  query_metrics: { query: "system.cpu.idle{*} by {host}", ...PERIOD, points: 2 },
  list_monitors: { query: 'status:alert tag:"service:checkout"' },
  get_monitor: { monitor_id: MONITOR },
  mute_monitor: {
    monitor_id: MONITOR,
    minutes: 30,
    scope: "env:staging",
    reason: "Failover exercise, see @oncall {{x}}",
  },
  list_events: { query: "source:deployment", ...PERIOD },
  list_incidents: { states: ["active"], severities: ["SEV-1", "SEV-2"] },
  search_spans: { query: "service:checkout status:error", from: "now-15m", fields: ["http.url", "version"] },
  get_trace: { trace_id: "5856001379994862107", ...PERIOD },
  aggregate_spans: { query: "status:error", ...PERIOD, measure: "pc95", metric: "@duration", group_by: ["service"] },
  get_dependencies: { env: "prod", service: "checkout", ...PERIOD },
  find_metrics: { name: "checkout" },
  describe_metric: { metric: "checkout.latency" },
  get_incident: { incident_id: "00000000-aaaa-0000-0000-000000000000" },
  unmute_monitor: { monitor_id: MONITOR },
};

const NAMES = datadog.tools.map((tool) => tool.name);
const READS = datadog.tools.filter((tool) => tool.effect === "read").map((tool) => tool.name);
const SEARCHES = ["search_logs", "aggregate_logs", "list_events", "search_spans"];
const NUMBERED = ["list_monitors", "list_incidents"];

let service: RestService;
afterEach(() => service?.close());

async function start(script?: Script, parts: Partial<ToolContext> = {}): Promise<ToolContext> {
  service = await startDatadog(script);
  return toolContext({ config: configFor(service.url), callId: "run-1/3:look/0", ...parts });
}

function configFor(url: string): Record<string, string> {
  return { DD_API_KEY: API_KEY, DD_APP_KEY: APP_KEY, DD_API_URL: url };
}

function call(name: string, context: ToolContext, input: JsonObject = INPUTS[name] ?? {}): Promise<JsonObject> {
  return callTool(datadog, name, input, context) as Promise<JsonObject>;
}

/** Datadog's answer to every request except the validation of the API key. */
function always(answer: Answer, times = Number.POSITIVE_INFINITY): Script {
  return ({ operation, before }) => (operation !== "validate" && before < times ? answer : undefined);
}

function lastQuery(): Record<string, string> {
  return Object.fromEntries(new URL(service.requests.at(-1)?.url ?? "", service.url).searchParams);
}

function lastBody(): JsonObject {
  return JSON.parse(service.requests.at(-1)?.body ?? "{}") as JsonObject;
}

describe("every datadog tool, against Datadog's published contract", () => {
  it.each(NAMES.filter((name) => name !== "mute_monitor"))(
    "%s sends what the contract allows and returns what a model needs",
    async (name) => {
      const context = await start();
      const result = await call(name, context);
      expect(service.refusals).toEqual([]);
      expect(result).toMatchSnapshot();
    },
  );

  it.each(turnOf(NAMES))("%s says that a key is wrong when Datadog answers 401", async (name) => {
    const context = await start(always({ status: 401, body: { errors: ["Unauthorized"] } }));
    await expect(call(name, context)).rejects.toThrow(
      /refused authentication \(401 .*DD_API_KEY or DD_APP_KEY is wrong.* DD_SITE/,
    );
    expect(service.requests).toHaveLength(1);
  });

  it.each(turnOf(NAMES))(
    "%s names the permission that is missing when Datadog answers 403 to a right key",
    async (name) => {
      const context = await start(always({ status: 403, body: { errors: ["Forbidden"] } }));
      await expect(call(name, context)).rejects.toThrow(
        /DD_API_KEY is valid, but DD_APP_KEY is wrong, or .* lacks the permission [a-z_]+ \(by its owner or scopes\)\. \(403 for .*: Forbidden/,
      );
    },
  );

  it.each(turnOf(NAMES))("%s tells a wrong API key from a missing permission", async (name) => {
    const context = await start();
    const config = { ...context.config, DD_API_KEY: "another" };
    await expect(call(name, { ...context, config })).rejects.toThrow(/refused DD_API_KEY: it is wrong, revoked/);
  });

  it.each(turnOf(NAMES))("%s says what to check when Datadog answers 404", async (name) => {
    const context = await start(always({ status: 404, body: { errors: ["Monitor not found"] } }));
    await expect(call(name, context)).rejects.toThrow(
      /Not found in Datadog \(404 for .*Monitor not found\. Check the id. .*site/,
    );
    expect(service.requests).toHaveLength(1);
  });

  it.each(turnOf(NAMES))(
    "%s passes on what was invalid when Datadog answers 400 in either version's words",
    async (name) => {
      const first = await start(always({ status: 400, body: { errors: ["Invalid group_state filters."] } }));
      await expect(call(name, first)).rejects.toThrow(/invalid \(400 for .*: Invalid group_state filters\.$/);
      await service.close();
      const detailed = { title: "Invalid query", detail: "unbalanced quote", source: { pointer: "/filter/query" } };
      const second = await start(always({ status: 422, body: { errors: [detailed] } }));
      await expect(call(name, second)).rejects.toThrow(/Invalid query: unbalanced quote: \/filter\/query\.$/);
      expect(service.requests).toHaveLength(1);
    },
  );

  it.each(turnOf(NAMES))("%s waits as told after a 429 and then succeeds", async (name) => {
    const context = await start(always({ status: 429, body: {}, headers: { "x-ratelimit-reset": "0" } }, 1));
    await call(name, context);
    expect(service.refusals).toEqual([]);
    expect(service.requests.length).toBeGreaterThan(1);
  });

  it.each(turnOf(NAMES))("%s says until when to wait when that is long", async (name) => {
    const headers = { "x-ratelimit-reset": "3600" };
    const context = await start(always({ status: 429, body: { errors: ["Rate limit"] }, headers }));
    await expect(call(name, context)).rejects.toThrow(/rate limit is used up until \d{4}-.*Nothing was done/);
    expect(service.requests).toHaveLength(1);
  });

  it.each(turnOf(READS))("%s asks again after a 502", async (name) => {
    const context = await start(always({ status: 502, text: "<html>", headers: { "retry-after": "0" } }, 1));
    await call(name, context);
    expect(service.requests[1]?.url).toBe(service.requests[0]?.url);
  });

  it.each(turnOf(NAMES))("%s gives up when Datadog keeps failing", async (name) => {
    const context = await start(always({ status: 503, body: {}, headers: { "retry-after": "0" } }));
    await expect(call(name, context)).rejects.toThrow(/Datadog failed \(503 for .*Try again later/);
    expect(service.requests).toHaveLength(3);
  });

  it.each(turnOf(NAMES))("%s says so when the answer is not JSON", async (name) => {
    const context = await start(always({ text: '{"data": [{"id' }));
    await expect(call(name, context)).rejects.toThrow(/ended in the middle of its JSON/);
  });

  it.each(NAMES)("%s does not fall over when the answer is JSON of another form", async (name) => {
    for (const text of ["null", "[]", '"x"', '{"data": 7, "monitors": 7, "series": 7, "id": "x"}']) {
      const context = await start(always({ text }));
      await expect(call(name, context)).rejects.toThrow(/in an unexpected form \(/);
      await service.close();
    }
  });

  it("takes a limit without a header for a minute, and does not wait that long", async () => {
    const context = await start(always({ status: 429, body: {} }));
    await expect(call("search_logs", context)).rejects.toThrow(/used up until/);
    expect(service.requests).toHaveLength(1);
  });

  it("stops waiting for a limit when the call is aborted", { timeout: 5000 }, async () => {
    const controller = new AbortController();
    const context = await start(
      (asked) => {
        setImmediate(() => controller.abort(new Error("the run ended")));
        return always({ status: 429, body: {}, headers: { "x-ratelimit-reset": "25" } })(asked);
      },
      { signal: controller.signal },
    );
    await expect(call("list_monitors", context)).rejects.toThrow("the run ended");
    expect(service.requests).toHaveLength(1);
  });
});

describe("identifiers", () => {
  const HOSTILE = ["1/../../user", "..", "1?x=", "1#", "%2e%2e", "1e99", "", "1 OR 1"];

  it.each(["get_monitor", "mute_monitor", "unmute_monitor"])(
    "%s takes a monitor's number and nothing else",
    async (name) => {
      const context = await start();
      const schema = datadog.tools.find((tool) => tool.name === name)?.input_schema;
      for (const monitor_id of [...HOSTILE, -1, 0, 1.5, 1e300]) {
        expect(fits(schema, { ...INPUTS[name], monitor_id }), String(monitor_id)).toBe(false);
        await expect(call(name, context, { ...INPUTS[name], monitor_id })).rejects.toThrow(/whole number/);
      }
      expect(service.requests).toHaveLength(0);
    },
  );

  it.each([
    ["search_logs", { query: "x", cursor: "a&b" }],
    ["search_logs", { query: "x", from: "yesterday" }],
    ["search_logs", { query: "x", indexes: ["../main"] }],
    ["aggregate_logs", { query: "x", group_by: ["service\n"] }],
    ["aggregate_logs", { query: "x", interval: "5 minutes" }],
    ["query_metrics", { query: "x", points: 1000 }],
    ["mute_monitor", { monitor_id: 1, minutes: 525_600, reason: "x" }],
    ["mute_monitor", { monitor_id: 1, minutes: 5, reason: "x", scope: "{{x}}" }],
    ["list_incidents", { states: ["active OR state:resolved"] }],
    ["get_incident", { incident_id: "17" }],
    ["get_dependencies", { env: "prod", service: ".." }],
    ["describe_metric", { metric: "../validate" }],
    ["find_metrics", { name: "a&b" }],
    ["get_trace", { trace_id: "1 OR service:x" }],
  ] as const)("%s refuses %o", (name, input) => {
    expect(fits(datadog.tools.find((tool) => tool.name === name)?.input_schema, input as JsonObject)).toBe(false);
  });

  it("sends what a query holds as one parameter", async () => {
    const context = await start();
    await call("list_events", context, { query: "a&filter[to]=now#x?y=%00" });
    expect(lastQuery()["filter[query]"]).toBe("a&filter[to]=now#x?y=%00");
    expect(service.refusals).toEqual([]);
  });
});

describe("the site", () => {
  const addressFor = async (parts: Record<string, string>) => {
    const addresses: string[] = [];
    const refuse: typeof fetch = (input) => {
      addresses.push(String(input));
      return Promise.reject(new Error("no network here"));
    };
    const config = { DD_API_KEY: API_KEY, DD_APP_KEY: APP_KEY, ...parts };
    const error = await failureOf(() => call("get_monitor", toolContext({ config, fetch: refuse }), { monitor_id: 7 }));
    return addresses[0] ?? error.message;
  };

  it.each([
    ["", "https://api.datadoghq.com/"],
    ["datadoghq.com", "https://api.datadoghq.com/"],
    ["datadoghq.eu", "https://api.datadoghq.eu/"],
    ["US5.datadoghq.com", "https://api.us5.datadoghq.com/"],
    ["ddog-gov.com", "https://api.ddog-gov.com/"],
  ])("%j leads to %s", async (DD_SITE, address) => {
    expect(await addressFor({ DD_SITE })).toMatch(`${address}api/v1/monitor/7?`);
  });

  it.each([
    "evil.example",
    "datadoghq.com.evil.example",
    "evil.example/datadoghq.com",
    "evil.example#.datadoghq.com",
    "user@datadoghq.com",
    "https://datadoghq.com",
    "app.datadoghq.com",
    "xdatadoghq.com",
    "a.b.datadoghq.com",
    "datadoghq.com\nevil.example",
  ])("%j is sent no key", async (DD_SITE) => {
    expect(await addressFor({ DD_SITE })).toMatch(/DD_SITE must be a Datadog site/);
  });

  it("refuses an address that is not one", async () => {
    expect(await addressFor({ DD_API_URL: "file:///etc/passwd" })).toMatch(
      /DD_API_URL is not an http or https address/,
    );
    expect(await addressFor({ DD_API_URL: "https://proxy.example/dd/" })).toMatch("https://proxy.example/dd/api/v1/");
  });

  it("links to the pages of the site", async () => {
    const context = await start();
    const config = { ...context.config, DD_SITE: "us5.datadoghq.com" };
    const { url } = await call("get_monitor", { ...context, config });
    expect(url).toBe(`https://us5.datadoghq.com/monitors/${MONITOR}`);
  });

  it("follows no redirect: the keys would go along", async () => {
    const elsewhere = await startDatadog();
    const context = await start(always({ status: 302, body: {}, headers: { location: `${elsewhere.url}/x` } }));
    await expect(call("get_monitor", context)).rejects.toThrow(/redirects this .*set DD_SITE or DD_API_URL/);
    expect(elsewhere.requests).toHaveLength(0);
    await elsewhere.close();
  });

  it("says so when nobody answers, and when a key is not set or not usable", async () => {
    const context = await start();
    await service.close();
    const silent = { ...context, fetch: () => Promise.reject(new TypeError("fetch failed")) };
    const unanswered = failureOf(() => call("mute_monitor", silent));
    const { DD_APP_KEY: _, ...config } = context.config;
    await expect(call("get_monitor", { ...context, config })).rejects.toThrow(/DD_APP_KEY is not set/);
    const odd = { ...context.config, DD_API_KEY: "ddcanary\u0007bell" };
    const error = await failureOf(() => call("get_monitor", { ...context, config: odd }));
    expect(error.message).not.toContain("ddcanary");
    expect((await unanswered).message).toMatch(/did not answer GET .*fetch failed/);
  });
});

describe("pages", () => {
  it.each(turnOf(SEARCHES))("%s goes on from a cursor and hands out the next one", async (name) => {
    const meta = { page: { after: "bmV4dA==" }, status: "done" };
    const context = await start(({ example }) => ({ body: { ...(example as JsonObject), meta } }));
    const result = await call(name, context, { ...INPUTS[name], cursor: "Zmlyc3Q=" });
    expect(result["next_cursor"]).toBe("bmV4dA==");
    expect(decodeURIComponent(service.requests[0]?.url ?? "") + service.requests[0]?.body).toContain("Zmlyc3Q=");
    expect(service.refusals).toEqual([]);
  });

  it("names the next page of monitors and incidents until there is none", async () => {
    const metadata = { page: 1, page_count: 3, per_page: 2, total_count: 5 };
    const context = await start(({ operation, example }) => {
      if (operation === "monitors/search") return { body: { ...(example as JsonObject), metadata } };
      return { body: JSON.parse(JSON.stringify(example).replace('"total":1', '"total":4')) };
    });
    expect(await call("list_monitors", context, { page: 2, limit: 2 })).toMatchObject({ next_page: 3, total_count: 5 });
    expect(lastQuery()).toMatchObject({ page: "1", per_page: "2" });
    expect((await call("list_monitors", context, { page: 3, limit: 2 }))["next_page"]).toBeUndefined();
    expect(await call("list_incidents", context, { page: 2, limit: 2 })).toMatchObject({ next_page: 3 });
    expect(lastQuery()).toMatchObject({ "page[size]": "2", "page[offset]": "2" });
    expect((await call("list_incidents", context, { page: 4, limit: 1 }))["next_page"]).toBeUndefined();
  });

  it.each([...SEARCHES, ...NUMBERED])("%s allows no page of thousands", (name) => {
    const schema = datadog.tools.find((tool) => tool.name === name)?.input_schema;
    expect(fits(schema, { ...INPUTS[name], limit: 1000 })).toBe(false);
    expect(fits(schema, { ...INPUTS[name], page: 0 })).toBe(false);
  });

  it("says when Datadog timed out", async () => {
    const meta = { status: "timeout", warnings: [{ title: "Unknown index", detail: "nope" }] };
    const context = await start(() => ({ body: { data: [], meta } }));
    expect(await call("search_logs", context)).toEqual({
      logs: [],
      incomplete: "Datadog timed out. Narrow the query or the period.",
      warnings: ["Unknown index: nope"],
    });
  });
});

describe("what is asked", () => {
  it("looks at the last hour, the newest first, unless told otherwise", async () => {
    const context = await start();
    await call("search_logs", context, { query: "x" });
    const { filter, ...rest } = lastBody() as { filter: { from: string; to: string } };
    expect(rest).toEqual({ sort: "-timestamp", page: { limit: 10 } });
    expect(Date.parse(filter.to) - Date.parse(filter.from)).toBe(3_600_000);
    await call("list_incidents", context, {});
    expect(lastQuery()["query"]).toBe("state:(active OR stable)");
  });

  it("counts in total or over time, and wants to know what to measure", async () => {
    const c0 = Array.from({ length: 120 }, (_, index) => ({ time: `t${index}`, value: index }));
    const context = await start(() => ({ body: { data: { buckets: [{ by: {}, computes: { c0 } }] } } }));
    const result = await call("aggregate_logs", context, { query: "x", interval: "5m" });
    expect(lastBody()["compute"]).toEqual([{ aggregation: "count", type: "timeseries", interval: "5m" }]);
    expect(result).toMatchObject({ buckets: [{ more_points: "20 left out: use a longer interval" }] });
    await expect(call("aggregate_logs", context, { query: "x", measure: "avg" })).rejects.toThrow(/avg needs metric/);
  });

  it("sends times to the metrics API as seconds, relative ones too", async () => {
    const context = await start();
    await call("query_metrics", context, { query: "x", ...PERIOD });
    expect(lastQuery()).toMatchObject({ from: "1769846400", to: "1769850000" });
    await call("query_metrics", context, { query: "x", from: "now-2h", to: "now-1h" });
    expect(Number(lastQuery()["to"]) - Number(lastQuery()["from"])).toBe(3600);
    const reversed = call("query_metrics", context, { query: "x", from: "now", to: "now-1h" });
    await expect(reversed).rejects.toThrow(/`from` must be before `to`/);
  });
});

describe("metrics", () => {
  const answering = (body: Json) => start(() => ({ body }));
  const series = (scope: string, values: readonly (number | null)[]) => ({
    metric: "m",
    scope,
    pointlist: values.map((value, index) => [index * 1000, value]),
  });

  it("are summarised from every point and shown in a few", async () => {
    const values = Array.from({ length: 1000 }, (_, index) => index);
    const context = await answering({ series: [series("*", [...values, null])] });
    const result = await call("query_metrics", context, { query: "m", points: 4 });
    expect(result).toMatchObject({
      series: [{ count: 1000, min: 0, max: 999, avg: 499.5, last: { value: 999 } }],
      series_total: 1,
    });
    expect((result["series"] as JsonObject[])[0]?.["points"]).toEqual([
      ["1970-01-01T00:00:00.000Z", 124.5],
      ["1970-01-01T00:04:10.000Z", 374.5],
      ["1970-01-01T00:08:20.000Z", 624.5],
      ["1970-01-01T00:12:30.000Z", 874.5],
    ]);
  });

  it("come the highest first, as many as asked for, without points when none are wanted", async () => {
    const context = await answering({ series: [series("low", [1]), series("empty", []), series("high", [9])] });
    const result = await call("query_metrics", context, { query: "m", points: 0, limit: 2 });
    expect(result["series_total"]).toBe(3);
    expect((result["series"] as JsonObject[]).map(({ scope, points }) => [scope, points])).toEqual([
      ["high", undefined],
      ["low", undefined],
    ]);
  });

  it("say when there is no data, and when the query is wrong though the status is 200", async () => {
    const empty = await answering({ status: "ok", series: [] });
    expect(await call("query_metrics", empty)).toMatchObject({ note: /Check the metric's name/ as never });
    await service.close();
    const wrong = await answering({ status: "error", error: "Rule 'scope_expr' didn't match at '}'" });
    await expect(call("query_metrics", wrong)).rejects.toThrow(/rejected the query: Rule 'scope_expr'/);
  });
});

describe("muting", () => {
  it("ends by itself, says why, and notifies nobody", async () => {
    const context = await start();
    const result = await call("mute_monitor", context);
    expect(service.refusals).toEqual([]);
    expect(result).toMatchObject({ monitor_id: MONITOR, scope: "env:staging", end: expect.stringMatching(/Z$/) });
    const { attributes } = lastBody()["data"] as { attributes: JsonObject };
    expect(attributes["message"]).toMatch(
      /^Failover exercise, see \(at\)oncall \{ \{x\}\}\n\n\(skillflow call [0-9a-f]{24}\)$/,
    );
    expect(JSON.stringify(attributes["schedule"])).toMatch(/"end":"\d{4}-/);
  });

  it("makes no second downtime when the same call is made again", async () => {
    const context = await start();
    const first = await call("mute_monitor", context);
    const second = await call("mute_monitor", context);
    expect(second).toEqual({ ...first, existing: true });
    expect(service.operations.filter((id) => id === "downtimes/create")).toHaveLength(1);
    await call("mute_monitor", { ...context, callId: "run-2/3:look/0" });
    await call("mute_monitor", context, { ...INPUTS["mute_monitor"], minutes: 31 });
    expect(service.operations.filter((id) => id === "downtimes/create")).toHaveLength(3);
  });

  it("finds its own downtime behind more than a thousand others", async () => {
    let own: Json = null;
    const others = (from: number) =>
      Array.from({ length: 100 }, (_, index) => ({ id: `x${from + index}`, attributes: { message: "other" } }));
    const context = await start(({ operation, query, body, example }) => {
      if (operation === "downtimes/create") own = { id: "own", ...(body["data"] as JsonObject) };
      if (operation !== "downtimes/list") return { body: example };
      const offset = Number(query["page[offset]"]);
      const data: Json[] = offset < 1200 ? others(offset) : own === null ? [] : [own];
      return { body: { data } };
    });
    await call("mute_monitor", context);
    expect(await call("mute_monitor", context)).toMatchObject({ downtime_id: "own", existing: true });
    expect(service.operations.filter((id) => id === "downtimes/create")).toHaveLength(1);
  });

  it("finds its own downtime behind a hundred others", async () => {
    const context = await start();
    for (let other = 0; other < 100; other++) await call("mute_monitor", { ...context, callId: `other/${other}` });
    const first = await call("mute_monitor", context);
    expect(await call("mute_monitor", context)).toMatchObject({ downtime_id: first["downtime_id"], existing: true });
  });

  it("finds its own downtime if Datadog returns smaller pages than requested", async () => {
    const downtimes: Json[] = Array.from({ length: 45 }, (_, index) => ({ id: `x${index}`, attributes: {} }));
    const context = await start(({ operation, query, body, example }) => {
      if (operation === "downtimes/create") downtimes.push({ id: "own", ...(body["data"] as JsonObject) });
      if (operation !== "downtimes/list") return { body: example };
      const offset = Number(query["page[offset]"]);
      const meta = { page: { total_filtered_count: downtimes.length } };
      return { body: { data: downtimes.slice(offset, offset + 30), meta } };
    });
    await call("mute_monitor", context);
    expect(await call("mute_monitor", context)).toMatchObject({ downtime_id: "own", existing: true });
  });

  it("finds its own downtime behind a short page without a total", async () => {
    const downtimes: Json[] = Array.from({ length: 45 }, (_, index) => ({ id: `x${index}`, attributes: {} }));
    const context = await start(({ operation, query, body, example }) => {
      if (operation === "downtimes/create") downtimes.push({ id: "own", ...(body["data"] as JsonObject) });
      if (operation !== "downtimes/list") return { body: example };
      const offset = Number(query["page[offset]"]);
      return { body: { data: downtimes.slice(offset, offset + 30) } };
    });
    await call("mute_monitor", context);
    expect(await call("mute_monitor", context)).toMatchObject({ downtime_id: "own", existing: true });
  });

  it.each([0, 1])("ends a downtime once that Datadog lists on every page, %s rows later", async (moved) => {
    const message = `Off\n\n(skillflow call ${"0".repeat(24)})`;
    const attributes = {
      message,
      monitor_identifier: { monitor_id: Number(INPUTS["unmute_monitor"]?.["monitor_id"]) },
    };
    const rows = Array.from({ length: 100 }, (_, index) => ({ id: `x${index}`, attributes: {} }));
    const own = { id: "00000000-0000-1234-0000-000000000001", attributes };
    const context = await start(({ operation, query, example }) => {
      if (operation !== "downtimes/list") return { body: example };
      const all: Json[] = [...rows.slice(0, 99), own, { id: "last", attributes: {} }];
      const offset = Number(query["page[offset]"]) * moved;
      return { body: { data: all.slice(Math.max(0, offset - moved)).slice(0, 100) } };
    });
    expect(await call("unmute_monitor", context)).toMatchObject({ ended: [own.id] });
    expect(service.operations.filter((id) => id === "downtimes/cancel")).toHaveLength(1);
  });

  it("writes nothing if the result could not link to the site", async () => {
    const context = await start();
    const config = { ...context.config, DD_SITE: "datadog.example" };
    await expect(call("mute_monitor", { ...context, config })).rejects.toThrow(/DD_SITE must be a Datadog site/);
    expect(service.requests).toEqual([]);
  });

  it("leaves no template of three braces in the reason", async () => {
    const context = await start();
    await call("mute_monitor", context, { ...INPUTS["mute_monitor"], reason: "{{{{host.name}}}}" });
    expect(service.requests.at(-1)?.body).toContain('"message":"{ { { {host.name');
  });

  it("never repeats a write that Datadog may have done", async () => {
    const context = await start(({ operation }) => {
      return operation === "downtimes/create" ? { status: 502, body: {}, headers: { "retry-after": "0" } } : undefined;
    });
    await expect(call("mute_monitor", context)).rejects.toThrow(/failed \(502 .*unclear/);
    expect(service.operations).toEqual(["downtimes/list", "downtimes/create"]);
  });
});

describe("unmuting", () => {
  it("ends what mute_monitor made of the monitor, and leaves and tells what people made", async () => {
    const context = await start();
    const { downtime_id: own } = await call("mute_monitor", context);
    await call("mute_monitor", context, { ...INPUTS["mute_monitor"], monitor_id: 7 });
    expect(await call("unmute_monitor", context)).toMatchObject({ ended: [own], left: [] });
    expect(await call("unmute_monitor", context)).toMatchObject({ ended: [], left: [] });
    expect(service.operations.filter((id) => id === "downtimes/cancel")).toHaveLength(1);
    expect(service.refusals).toEqual([]);
    await service.close();
    const attributes = {
      message: "Maintenance",
      scope: "*",
      monitor_identifier: { monitor_id: MONITOR },
      schedule: { end: "2026-02-01" },
    };
    const peoples = await start(({ operation }) =>
      operation === "downtimes/list" ? { body: { data: [{ id: "x", attributes }] } } : undefined,
    );
    expect(await call("unmute_monitor", peoples)).toMatchObject({
      ended: [],
      left: [{ downtime_id: "x", scope: "*", end: "2026-02-01", message: "Maintenance" }],
    });
    expect(service.requests.every(({ method }) => method === "GET")).toBe(true);
  });

  it("takes a downtime that is gone for ended", async () => {
    const attributes = { message: `x (skillflow call ${"a".repeat(24)})`, monitor_identifier: { monitor_id: MONITOR } };
    const data = [{ id: "00000000-0000-1234-0000-000000000000", attributes }];
    const context = await start(({ operation }) => {
      return operation === "downtimes/list"
        ? { body: { data } }
        : { status: 404, body: { errors: ["Downtime not found"] } };
    });
    expect(await call("unmute_monitor", context)).toMatchObject({ ended: ["00000000-0000-1234-0000-000000000000"] });
  });
});

describe("traces, metrics and dependencies", () => {
  const span = (span_id: string, parent_id: string, more: JsonObject = {}) => {
    return { id: span_id, attributes: { service: `s${span_id}`, span_id, parent_id, ...more } };
  };

  it("tell how deep each span of a trace was called, and that there are more", async () => {
    const data = [
      span("1", "0"),
      span("2", "1"),
      span("3", "2", { custom: { error: { message: "no" } } }),
      span("4", "9"),
    ];
    const context = await start(() => ({ body: { data, meta: { page: { after: "n" } } } }));
    const trace = await call("get_trace", context);
    expect((trace["spans"] as JsonObject[]).map(({ depth }) => depth)).toEqual([0, 1, 2, 0]);
    expect(trace).toMatchObject({
      errors: 1,
      services: ["s1", "s2", "s3", "s4"],
      note: expect.stringContaining("more spans"),
    });
    expect(lastBody()).toMatchObject({
      data: { attributes: { filter: { query: "trace_id:5856001379994862107" }, sort: "timestamp" } },
    });
  });

  it("say when nothing is there, which is no refusal", async () => {
    const context = await start(({ operation }) => ({ body: operation === "dependencies/list" ? {} : { data: [] } }));
    expect(await call("get_trace", context)).toMatchObject({ spans: [], note: expect.stringContaining("not sampled") });
    expect(await call("get_dependencies", context, { env: "prod" })).toMatchObject({
      services: {},
      note: expect.stringContaining("No traces"),
    });
  });

  it("list all services of an environment with what each calls", async () => {
    const { services } = await call("get_dependencies", await start(), { env: "prod" });
    expect(services).toEqual({ checkout: ["payments", "stock"], payments: [] });
    expect(service.refusals).toEqual([]);
  });

  it("show as many services and tags as fit", async () => {
    const name = (index: number) => `${"service".repeat(12)}-${index}`;
    const calls = Array.from({ length: 30 }, (_, index) => name(index));
    const services = Object.fromEntries(Array.from({ length: 90 }, (_, index) => [name(index), { calls }]));
    const tags = Array.from({ length: 400 }, (_, index) => `key${index % 40}:${"é".repeat(100)}${index}`);
    const context = await start(({ operation, example }) => {
      if (operation === "dependencies/list") return { body: services };
      return { body: operation === "metrics/tags" ? { data: { attributes: { tags } } } : example };
    });
    const dependencies = await call("get_dependencies", context, { env: "prod" });
    const shown = Object.keys(dependencies["services"] as JsonObject).length;
    expect(shown).toBeGreaterThan(3);
    expect(dependencies["services_left_out"]).toBe(90 - shown);
    const described = await call("describe_metric", context);
    const keys = Object.keys(described["tags"] as JsonObject).length;
    expect(keys).toBeGreaterThan(5);
    expect(described["left_out"]).toBe(`${40 - keys} more keys`);
  });

  it("count the metrics that were found and not shown, and a tag's further values", async () => {
    const metrics = Array.from({ length: 60 }, (_, index) => `m${index}`);
    const tags = Array.from({ length: 20 }, (_, index) => `host:${index}`);
    const context = await start(({ operation, example }) => {
      if (operation === "metrics/search") return { body: { results: { metrics } } };
      return operation === "metrics/tags" ? { body: { data: { attributes: { tags } } } } : { body: example };
    });
    expect(await call("find_metrics", context, { name: "m" })).toMatchObject({ total: 60, left_out: 10 });
    const { tags: shown, tags_total } = await call("describe_metric", context);
    expect([tags_total, (shown as JsonObject)["host"]]).toEqual([
      20,
      ["0", "1", "2", "3", "4", "5", "6", "7", "… 12 more"],
    ]);
  });

  it("group a hundred thousand values of a tag at once", { timeout: 5_000 }, async () => {
    const tags = Array.from({ length: 200_000 }, (_, index) => `pod:${index}`);
    const context = await start(({ operation, example }) => {
      return { body: operation === "metrics/tags" ? { data: { attributes: { tags } } } : example };
    });
    expect(await call("describe_metric", context)).toMatchObject({ tags_total: 200_000 });
  });
});

describe("Datadog's recorded answers", () => {
  const MONITORS = "Monitors-search-returns-OK-response";
  const read = (name: string) => readPublished(`datadog/${name}.har.json`);
  const isHere = read(MONITORS) !== undefined;

  const recorded = (name: string): Answer => {
    const { log } = JSON.parse(read(name) ?? "") as {
      log: { entries: { response: { status: number; content: { text: string } } }[] };
    };
    const response = log.entries[0]?.response;
    return { status: response?.status ?? 0, text: response?.content.text ?? "" };
  };

  it.runIf(isHere)("of a search for monitors fill a page", async () => {
    const context = await start(() => recorded(MONITORS));
    const result = await call("list_monitors", context, { limit: 30 });
    expect(result).toMatchObject({ total_count: 199, next_page: 2, by_status: { Alert: 65, OK: 38, "No Data": 96 } });
    expect(result["monitors"]).toHaveLength(30);
  });

  it.runIf(isHere)("of a metric are summarised", async () => {
    const context = await start(() => recorded("Query-timeseries-points-returns-OK-response"));
    const result = await call("query_metrics", context, { query: "system.cpu.idle{*}" });
    expect(result).toMatchObject({ series_total: 1, series: [{ metric: "system.cpu.idle", unit: "%", count: 288 }] });
  });

  it.runIf(isHere)("of empty searches are empty results", async () => {
    const logs = await start(() => recorded("Search-logs-returns-OK-response"));
    expect(await call("search_logs", logs)).toEqual({ logs: [] });
    await service.close();
    const buckets = await start(() => recorded("Aggregate-events-returns-OK-response"));
    expect(await call("aggregate_logs", buckets)).toEqual({ measure: "pc95", buckets: [] });
  });

  it.runIf(isHere)("of a bad request become advice", async () => {
    const context = await start(() => recorded("Get-all-monitors-returns-Bad-Request-response"));
    await expect(call("list_monitors", context)).rejects.toThrow("Invalid group_state filters.");
  });
});

/** The contract suite uses the bare service, with answers of maximum size. */
const flooded = await startDatadog(flood);
afterAll(() => flooded.close());

const OWN_DOWNTIME = {
  id: "own",
  attributes: { message: `(skillflow call ${"0".repeat(24)})`, monitor_identifier: { monitor_id: MONITOR } },
};

describeSkill(datadog, {
  config: configFor,
  inputs: INPUTS,
  reads: ({ url }) => (url.startsWith("/api/v2/downtime") ? { data: [OWN_DOWNTIME] } : undefined),
  flood: async ({ method, url, headers, body }, response) => {
    const keys = ["dd-api-key", "dd-application-key", "content-type"].map((name) => [
      name,
      String(headers[name] ?? ""),
    ]);
    const answer = await fetch(flooded.url + url, {
      method,
      headers: Object.fromEntries(keys),
      ...(body ? { body } : {}),
    });
    response.writeHead(answer.status, { "content-type": "application/json" });
    response.end(await answer.text());
  },
});
