import type { Json, JsonObject, ToolContext } from "skillflow";
import { toolContext } from "skillflow/testing";
import { afterAll, afterEach, describe, expect, it } from "vitest";
import grafana from "../../skills/grafana/skill.ts";
import { describeFaults } from "../contracts/faults.ts";
import { callTool, describeSkill, fits } from "../contracts/skill.ts";
import { flood, startGrafana, TOKEN } from "../services/grafana.ts";
import { forwarding, type RestService, type Script } from "../services/rest.ts";

const PERIOD = { from: "2026-01-31T07:00:00Z", to: "2026-01-31T09:00:00Z" };
const SILENCING = { labels: [{ name: "alertname", value: "CheckoutErrors" }], minutes: 30, reason: "rolled back" };

/** One good input for every tool. */
const INPUTS: Readonly<Record<string, JsonObject>> = {
  list_alerts: {},
  list_rules: {},
  list_annotations: { ...PERIOD, tags: ["deploy", "checkout"] },
  search_dashboards: { query: "checkout" },
  get_dashboard: { dashboard: "checkout-1" },
  list_datasources: {},
  get_routing: {},
  list_silences: {},
  silence_alerts: SILENCING,
  end_silence: { silence_id: "9be7a32c-2a3d-4b51-9f4a-d3c5b6f5f1ab" },
};
const NAMES = grafana.tools.map((tool) => tool.name);

let service: RestService;
afterEach(() => service?.close());

async function start(script?: Script): Promise<ToolContext> {
  service = await startGrafana(script);
  return toolContext({ config: configFor(service.url) });
}

function configFor(url: string): Record<string, string> {
  return { GRAFANA_URL: url, GRAFANA_TOKEN: TOKEN };
}

function call(name: string, context: ToolContext, input: JsonObject = INPUTS[name] ?? {}): Promise<JsonObject> {
  return callTool(grafana, name, input, context) as Promise<JsonObject>;
}

const answering = (body: Json) => start(() => ({ body }));

