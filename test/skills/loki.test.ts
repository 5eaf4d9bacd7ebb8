import type { Json, JsonObject, ToolContext } from "skillflow";
import { toolContext } from "skillflow/testing";
import { afterAll, afterEach, describe, expect, it } from "vitest";
import loki from "../../skills/loki/skill.ts";
import { describeFaults } from "../contracts/faults.ts";
import { callTool, describeSkill, fits } from "../contracts/skill.ts";
import { flood, startLoki, TOKEN, USERNAME } from "../services/loki.ts";
import { forwarding, type RestService, type Script } from "../services/rest.ts";

const PERIOD = { from: "2026-01-31T08:00:00Z", to: "2026-01-31T09:00:00Z" };
const selector = '{app="checkout"}';

/** One good input for every tool. */
const INPUTS: Readonly<Record<string, JsonObject>> = {
  search_logs: { query: '{app="checkout"} |= "timeout"', ...PERIOD },
  count_logs: { query: 'sum by (level) (count_over_time({app="checkout"}[5m]))', ...PERIOD, step: "5m" },
  list_patterns: { selector, ...PERIOD },
  list_labels: { label: "app", ...PERIOD },
  list_streams: { selector, ...PERIOD },
};
const NAMES = loki.tools.map((tool) => tool.name);

let service: RestService;
afterEach(() => service?.close());

async function start(script?: Script, parts: Readonly<Record<string, string>> = {}): Promise<ToolContext> {
  service = await startLoki(script);
  return toolContext({ config: { ...configFor(service.url), ...parts } });
}

function configFor(url: string): Record<string, string> {
  return { LOKI_URL: url, LOKI_TOKEN: TOKEN };
}

function call(name: string, context: ToolContext, input: JsonObject = INPUTS[name] ?? {}): Promise<JsonObject> {
  return callTool(loki, name, input, context) as Promise<JsonObject>;
}

function lastQuery(): Record<string, string> {
  return Object.fromEntries(new URL(service.requests.at(-1)?.url ?? "", service.url).searchParams);
}

const answering = (data: Json) => start(() => ({ body: { status: "success", data } }));

