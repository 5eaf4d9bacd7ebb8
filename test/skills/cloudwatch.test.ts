import { homedir } from "node:os";
import { join } from "node:path";
import type { Json, JsonObject, ToolContext } from "skillflow";
import { toolContext } from "skillflow/testing";
import { afterAll, afterEach, describe, expect, it } from "vitest";
import * as z from "zod";
import { credentialsOf, lackingCredentials, type Providers, signed } from "../../skills/cloudwatch/credentials.ts";
import cloudwatch from "../../skills/cloudwatch/skill.ts";
import { describeFaults } from "../contracts/faults.ts";
import { callTool, describeSkill, fits } from "../contracts/skill.ts";
import { ACCESS_KEY, flood, REGION, SECRET, SESSION, startCloudWatch } from "../services/cloudwatch.ts";
import { forwarding, type RestService, type Script } from "../services/rest.ts";

const PERIOD = { from: "2026-01-31T08:00:00Z", to: "2026-01-31T09:00:00Z" };

/** One good input for every tool. */
const INPUTS: Readonly<Record<string, JsonObject>> = {
  list_alarms: {},
  get_alarm_history: { alarm: "checkout-errors", ...PERIOD },
  list_metrics: { namespace: "AWS/Lambda" },
  get_metric_data: {
    ...{ namespace: "AWS/Lambda", metric: "Errors", stat: "Sum", ...PERIOD, points: 2 },
    dimensions: [{ name: "FunctionName", value: "checkout" }],
  },
  list_log_groups: { contains: "checkout" },
  filter_log_events: { group: "/aws/lambda/checkout", filter: "ERROR", ...PERIOD },
  query_logs: { groups: ["/aws/lambda/checkout"], query: "stats count(*) by bin(5m)", ...PERIOD },
};
const NAMES = cloudwatch.tools.map((tool) => tool.name);

let service: RestService;
afterEach(() => service?.close());

async function start(script?: Script, parts: Readonly<Record<string, string>> = {}): Promise<ToolContext> {
  service = await startCloudWatch(script);
  return toolContext({ config: { ...configFor(service.url), ...parts } });
}

function configFor(url: string): Record<string, string> {
  const keys = { AWS_ACCESS_KEY_ID: ACCESS_KEY, AWS_SECRET_ACCESS_KEY: SECRET, AWS_SESSION_TOKEN: SESSION };
  return { ...keys, AWS_REGION: REGION, AWS_ENDPOINT_URL: url };
}

function call(name: string, context: ToolContext, input: JsonObject = INPUTS[name] ?? {}): Promise<JsonObject> {
  return callTool(cloudwatch, name, input, context) as Promise<JsonObject>;
}

const sent = () => service.requests.map(({ body }) => JSON.parse(body) as JsonObject);

