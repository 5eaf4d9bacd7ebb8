import type { Json, JsonObject, ToolContext } from "skillflow";
import { toolContext } from "skillflow/testing";
import { afterAll, afterEach, describe, expect, it } from "vitest";
import pagerduty from "../../skills/pagerduty/skill.ts";
import { describeFaults } from "../contracts/faults.ts";
import { callTool, describeSkill, fits } from "../contracts/skill.ts";
import { FROM, flood, INCIDENT, KEY, OAUTH, startPagerDuty } from "../services/pagerduty.ts";
import { forwarding, type RestService, type Script } from "../services/rest.ts";

/** One good input for every tool. */
const INPUTS: Readonly<Record<string, JsonObject>> = {
  list_incidents: { service: "PIJ90N7", from: "2026-01-30T00:00:00Z" },
  get_incident: { incident: "PT4KHLK" },
  get_timeline: { incident: "PT4KHLK" },
  list_alerts: { incident: "PT4KHLK" },
  list_changes: { incident: "PT4KHLK" },
  list_past_incidents: { incident: "PT4KHLK" },
  list_related_incidents: { incident: "PT4KHLK" },
  get_escalation_policy: { escalation_policy: "PT20YPA" },
  list_on_call: { escalation_policy: "PT20YPA" },
  list_services: { query: "check" },
  acknowledge_incident: { incident: "PT4KHLK" },
  resolve_incident: { incident: "PT4KHLK", resolution: "rolled back" },
  add_note: { incident: "PT4KHLK", text: "1.14.0 has no timeout." },
};
const NAMES = pagerduty.tools.map((tool) => tool.name);

let service: RestService;
afterEach(() => service?.close());

async function start(script?: Script, parts: Readonly<Record<string, string>> = {}): Promise<ToolContext> {
  service = await startPagerDuty(script);
  return toolContext({ config: { ...configFor(service.url), ...parts } });
}

function configFor(url: string): Record<string, string> {
  return { PAGERDUTY_API_URL: url, PAGERDUTY_API_KEY: KEY, PAGERDUTY_FROM: FROM };
}

function call(name: string, context: ToolContext, input: JsonObject = INPUTS[name] ?? {}): Promise<JsonObject> {
  return callTool(pagerduty, name, input, context) as Promise<JsonObject>;
}

const withStatus = (status: string) =>
  start(({ operation }) => (operation === "getIncident" ? { body: { incident: { ...INCIDENT, status } } } : undefined));