describe("every loki tool, against the published contract", () => {
  it.each(NAMES)("%s sends what the contract allows and returns what a model needs", async (name) => {
    const context = await start();
    const result = await call(name, context);
    expect(service.refusals).toEqual([]);
    expect(result).toMatchSnapshot();
  });

  it.each(NAMES)("%s tells nothing found from nothing allowed", async (name) => {
    const empty = await start(({ operation }) => {
      const numbers = name === "count_logs" ? "matrix" : "streams";
      if (operation === "query_range")
        return { body: { status: "success", data: { resultType: numbers, result: [] } } };
      return operation === "index/stats" ? undefined : { body: { status: "success", data: null } };
    });
    expect(await call(name, empty)).toMatchObject({ note: expect.stringMatching(/^(The query is valid|No )/) });
    expect(service.refusals).toEqual([]);
    await service.close();
    await expect(call(name, await start(undefined, { LOKI_TOKEN: "another" }))).rejects.toThrow(
      /refused authentication \(401 .*no credentials provided\. LOKI_TOKEN is wrong/,
    );
  });

  it("lets itself in as Grafana Cloud wants it, and names the tenant", async () => {
    await call("list_labels", await start(undefined, { LOKI_USERNAME: USERNAME, LOKI_ORG_ID: "team-a" }));
    expect(service.operations).toEqual(["label/values"]);
    expect(service.requests[0]?.headers).toMatchObject({
      authorization: `Basic ${Buffer.from(`${USERNAME}:${TOKEN}`).toString("base64")}`,
      "x-scope-orgid": "team-a",
    });
  });

  it("is live when it tells labels", async () => {
    expect(await loki.probe?.(await start())).toBe("queries work; labels in the last ten minutes: 3");
  });
});

describe("lines", () => {
  it("come newest first across streams, what they share told once", async () => {
    const result = await call("search_logs", await start());
    expect(result).toMatchObject({
      shared_labels: { app: "checkout", env: "prod" },
      by_level: { error: 2, info: 1 },
      lines: [
        { at: "2026-01-31T08:00:02.000000007Z", labels: { pod: "checkout-1" } },
        { at: "2026-01-31T08:00:01.000000000Z", labels: { pod: "checkout-2" } },
        { at: "2026-01-31T08:00:00.000000001Z" },
      ],
    });
    expect(result["next"]).toBeUndefined();
  });

  it("come oldest first where asked, and say where to read on", async () => {
    const context = await start();
    const forward = await call("search_logs", context, { ...INPUTS["search_logs"], oldest_first: true, limit: 3 });
    expect(lastQuery()).toMatchObject({ direction: "forward", limit: "3", start: "1769846400000000000" });
    expect(forward).toMatchObject({
      lines: [{ at: "2026-01-31T08:00:00.000000001Z" }, {}, {}],
      next: { from: "2026-01-31T08:00:02.000Z", to: "2026-01-31T09:00:00.000Z" },
      note: expect.stringContaining("may be more lines"),
    });
    const backward = await call("search_logs", context, { ...INPUTS["search_logs"], limit: 3 });
    expect(backward["next"]).toEqual({ from: "2026-01-31T08:00:00.000Z", to: "2026-01-31T08:00:00.001Z" });
    const { next } = backward;
    expect(fits(loki.tools[0]?.input_schema, { query: "x", ...(next as JsonObject) })).toBe(true);
  });

  it("are never the same period again, even if one millisecond has more of them than the limit", async () => {
    const values = ["1769846400000000001", "1769846400000000002"].map((at) => [at, "x"]);
    const context = await answering({ resultType: "streams", result: [{ stream: {}, values }] });
    const from = "2026-01-31T08:00:00.000Z";
    const input = { query: '{app="checkout"}', limit: 2 };
    const forward = { ...input, from, to: "2026-01-31T09:00:00.000Z", oldest_first: true };
    expect(await call("search_logs", context, forward)).toMatchObject({
      next: { from: "2026-01-31T08:00:00.001Z", to: "2026-01-31T09:00:00.000Z" },
      note: expect.stringContaining("skips the others"),
    });
    const last = await call("search_logs", context, { ...input, from, to: "2026-01-31T08:00:00.001Z" });
    expect(last["next"]).toBeUndefined();
    expect(last["note"]).toContain("skips the others");
  });

  it("continue after the last shown line, if not all fit into the result", async () => {
    const context = await start(({ query }) => {
      const values = Array.from({ length: Number(query["limit"]) }, (_, at) => {
        return [`${1_769_846_400_000 + at}000000`, "x".repeat(2000)];
      });
      return { body: { status: "success", data: { resultType: "streams", result: [{ stream: {}, values }] } } };
    });
    const input = { ...INPUTS["search_logs"], oldest_first: true, limit: 100 };
    const { lines, next } = await call("search_logs", context, input);
    const last = (lines as JsonObject[]).at(-1)?.["at"];
    expect((next as JsonObject)["from"]).toBe(String(last).replace("000000Z", "Z"));
  });

  it("that are long are cut, and what is cut is told", async () => {
    const values = [["1769846400000000000", "y".repeat(5000)]];
    const result = await call(
      "search_logs",
      await answering({ resultType: "streams", result: [{ stream: {}, values }] }),
    );
    expect((result["lines"] as JsonObject[])[0]?.["line"]).toMatch(/y… \[3000 more characters\]$/);
  });

  it("and numbers are told apart", async () => {
    const context = await start();
    await expect(call("search_logs", context, INPUTS["count_logs"])).rejects.toThrow(
      /numbers, not lines. Use count_logs/,
    );
    await expect(call("count_logs", context, INPUTS["search_logs"])).rejects.toThrow(
      /lines, not numbers\. .*search_logs/,
    );
  });
});

describe("counts", () => {
  it("come highest peak first, in steps that Loki takes", async () => {
    const context = await start();
    const stepFor = async (input: JsonObject) => {
      const result = await call("count_logs", context, { query: "sum(count_over_time({a='b'}[5m]))", ...input });
      expect(result).toMatchObject({
        series: [{ labels: { level: "error" }, max: { value: 480 } }, {}],
        series_total: 2,
      });
      return Number(lastQuery()["step"]);
    };
    expect(await stepFor(PERIOD)).toBe(60);
    expect(await stepFor({ from: "now-5m" })).toBe(10);
    expect(await stepFor({ from: "now-30d", step: "1s" })).toBe(519);
  });

  it("of patterns come most frequent first, with when they were", async () => {
    const result = await call("list_patterns", await start(), { selector, ...PERIOD, contains: "POOL" });
    expect(result).toMatchObject({
      patterns: [{ count: 483, level: "error", first: "2026-01-31T08:00:10.000Z", peak: { value: 480 } }],
      lines_total: 810,
      patterns_total: 2,
    });
    await service.close();
    const missing = await start(() => ({ status: 404, text: "404 page not found" }));
    await expect(call("list_patterns", missing)).rejects.toThrow(/disabled on this server. Use count_logs/);
  });
});

it.each([
  ["list_streams", { selector: "app=checkout" }],
  ["list_streams", { selector: '{app="x"} |= "y"' }],
  ["list_labels", { label: "../x" }],
  ["search_logs", { query: "x", limit: 1000 }],
  ["count_logs", { query: "x", step: "0m" }],
] as const)("%s refuses %o", (name, input) => {
  expect(fits(loki.tools.find((tool) => tool.name === name)?.input_schema, input as JsonObject)).toBe(false);
});

const flooded = await startLoki(flood);
afterAll(() => flooded.close());

describeFaults(loki, {
  service: "Loki",
  address: "LOKI_URL",
  keys: ["LOKI_TOKEN"],
  config: configFor,
  inputs: INPUTS,
});
describeSkill(loki, { config: configFor, inputs: INPUTS, flood: forwarding(flooded) });
