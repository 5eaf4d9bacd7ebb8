import type { Json, JsonObject, ToolContext } from "skillflow";
import { toolContext } from "skillflow/testing";
import { afterAll, afterEach, describe, expect, it } from "vitest";
import prometheus from "../../skills/prometheus/skill.ts";
import { describeFaults } from "../contracts/faults.ts";
import { callTool, describeSkill, fits } from "../contracts/skill.ts";
import { flood, startPrometheus, TOKEN, USERNAME } from "../services/prometheus.ts";
import { forwarding, type RestService, type Script } from "../services/rest.ts";

const PERIOD = { from: "2026-01-31T08:00:00Z", to: "2026-01-31T09:00:00Z" };

/** One good input for every tool. */
const INPUTS: Readonly<Record<string, JsonObject>> = {
  query: { query: "up", at: "2026-01-31T08:00:00Z" },
  query_range: { query: "sum by (service) (rate(http_requests_total[5m]))", ...PERIOD, points: 2 },
  list_alerts: {},
  list_rules: { contains: "checkout" },
  list_targets: {},
  list_metrics: { contains: "HTTP", ...PERIOD },
  list_labels: { label: "code", selector: '{job="checkout"}', ...PERIOD },
  list_series: { selector: "http_requests_total", ...PERIOD, limit: 2 },
};
const NAMES = prometheus.tools.map((tool) => tool.name);

let service: RestService;
afterEach(() => service?.close());

async function start(script?: Script, parts: Readonly<Record<string, string>> = {}): Promise<ToolContext> {
  service = await startPrometheus(script);
  return toolContext({ config: { ...configFor(service.url), ...parts } });
}

function configFor(url: string): Record<string, string> {
  return { PROMETHEUS_URL: url, PROMETHEUS_TOKEN: TOKEN };
}

function call(name: string, context: ToolContext, input: JsonObject = INPUTS[name] ?? {}): Promise<JsonObject> {
  return callTool(prometheus, name, input, context) as Promise<JsonObject>;
}

function lastQuery(): Record<string, string> {
  return Object.fromEntries(new URL(service.requests.at(-1)?.url ?? "", service.url).searchParams);
}

const answering = (data: Json, more: JsonObject = {}) => start(() => ({ body: { status: "success", data, ...more } }));

