import type { JsonObject, ToolContext } from "skillflow";
import { toolContext } from "skillflow/testing";
import { afterAll, afterEach, describe, expect, it } from "vitest";
import betterstack from "../../skills/betterstack/skill.ts";
import { callTool, describeSkill, failureOf, fits } from "../contracts/skill.ts";
import { turnOf } from "../harness/long.ts";
import {
  exception,
  flood,
  PASSWORD,
  paginationOf,
  SOURCE,
  settled,
  startBetterStack,
  TOKEN,
  USERNAME,
} from "../services/betterstack.ts";
import type { Answer, RestService, Script } from "../services/rest.ts";

/** One good input for every tool. */
const INPUTS: Readonly<Record<string, JsonObject>> = {
  list_incidents: { from: "2026-01-30", to: "2026-01-31", monitor_id: "2", resolved: false, acknowledged: false },
  get_incident: { incident_id: "25" },
  acknowledge_incident: { incident_id: "25", acknowledged_by: "ada@example.com" },
  resolve_incident: { incident_id: "25", resolved_by: "ada@example.com" },
  create_incident: {
    requester_email: "ada@example.com",
    name: "Checkout",
    summary: "No one can pay",
    description: "Since 08:00.",
    call: true,
  },
  get_timeline: { incident_id: "25" },
  add_comment: { incident_id: "25", text: "The pool is too small." },
  list_on_call: {},
  list_monitors: { name: "Checkout", url: "https://shop.example/pay" },
  get_monitor: { monitor_id: "2" },
  get_monitor_availability: { monitor_id: "2", from: "2026-01-01", to: "2026-01-31" },
  list_heartbeats: {},
  list_sources: {},
  query_logs: { sql: "SELECT dt, raw FROM logs WHERE dt > now() - INTERVAL 1 HOUR ORDER BY dt DESC", limit: 3 },
};

const NAMES = betterstack.tools.map((tool) => tool.name);
const REST = NAMES.filter((name) => name !== "query_logs");
const WRITES = betterstack.tools.filter((tool) => tool.effect === "write").map((tool) => tool.name);
const READS = NAMES.filter((name) => !WRITES.includes(name));
const PAGED = ["list_incidents", "list_monitors", "list_sources", "list_on_call", "list_heartbeats"];

let service: RestService;
afterEach(() => service?.close());

async function start(script?: Script, parts: Partial<ToolContext> = {}): Promise<ToolContext> {
  service = await startBetterStack(script);
  return toolContext({ config: configFor(service.url), callId: "run-1/3:look/0", ...parts });
}

function configFor(url: string): Record<string, string> {
  return {
    BETTERSTACK_API_TOKEN: TOKEN,
    BETTERSTACK_API_URL: url,
    BETTERSTACK_QUERY_ENDPOINT: url,
    BETTERSTACK_QUERY_USERNAME: USERNAME,
    BETTERSTACK_QUERY_PASSWORD: PASSWORD,
    BETTERSTACK_SOURCE: SOURCE,
  };
}

function call(name: string, context: ToolContext, input: JsonObject = INPUTS[name] ?? {}): Promise<JsonObject> {
  return callTool(betterstack, name, input, context) as Promise<JsonObject>;
}

function always(answer: Answer, times = Number.POSITIVE_INFINITY): Script {
  return ({ before }) => (before < times ? answer : undefined);
}

function on(operation: string, answer: Answer): Script {
  return (asked) => (asked.operation === operation ? answer : undefined);
}

function lastBody(): JsonObject {
  return JSON.parse(service.requests.at(-1)?.body ?? "{}") as JsonObject;
}

