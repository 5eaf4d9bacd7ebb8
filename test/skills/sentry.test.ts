import type { Json, JsonObject, ToolContext } from "skillflow";
import { toolContext } from "skillflow/testing";
import { afterEach, describe, expect, it } from "vitest";
import sentry from "../../skills/sentry/skill.ts";
import { callTool, describeSkill, failureOf, fits } from "../contracts/skill.ts";
import { turnOf } from "../harness/long.ts";
import { flood, hasContract, type Script, type SentryService, startSentry, TOKEN } from "../services/sentry.ts";

const FROM_TO = { start: "2026-01-31T09:00:00+01:00", end: "2026-01-31T10:00:00Z" };

/** One good input for every tool. */
const INPUTS: Readonly<Record<string, JsonObject>> = {
  list_issues: {
    project: "pump-station",
    environment: "production",
    query: "is:unresolved timeout",
    sort: "freq",
    stats_period: "24h",
  },
  get_issue: { issue: "PUMP-STATION-1", environment: "production" },
  get_issue_events: { issue: "1889724436", query: "release:1.2.0", environment: "production", ...FROM_TO },
  get_latest_event: { issue: "PUMP-STATION-1", environment: "production", which: "oldest" },
  search_events: {
    fields: ["release", "count()"],
    query: "level:error",
    sort: "-count()",
    stats_period: "1h",
    project: "3",
  },
  list_releases: { project: "pump-station", environment: "production", query: "frontend" },
  list_projects: { query: "mover" },
  update_issue: {
    issue: "PUMP-STATION-1",
    status: "resolved",
    resolved_in_release: "latest",
    assigned_to: "team:7",
    priority: "low",
  },
  add_comment: { issue: "PUMP-STATION-1", text: "Rolled back." },
  get_event: { event_id: "9fac2ceed9344f2bbfdd1fdacb0ed9b1" },
  get_issue_tag: { issue: "PUMP-STATION-1", tag: "release", environment: "production" },
  get_trace: { trace_id: "0123456789abcdef0123456789abcdef", limit: 5 },
  get_release: { version: "control@abc123" },
  get_suspect_commits: { issue: "PUMP-STATION-1" },
};

const NAMES = sentry.tools.map((tool) => tool.name);
const WRITES = sentry.tools.filter((tool) => tool.effect === "write").map((tool) => tool.name);
const READS = NAMES.filter((name) => !WRITES.includes(name));
const ABOUT_ISSUES = NAMES.filter((name) => "issue" in (INPUTS[name] ?? {}));
const PAGED = READS.filter((name) => "limit" in propertiesOf(name));

function propertiesOf(name: string): object {
  const schema = sentry.tools.find((tool) => tool.name === name)?.input_schema as { readonly shape: object };
  return schema.shape;
}

let service: SentryService;
afterEach(() => service?.close());

async function start(script?: Script, parts: Partial<ToolContext> = {}): Promise<ToolContext> {
  service = await startSentry(script);
  return toolContext({ config: configFor(service.url), callId: "run-1/3:file/0", ...parts });
}

function configFor(url: string): Record<string, string> {
  return { SENTRY_AUTH_TOKEN: TOKEN, SENTRY_BASE_URL: `${url}/`, SENTRY_ORG: "acme" };
}

function call(name: string, context: ToolContext, input: JsonObject = INPUTS[name] ?? {}): Promise<JsonObject> {
  return callTool(sentry, name, input, context) as Promise<JsonObject>;
}

/** Refuses the first request only. */
function first(answer: ReturnType<Script>): Script {
  return ({ before }) => (before === 0 ? answer : undefined);
}

/** The parameters of the last request. */
function asked(): URLSearchParams {
  return new URL(service.requests.at(-1)?.url ?? "", service.url).searchParams;
}

function organizationToken(about: Json): string {
  return `sntrys_${Buffer.from(JSON.stringify(about)).toString("base64")}_c2VjcmV0`;
}

