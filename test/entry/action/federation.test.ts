import { readFileSync } from "node:fs";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import type { ShortLivedKeys } from "../../../src/core/document/model-name.ts";
import { runAction } from "../../../src/entry/action/run.ts";
import { anthropicModel } from "../../../src/models/anthropic.ts";
import { openaiModel } from "../../../src/models/openai.ts";
import { type Loopback, sendJson, startLoopback } from "../../../src/testing.ts";
import { runHere } from "../../cli/in-process.ts";
import { makeProject, runFile } from "../../cli/program.ts";
import { FLOW, prepareStep } from "./step.ts";

/** Keys of models for the job's identity, by the exchanges that GitHub, Anthropic and OpenAI publish. */

const RULE = {
  "anthropic-federation-rule": "fdrl_01",
  "anthropic-organization": "00000000-0000-0000-0000-000000000001",
  "anthropic-service-account": "svac_01",
};
const PROVIDER = { "openai-federation": "idp_01", "openai-service-account": "sa_01" };
const REQUEST_TOKEN = "canary-request-token-of-the-runner";

let service: Loopback;
let lifetime: number | undefined;
let issued: number;
let spent: Set<string>;
beforeEach(async () => {
  lifetime = 600;
  issued = 0;
  spent = new Set();
  service = await startLoopback(({ method, url, headers, body }, response) => {
    const refuse = (status: number, error: string, error_description: string) =>
      sendJson(response, status, { error, error_description, assertion: body });
    const at = new URL(url, "http://here");
    if (at.pathname === "/oidc") {
      if (headers.authorization !== `Bearer ${REQUEST_TOKEN}`) return refuse(401, "unauthorized", "no");
      issued += 1;
      return sendJson(response, 200, { value: jwt(issued, at.searchParams.get("audience") ?? "") });
    }
    if (method === "POST" && (at.pathname === "/v1/oauth/token" || at.pathname === "/oauth/token")) {
      const isAnthropic = at.pathname === "/v1/oauth/token";
      if (headers["content-type"] !== "application/json") return refuse(400, "invalid_request", "no JSON");
      const sent = JSON.parse(body);
      const identity = isAnthropic ? sent.assertion : sent.subject_token;
      const { aud, jti } = JSON.parse(
        Buffer.from(String(identity).split(".")[1] ?? "", "base64url").toString() || "{}",
      );
      if (spent.has(jti)) return refuse(400, "invalid_grant", "the token was used before");
      const wanted = isAnthropic
        ? {
            grant_type: "urn:ietf:params:oauth:grant-type:jwt-bearer",
            assertion: identity,
            federation_rule_id: "fdrl_01",
            organization_id: "00000000-0000-0000-0000-000000000001",
            service_account_id: "svac_01",
            ...(sent.workspace_id === undefined ? {} : { workspace_id: "wrkspc_01" }),
          }
        : {
            grant_type: "urn:ietf:params:oauth:grant-type:token-exchange",
            subject_token_type: "urn:ietf:params:oauth:token-type:jwt",
            subject_token: identity,
            identity_provider_id: "idp_01",
            service_account_id: "sa_01",
          };
      const beta = String(headers["anthropic-beta"]).split(",");
      if (isAnthropic && !beta.includes("oidc-federation-2026-04-01")) return refuse(400, "invalid_request", "beta");
      if (JSON.stringify(Object.entries(sent).sort()) !== JSON.stringify(Object.entries(wanted).sort()))
        return refuse(400, "invalid_grant", `no rule matches ${identity}`);
      const audience = isAnthropic ? "https://api.anthropic.com" : "https://api.openai.com/v1";
      if (aud !== audience) return refuse(401, "invalid_grant", "the audience does not match");
      spent.add(jti);
      const token = `${isAnthropic ? "sk-ant-oat01" : "eyJ"}-canary-${spent.size}`;
      const answer = { access_token: token, token_type: "Bearer", expires_in: lifetime };
      return sendJson(response, 200, answer);
    }
    if (at.pathname === "/v1/messages" || at.pathname === "/openai/responses") {
      const last = `-canary-${spent.size}`;
      const isKnown = headers.authorization?.startsWith("Bearer ") && headers.authorization.endsWith(last);
      if (!isKnown || headers["x-api-key"] !== undefined) {
        return sendJson(response, 401, {
          error: { type: "authentication_error", message: `${headers.authorization}` },
        });
      }
      if (at.pathname === "/v1/messages" && headers["anthropic-beta"] !== "oauth-2025-04-20") {
        return sendJson(response, 401, { error: { type: "authentication_error", message: "OAuth is not supported" } });
      }
      return sendJson(response, 200, at.pathname === "/v1/messages" ? MESSAGE : RESPONSE);
    }
    return sendJson(response, 404, {});
  });
});
afterEach(() => service.close());