describe("every pagerduty tool, against the published contract", () => {
  it.each(NAMES)("%s sends what the contract allows and returns what a model needs", async (name) => {
    const context = await start();
    const result = await call(name, context);
    expect(service.refusals).toEqual([]);
    expect(result).toMatchSnapshot();
  });

  it("lets itself in by an API key or by a token of OAuth, in the name of a user", async () => {
    await call("list_services", await start());
    expect(service.requests[0]?.headers).toMatchObject({ authorization: `Token token=${KEY}`, from: FROM });
    await service.close();
    await call("list_services", await start(undefined, { PAGERDUTY_API_KEY: OAUTH }));
    expect(service.requests[0]?.headers.authorization).toBe(`Bearer ${OAUTH}`);
  });

  it("is live when it can read incidents, and says whether it writes in somebody's name", async () => {
    expect(await pagerduty.probe?.(await start())).toBe("can read incidents");
    const { PAGERDUTY_FROM: _, ...config } = configFor(service.url);
    expect(await pagerduty.probe?.(toolContext({ config }))).toMatch(/PAGERDUTY_FROM is not set/);
    await expect(pagerduty.probe?.(toolContext({ config: { ...config, PAGERDUTY_API_KEY: "other" } }))).rejects.toThrow(
      /refused authentication \(401 .*Invalid credentials/,
    );
  });
});

describe("what pagerduty lists", () => {
  it("are open incidents unless other statuses are wanted, page by page", async () => {
    const context = await start();
    expect((await call("list_incidents", context, {}))["next_offset"]).toBe(1);
    expect((await call("list_incidents", context, { statuses: ["resolved"], offset: 4 }))["next_offset"]).toBe(5);
    const asked = service.requests.map(({ url }) => new URL(url, service.url).searchParams.getAll("statuses[]"));
    expect(asked).toEqual([["triggered", "acknowledged"], ["resolved"]]);
  });

  it("continue after the last shown one, if not all of a page fit into the result", async () => {
    const context = await start(({ query }) => {
      const detail = "x".repeat(2000);
      const alerts = Array.from({ length: Number(query["limit"]) }, (_, at) => ({
        id: `A${at}`,
        body: { details: detail },
      }));
      return { body: { alerts, more: true } };
    });
    const { alerts, next_offset } = await call("list_alerts", context, { incident: "PT4KHLK", limit: 100, offset: 7 });
    expect((alerts as JsonObject[]).length).toBeLessThan(100);
    expect(next_offset).toBe(7 + (alerts as JsonObject[]).length);
  });

  it("that is empty says so, which is no refusal", async () => {
    const context = await start(({ example }) => {
      const lists = Object.entries(example as JsonObject).filter(([, value]) => Array.isArray(value));
      return { body: { more: false, ...Object.fromEntries(lists.map(([name]) => [name, []])) } };
    });
    expect(await call("list_incidents", context)).toEqual({
      incidents: [],
      note: expect.stringContaining("No incident"),
    });
    expect((await call("list_changes", context))["note"]).toContain("may not send changes");
    expect((await call("list_on_call", context))["note"]).toContain("No one");
    expect((await call("list_past_incidents", context))["note"]).toContain("is new");
    expect((await call("list_related_incidents", context))["note"]).toContain("no related incident");
  });

  it("of changes are those of an incident, or of a period", async () => {
    const context = await start();
    await call("list_changes", context);
    await call("list_changes", context, { from: "2026-01-31T06:00:00Z", to: "2026-01-31T08:00:00Z", offset: 3 });
    expect(service.operations).toEqual(["listIncidentRelatedChangeEvents", "listChangeEvents"]);
    expect(service.requests[1]?.url).toContain("since=2026-01-31T06%3A00%3A00.000Z");
  });
});

describe("what pagerduty is told", () => {
  it("once stays so: an incident that is acknowledged or resolved is not written again", async () => {
    const acknowledged = await withStatus("acknowledged");
    expect(await call("acknowledge_incident", acknowledged)).toMatchObject({ status: "acknowledged", existing: true });
    expect(service.operations).toEqual(["getIncident"]);
    await service.close();
    const resolved = await withStatus("resolved");
    expect(await call("resolve_incident", resolved)).toMatchObject({ status: "resolved", existing: true });
    await expect(call("acknowledge_incident", resolved)).rejects.toThrow(/would reopen it/);
    expect(service.operations).toEqual(["getIncident", "getIncident"]);
  });

  it("as a note is written once, however often the same call is made, and read without its mark", async () => {
    const notes: Json[] = [];
    const context = await start(({ operation, body }) => {
      if (operation === "createIncidentNote") notes.push({ id: "N1", ...(body["note"] as JsonObject) });
      return operation === "listIncidentNotes" ? { body: { notes } } : undefined;
    });
    await call("add_note", context);
    expect(await call("add_note", context)).toMatchObject({ id: "N1", existing: true });
    expect(notes).toHaveLength(1);
    expect((await call("get_incident", context))["notes"]).toEqual([{ text: "1.14.0 has no timeout." }]);
  });

  it("without a user says what PagerDuty says, and tries nothing twice whose fate is unclear", async () => {
    const context = await start(undefined, { PAGERDUTY_FROM: "" });
    await expect(call("add_note", context)).rejects.toThrow(/Requester User Not Found/);
    await service.close();
    const failing = await start(({ operation }) =>
      operation === "updateIncident" ? { status: 502, body: {} } : undefined,
    );
    await expect(call("resolve_incident", failing)).rejects.toThrow(/Whether it took effect is unclear/);
    expect(service.operations).toEqual(["getIncident", "updateIncident"]);
  });
});

it.each([
  ["get_incident", { incident: "../users" }],
  ["list_incidents", { statuses: [] }],
  ["list_incidents", { from: "yesterday" }],
  ["add_note", { incident: "PT4KHLK", text: "" }],
] as const)("%s refuses %o", (name, input) => {
  expect(fits(pagerduty.tools.find((tool) => tool.name === name)?.input_schema, input as JsonObject)).toBe(false);
});

const flooded = await startPagerDuty(flood);
afterAll(() => flooded.close());

describeFaults(pagerduty, {
  service: "PagerDuty",
  address: "PAGERDUTY_API_URL",
  keys: ["PAGERDUTY_API_KEY"],
  config: configFor,
  inputs: INPUTS,
});
describeSkill(pagerduty, { config: configFor, inputs: INPUTS, flood: forwarding(flooded) });