describe.skipIf(!hasContract)("every sentry tool, against Sentry's published contract", () => {
  it.each(NAMES)("%s sends what the contract allows and returns what a model needs", async (name) => {
    const result = await call(name, await start());
    expect(service.refusals).toEqual([]);
    expect(result).toMatchSnapshot();
  });

  it.each(turnOf(NAMES))("%s waits as told after a 429 and then succeeds", async (name) => {
    await call(name, await start(first({ status: 429, headers: { "retry-after": "0" } })));
    expect(service.operations[0]).toBe(service.operations[1]);
    expect(service.refusals).toEqual([]);
  });

  it.each(turnOf(NAMES))("%s waits for the reset when the limit is used up", async (name) => {
    await call(name, await start(first({ status: 429, headers: { "x-sentry-rate-limit-reset": "1700000000" } })));
    expect(service.operations[0]).toBe(service.operations[1]);
  });

  it.each(turnOf(READS))("%s asks again after a 502", async (name) => {
    await call(name, await start(first({ status: 502, text: "<html>", headers: { "retry-after": "0" } })));
    expect(service.operations[0]).toBe(service.operations[1]);
  });

  it.each(WRITES)("%s never repeats a write that Sentry may have done", async (name) => {
    const failing = { status: 502, headers: { "retry-after": "0" } };
    const context = await start(({ operation }) => (operation.startsWith("GET") ? undefined : failing));
    await expect(call(name, context)).rejects.toThrow(/Sentry failed \(502.*unclear/);
    expect(service.requests.filter(({ method }) => method !== "GET")).toHaveLength(1);
  });

  it.each(turnOf(NAMES.filter((name) => name !== "list_projects")))(
    "%s tells a wrong name from a wrong organization at 404",
    async (name) => {
      const missing = { status: 404, body: { detail: "The requested resource does not exist" } };
      const visible = await start(({ operation }) => (operation === "GET projects" ? undefined : missing));
      await expect(call(name, visible)).rejects.toThrow(
        /\(404 for \w+ \/api.*organization acme exists, but the requested item does not/,
      );
      expect(service.refusals).toEqual([]);
      await service.close();
      await expect(call(name, await start(() => missing))).rejects.toThrow(
        /\(404.*organization acme was not found: its slug is wrong/,
      );
    },
  );
});

describe("every sentry tool, when Sentry refuses", () => {
  it.each(turnOf(NAMES))("%s says that the token is wrong at 401", async (name) => {
    const context = await start(() => ({ status: 401, body: { detail: "Invalid token" } }));
    await expect(call(name, context)).rejects.toThrow(
      /refused authentication \(401.*SENTRY_AUTH_TOKEN is wrong, expired or revoked/,
    );
    expect(service.requests).toHaveLength(1);
  });

  it.each(turnOf(NAMES))("%s names the scope that it needs at 403", async (name) => {
    const body = { detail: "You do not have permission to perform this action." };
    await expect(call(name, await start(() => ({ status: 403, body })))).rejects.toThrow(
      /lacks permission \(403.*do not have permission to perform this action. It needs the scope (event|org|project):(read|write)./,
    );
    expect(service.requests).toHaveLength(1);
  });

  it("says that an organization's token handles releases only", async () => {
    const context = await start(() => ({ status: 403, body: {} }));
    const config = { ...context.config, SENTRY_AUTH_TOKEN: organizationToken({ org: "acme" }) };
    await expect(call("list_issues", { ...context, config })).rejects.toThrow(/sntrys_\) work only for releases/);
  });

  it.each(turnOf(NAMES))("%s tells what to change at 400 and at 422", async (name) => {
    const bodies: [Json, RegExp][] = [
      [{ detail: "Invalid query: unknown field." }, /request invalid \(4\d\d.*Invalid query: unknown field\.$/],
      [
        { priority: ["Not a choice."], assignedTo: ["Unknown actor"] },
        /priority: Not a choice.; assignedTo: Unknown actor\.$/,
      ],
    ];
    for (const [body, message] of bodies) {
      for (const status of [400, 422]) {
        await expect(call(name, await start(() => ({ status, body })))).rejects.toThrow(message);
        await service.close();
      }
    }
  });

  it.each(turnOf(NAMES))("%s says until when to wait when that is long", async (name) => {
    const context = await start(() => ({ status: 429, headers: { "retry-after": "3600" } }));
    await expect(call(name, context)).rejects.toThrow(/rate limit is used up until \d{4}-.*Nothing was done/);
    expect(service.requests).toHaveLength(1);
  });

  it.each(turnOf(READS))("%s gives up when Sentry keeps failing", async (name) => {
    const context = await start(() => ({ status: 503, text: "", headers: { "retry-after": "0" } }));
    await expect(call(name, context)).rejects.toThrow(/Sentry failed \(503.*Try again later/);
    expect(service.requests).toHaveLength(3);
  });

  it.each(turnOf(NAMES))("%s says so when the answer is not JSON, or JSON of another form", async (name) => {
    await expect(call(name, await start(() => ({ text: '[{"id": 1' })))).rejects.toThrow(
      /ended in the middle of its JSON/,
    );
    await service.close();
    for (const text of ["null", "3", "{}"]) {
      await expect(call(name, await start(() => ({ text })))).rejects.toThrow(/unexpected form/);
      await service.close();
    }
  });

  it("takes a limit without a header for a minute, and does not wait that long", async () => {
    await expect(call("add_comment", await start(() => ({ status: 429 })))).rejects.toThrow(
      /rate limit is used up until/,
    );
    expect(service.requests).toHaveLength(1);
  });

  it("stops waiting for a limit when the call is aborted", { timeout: 5000 }, async () => {
    const controller = new AbortController();
    const script: Script = () => {
      setImmediate(() => setImmediate(() => controller.abort(new Error("the run ended"))));
      return { status: 429, headers: { "retry-after": "25" } };
    };
    await expect(call("get_issue", await start(script, { signal: controller.signal }))).rejects.toThrow(
      "the run ended",
    );
    expect(service.requests).toHaveLength(1);
  });

  it("takes the token nowhere else: a redirect is named, not followed", async () => {
    const elsewhere = await startSentry();
    const context = await start(() => ({ status: 302, headers: { location: `${elsewhere.url}/api/0/x/?secret=1` } }));
    await expect(call("list_issues", context)).rejects.toThrow(`to ${elsewhere.url}: set SENTRY_BASE_URL`);
    expect(elsewhere.requests).toHaveLength(0);
    await elsewhere.close();
  });
});

describe("identifiers", () => {
  const HOSTILE = [
    "",
    "..",
    "../../users",
    "SHOP-1/../..",
    "SHOP-1?x=",
    "SHOP-1#",
    "%2e%2e",
    "a b-1",
    "SHOP-1\n",
    "-1",
    "a\\b-1",
  ];

  it.each(ABOUT_ISSUES)("%s refuses an issue that is none", (name) => {
    const tool = sentry.tools.find((candidate) => candidate.name === name);
    for (const issue of HOSTILE) expect(fits(tool?.input_schema, { ...INPUTS[name], issue }), issue).toBe(false);
  });

  it.each(NAMES)("%s refuses an organization that is none, also where the configuration names it", async (name) => {
    const tool = sentry.tools.find((candidate) => candidate.name === name);
    const context = await start();
    for (const organization of ["a/b", "..", "acme?x=", "acme/../../users", "%2e%2e", "acme\n"]) {
      expect(fits(tool?.input_schema, { ...INPUTS[name], organization }), organization).toBe(false);
      const config = { ...context.config, SENTRY_ORG: organization.trim() === "acme" ? "acme acme" : organization };
      await expect(call(name, { ...context, config })).rejects.toThrow(/not an organization slug/);
    }
    expect(service.requests).toHaveLength(0);
  });

  it.each(["list_issues", "search_events", "list_releases"])("%s refuses a project that is none", async (name) => {
    const tool = sentry.tools.find((candidate) => candidate.name === name);
    expect(fits(tool?.input_schema, { ...INPUTS[name], project: "a&statsPeriod=1" })).toBe(false);
    const context = await start();
    const config = { ...context.config, SENTRY_PROJECT: "a/b" };
    await expect(call(name, { ...context, config }, { stats_period: "1h" }).then()).rejects.toThrow(
      /not a project slug/,
    );
    expect(service.requests).toHaveLength(0);
  });

  it.skipIf(!hasContract)("sends a query encoded, whatever it holds", async () => {
    await call("list_issues", await start(), { query: "a&project=9#x=é +" });
    expect(asked().get("query")).toBe("a&project=9#x=é +");
    expect(asked().getAll("project")).toEqual(["-1"]);
    expect(service.refusals).toEqual([]);
  });
});

describe.skipIf(!hasContract)("where a call goes", () => {
  const without = ({ config }: ToolContext, ...names: string[]) =>
    Object.fromEntries(Object.entries(config).filter(([name]) => !names.includes(name)));
  const pathOf = () => service.requests.at(-1)?.url.split("?")[0];

  it("takes the organization that a call names before the configured one", async () => {
    await call("list_projects", await start(), { organization: "other" });
    expect(pathOf()).toBe("/api/0/organizations/other/projects/");
  });

  it("takes the organization that the token names where none is configured", async () => {
    const context = await start(() => ({ body: [] }));
    const config = { ...without(context, "SENTRY_ORG"), SENTRY_AUTH_TOKEN: organizationToken({ org: "told" }) };
    await call("list_releases", { ...context, config });
    await call("list_releases", { ...context, config: { ...config, SENTRY_ORG: "" } });
    expect(service.requests.map(({ url }) => url.split("?")[0])).toEqual(
      Array(2).fill("/api/0/organizations/told/releases/"),
    );
  });

  it("takes the region that the token names where no address is configured", async () => {
    const context = await start(() => ({ body: [] }));
    const token = organizationToken({ org: "told", url: "https://sentry.io", region_url: service.url });
    const config = { SENTRY_AUTH_TOKEN: token };
    expect(await call("list_releases", { ...context, config })).toEqual({ releases: [] });
  });

  it("asks sentry.io where nothing says otherwise", async () => {
    const context = await start();
    const urls: string[] = [];
    const fetch = (url: unknown) => {
      urls.push(String(url));
      return Promise.resolve(Response.json([]));
    };
    const config = { SENTRY_AUTH_TOKEN: "plain", SENTRY_ORG: "acme" };
    await call("list_projects", { ...context, config, fetch: fetch as typeof globalThis.fetch }, {});
    const odd = { ...config, SENTRY_AUTH_TOKEN: "sntrys_bm90IGpzb24=_x" };
    await call("list_projects", { ...context, config: odd, fetch: fetch as typeof globalThis.fetch }, {});
    expect(urls).toEqual(Array(2).fill("https://sentry.io/api/0/organizations/acme/projects/?per_page=10"));
  });

  it("takes the only organization that the token sees", async () => {
    const context = await start();
    await call("list_issues", { ...context, config: without(context, "SENTRY_ORG") });
    expect(service.operations).toEqual(["GET organizations", "GET issues"]);
    expect(pathOf()).toBe("/api/0/organizations/acme/issues/");
  });

  it("names the organizations where the token sees several", async () => {
    const context = await start(() => ({ body: [{ slug: "acme" }, { slug: "beta" }] }));
    const config = without(context, "SENTRY_ORG");
    await expect(call("list_issues", { ...context, config })).rejects.toThrow(
      /SENTRY_ORG sets no default, and the token can see acme, beta/,
    );
  });

  it("keeps to the configured project unless another or all are named", async () => {
    const context = await start();
    const config = { ...context.config, SENTRY_PROJECT: "shop" };
    await call("list_issues", { ...context, config }, {});
    expect(asked().getAll("project")).toEqual(["shop"]);
    await call("list_issues", { ...context, config }, { project: "all" });
    expect(asked().getAll("project")).toEqual(["-1"]);
    expect(service.refusals).toEqual([]);
  });

  it("looks for a trace in all projects", async () => {
    await call("get_trace", await start());
    const projects = service.requests.map(({ url }) => new URL(url, service.url).searchParams.get("project"));
    expect(projects).toEqual(["-1", "-1"]);
    expect(service.refusals).toEqual([]);
  });

  it.each(["get_issue", "add_comment"])("takes a 404 of %s as final", async (name) => {
    const missing = { status: 404, body: { detail: "The requested resource does not exist" } };
    const context = await start(({ operation }) => (operation === "GET projects" ? undefined : missing));
    expect(await failureOf(() => call(name, context))).toMatchObject({ acted: "no", passing: false });
  });

  it("works on a server whose address has a path", async () => {
    const context = await start(() => ({ body: [] }));
    const config = { ...context.config, SENTRY_BASE_URL: `${service.url}/tools/sentry/` };
    await call("list_projects", { ...context, config }, {});
    expect(pathOf()).toBe("/tools/sentry/api/0/organizations/acme/projects/");
  });
});

describe("pages", () => {
  const linkTo = (results: boolean) =>
    `<https://evil.example/x?cursor=0:0:1>; rel="previous"; results="false"; cursor="0:0:1", ` +
    `<https://evil.example/x?cursor=0:3:0>; rel="next"; results="${results}"; cursor="0:3:0"`;
  const listOf = (name: string) => (["search_events", "get_trace"].includes(name) ? { data: [] } : []);

  it.each(turnOf(PAGED))("%s hands out the next cursor, and sends it to Sentry and nowhere else", async (name) => {
    const context = await start(() => ({ body: listOf(name), headers: { link: linkTo(true) } }));
    const page = await call(name, context, { ...INPUTS[name], limit: 3 });
    expect(page["next_cursor"]).toBe("0:3:0");
    const before = service.requests.length;
    await call(name, context, { ...INPUTS[name], limit: 3, cursor: "0:3:0" });
    expect(asked().get("cursor")).toBe("0:3:0");
    expect(asked().get("per_page") ?? asked().get("limit")).toBe("3");
    expect(service.requests).toHaveLength(before + 1);
    expect(service.refusals).toEqual([]);
  });

  it.each(turnOf(PAGED))("%s names no cursor after the last page", async (name) => {
    const context = await start(() => ({ body: listOf(name), headers: { link: linkTo(false) } }));
    expect((await call(name, context))["next_cursor"]).toBeUndefined();
  });

  it.each(PAGED)("%s allows no page of thousands and no odd cursor", (name) => {
    const tool = sentry.tools.find((candidate) => candidate.name === name);
    expect(fits(tool?.input_schema, { ...INPUTS[name], limit: 1000 })).toBe(false);
    expect(fits(tool?.input_schema, { ...INPUTS[name], cursor: "0:0:0&x=1" })).toBe(false);
  });
});

describe("periods", () => {
  it.skipIf(!hasContract)("go as UTC", async () => {
    await call("list_issues", await start(), FROM_TO);
    expect(asked().get("start")).toBe("2026-01-31T08:00:00.000Z");
    expect(service.refusals).toEqual([]);
  });

  it.each([
    [{ stats_period: "1h", ...FROM_TO }, /either `stats_period`/],
    [{ start: FROM_TO.start }, /`start` and `end` together/],
    [{ start: FROM_TO.end, end: FROM_TO.start }, /before `end`/],
    [{ start: "2026-13-45T00:00:00Z", end: FROM_TO.end }, /is not a time/],
  ] as const)("that make no sense are refused: %o", async (period, message) => {
    await expect(call("search_events", await start(), period)).rejects.toThrow(message);
    expect(service.requests).toHaveLength(0);
  });
});

describe("an event", () => {
  const frame = (name: string, inApp: boolean, line = 10) => ({
    function: name,
    filename: `src/${name}.ts`,
    lineNo: line,
    colNo: 2,
    inApp,
    context: Array.from({ length: 11 }, (_, index) => [line - 5 + index, `line ${line - 5 + index}`]),
    vars: { password: "hunter2" },
  });
  const base = {
    eventID: "e1",
    groupID: "1",
    title: "Boom",
    message: "",
    tags: [],
    contexts: {},
    errors: [],
    user: null,
  };
  const read = async (parts: JsonObject) => {
    const body = { ...base, ...parts };
    return call("get_latest_event", await start(() => ({ body })), { issue: "1" });
  };
  const exception = (type: string, frames: Json[]) => ({ type, value: "v", stacktrace: { frames } }) as Json;

  it("shows the last raised exception first, and in it own frames nearest to the failure first, with their source", async () => {
    const frames = [
      frame("main", true),
      frame("library", false),
      frame("handler", true),
      frame("socket", false),
    ] as Json[];
    const values = [exception("CauseError", frames), exception("OuterError", frames)];
    const { exceptions } = await read({ entries: [{ type: "exception", data: { values } }] });
    const [outer = {}, cause = {}] = exceptions as JsonObject[];
    expect([outer["type"], cause["type"]]).toEqual(["OuterError", "CauseError"]);
    expect(outer["frames"]).toMatchObject([
      { depth: 1, in_app: true, at: "handler (src/handler.ts:10:2)" },
      { depth: 3, in_app: true, at: "main (src/main.ts:10:2)" },
    ]);
    const source = (outer["frames"] as JsonObject[])[0]?.["source"];
    expect(source).toBe([7, 8, 9, 10, 11, 12, 13].map((n) => `${n === 10 ? ">" : " "} ${n} line ${n}`).join("\n"));
    expect(outer["other_frames"]).toEqual(["0 socket (src/socket.ts:10:2)", "2 library (src/library.ts:10:2)"]);
  });

  it("shows the nearest frames where none is the program's own, and counts what it leaves out", async () => {
    const frames = Array.from({ length: 40 }, (_, index) => frame(`f${index}`, false)) as Json[];
    const values = Array.from({ length: 6 }, () => exception("E", frames));
    const { exceptions } = await read({ entries: [{ type: "exception", data: { values } }] });
    const [outer = {}, , , last] = exceptions as JsonObject[];
    expect((outer["frames"] as JsonObject[])[0]).toMatchObject({ depth: 0, at: "f39 (src/f39.ts:10:2)" });
    expect(outer).toMatchObject({ further_frames: 22 });
    expect(last).toMatchObject({ further_causes: 2 });
  });

  it("hands out no local variables, and no query, cookies, headers or addresses of people", async () => {
    const request = {
      method: "POST",
      url: "https://shop.example/pay?card=4111",
      cookies: [["sid", "abc"]],
      headers: [["Authorization", "x"]],
    };
    const crumb = {
      category: "http",
      level: "info",
      data: { method: "GET", url: "https://a.example/b?key=1", status_code: 500 },
    };
    const result = await read({
      user: { id: "7", email: "ada@example.com", ip_address: "10.0.0.1" },
      tags: [
        { key: "user", value: "email:ada@example.com" },
        { key: "url", value: "https://shop.example/pay?key=1" },
      ],
      entries: [
        { type: "exception", data: { values: [exception("E", [frame("pay", true)] as Json[])] } },
        { type: "request", data: request },
        { type: "breadcrumbs", data: { values: [crumb] } },
      ],
    });
    expect(result).toMatchObject({ user: "7", request: { method: "POST", url: "https://shop.example/pay" } });
    expect(result["tags"]).toEqual({ url: "https://shop.example/pay" });
    expect(result["breadcrumbs"]).toEqual(["http info GET https://a.example/b 500"]);
    expect(JSON.stringify(result)).not.toMatch(/hunter2|4111|abc|Authorization|ada@|10\.0\.0\.1|key=1/);
  });

  it("shows the thread that crashed where there is no exception", async () => {
    const threads = [
      { name: "idle", stacktrace: { frames: [frame("wait", true)] } },
      { name: "main", crashed: true, stacktrace: { frames: [frame("crash", true)] } },
    ] as Json;
    const result = await read({ entries: [{ type: "threads", data: { values: threads } }] });
    expect(result).toMatchObject({ thread: "main", frames: [{ at: "crash (src/crash.ts:10:2)" }] });
  });

  it("shows the evidence of what is no error, and a message with its parameters", async () => {
    const occurrence = {
      issueTitle: "N+1 Query",
      subtitle: "SELECT",
      evidenceDisplay: [{ name: "Query", value: "SELECT 1", important: true }],
    };
    const entries = [{ type: "message", data: { formatted: "Order 7 failed" } }];
    expect(await read({ occurrence, entries })).toMatchObject({
      message: "Order 7 failed",
      occurrence: { title: "N+1 Query", evidence: [{ name: "Query", value: "SELECT 1" }] },
    });
  });
});

describe.skipIf(!hasContract)("writes", () => {
  const sent = () => JSON.parse(service.requests.at(-1)?.body ?? "{}") as JsonObject;

  it.each([
    [{ status: "archived" }, { status: "ignored", substatus: "archived_until_escalating" }],
    [
      { status: "archived", archive: "forever" },
      { status: "ignored", substatus: "archived_forever" },
    ],
    [{ status: "resolved_in_next_release" }, { status: "resolved", statusDetails: { inNextRelease: true } }],
    [
      { status: "unresolved", assigned_to: "none" },
      { status: "unresolved", assignedTo: "" },
    ],
    [{ priority: "high" }, { priority: "high" }],
  ] as const)("update_issue sends %o as %o", async (input, body) => {
    await call("update_issue", await start(), { issue: "SHOP-1", ...input });
    expect(sent()).toEqual(body);
    expect(service.refusals).toEqual([]);
  });

  it.each([
    [{}, /at least one field/],
    [{ resolved_in_release: "1.0" }, /only with status resolved/],
    [{ status: "resolved", archive: "forever" }, /only with status archived/],
  ] as const)("update_issue refuses %o", async (input, message) => {
    await expect(call("update_issue", await start(), { issue: "SHOP-1", ...input })).rejects.toThrow(message);
    expect(service.requests).toHaveLength(0);
  });

  it("finds its own comment when the same call is made again", async () => {
    const comments: JsonObject[] = [];
    const context = await start(({ operation, body }) => {
      if (operation === "GET comments") return { body: comments };
      comments.unshift({ id: String(comments.length + 1), dateCreated: "2026-01-31T08:00:00Z", data: body });
      return { status: 201, body: comments[0] };
    });
    const made = await call("add_comment", context);
    expect(await call("add_comment", context)).toEqual({ ...made, existing: true });
    expect(comments[0]?.["data"]).toEqual({
      text: expect.stringMatching(/^Rolled back\.\n\n<!-- skillflow:run%2D1%2F3%3Afile%2F0:\w+ -->$/),
    });
    await call("add_comment", { ...context, callId: "run-2/3:file/0" });
    expect(comments).toHaveLength(2);
    expect(service.refusals).toEqual([]);
  });

  it("reads an issue whose activity has entries without data, people or text", async () => {
    const bare = { type: "set_resolved", dateCreated: "2026-01-31T08:00:00Z" };
    const context = await start(({ example }) => {
      return { body: { ...(example as JsonObject), activity: [bare, { ...bare, data: null, user: null }] } };
    });
    const told = { type: "set_resolved", at: "2026-01-31T08:00:00Z" };
    expect((await call("get_issue", context))["activity"]).toEqual([told, told]);
  });

  it("does not show its markers to the model", async () => {
    const context = await start(({ example }) => {
      const note = {
        type: "note",
        dateCreated: "2026-01-31T08:00:00Z",
        user: null,
        data: { text: "Text.\n\n<!-- skillflow:run%2D1:abc -->" },
      };
      return { body: { ...(example as JsonObject), activity: [note] } };
    });
    expect((await call("get_issue", context))["activity"]).toMatchObject([{ type: "note", text: "Text." }]);
  });
});

describe.skipIf(!hasContract)("partial and paged answers", () => {
  it.each(["search_events", "get_trace"])("%s says that Sentry read only a part of the data", async (name) => {
    const context = await start(() => ({ body: { data: [], meta: { fields: {}, dataScanned: "partial" } } }));
    expect(await call(name, context)).toMatchObject({ incomplete: expect.stringContaining("only a part of the data") });
    await service.close();
    const whole = await start(() => ({ body: { data: [], meta: { fields: {}, dataScanned: "full" } } }));
    expect(await call(name, whole)).not.toHaveProperty("incomplete");
  });

  it("reads every commit of a release, page by page", async () => {
    const all = Array.from({ length: 40 }, (_, index) => ({ id: `c${index}`, dateCreated: "2026-01-31T08:00:00Z" }));
    const context = await start(({ operation, parameters }) => {
      if (!operation.endsWith("commits")) return undefined;
      const [size, from] = [Number(parameters.get("per_page")), Number(parameters.get("cursor") ?? 0)];
      const link = `<https://sentry.io/>; rel="next"; results="${from + size < 40}"; cursor="${from + size}"`;
      return { body: all.slice(from, from + size), headers: { link } };
    });
    const first = await call("get_release", context);
    const rest = await call("get_release", context, { ...INPUTS["get_release"], cursor: first["next_cursor"] ?? "" });
    const commits = [first, rest].flatMap(({ commit_list }) => commit_list as JsonObject[]);
    expect(commits.map(({ id }) => id)).toEqual(all.map(({ id }) => id));
    expect(rest).not.toHaveProperty("next_cursor");
    expect(service.refusals).toEqual([]);
  });
});

describe.skipIf(!hasContract)("suspects and traces", () => {
  it("are none where Sentry says 404 to an event whose issue it knows, with what it would take", async () => {
    const context = await start(({ operation }) =>
      operation === "GET committers" ? { status: 404, body: {} } : undefined,
    );
    expect(await call("get_suspect_commits", context)).toMatchObject({
      suspects: [],
      note: expect.stringContaining("suspects no commit"),
    });
    expect(service.requests.at(-1)?.url).toMatch(/^\/api\/0\/projects\/acme\/[^/]+\/events\/[0-9a-f]+\/committers\/$/);
  });

  it("say when nothing of a trace is kept", async () => {
    const trace = await call("get_trace", await start(() => ({ body: { data: [] } })));
    expect(trace).toMatchObject({
      spans: [],
      errors: [],
      note: expect.stringContaining("This trace is not stored"),
    });
  });

  it("are the longest spans first, beside the errors of the same trace", async () => {
    await call("get_trace", await start());
    const [spans, errors] = service.requests.map(({ url }) => new URL(url, service.url).searchParams);
    const query = "trace:0123456789abcdef0123456789abcdef";
    expect([spans?.get("query"), errors?.get("query")]).toEqual([query, query]);
    expect([spans?.get("dataset"), spans?.get("sort"), errors?.get("dataset")]).toEqual([
      "spans",
      "-span.duration",
      "errors",
    ]);
  });
});

describe("the connection", () => {
  it("goes through the call's own fetch", async () => {
    const context = await start();
    const blocked = { ...context, fetch: () => Promise.reject(new Error("this host is not allowed")) };
    await expect(call("add_comment", blocked)).rejects.toThrow("this host is not allowed");
    expect(service.requests).toHaveLength(0);
  });

  it("says so when nobody answers at SENTRY_BASE_URL", async () => {
    const context = await start();
    const cause = Object.assign(new Error("connect ECONNREFUSED"), { code: "ECONNREFUSED" });
    const silent = { ...context, fetch: () => Promise.reject(new TypeError("fetch failed", { cause })) };
    await expect(call("update_issue", silent)).rejects.toThrow(
      /did not answer .*\(ECONNREFUSED\)\. Check SENTRY_BASE_URL/,
    );
  });

  it("refuses an address that is not one, and does without a token only by saying so", async () => {
    const context = await start();
    const odd = { ...context, config: { ...context.config, SENTRY_BASE_URL: "file:///etc/passwd" } };
    await expect(call("get_issue", odd)).rejects.toThrow(/SENTRY_BASE_URL is not an http or https address/);
    const token = organizationToken({ org: "acme", region_url: "ftp://x" });
    const config = { SENTRY_AUTH_TOKEN: token };
    await expect(call("get_issue", { ...context, config })).rejects.toThrow(/address in SENTRY_AUTH_TOKEN must be/);
    await expect(call("get_issue", { ...context, config: {} })).rejects.toThrow(/SENTRY_AUTH_TOKEN is not set/);
  });

  it("keeps a token out of the error that an unusable token causes", async () => {
    const context = await start();
    const config = { ...context.config, SENTRY_AUTH_TOKEN: "sntryu_canary\u0007bell" };
    expect((await failureOf(() => call("list_projects", { ...context, config }))).message).not.toContain(
      "sntryu_canary",
    );
  });
});

describeSkill(sentry, { config: configFor, inputs: INPUTS, flood });