const MESSAGE = { content: [{ type: "text", text: "hello" }], stop_reason: "end_turn", usage: {} };
const RESPONSE = {
  status: "completed",
  output: [{ type: "message", role: "assistant", content: [{ type: "output_text", text: "hello" }] }],
};

function jwt(number: number, aud: string): string {
  const part = (value: object) => Buffer.from(JSON.stringify(value)).toString("base64url");
  return [part({ alg: "RS256" }), part({ aud, jti: `canary-${number}` }), "signature"].join(".");
}

async function start(inputs: Readonly<Record<string, string>>, more: Readonly<Record<string, string>> = {}) {
  const runner = {
    ACTIONS_ID_TOKEN_REQUEST_URL: `${service.url}/oidc?v=2`,
    ACTIONS_ID_TOKEN_REQUEST_TOKEN: REQUEST_TOKEN,
  };
  const places = { ANTHROPIC_BASE_URL: service.url, OPENAI_AUTH_URL: `${service.url}/oauth/token` };
  const env = { ...runner, ...places, ...more };
  const step = prepareStep({ inputs: { workflow: "w.yml", ...inputs }, env });
  const told = { printed: "", env: {} as Readonly<Record<string, string | undefined>>, keys: undefined as unknown };
  const code = await runAction({
    env: step.env,
    cwd: step.cwd,
    fetch,
    say: async (text) => {
      told.printed += text;
    },
    commandLine: async (call) => {
      Object.assign(told, { env: call.env, keys: call.keys });
      return 42;
    },
  });
  return { code, ...told, keys: told.keys as ShortLivedKeys | undefined, ...step.left() };
}

const call = { key: "k", purpose: "work", node: "a", model: "m", signal: new AbortController().signal } as never;
const prompt = { text: "Hi", turns: [], tools: [] } as never;

describe("a key from federation", () => {
  it("is exchanged for the job's identity, and set as Anthropic's variable", async () => {
    const { code, env, printed, keys } = await start(RULE);
    expect(code, printed).toBe(42);
    expect(env).toMatchObject({ ANTHROPIC_API_KEY: "sk-ant-oat01-canary-1" });
    expect(await keys?.anthropic?.()).toBe("sk-ant-oat01-canary-1");
    expect(issued).toBe(1);
  });

  it("can be OpenAI's in addition, each with a separate identity", async () => {
    const workspace = { "anthropic-workspace": "wrkspc_01" };
    const { code, env, printed } = await start({ ...RULE, ...workspace, ...PROVIDER });
    expect(code, printed).toBe(42);
    expect(env).toMatchObject({ ANTHROPIC_API_KEY: "sk-ant-oat01-canary-1", OPENAI_API_KEY: "eyJ-canary-2" });
  });

  it("is masked before anything else is printed, as is the identity, and the runner's own token gets a name that no program reads", async () => {
    const { printed, env } = await start(RULE);
    const [, ...masks] = printed.trimEnd().split("\n");
    expect(masks).toEqual([`::add-mask::${jwt(1, "https://api.anthropic.com")}`, "::add-mask::sk-ant-oat01-canary-1"]);
    const names = Object.entries(env).flatMap(([name, value]) => (value === REQUEST_TOKEN ? [name] : []));
    expect(names).toEqual(["ACTION_IDENTITY_TOKEN"]);
    expect(Object.keys(env).filter((name) => /^INPUT_|^ACTIONS_ID/.test(name))).toEqual([]);
  });

  it("is sent by the models of both vendors in the header of their APIs", async () => {
    const { keys } = await start({ ...RULE, ...PROVIDER });
    const openai = openaiModel({ apiKey: "old", shortLived: keys?.openai, baseURL: `${service.url}/openai` } as never);
    expect(await openai.reply(prompt, call)).toMatchObject({ parts: [{ text: "hello" }] });
    const again = (await start(RULE)).keys;
    const anthropic = anthropicModel({ apiKey: "old", shortLived: again?.anthropic, baseURL: service.url } as never);
    expect(await anthropic.reply(prompt, call)).toMatchObject({ parts: [{ text: "hello" }] });
  });

  it("is renewed before it expires, by one exchange for all waiting calls, and masked again", async () => {
    lifetime = 0.001;
    const { keys } = await start(RULE);
    // An exchange without a lifetime is valid for minutes, so this one is requested once.
    lifetime = undefined;
    await expect.poll(async () => await keys?.anthropic?.()).toBe("sk-ant-oat01-canary-2");
    expect(await Promise.all([keys?.anthropic?.(), keys?.anthropic?.()])).toEqual(
      Array(2).fill("sk-ant-oat01-canary-2"),
    );
    expect(issued).toBe(2);
  });

  it("that a model's service quotes is removed from messages", async () => {
    const { keys } = await start(RULE);
    spent.add("another");
    const anthropic = anthropicModel({ apiKey: "old", shortLived: keys?.anthropic, baseURL: service.url } as never);
    const error = await anthropic.reply(prompt, call).catch((caught) => caught);
    expect(error).toMatchObject({ code: "model.auth" });
    expect(String(error.message)).not.toContain("canary-1");
  });
});