describe("every betterstack tool, against what Better Stack documents", () => {
  it.each(NAMES)("%s sends what the contract allows and returns what a model needs", async (name) => {
    const context = await start();
    const result = await call(name, context);
    expect(service.refusals).toEqual([]);
    expect(result).toMatchSnapshot();
  });

  it.each(NAMES)("%s hands out none of the secrets that an answer holds", async (name) => {
    const context = await start();
    expect(JSON.stringify(await call(name, context))).not.toContain("hunter2");
  });

  it.each(turnOf(REST))("%s says that the token is wrong when Better Stack answers 401", async (name) => {
    const context = await start();
    const config = { ...context.config, BETTERSTACK_API_TOKEN: "another" };
    await expect(call(name, { ...context, config })).rejects.toThrow(
      /refused authentication \(401 for .*BETTERSTACK_API_TOKEN is wrong/,
    );
    expect(service.requests).toHaveLength(1);
  });

  it.each(turnOf(REST))("%s says which token it takes when Better Stack answers 403", async (name) => {
    const context = await start(always({ status: 403, body: { errors: "Forbidden" } }));
    await expect(call(name, context)).rejects.toThrow(
      /does not allow this \(403 .*Forbidden\. It requires a global token/,
    );
  });

  it.each(turnOf(REST))("%s says what to check when Better Stack answers 404", async (name) => {
    const context = await start(always({ status: 404, body: { errors: "Resource was not found." } }));
    await expect(call(name, context)).rejects.toThrow(
      /Not found in Better Stack \(404 .*Resource was not found\. Check the id\. .*different team/,
    );
    expect(service.requests).toHaveLength(1);
  });

  it.each(turnOf(REST))("%s tells what to change when Better Stack answers 422, in whatever form", async (name) => {
    const bodies: [JsonObject, RegExp][] = [
      [{ errors: "Too long", invalid_attributes: ["summary"] }, /invalid \(422 .*: Too long: summary\.$/],
      [{ errors: ["one", "two"] }, /: one: two\.$/],
      [{ errors: { base: ["is odd"] } }, /: base: is odd\.$/],
      [{}, /: no reason was given\.$/],
    ];
    for (const [body, expected] of bodies) {
      const context = await start(always({ status: 422, body }));
      await expect(call(name, context)).rejects.toThrow(expected);
      await service.close();
    }
  });

  it.each(turnOf(NAMES))("%s waits as told after a 429 and then succeeds", async (name) => {
    const context = await start(always({ status: 429, body: {}, headers: { "retry-after": "0" } }, 1));
    await call(name, context);
    expect(service.refusals).toEqual([]);
    expect(service.requests.length).toBeGreaterThan(1);
  });

  it.each(turnOf(NAMES))("%s says until when to wait when that is long", async (name) => {
    const context = await start(always({ status: 429, body: {}, headers: { "retry-after": "3600" } }));
    await expect(call(name, context)).rejects.toThrow(/rate limit is used up until \d{4}-.*Nothing was done/);
    expect(service.requests).toHaveLength(1);
  });

  it.each(turnOf(READS))("%s asks again after a 502", async (name) => {
    const context = await start(always({ status: 502, text: "<html>", headers: { "retry-after": "0" } }, 1));
    await call(name, context);
    const [first] = service.requests;
    expect(service.requests.filter(({ url }) => url === first?.url)).toHaveLength(2);
  });

  it.each(turnOf(READS))("%s gives up when Better Stack keeps failing", async (name) => {
    const context = await start(always({ status: 503, body: {}, headers: { "retry-after": "0" } }));
    await expect(call(name, context)).rejects.toThrow(/failed \(503.*Try again later/);
    expect(service.requests).toHaveLength(3);
  });

  it.each(WRITES)("%s never repeats a write that Better Stack may have done", async (name) => {
    const context = await start(({ operation }) => {
      return /list|get/.test(operation) ? undefined : { status: 502, body: {}, headers: { "retry-after": "0" } };
    });
    await expect(call(name, context)).rejects.toThrow(/failed \(502 .*unclear/);
    expect(service.requests.filter(({ method }) => method === "POST")).toHaveLength(1);
  });

  it.each(turnOf(NAMES))("%s says so when the answer is not JSON", async (name) => {
    const context = await start(always({ text: '{"data": [{"id' }));
    await expect(call(name, context)).rejects.toThrow(
      /ended in the middle of its JSON|not JSON rows. Check BETTERSTACK_QUERY_ENDPOINT/,
    );
  });

  it.each(REST)("%s does not fall over when the answer is JSON of another form", async (name) => {
    for (const text of ["null", "[]", '"x"', '{"data": 7}', '{"data": {"id": {}}}']) {
      const context = await start(always({ text }));
      await expect(call(name, context)).rejects.toThrow(/in an unexpected form \(/);
      await service.close();
    }
  });

  it("stops waiting for a limit when the call is aborted", { timeout: 5000 }, async () => {
    const controller = new AbortController();
    const refuse = () => {
      setImmediate(() => controller.abort(new Error("the run ended")));
      return { status: 429, body: {}, headers: { "retry-after": "25" } };
    };
    for (const name of ["list_incidents", "query_logs"]) {
      const context = await start(refuse, { signal: controller.signal });
      await expect(call(name, context)).rejects.toThrow("the run ended");
      await service.close();
    }
  });
});

describe("identifiers", () => {
  const HOSTILE = ["25/../../../teams", "..", "25?x=", "25#", "%2e%2e", "25\n", "0", "-1", "", "12345678901234567890"];

  it.each([
    ["get_incident", "incident_id"],
    ["acknowledge_incident", "incident_id"],
    ["resolve_incident", "incident_id"],
    ["get_monitor", "monitor_id"],
    ["list_incidents", "monitor_id"],
  ])("%s takes an id in digits and nothing else", async (name, field) => {
    const context = await start();
    const schema = betterstack.tools.find((tool) => tool.name === name)?.input_schema;
    for (const id of HOSTILE) {
      expect(fits(schema, { ...INPUTS[name], [field]: id }), id).toBe(false);
      await expect(call(name, context, { ...INPUTS[name], [field]: id })).rejects.toThrow(/is not an id/);
    }
    expect(service.requests).toHaveLength(0);
  });

  it.each([
    ["create_incident", { requester_email: "ada", summary: "x" }],
    ["create_incident", { requester_email: "a@b.c\nbcc: d@e.f", summary: "x" }],
    ["create_incident", { requester_email: "ada@example.com", summary: "x".repeat(300) }],
    ["create_incident", { requester_email: "ada@example.com", summary: "x", policy_id: "1/x" }],
    ["list_incidents", { from: "yesterday" }],
    ["list_incidents", { limit: 1000 }],
    ["list_monitors", { page: 0 }],
    ["query_logs", { sql: "SELECT 1", source: "a;b" }],
    ["query_logs", { sql: "SELECT 1", limit: 10_000 }],
  ] as const)("%s refuses %o", (name, input) => {
    expect(fits(betterstack.tools.find((tool) => tool.name === name)?.input_schema, input as JsonObject)).toBe(false);
  });
});

describe("comments and timelines", () => {
  it("write a comment once, and show its marker to nobody", async () => {
    const context = await start();
    const made = await call("add_comment", context);
    expect(await call("add_comment", context)).toEqual({ ...made, existing: true });
    expect(service.operations.filter((id) => id === "comments/create")).toHaveLength(1);
    expect((await call("get_timeline", context))["items"]).toMatchObject([
      { title: "Called Ada" },
      { text: "Looking.", by: "Ada" },
    ]);
  });

  it("say how many earlier items are left out", async () => {
    const item = { attributes: { item_type: "generic", at: "2026-01-31T08:00:00Z", data: { title: "x" } } };
    const context = await start(on("incidents/timeline", { body: { data: Array.from({ length: 70 }, () => item) } }));
    expect(await call("get_timeline", context)).toMatchObject({ earlier_left_out: 20 });
  });
});

describe("a repeated report", () => {
  it("finds the incident that the same call reported before fifty others", async () => {
    const context = await start();
    await call("create_incident", context);
    const cause = JSON.parse(service.requests.at(-1)?.body ?? "{}").summary as string;
    await service.close();
    const other = (id: string, words: string) => ({ id, attributes: { cause: words } });
    const pages = [Array(50).fill(other("2", "x")), [other("1", cause)]];
    const again = await start(({ operation, query }) => {
      if (operation !== "incidents/list") return undefined;
      const page = Number(query["page"]);
      return { body: { data: pages[page - 1], pagination: paginationOf("x", page < pages.length ? page + 1 : null) } };
    });
    expect(await call("create_incident", again)).toMatchObject({ id: "1", existing: true });
  });
});

describe("pages", () => {
  it.each(turnOf(PAGED))("%s asks for the page and names the next one until there is none", async (name) => {
    const context = await start(({ query }) => {
      const next = query["page"] === "3" ? 4 : null;
      return { body: { data: [], pagination: paginationOf("x", next) } };
    });
    const result = await call(name, context, { ...INPUTS[name], page: 3, limit: 20 });
    expect(result["next_page"]).toBe(4);
    const { searchParams } = new URL(service.requests[0]?.url ?? "", service.url);
    expect([searchParams.get("page"), searchParams.get("per_page")]).toEqual(["3", "20"]);
    expect((await call(name, context, { ...INPUTS[name], page: 4 }))["next_page"]).toBeUndefined();
    expect(service.refusals).toEqual([]);
  });
});

describe("writes", () => {
  it.each([
    ["acknowledge_incident", "acknowledge"],
    ["resolve_incident", "resolve"],
  ] as const)("%s leaves as it is what has been done before", async (name, verb) => {
    const done = { body: { data: settled(verb) } };
    const refused = { status: 409, body: { errors: "Incident is already so" } };
    const context = await start(({ operation }) => (operation === "incidents/get" ? done : refused));
    expect(await call(name, context)).toMatchObject({ id: "25", acknowledged_by: "Ada", existing: true });
    expect(service.operations).toEqual([`incidents/${verb}`, "incidents/get"]);
  });

  it("does not call an incident resolved because a 409 says something else", async () => {
    const context = await start(on("incidents/resolve", { status: 409, body: { errors: "Being merged" } }));
    await expect(call("resolve_incident", context)).rejects.toThrow(/invalid \(409 .*Being merged/);
  });

  it("sends no name where none is given", async () => {
    const context = await start();
    await call("acknowledge_incident", context, { incident_id: "25" });
    expect(lastBody()).toEqual({});
  });

  it("reports no second incident when the same call is made again", async () => {
    const context = await start();
    const first = await call("create_incident", context);
    const second = await call("create_incident", context);
    expect(first).toMatchObject({ cause: "No one can pay", name: "Checkout" });
    expect(second).toEqual({ ...first, existing: true });
    expect(service.operations.filter((id) => id === "incidents/create")).toHaveLength(1);
    await call("create_incident", { ...context, callId: "run-2/3:look/0" });
    expect(service.operations.filter((id) => id === "incidents/create")).toHaveLength(2);
  });

  it("calls and texts nobody unless told to", async () => {
    const context = await start();
    await call("create_incident", context, { requester_email: "ada@example.com", summary: "x" });
    expect(lastBody()).toMatchObject({ call: false, sms: false, email: true, push: true });
    expect(lastBody()["summary"]).toMatch(/^x \[skillflow [0-9a-f]{12}\]$/);
  });
});

describe("query_logs", () => {
  it("sends the query with its limits beside it, and says when there are more rows", async () => {
    const context = await start();
    const result = await call("query_logs", context);
    expect(result).toMatchObject({ source: SOURCE, row_count: 3, more: expect.stringContaining("more rows") as never });
    const { searchParams } = new URL(service.requests[0]?.url ?? "", service.url);
    expect(Object.fromEntries(searchParams)).toMatchObject({ readonly: "2", limit: "4", max_execution_time: "25" });
    expect(service.requests[0]?.body).toBe(
      `SELECT dt, raw FROM remote(${SOURCE}_logs) AS logs WHERE dt > now() - INTERVAL 1 HOUR ORDER BY dt DESC\nFORMAT JSONEachRow`,
    );
    const all = await call("query_logs", context, { sql: "SELECT dt FROM logs" });
    expect(all).toMatchObject({ row_count: 12 });
    expect(all["more"]).toBeUndefined();
  });

  it("sends nothing that the gate refuses", async () => {
    const context = await start();
    await expect(call("query_logs", context, { sql: "SELECT * FROM url('http://x', CSV)" })).rejects.toThrow(
      /refused at character 15 .*table functions such as url\(\) are not allowed; read FROM logs, spans, metrics, history/,
    );
    expect(service.requests).toHaveLength(0);
  });

  it("reads a declared source and no other", async () => {
    const context = await start(() => ({ body: [] }));
    const config = { ...context.config, BETTERSTACK_SOURCE: `${SOURCE}, t123456_cart` };
    const query = (source: string) => call("query_logs", { ...context, config }, { sql: "SELECT 1 FROM logs", source });
    expect(await query(SOURCE)).toEqual({ source: SOURCE, row_count: 0, rows: [] });
    await query("t123456_cart");
    expect(service.requests.at(-1)?.body).toContain("remote(t123456_cart_logs)");
    await expect(query("t123456_third")).rejects.toThrow(
      /t123456_third is not listed in BETTERSTACK_SOURCE\. Use one of: t123456_checkout, t123456_cart/,
    );
  });

  it.each([
    ["BETTERSTACK_SOURCE", undefined, /BETTERSTACK_SOURCE is not set/],
    ["BETTERSTACK_SOURCE", "t1_app); SELECT 1", /is not a source. Write it like t123456_my_app/],
    ["BETTERSTACK_QUERY_ENDPOINT", undefined, /BETTERSTACK_QUERY_ENDPOINT is not set/],
    ["BETTERSTACK_QUERY_ENDPOINT", "file:///etc/passwd", /not an http or https address/],
    ["BETTERSTACK_QUERY_ENDPOINT", "https://a:b@x.example", /must not contain credentials/],
    ["BETTERSTACK_QUERY_ENDPOINT", "https://x.example/?readonly=0", /must not contain \? or #/],
    ["BETTERSTACK_QUERY_USERNAME", undefined, /BETTERSTACK_QUERY_USERNAME is not set/],
    ["BETTERSTACK_QUERY_PASSWORD", undefined, /BETTERSTACK_QUERY_PASSWORD is not set.*other tools work/],
  ])("says what is wrong with %s as %o", async (name, value, expected) => {
    const context = await start();
    const { [name]: _, ...rest } = context.config;
    const config = value === undefined ? rest : { ...rest, [name]: value };
    await expect(call("query_logs", { ...context, config })).rejects.toThrow(expected);
    expect(service.requests).toHaveLength(0);
  });

  it("takes an endpoint as Better Stack shows it, without https://", async () => {
    const addresses: string[] = [];
    const context = await start();
    const config = { ...context.config, BETTERSTACK_QUERY_ENDPOINT: "eu-nbg-2-connect.betterstackdata.com" };
    const refuse = (input: unknown) => {
      addresses.push(String(input));
      return Promise.reject(new Error("no network here"));
    };
    await failureOf(() => call("query_logs", { ...context, config, fetch: refuse as typeof fetch }));
    expect(addresses[0]).toMatch(/^https:\/\/eu-nbg-2-connect\.betterstackdata\.com\/\?readonly=2&/);
  });

  it.each<[string, Answer, RegExp]>([
    [
      "a wrong password",
      exception(516, 403, "uX: Authentication failed"),
      /refused BETTERSTACK_QUERY_USERNAME .*\(403\)/,
    ],
    ["a proxy's 401", { status: 401, text: "no" }, /refused BETTERSTACK_QUERY_USERNAME .*\(401\)/],
    [
      "too few rights",
      exception(497, 403, "Not enough privileges"),
      /no permission to read this: Not enough privileges/,
    ],
    [
      "an unknown source",
      exception(60, 404, "Unknown table t1_logs"),
      /source was not found: .*BETTERSTACK_SOURCE and its region/,
    ],
    [
      "an unknown column",
      exception(47, 404, "Unknown identifier: levl"),
      /The query is invalid: Unknown identifier: levl\. \(SOME_NAME\)\.$/,
    ],
    ["a fault of types that comes as a 500", exception(43, 500, "Illegal type"), /The query is invalid: Illegal type/],
    [
      "a query that takes too long",
      exception(159, 500, "Timeout exceeded"),
      /reads too much: Timeout exceeded.*Narrow the time/,
    ],
    ["too many queries", exception(202, 500, "Too many simultaneous queries"), /too many queries.*again later/],
    [
      "a wrong path",
      { status: 404, text: "nothing here" },
      /refused the query \(404\)\. Check BETTERSTACK_QUERY_ENDPOINT/,
    ],
    ["a redirect", { status: 302, text: "", headers: { location: "https://x.example" } }, /refused the query \(302\)/],
    [
      "an exception after the first rows",
      { text: '{"a":1}\nCode: 241. DB::Exception: Memory limit exceeded' },
      /too much: Memory/,
    ],
  ])("explains %s, and does not ask again", async (_what, answer, expected) => {
    const context = await start(always(answer));
    await expect(call("query_logs", context)).rejects.toThrow(expected);
    expect(service.requests).toHaveLength(1);
  });
});

describe("the connection", () => {
  const addressFor = async (name: string, parts: Record<string, string>) => {
    const addresses: string[] = [];
    const refuse = (input: unknown) => {
      addresses.push(String(input));
      return Promise.reject(new Error("no network here"));
    };
    const context = toolContext({ config: { BETTERSTACK_API_TOKEN: TOKEN, ...parts }, fetch: refuse as typeof fetch });
    const error = await failureOf(() => call(name, context));
    return addresses[0] ?? error.message;
  };

  it("goes to Better Stack's own addresses, or to the one that is set", async () => {
    expect(await addressFor("get_monitor", {})).toBe("https://uptime.betterstack.com/api/v2/monitors/2");
    expect(await addressFor("list_sources", {})).toMatch("https://telemetry.betterstack.com/api/v1/sources?");
    const set = { BETTERSTACK_API_URL: "https://proxy.example/bs/" };
    expect(await addressFor("get_incident", set)).toBe("https://proxy.example/bs/api/v3/incidents/25");
    const odd = { BETTERSTACK_API_URL: "ftp://proxy.example" };
    expect(await addressFor("get_incident", odd)).toMatch(/BETTERSTACK_API_URL is not an http or https address/);
  });

  it("follows no redirect: the token would go along", async () => {
    const elsewhere = await startBetterStack();
    const context = await start(always({ status: 307, body: {}, headers: { location: `${elsewhere.url}/x` } }));
    await expect(call("get_monitor", context)).rejects.toThrow(/redirects this .*set BETTERSTACK_API_URL/);
    expect(elsewhere.requests).toHaveLength(0);
    await elsewhere.close();
  });

  it("says so when nobody answers, and when the token is not set or not usable", async () => {
    const context = await start();
    const silent = { ...context, fetch: () => Promise.reject(new TypeError("fetch failed")) };
    await expect(call("resolve_incident", silent)).rejects.toThrow(/did not answer POST .*fetch failed.*unclear/);
    const { BETTERSTACK_API_TOKEN: _, ...config } = context.config;
    await expect(call("get_monitor", { ...context, config })).rejects.toThrow(/BETTERSTACK_API_TOKEN is not set/);
    const odd = { ...context.config, BETTERSTACK_API_TOKEN: "bscanary\u0007bell" };
    const error = await failureOf(() => call("get_monitor", { ...context, config: odd }));
    expect(error.message).not.toContain("bscanary");
  });
});

/** The contract suite uses the bare service, with answers of maximum size. */
const flooded = await startBetterStack(flood);
afterAll(() => flooded.close());

describeSkill(betterstack, {
  config: configFor,
  inputs: INPUTS,
  flood: async ({ method, url, headers, body }, response) => {
    const kept = ["authorization", "content-type"].map((name) => [name, String(headers[name] ?? "")]);
    const answer = await fetch(flooded.url + url, {
      method,
      headers: Object.fromEntries(kept),
      ...(body ? { body } : {}),
    });
    response.writeHead(answer.status, { "content-type": "application/json" });
    response.end(await answer.text());
  },
});