describe("every grafana tool, against the published contract", () => {
  it.each(NAMES)("%s sends what the contract allows and returns what a model needs", async (name) => {
    const context = await start();
    const { until: _, ...result } = await call(name, context);
    expect(service.refusals).toEqual([]);
    expect(result).toMatchSnapshot();
  });

  it("is live when it answers a search", async () => {
    expect(await grafana.probe?.(await start())).toBe("can read dashboards");
    const config = { ...configFor(service.url), GRAFANA_TOKEN: "other" };
    await expect(grafana.probe?.(toolContext({ config }))).rejects.toThrow(
      /refused authentication \(401 .*Invalid API key/,
    );
    await service.close();
    expect(await grafana.probe?.(await answering([]))).toMatch(/no dashboard/);
  });
});

describe("what grafana lists", () => {
  it("of alerts is told apart: held back by a silence, filtered, or none at all", async () => {
    const context = await start();
    expect(await call("list_alerts", context, { silenced: false, contains: "CHECKOUT" })).toMatchObject({
      alerts: [{ name: "CheckoutErrors", labels: { service: "checkout", severity: "page" }, panel: "4" }],
      active: 1,
      suppressed: 1,
      matching: 1,
    });
    expect((await call("list_alerts", context, { contains: "nothing" }))["note"]).toBeUndefined();
    await service.close();
    expect((await call("list_alerts", await answering([])))["note"]).toContain("none of their alerts is firing");
    await service.close();
    const without = await start(() => ({ status: 404, body: { message: "Not found" } }));
    await expect(call("list_alerts", without)).rejects.toThrow(/evaluates no alert rules itself/);
  });

  it("of rules begins with what fires, and finds those that cannot be evaluated", async () => {
    const context = await start();
    const { rules } = (await call("list_rules", context)) as { rules: { name: string }[] };
    expect(rules.map(({ name }) => name)).toEqual(["CheckoutErrors", "CheckoutSlow"]);
    expect(await call("list_rules", context, { health: "error" })).toMatchObject({
      rules: [{ name: "CheckoutSlow", last_error: "failed to execute query A: connection refused" }],
      rules_total: 2,
    });
  });

  it("of annotations sends every tag, and says where there may be more or were none", async () => {
    const context = await start();
    await call("list_annotations", context);
    const { searchParams } = new URL(service.requests[0]?.url ?? "", service.url);
    expect(searchParams.getAll("tags")).toEqual(["deploy", "checkout"]);
    expect((await call("list_annotations", context, { ...PERIOD, limit: 2 }))["note"]).toContain("may be older");
    await service.close();
    expect((await call("list_annotations", await answering([])))["note"]).toContain("No matching annotation");
  });

  it("of dashboards goes on to the next page where one is full", async () => {
    const context = await start();
    expect((await call("search_dashboards", context, { limit: 1 }))["next_page"]).toBe(2);
    expect((await call("search_dashboards", context, { page: 2 }))["next_page"]).toBeUndefined();
  });

  it("of dashboards has smaller pages, if not all of one fit into the result", async () => {
    const context = await start(({ query }) => {
      const limit = Number(query["limit"]);
      return { body: Array.from({ length: limit }, (_, at) => ({ uid: `d${at}`, title: "x".repeat(400), tags: [] })) };
    });
    const { dashboards, limit, next_page } = await call("search_dashboards", context, { limit: 100 });
    expect(next_page).toBe(2);
    expect((dashboards as JsonObject[]).length).toBe(limit);
  });

  it("of a dashboard holds the panels of its rows, by id or by word", async () => {
    const context = await start();
    expect(await call("get_dashboard", context, { dashboard: "checkout-1", contains: "sqs" })).toMatchObject({
      panels: [{ id: 10, source: "CloudWatch", queries: [expect.stringContaining('"namespace":"AWS/SQS"')] }],
      matching: 1,
    });
    expect(await call("get_dashboard", context, { dashboard: "checkout-1", panel: 4 })).toMatchObject({ matching: 1 });
  });

  it("of data sources holds no password or key of their addresses", async () => {
    const result = JSON.stringify(await call("list_datasources", await start()));
    expect(result).toContain("http://prometheus:9090/");
    expect(result).not.toContain("of-the-source");
    await service.close();
    const urls = [
      "http://user:secret@secret@db:5432",
      "https://user:secret#secret@db/x?y=1",
      "user:secret@db:3306",
      "http://u:secret/w@h/x",
    ];
    const odd = await answering(urls.map((url) => ({ name: "a", url })));
    expect(await call("list_datasources", odd)).toEqual({
      datasources: [
        { name: "a", url: "http://db:5432" },
        { name: "a", url: "https://db/x" },
        { name: "a", url: "db:3306" },
        { name: "a", url: "http://h/x" },
      ],
    });
  });
});

describe("the way of an alert", () => {
  const labels = (all: Record<string, string>) => Object.entries(all).map(([name, value]) => ({ name, value }));
  const taken = async (all: Record<string, string>) => {
    const result = await call("get_routing", await start(), { labels: labels(all) });
    await service.close();
    const policies = result["policies"] as { receiver: string; undecided?: boolean }[];
    return policies.map(({ receiver, undecided }) => (undecided ? `${receiver}?` : receiver));
  };

  it("leads to the deepest policies that take it, and goes on where one says so", async () => {
    expect(await taken({ service: "checkout", severity: "page", team: "shop" })).toEqual(["shop-page", "shop-chat"]);
    expect(await taken({ service: "cart2", team: "shop" })).toEqual(["everybody"]);
    expect(await taken({ service: "cartx", severity: "page" })).toEqual(["lost?", "everybody"]);
  });

  it("tells the kinds of contact points, and nothing of what lets in to them", async () => {
    const result = await call("get_routing", await start());
    expect(result["contact_points"]).toContainEqual({ name: "shop-page", kinds: ["pagerduty", "slack"] });
    expect(JSON.stringify(result)).not.toContain("of-the-point");
    expect(await call("get_routing", await start(), { contains: "weekend" })).toMatchObject({ policies: [] });
  });
});

describe("a silence", () => {
  it("is made once, however often the same call is made", async () => {
    const made: Json[] = [];
    const context = await start(({ operation, body }) => {
      if (operation === "postSilences") made.push({ ...body, id: "made-1", status: { state: "active" } });
      return operation === "silences" ? { body: made } : undefined;
    });
    const first = await call("silence_alerts", context);
    expect(made).toMatchObject([
      {
        matchers: [{ name: "alertname", value: "CheckoutErrors", isRegex: false, isEqual: true }],
        createdBy: "skillflow",
      },
    ]);
    expect(await call("silence_alerts", context)).toEqual({
      silence_id: "made-1",
      until: first["until"],
      existing: true,
    });
    expect(made).toHaveLength(1);
  });

  it("that people made is theirs to end, and one that ended stays ended", async () => {
    const of = (parts: JsonObject) => ({ id: "a", comment: "night work", createdBy: "ada", ...parts });
    await expect(call("end_silence", await answering(of({ status: { state: "active" } })))).rejects.toThrow(
      /was made by ada, so only they can end it/,
    );
    expect(service.operations).toEqual(["silence"]);
    await service.close();
    const ended = await answering(of({ status: { state: "expired" } }));
    expect(await call("end_silence", ended)).toMatchObject({ ended: true, existing: true });
    await service.close();
    const gone = await start(({ operation }) =>
      operation === "deleteSilence" ? { status: 404, body: { message: "silence not found" } } : undefined,
    );
    expect(await call("end_silence", gone)).toMatchObject({ ended: true });
  });

  it("whose fate is unclear is not tried again by itself", async () => {
    const context = await start(({ operation }) =>
      operation === "postSilences" ? { status: 502, body: {} } : undefined,
    );
    await expect(call("silence_alerts", context)).rejects.toThrow(/Whether it took effect is unclear/);
    expect(service.operations).toEqual(["silences", "postSilences"]);
  });
});

it.each([
  ["silence_alerts", { ...SILENCING, labels: [] }],
  ["silence_alerts", { ...SILENCING, minutes: 100_000 }],
  ["get_dashboard", { dashboard: "../../admin" }],
  ["list_annotations", { from: "yesterday" }],
] as const)("%s refuses %o", (name, input) => {
  expect(fits(grafana.tools.find((tool) => tool.name === name)?.input_schema, input as JsonObject)).toBe(false);
});

const flooded = await startGrafana(flood);
afterAll(() => flooded.close());

describeFaults(grafana, {
  service: "Grafana",
  address: "GRAFANA_URL",
  keys: ["GRAFANA_TOKEN"],
  config: configFor,
  inputs: INPUTS,
});
describeSkill(grafana, { config: configFor, inputs: INPUTS, flood: forwarding(flooded) });
