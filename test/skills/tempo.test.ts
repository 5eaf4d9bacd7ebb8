import type { Json, JsonObject, ToolContext } from "skillflow";
import { toolContext } from "skillflow/testing";
import { afterAll, afterEach, describe, expect, it } from "vitest";
import tempo from "../../skills/tempo/skill.ts";
import { describeFaults } from "../contracts/faults.ts";
import { callTool, describeSkill, fits } from "../contracts/skill.ts";
import { forwarding, type RestService, type Script } from "../services/rest.ts";
import { flood, startTempo, TOKEN, TRACE, USERNAME } from "../services/tempo.ts";

const PERIOD = { from: "2026-01-31T08:00:00Z", to: "2026-01-31T09:00:00Z" };

/** One good input for every tool. */
const INPUTS: Readonly<Record<string, JsonObject>> = {
  measure_spans: { query: "{status=error} | rate() by (resource.service.name)", ...PERIOD },
  list_attributes: { attribute: "resource.service.name", query: "{status=error}", ...PERIOD },
  search_traces: { query: '{resource.service.name="payments" && status=error}', ...PERIOD },
  get_trace: { trace: TRACE },
};
const NAMES = tempo.tools.map((tool) => tool.name);

let service: RestService;
afterEach(() => service?.close());

async function start(script?: Script, parts: Readonly<Record<string, string>> = {}): Promise<ToolContext> {
  service = await startTempo(script);
  return toolContext({ config: { ...configFor(service.url), ...parts } });
}

function configFor(url: string): Record<string, string> {
  return { TEMPO_URL: url, TEMPO_TOKEN: TOKEN };
}

function call(name: string, context: ToolContext, input: JsonObject = INPUTS[name] ?? {}): Promise<JsonObject> {
  return callTool(tempo, name, input, context) as Promise<JsonObject>;
}

const answering = (body: Json) => start(() => ({ body }));

describe("every tempo tool, against the published contract", () => {
  it.each(NAMES)("%s sends what the contract allows and returns what a model needs", async (name) => {
    const context = await start();
    const result = await call(name, context);
    expect(service.refusals).toEqual([]);
    expect(result).toMatchSnapshot();
  });

  it.each(NAMES.filter((name) => name !== "get_trace"))("%s tells nothing found from nothing allowed", async (name) => {
    const empty = { note: expect.stringMatching(/^(The query is valid|No match)/) };
    expect(await call(name, await answering({ metrics: { totalBlocks: 0 } }))).toMatchObject(empty);
    await service.close();
    await expect(call(name, await start(undefined, { TEMPO_TOKEN: "another" }))).rejects.toThrow(
      /refused authentication \(401 .*no credentials provided\. TEMPO_TOKEN is wrong/,
    );
  });

  it("says of a trace that is not there why that may be", async () => {
    const gone = await start(() => ({ status: 404, text: "trace not found" }));
    await expect(call("get_trace", gone)).rejects.toThrow(/Not found in Tempo .*was not sampled/);
  });

  it("names attributes as TraceQL takes them", async () => {
    expect((await call("list_attributes", await start(), PERIOD))["values"]).toEqual([
      "resource.service.name",
      "resource.service.version",
      "span.http.route",
      "name",
      "status",
    ]);
  });

  it("lets itself in as Grafana Cloud wants it, and names the tenant", async () => {
    await call("get_trace", await start(undefined, { TEMPO_USERNAME: USERNAME, TEMPO_ORG_ID: "team-a" }));
    expect(service.requests[0]?.headers).toMatchObject({
      authorization: `Basic ${Buffer.from(`${USERNAME}:${TOKEN}`).toString("base64")}`,
      "x-scope-orgid": "team-a",
    });
  });

  it("is live when it answers a search", async () => {
    expect(await tempo.probe?.(await start())).toBe("can read traces");
    await service.close();
    expect(await tempo.probe?.(await answering({ traces: [] }))).toMatch(/no trace in the last ten minutes/);
  });
});

it.each([
  ["get_trace", { trace: "../search" }],
  ["get_trace", { trace: "" }],
  ["list_attributes", { attribute: "a/../b" }],
  ["measure_spans", { query: "{} | rate()", step: "0s" }],
  ["search_traces", { query: "{}", from: "yesterday" }],
] as const)("%s refuses %o", (name, input) => {
  expect(fits(tempo.tools.find((tool) => tool.name === name)?.input_schema, input as JsonObject)).toBe(false);
});

const flooded = await startTempo(flood);
afterAll(() => flooded.close());

describeFaults(tempo, {
  service: "Tempo",
  address: "TEMPO_URL",
  keys: ["TEMPO_TOKEN"],
  config: configFor,
  inputs: INPUTS,
});
describeSkill(tempo, { config: configFor, inputs: INPUTS, flood: forwarding(flooded) });