it("each key of a run that outlives one is removed from the record, even if the model quotes it", async () => {
  const echo = await startLoopback(({ headers }, response) => {
    const text = `I was asked with ${headers.authorization}`;
    sendJson(response, 200, { content: [{ type: "text", text }], stop_reason: "end_turn", usage: {} });
  });
  const nodes = { a: { name: "A", instruction: "Say it." }, b: { name: "B", instruction: "Say it." } };
  const cwd = makeProject({ "w.yml": { ...FLOW, nodes, edges: [{ from: "a", to: "b" }] } });
  let issuedKeys = 0;
  const anthropic = async () => {
    issuedKeys += 1;
    return `sk-ant-oat01-changing-canary-${issuedKeys}`;
  };
  const env = { ANTHROPIC_API_KEY: "sk-ant-oat01-first-canary", ANTHROPIC_BASE_URL: echo.url };
  const ended = await runHere(["run", "w.yml", "--run-id", "r"], { cwd, env, keys: { anthropic } });
  await echo.close();
  expect(ended.code, ended.stderr).toBe(0);
  expect(issuedKeys).toBe(2);
  const record = readFileSync(runFile(cwd, "r"), "utf8");
  expect(record).toContain("I was asked with Bearer [redacted:API_KEY]");
  expect(record + ended.stderr + ended.stdout).not.toContain("canary");
});

describe("without a key", () => {
  it.each([
    [RULE, { ACTIONS_ID_TOKEN_REQUEST_URL: "" }, 3, /id-token: write/],
    [RULE, { ACTIONS_ID_TOKEN_REQUEST_TOKEN: "" }, 3, /id-token: write/],
    [RULE, { ACTIONS_ID_TOKEN_REQUEST_TOKEN: "wrong" }, 3, /no identity \(401\)/],
    [RULE, { ACTIONS_ID_TOKEN_REQUEST_URL: "http://example.com/" }, 2, /not an https address/],
    [RULE, { ANTHROPIC_BASE_URL: "http://example.com" }, 2, /not an https address/],
    [RULE, { ANTHROPIC_BASE_URL: "http://127.0.0.1:1" }, 4, /cannot be reached/],
    [{ ...RULE, "anthropic-federation-rule": "fdrl_02" }, {}, 4, /refused.*\(400\): invalid_grant: no rule matches \[/],
    [{ ...RULE, "anthropic-audience": "https://example.com" }, {}, 4, /audience does not match/],
    [{ ...RULE, "anthropic-organization": "" }, {}, 2, /needs anthropic-organization/],
    [{ "anthropic-organization": "x" }, {}, 2, /needs anthropic-federation-rule/],
    [{ "openai-federation": "idp_01" }, {}, 2, /needs openai-service-account/],
    [{ "openai-service-account": "sa_01" }, {}, 2, /needs openai-federation/],
  ] as const)("%j %j nothing runs, and the reason is printed", async (inputs, env, exitCode, why) => {
    const { code, printed, outputs } = await start(inputs, env);
    expect(code).toBe(exitCode);
    expect(printed).toMatch(why);
    const said = printed.replace(/^::add-mask::.*\n/gm, "");
    expect(said).not.toMatch(/canary|eyJ/);
    expect(outputs).toMatchObject({ status: "refused" });
  });
});