describe("every cloudwatch tool, against the published contract", () => {
  it.each(NAMES)("%s sends what the contract allows and returns what a model needs", async (name) => {
    const context = await start();
    const result = await call(name, context);
    expect(service.refusals).toEqual([]);
    expect(result).toMatchSnapshot();
  });

  it("asks AWS at its own addresses, by the region and the service", async () => {
    const seen: string[] = [];
    const fetch = async (input: unknown) => {
      seen.push(String(input));
      return Response.json({ MetricAlarms: [], logGroups: [] });
    };
    const { AWS_ENDPOINT_URL: _, ...config } = configFor("");
    await call("list_alarms", toolContext({ config, fetch: fetch as typeof globalThis.fetch }));
    await call(
      "list_log_groups",
      toolContext({ config: { ...config, AWS_REGION: "cn-north-1" }, fetch: fetch as typeof globalThis.fetch }),
    );
    expect(seen).toEqual(["https://monitoring.eu-west-1.amazonaws.com/", "https://logs.cn-north-1.amazonaws.com.cn/"]);
    const wrong = toolContext({ config: { ...config, AWS_REGION: "evil.example/" } });
    await expect(call("list_alarms", wrong)).rejects.toThrow(/AWS_REGION must be a region/);
  });

  it("is live when it shows alarms", async () => {
    expect(await cloudwatch.probe?.(await start())).toBe("can read alarms of eu-west-1");
    const wrong = await start(undefined, { AWS_SESSION_TOKEN: "other" });
    await expect(cloudwatch.probe?.(wrong)).rejects.toThrow(
      /refused authentication \(401 .*The security token is invalid/,
    );
  });

  it.each([
    [
      "AccessDeniedException",
      /does not allow this \(403 .*not authorized\. It requires the permission logs:DescribeLogGroups/,
    ],
    [
      "com.amazon.coral.service#ExpiredTokenException",
      /refused authentication \(401 .*AWS_SESSION_TOKEN is wrong, expired/,
    ],
    ["ResourceNotFoundException", /Not found in CloudWatch \(404 /],
    ["InvalidParameterException", /found the request invalid \(400 /],
  ])("tells %s for what it is, though AWS says 400 to all", async (__type, told) => {
    const context = await start(() => ({ status: 400, body: { __type, Message: "User is not authorized" } }));
    await expect(call("list_log_groups", context)).rejects.toThrow(told);
  });

  it("repeats a call that AWS throttled", async () => {
    let asked = 0;
    const throttled = { status: 400, body: { __type: "ThrottlingException", message: "Rate exceeded" } };
    const context = await start(() => (asked++ === 0 ? throttled : undefined));
    expect(await call("list_log_groups", context)).toMatchObject({ groups: [{}] });
    expect(asked).toBe(2);
  });
});

describe("a request to cloudwatch", () => {
  it("is signed as AWS's own example is", () => {
    const keys = { accessKeyId: "AKIDEXAMPLE", secretAccessKey: "wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY" };
    const scope = { region: "us-east-1", service: "service", now: new Date("2015-08-30T12:36:00Z") };
    expect(signed(new URL("https://example.amazonaws.com/"), {}, "", keys, scope)).toEqual({
      "x-amz-date": "20150830T123600Z",
      authorization:
        "AWS4-HMAC-SHA256 Credential=AKIDEXAMPLE/20150830/us-east-1/service/aws4_request, SignedHeaders=host;x-amz-date, Signature=5da7c1a2acd57cee7505fc6676e4e544621c30862966e37dddb68e92efbe5d6b",
    });
  });

  it("takes keys of config, or those that AWS's own chain finds by the profile, or says what is missing", async () => {
    const profiles: unknown[] = [];
    const providers: Providers = {
      fromNodeProviderChain: (options) => async () => {
        profiles.push(options);
        return { accessKeyId: "found", secretAccessKey: "found too" };
      },
    };
    const given = { config: configFor(""), offline: false };
    expect(await credentialsOf(given, () => providers)).toMatchObject({
      accessKeyId: ACCESS_KEY,
      sessionToken: SESSION,
    });
    const without = { config: { AWS_PROFILE: "ops" }, offline: false };
    expect(await credentialsOf(without, () => providers)).toMatchObject({ accessKeyId: "found" });
    expect(await credentialsOf({ config: {}, offline: false }, () => providers)).toMatchObject({
      accessKeyId: "found",
    });
    expect(profiles).toEqual([{ profile: "ops" }, {}]);
    await expect(credentialsOf({ config: {}, offline: true }, () => providers)).rejects.toThrow(/the run is offline/);
    await expect(credentialsOf(without, () => undefined)).rejects.toThrow(/credential-providers.* is not installed/);
  });

  it("cannot be made without keys and without AWS's package, which is said before a run", () => {
    const load = () => undefined;
    expect(lackingCredentials({ config: {} }, { load })).toMatchObject({
      kind: "config_missing",
      reason: expect.stringMatching(/^AWS_ACCESS_KEY_ID and .* not installed/),
    });
    expect(lackingCredentials({ config: configFor("") }, { load })).toBeUndefined();
  });

  it("cannot be made where nothing of AWS's own chain is found", () => {
    const providers = { fromNodeProviderChain: () => async () => ({ accessKeyId: "", secretAccessKey: "" }) };
    const lackOf = (config: Record<string, string>, file = "") =>
      lackingCredentials({ config }, { load: () => providers, exists: (path) => path === file });
    expect(lackOf({ AWS_ACCESS_KEY_ID: "half" })?.reason).toMatch(/no profile, web identity, container or instance/);
    expect(lackOf({ AWS_PROFILE: "ops" })).toBeUndefined();
    expect(lackOf({ AWS_WEB_IDENTITY_TOKEN_FILE: "/var/run/token" })).toBeUndefined();
    expect(lackOf({ AWS_CONTAINER_CREDENTIALS_FULL_URI: "http://169.254.170.23/v1" })).toBeUndefined();
    expect(lackOf({}, join(homedir(), ".aws/config"))).toBeUndefined();
  });
});

it("get_alarm_history reads the last day by default, as its description says", async () => {
  const history = cloudwatch.tools.find(({ name }) => name === "get_alarm_history");
  expect(JSON.stringify(z.toJSONSchema(history?.input_schema as z.ZodType))).toContain("Default: the last day.");
  await call("get_alarm_history", await start(), {});
  const [{ StartDate, EndDate } = {}] = sent();
  expect(Number(EndDate) - Number(StartDate)).toBe(86_400);
});

describe("logs of cloudwatch", () => {
  it("continue after the last shown line, if not all of a page fit into the result", async () => {
    const context = await start(({ body }) => {
      const first = Number(body["nextToken"] ?? 0);
      const events = Array.from({ length: Number(body["limit"]) }, (_, at) => {
        return { timestamp: 1_769_846_400_000 + first + at, logStreamName: "a", message: "x".repeat(2000) };
      });
      return { body: { events, nextToken: String(first + events.length) } };
    });
    const { events, next_cursor } = await call("filter_log_events", context, {
      ...INPUTS["filter_log_events"],
      limit: 200,
    });
    expect(Number(next_cursor)).toBeLessThan(200);
    expect(next_cursor).toBe(String((events as JsonObject[]).length));
  });

  it("are gone through where a page is empty and says that there is more", async () => {
    const event = { timestamp: 1_769_846_400_000, logStreamName: "a", message: "ERROR" };
    const context = await start(({ before }) => ({
      body: before < 3 ? { events: [], nextToken: `page-${before}` } : { events: [event] },
    }));
    expect(await call("filter_log_events", context)).toMatchObject({ events: [{ message: "ERROR" }] });
    expect(sent().map(({ nextToken }) => nextToken)).toEqual([undefined, "page-0", "page-1", "page-2"]);
    await service.close();
    const endless = await start(({ before }) => ({ body: { events: [], nextToken: `page-${before}` } }));
    expect(await call("filter_log_events", endless)).toMatchObject({
      events: [],
      next_cursor: "page-9",
      note: expect.stringContaining("matched so far"),
    });
    await service.close();
    const none = await start(() => ({ body: { events: [] } }));
    expect((await call("filter_log_events", none))["note"]).toContain("whole period was searched");
  });

  it("are asked by a query that is waited for", async () => {
    const context = await start(({ operation, before }) =>
      operation === "GetQueryResults" && before === 0 ? { body: { status: "Running", results: [] } } : undefined,
    );
    expect(await call("query_logs", context)).toMatchObject({
      rows: [{ "bin(5m)": "2026-01-31 08:00:00.000", "count(*)": "12" }],
      scanned_bytes: 81_349_723,
    });
    expect(service.operations).toEqual(["StartQuery", "GetQueryResults", "GetQueryResults"]);
    await service.close();
    const failed = await start(({ operation }) =>
      operation === "GetQueryResults" ? { body: { status: "Failed" } } : undefined,
    );
    await expect(call("query_logs", failed)).rejects.toThrow(/ended the query with status Failed/);
  });
});

describe("metrics of cloudwatch", () => {
  it("are read in steps that are kept of such a time, some 240 of them", async () => {
    const context = await start();
    const stepFor = async (from: string) => {
      const told = await call("get_metric_data", context, { namespace: "AWS/SQS", metric: "x", from });
      return told["step_seconds"];
    };
    expect(await stepFor("now-1h")).toBe(60);
    expect(await stepFor("now-1d")).toBe(360);
    expect(await stepFor("now-20d")).toBe(7200);
    expect(await stepFor("now-70d")).toBe(25_200);
    expect(service.refusals).toEqual([]);
  });

  it("are named whole, or by an expression alone", async () => {
    const context = await start();
    const expression = 'SELECT SUM(Errors) FROM "AWS/Lambda" GROUP BY FunctionName';
    await call("get_metric_data", context, { expression });
    expect(sent()[0]).toMatchObject({ MetricDataQueries: [{ Id: "q", Expression: expression, Period: 60 }] });
    await expect(call("get_metric_data", context, { metric: "Errors" })).rejects.toThrow(/Give the `namespace`/);
    await expect(call("get_metric_data", context, { expression, metric: "Errors" })).rejects.toThrow(/Give either/);
    expect(service.requests).toHaveLength(1);
  });

  it("that have no data say what that may mean", async () => {
    const empty: Json = {
      MetricDataResults: [{ Label: "Errors", StatusCode: "Complete", Timestamps: [], Values: [] }],
    };
    expect((await call("get_metric_data", await start(() => ({ body: empty }))))["note"]).toMatch(/^No data: /);
  });

  it("are listed page by page, filtered by a word, and what was not looked at is told", async () => {
    const context = await start(({ example, before }) => ({
      body: { ...(example as JsonObject), NextToken: `${before}` },
    }));
    expect(await call("list_metrics", context, { contains: "CHECKOUT" })).toMatchObject({
      metrics: Array.from({ length: 4 }, () => ({ metric: "Errors", dimensions: { FunctionName: "checkout" } })),
      matching: 4,
      incomplete: expect.stringContaining("first 8"),
    });
  });
});

it("no alarm in a state is an answer", async () => {
  const context = await start(() => ({ body: { MetricAlarms: [], CompositeAlarms: [] } }));
  expect(await call("list_alarms", context)).toEqual({
    alarms: [],
    note: "No alarm in this region is in state ALARM.",
  });
});

it.each([
  ["list_alarms", { state: "alarm" }],
  ["filter_log_events", { group: "a b" }],
  ["query_logs", { groups: [], query: "fields @message" }],
  ["get_metric_data", { stat: "p999" }],
  ["get_alarm_history", { from: "yesterday" }],
] as const)("%s refuses %o", (name, input) => {
  expect(fits(cloudwatch.tools.find((tool) => tool.name === name)?.input_schema, input as JsonObject)).toBe(false);
});

const flooded = await startCloudWatch(flood);
afterAll(() => flooded.close());

describeFaults(cloudwatch, {
  service: "CloudWatch",
  address: "AWS_ENDPOINT_URL",
  keys: ["AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_SESSION_TOKEN"],
  config: configFor,
  inputs: INPUTS,
});
describeSkill(cloudwatch, { config: configFor, inputs: INPUTS, flood: forwarding(flooded) });
