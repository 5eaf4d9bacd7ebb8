import { describe, expect, it } from "vitest";
import { sendJson, startLoopback } from "../../src/testing.ts";
import { runHere } from "./in-process.ts";
import { makeProject } from "./program.ts";

/** `doctor --live` sends read-only requests to the services in parallel, and reports each answer. */

async function diagnose(env: Readonly<Record<string, string>>, handler: Parameters<typeof startLoopback>[0]) {
  const service = await startLoopback(handler);
  const cwd = makeProject();
  const addresses = {
    GITHUB_API_URL: service.url,
    SLACK_API_URL: `${service.url}/slack`,
    LINEAR_API_URL: `${service.url}/linear`,
    SENTRY_BASE_URL: `${service.url}/sentry`,
    DD_API_URL: `${service.url}/datadog`,
    BETTERSTACK_API_URL: `${service.url}/betterstack`,
    SUPABASE_URL: `${service.url}/supabase`,
  };
  const { stdout } = await runHere(["doctor", "--live", "--json"], { cwd, env: { ...addresses, ...env } });
  await service.close();
  const { skills } = JSON.parse(stdout) as { skills: { id: string; state: string; reason: string | null }[] };
  return { stdout, requests: service.requests, of: (id: string) => skills.find((skill) => skill.id === id) };
}

const github = { GITHUB_TOKEN: "ghp_canary0123456789" };
const slack = { SLACK_WEBHOOK_URL: "http://127.0.0.1:1/canary", SLACK_BOT_TOKEN: "xoxb-canary-0123456789" };
const rate = { resources: { core: { limit: 5000, remaining: 4999 } } };

describe("doctor --live", () => {
  it("reports which service works, and which scope is missing", async () => {
    const { of, requests } = await diagnose({ ...github, ...slack }, async (request, response) => {
      if (request.url === "/rate_limit") sendJson(response, 200, rate, { "x-oauth-scopes": "gist" });
      else sendJson(response, 200, { ok: true, user: "triage-bot", team: "Example" });
    });
    expect(of("github")).toMatchObject({ state: "available", reason: expect.stringContaining("lacks the scope repo") });
    expect(of("slack")).toMatchObject({ state: "available", reason: "triage-bot in Example" });
    expect(requests.map(({ method, url }) => `${method} ${url}`).sort()).toEqual([
      "GET /rate_limit",
      "POST /slack/auth.test",
    ]);
  });

  it("reports whose key it is, and which organization a token reaches", async () => {
    const env = { LINEAR_API_KEY: "lin_api_canary", SENTRY_AUTH_TOKEN: "canary-token", SENTRY_ORG: "example" };
    const { of, requests } = await diagnose(env, async (request, response) => {
      const viewer = { viewer: { name: "Ada" }, organization: { name: "Example" } };
      sendJson(response, 200, request.url.startsWith("/linear") ? { data: viewer } : []);
    });
    expect(of("linear")).toMatchObject({ state: "available", reason: "Ada in Example" });
    expect(of("sentry")).toMatchObject({ state: "available", reason: "organization example" });
    expect(requests.map(({ method }) => method).sort()).toEqual(["GET", "POST"]);
  });

  it("reports that keys are accepted", async () => {
    const env = { DD_API_KEY: "canary-api", DD_APP_KEY: "canary-app", BETTERSTACK_API_TOKEN: "canary-token" };
    const { of } = await diagnose(env, async (request, response) => {
      sendJson(response, 200, request.url.startsWith("/datadog") ? [] : { data: [] });
    });
    expect(of("datadog")).toMatchObject({ state: "available", reason: "both keys are valid" });
    expect(of("betterstack")).toMatchObject({ state: "available", reason: "the token reads monitors" });
  });

  it("reports how many tables can be read", async () => {
    const api = {
      swagger: "2.0",
      definitions: { orders: { properties: { id: {} } } },
      paths: { "/orders": { get: {} } },
    };
    const { of, requests } = await diagnose(
      { SUPABASE_SERVICE_ROLE_KEY: "canary-role" },
      async (_request, response) => {
        sendJson(response, 200, api);
      },
    );
    expect(of("supabase")).toMatchObject({ state: "available", reason: "readable tables: 1" });
    expect(requests.every(({ method }) => method === "GET")).toBe(true);
  });

  it("reports failures and their causes without a secret, even if the service quotes it", async () => {
    const { of, stdout } = await diagnose({ ...github, ...slack }, async (request, response) => {
      if (request.url === "/rate_limit") sendJson(response, 401, { message: "Bad credentials ghp_canary0123456789" });
      else sendJson(response, 200, { ok: false, error: "invalid_auth" });
    });
    expect(of("github")).toMatchObject({ state: "unavailable" });
    expect(of("slack")).toMatchObject({ state: "unavailable" });
    expect(stdout).not.toContain("canary");
  });

  it("contacts no service that is not configured", async () => {
    const { of, requests } = await diagnose({}, async (_request, response) => sendJson(response, 200, {}));
    expect(of("github")).toMatchObject({ state: "not_configured", reason: "GITHUB_TOKEN is not set" });
    expect(requests).toEqual([]);
  });
});