describe("every prometheus tool, against the published contract", () => {
  it.each(NAMES)("%s sends what the contract allows and returns what a model needs", async (name) => {
    const context = await start();
    const result = await call(name, context);
    expect(service.refusals).toEqual([]);
    expect(result).toMatchSnapshot();
  });

  it("lets itself in by a token, or by a user and a token as Grafana Cloud wants it, and names the tenant", async () => {
    await call("query", await start());
    expect(service.requests[0]?.headers.authorization).toBe(`Bearer ${TOKEN}`);
    await service.close();
    await call("query", await start(undefined, { PROMETHEUS_USERNAME: USERNAME, PROMETHEUS_ORG_ID: "team-a" }));
    expect(service.refusals).toEqual([]);
    expect(service.requests[0]?.headers).toMatchObject({
      authorization: `Basic ${Buffer.from(`${USERNAME}:${TOKEN}`).toString("base64")}`,
      "x-scope-orgid": "team-a",
    });
  });

  it("goes on without a token where none is needed, and keeps the path of the address", async () => {
    const context = await start();
    const seen: [string, RequestInit | undefined][] = [];
    const fetch: typeof globalThis.fetch = async (input, init) => {
      seen.push([String(input), init]);
      return Response.json({ status: "success", data: [] });
    };
    await call("list_labels", { ...context, config: { PROMETHEUS_URL: "https://m.example/api/prom/" }, fetch }, {});
    expect(seen[0]?.[0]).toMatch(/^https:\/\/m\.example\/api\/prom\/api\/v1\/labels\?start=/);
    expect(Object.keys(seen[0]?.[1]?.headers ?? {})).not.toContain("authorization");
  });

  it("is live when it answers a query", async () => {
    expect(await prometheus.probe?.(await start())).toBe("queries work");
    const { PROMETHEUS_TOKEN: _, ...config } = configFor(service.url);
    await expect(prometheus.probe?.(toolContext({ config }))).rejects.toThrow(
      /refused authentication \(401 .*invalid authentication credentials\. PROMETHEUS_TOKEN is not set/,
    );
  });
});

describe("a range", () => {
  const values = Array.from({ length: 100 }, (_, index) => [1_769_846_400 + index * 60, String(index)]);

  it("is summarised from every point, shown in a few, the highest peak first", async () => {
    const low = { metric: { s: "low" }, values: [[1_769_846_400, "-1"]] };
    const none = { metric: { s: "none" }, values: [[1_769_846_400, "NaN"]] };
    const context = await answering({
      resultType: "matrix",
      result: [low, none, { metric: { s: "high" }, values }] as Json,
    });
    const result = await call("query_range", context, { query: "x", ...PERIOD, points: 2, limit: 2 });
    expect(result).toMatchObject({
      series: [
        {
          labels: { s: "high" },
          count: 100,
          min: { value: 0, at: "2026-01-31T08:00:00.000Z" },
          max: { value: 99, at: "2026-01-31T09:39:00.000Z" },
          avg: 49.5,
          points: [
            ["2026-01-31T08:00:00.000Z", 24.5],
            ["2026-01-31T08:50:00.000Z", 74.5],
          ],
        },
        { labels: { s: "low" }, count: 1 },
      ],
      series_total: 3,
      left_out: 1,
    });
  });

  it("is asked in 240 steps, and never in more than Prometheus allows", async () => {
    const context = await start();
    const stepFor = async (input: JsonObject) => {
      await call("query_range", context, { query: "x", ...input });
      return Number(lastQuery()["step"]);
    };
    expect(await stepFor(PERIOD)).toBe(15);
    expect(await stepFor({ from: "now-10m" })).toBe(5);
    expect(await stepFor({ ...PERIOD, step: "2m" })).toBe(120);
    expect(await stepFor({ from: "now-30d", step: "1s" })).toBe(519);
    expect(service.refusals).toEqual([]);
  });

  it("that is empty is refused before anything is asked", async () => {
    const context = await start();
    await expect(call("query_range", context, { query: "x", from: "now", to: "now-1h" })).rejects.toThrow(
      /period is empty/,
    );
    await expect(call("query", context, { query: "x", at: "2026-13-45T08:00:00Z" })).rejects.toThrow(/is not a time/);
    expect(service.requests).toHaveLength(0);
  });
});

describe("a moment", () => {
  it("has values of every kind", async () => {
    const kinds: readonly (readonly [Json, unknown])[] = [
      [
        { resultType: "scalar", result: [1, "4.5"] },
        { labels: {}, value: 4.5 },
      ],
      [
        { resultType: "string", result: [1, "7"] },
        { labels: {}, value: "7" },
      ],
      [
        {
          resultType: "matrix",
          result: [
            {
              metric: {},
              values: [
                [1, "2"],
                [60, "+Inf"],
              ],
            },
          ],
        },
        { labels: {}, value: "+Inf", at: "1970-01-01T00:01:00.000Z" },
      ],
      [
        { resultType: "vector", result: [{ metric: {}, histogram: [1, { count: "9", sum: "4" }] }] },
        { labels: {}, value: { count: 9, sum: 4 } },
      ],
    ];
    for (const [data, first] of kinds) {
      expect((await call("query", await answering(data)))["series"]).toEqual([first]);
      await service.close();
    }
  });

  it("that matches nothing says so, and what was left out or is partial is told", async () => {
    const empty = await answering({ resultType: "vector", result: [] });
    expect(await call("query", empty)).toMatchObject({
      series: [],
      note: expect.stringContaining("valid, but matches no series"),
    });
    await service.close();
    const result = Array.from({ length: 30 }, (_, index) => ({ metric: { i: `${index}` }, value: [1, "1"] }));
    const partial = await answering({ resultType: "vector", result }, { warnings: ["store timed out"] });
    expect(await call("query", partial)).toMatchObject({
      series_total: 30,
      left_out: 10,
      remarks: ["store timed out"],
      note: expect.stringContaining("10 series are not shown"),
    });
  });
});

describe("in a backtest, a query", () => {
  const at = (name: string, query: string) =>
    start().then((context) => call(name, { ...context, now: () => 1_772_366_400_000 }, { query }));

  it.each([
    "err offset -1h",
    "sum(rate(err[5m] OFFSET  - 1h))",
    "err[1h:] offset (1h - 2h)",
    "err @ 1772370000",
    "err @1.77237e+9",
    "err @ Inf",
    `x{a="\\"#"} @ 1772370000`,
    "err # '\noffset -1h",
    "err offset +(-5m)",
    "err offset # now\n -1h",
    "err @ # now\n 1772370000",
  ])("that reads later is refused: %s", async (query) => {
    for (const name of ["query", "query_range"])
      await expect(at(name, query)).rejects.toThrow("beyond 2026-03-01T12:00:00.000Z, the time of this run");
    expect(service.requests).toEqual([]);
    await expect(call("query", await start(), { query })).resolves.toMatchObject({ series: expect.anything() });
  });

  it.each([
    "err offset 1h",
    "err @ 1772366400",
    "err @ -5",
    "rate(err[5m] @ start()) - err @ end ()",
    `kafka_offset - 1 + x{offset="-1", b='offset -1h'} # @ 1772370000`,
    "sum by (offset) (err) - `@ 1772370000`",
  ])("that does not is sent: %s", async (query) => {
    for (const name of ["query", "query_range"]) expect(await at(name, query)).toHaveProperty("series");
    expect(lastQuery()).toMatchObject({ query });
  });
});

describe("what is listed", () => {
  it("of alerts is told apart: filtered, none, or no rules at all", async () => {
    const context = await start();
    expect(await call("list_alerts", context, { state: "firing", contains: "PAGE" })).toMatchObject({
      matching: 1,
      firing: 1,
      pending: 1,
    });
    expect((await call("list_alerts", context, { contains: 'x"y' }))["note"]).toBeUndefined();
    await service.close();
    expect(await call("list_alerts", await answering({ alerts: [] }))).toMatchObject({
      note: expect.stringContaining("no alert is firing or pending"),
    });
    await service.close();
    const missing = await start(() => ({ status: 404, text: "404 page not found" }));
    await expect(call("list_alerts", missing)).rejects.toThrow(/evaluates no rules/);
    await expect(call("list_targets", missing)).rejects.toThrow(/Call query with `up == 0`/);
  });

  it("of targets holds no secret of their addresses or their discovery", async () => {
    const result = JSON.stringify(await call("list_targets", await start(), { health: "up" }));
    expect(result).toContain("http://10.0.0.1:9100/metrics");
    expect(result).not.toMatch(/of-the-target|of the discovery/);
    await service.close();
    const scrapeUrl = "http://u:of-the-target@10.0.0.1:9100/metrics?token=of-the-target";
    const lastError = `Get "${scrapeUrl.replace("of-the-target@", "***@")}": connection refused`;
    const down = { labels: {}, health: "down", scrapeUrl, lastError };
    const failing = await start(() => ({ body: { status: "success", data: { activeTargets: [down] } } }));
    expect((await call("list_targets", failing))["targets"]).toMatchObject([
      { url: "http://10.0.0.1:9100/metrics", last_error: 'Get "http://10.0.0.1:9100/metrics": connection refused' },
    ]);
    expect(await call("list_targets", failing, { contains: "of-the-target" })).toMatchObject({ matching: 0 });
    await service.close();
    const probe = { labels: {}, health: "up", scrapeUrl: "http://10.0.0.1:9115/probe?target=a@b.example" };
    const probing = await start(() => ({ body: { status: "success", data: { activeTargets: [probe] } } }));
    expect((await call("list_targets", probing))["targets"]).toMatchObject([{ url: "http://10.0.0.1:9115/probe" }]);
  });

  it("of metrics are those whose name has the word; without one the metadata is not asked for", async () => {
    const context = await start();
    expect(await call("list_metrics", context, { contains: "nothing" })).toMatchObject({
      metrics: [],
      note: "None of 4 metrics of this period has a name that contains it.",
    });
    expect(service.operations).toEqual(["label/values"]);
  });

  it("of labels without one's name are the names, a selector sent as it is", async () => {
    const context = await start();
    const selector = '{job=~"a|b&c"}';
    expect(await call("list_labels", context, { selector, contains: "SER" })).toMatchObject({ values: ["service"] });
    expect(lastQuery()["match[]"]).toBe(selector);
  });
});

it.each([
  ["query", { query: "x", at: "yesterday" }],
  ["query_range", { query: "x", step: "0s" }],
  ["query_range", { query: "x", points: 1000 }],
  ["list_labels", { label: "../../admin" }],
  ["list_labels", { label: "a/b" }],
  ["list_series", {}],
] as const)("%s refuses %o", (name, input) => {
  expect(fits(prometheus.tools.find((tool) => tool.name === name)?.input_schema, input as JsonObject)).toBe(false);
});

const flooded = await startPrometheus(flood);
afterAll(() => flooded.close());

describeFaults(prometheus, {
  service: "Prometheus",
  address: "PROMETHEUS_URL",
  keys: ["PROMETHEUS_TOKEN"],
  config: configFor,
  inputs: INPUTS,
});
describeSkill(prometheus, { config: configFor, inputs: INPUTS, flood: forwarding(flooded) });
