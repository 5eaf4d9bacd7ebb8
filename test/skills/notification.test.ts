import { execFileSync } from "node:child_process";
import { createHmac } from "node:crypto";
import { mkdir, mkdtemp, readFile, realpath, rm, symlink, writeFile } from "node:fs/promises";
import type { Socket } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import fc from "fast-check";
import type { JsonObject, ToolContext } from "skillflow";
import { type LoopbackRequest, toolContext } from "skillflow/testing";
import { afterAll, afterEach, beforeAll, describe, expect, it, vi } from "vitest";
import notification from "../../skills/notification/skill.ts";
import { callTool, describeSkill, failureOf, fits } from "../contracts/skill.ts";
import { LONG, turnOf } from "../harness/long.ts";
import { hostileText } from "../reports/hostile-text.ts";
import { headerOf, MAIL_PASSWORD, MAIL_USER, type MailService, parseMail, startMail } from "../services/mail.ts";
import {
  cardLines,
  DISCORD_PATH,
  hasDiscordContract,
  OPSGENIE_KEY,
  OPSGENIE_PATH,
  PAGERDUTY_KEY,
  PAGERDUTY_PATH,
  type Script,
  startWebhooks,
  TEAMS_PATH,
  textsOf,
  WEBHOOK_PATH,
  type WebhookService,
} from "../services/webhooks.ts";

const SECRET = "canary-signing-secret";
const NOTICE: JsonObject = {
  title: "Checkout is down",
  text: "5xx since 08:00.\n\nRolling *back* to `v41`.",
  severity: "critical",
  fields: [
    { name: "Service", value: "checkout" },
    { name: "Since", value: "08:00 UTC" },
  ],
  link: "https://example.com/issues/7?tab=log",
};
const HTTP = ["webhook", "discord", "teams"] as const;
const FIELDS = {
  webhook: ["NOTIFICATION_WEBHOOK_URL", WEBHOOK_PATH],
  discord: ["DISCORD_WEBHOOK_URL", DISCORD_PATH],
  teams: ["TEAMS_WEBHOOK_URL", TEAMS_PATH],
} as const;

let workDir = "";
let outside = "";
beforeAll(async () => {
  const base = await realpath(await mkdtemp(join(tmpdir(), "skillflow-notification-")));
  [workDir, outside] = [join(base, "work"), join(base, "outside")];
  await Promise.all([workDir, outside].map((folder) => mkdir(folder)));
});
afterAll(() => rm(join(workDir, ".."), { recursive: true, force: true }));

let service: WebhookService | undefined;
let mail: MailService | undefined;
afterEach(async () => {
  vi.restoreAllMocks();
  await Promise.all([service?.close(), mail?.close()]);
  [service, mail] = [undefined, undefined];
});

async function startHttp(script?: Script, parts: Partial<ToolContext> = {}): Promise<ToolContext> {
  service = await startWebhooks(script);
  return toolContext({ workDir, config: httpConfig(service.url), ...parts });
}

function httpConfig(url: string): Record<string, string> {
  const addresses = Object.values(FIELDS).map(([field, path]) => [field, `${url}${path}`]);
  const waking = {
    PAGERDUTY_EVENTS_URL: `${url}${PAGERDUTY_PATH}`,
    PAGERDUTY_ROUTING_KEY: PAGERDUTY_KEY,
    OPSGENIE_ALERTS_URL: `${url}${OPSGENIE_PATH}`,
    OPSGENIE_API_KEY: OPSGENIE_KEY,
  };
  const allowed = { NOTIFICATION_WEBHOOK_SECRET: SECRET, NOTIFICATION_HOSTS: "127.0.0.1" };
  return { ...Object.fromEntries(addresses), ...waking, ...allowed };
}

async function startSmtp(options?: Parameters<typeof startMail>[0]): Promise<ToolContext> {
  mail = await startMail(options);
  return toolContext({ workDir, config: mailConfig(`smtp://127.0.0.1:${mail.port}`) });
}

function mailConfig(url: string): Record<string, string> {
  return {
    SMTP_URL: url,
    NOTIFICATION_EMAIL_FROM: "Skillflow <bot@example.com>",
    NOTIFICATION_EMAIL_TO: 'ops@example.com, "On call" <oncall@example.com>',
  };
}

function loggingContext(parts: Partial<ToolContext> = {}) {
  const logged: string[] = [];
  const silent = () => undefined;
  const logger = { debug: silent, warn: silent, info: (message: string) => void logged.push(message) };
  return { logged, context: toolContext({ workDir, logger, ...parts }) };
}

function send(channels: readonly string[], context: ToolContext, notice: JsonObject = NOTICE): Promise<JsonObject> {
  return callTool(notification, "send", { ...notice, channels: [...channels] }, context) as Promise<JsonObject>;
}

/** The reason why one channel, which was the only one, did not deliver. */
async function reasonOf(channel: string, context: ToolContext, notice?: JsonObject): Promise<string> {
  const { message } = await failureOf(() => send([channel], context, notice));
  return message.replace(`Nothing was delivered. ${channel}: `, "");
}

function firstRequest(): LoopbackRequest {
  const [request] = service?.requests ?? [];
  if (!request) throw new Error("nothing was asked");
  return request;
}

describe("several channels at once", () => {
  it("each get the message, and each outcome is reported", async () => {
    const http = await startHttp();
    const smtp = await startSmtp();
    const config = { ...http.config, ...smtp.config, NOTIFICATION_FILE: "several.jsonl" };
    const { logged, context } = loggingContext({ config });
    const result = await send(["console", "file", "webhook", "discord", "teams", "email"], context);
    expect(result).toEqual({
      delivered: 6,
      channels: [
        { channel: "console", outcome: "delivered" },
        { channel: "file", outcome: "delivered" },
        { channel: "webhook", outcome: "delivered", receipt: { signed: true } },
        { channel: "discord", outcome: "delivered", receipt: { message_id: "1300000000000000001" } },
        { channel: "teams", outcome: "delivered" },
        { channel: "email", outcome: "delivered", receipt: { recipients: 2 } },
      ],
    });
    expect([logged.length, service?.requests.length, mail?.messages.length]).toEqual([1, 3, 1]);
  });

  it("do not fail because of one of them", async () => {
    const context = await startHttp(({ url }) =>
      url === WEBHOOK_PATH ? { status: 403, body: { error: "expired" } } : undefined,
    );
    expect(await send(["webhook", "teams", "email", "teams"], context)).toEqual({
      delivered: 1,
      channels: [
        { channel: "webhook", outcome: "failed", reason: expect.stringContaining("403: expired") },
        { channel: "teams", outcome: "delivered" },
        {
          channel: "email",
          outcome: "not_configured",
          reason: "Not set: SMTP_URL, NOTIFICATION_EMAIL_FROM, NOTIFICATION_EMAIL_TO.",
        },
      ],
    });
    expect(service?.teams).toHaveLength(1);
  });

  it("fail the call when none delivered, with each one's reason", async () => {
    const context = await startHttp(() => ({ status: 404, text: "" }));
    await expect(send(["discord", "file"], context)).rejects.toThrow(
      /^Nothing was delivered. discord: .*\(404\)\. DISCORD_WEBHOOK_URL is wrong.* file: Not set: NOTIFICATION_FILE\.$/,
    );
  });
});

describe("the list of channels", () => {
  it("shows which are configured, missing and misconfigured, and sends nothing", async () => {
    const http = await startHttp();
    const config = { ...http.config, TEAMS_WEBHOOK_URL: "https://example.com/x", NOTIFICATION_FILE: "../x" };
    expect(await callTool(notification, "channels", {}, { ...http, config })).toEqual({
      channels: [
        { channel: "console", state: "configured" },
        { channel: "file", state: "misconfigured", reason: "NOTIFICATION_FILE contains `..`." },
        { channel: "webhook", state: "configured" },
        { channel: "discord", state: "configured" },
        {
          channel: "teams",
          state: "misconfigured",
          reason: "The host of TEAMS_WEBHOOK_URL is not listed in NOTIFICATION_HOSTS.",
        },
        { channel: "email", state: "not_configured", reason: expect.stringContaining("SMTP_URL") },
        { channel: "pagerduty", state: "configured" },
        { channel: "opsgenie", state: "configured" },
      ],
    });
    expect(service?.requests).toHaveLength(0);
  });
});

describe("the console and the file", () => {
  it("log the message so that no line of it starts a command", async () => {
    const { logged, context } = loggingContext();
    await send(["console"], context, { ...NOTICE, text: "::error::x\n##[group]y" });
    expect(logged).toEqual([
      [
        "Notification: [critical] Checkout is down",
        "  | ::error::x",
        "  | ## [group]y",
        "  | ",
        "  | Service: checkout",
        "  | Since: 08:00 UTC",
        "  | ",
        "  | https://example.com/issues/7?tab=log",
      ].join("\n"),
    ]);
  });

  it("append one JSON object per line, also through a link that stays inside", async () => {
    await symlink("real.jsonl", join(workDir, "linked.jsonl"));
    await writeFile(join(workDir, "real.jsonl"), "");
    for (const NOTIFICATION_FILE of ["real.jsonl", "linked.jsonl", join(workDir, "real.jsonl")]) {
      await send(["file"], toolContext({ workDir, config: { NOTIFICATION_FILE } }));
    }
    const lines = (await readFile(join(workDir, "real.jsonl"), "utf8")).trim().split("\n");
    expect(lines.map((line) => JSON.parse(line))).toEqual(
      Array(3).fill({ at: expect.stringMatching(/^\d{4}-.*Z$/), call: "test/1", ...NOTICE }),
    );
  });

  it("are refused if the path leads out, is not a file or has no folder", async () => {
    await symlink(join(outside, "there.jsonl"), join(workDir, "dangling.jsonl"));
    await writeFile(join(outside, "kept.jsonl"), "kept");
    await symlink(join(outside, "kept.jsonl"), join(workDir, "out.jsonl"));
    await symlink(outside, join(workDir, "out"));
    execFileSync("mkfifo", [join(workDir, "pipe")]);
    const refusals = {
      "../outside/kept.jsonl": /contains `\.\.`/,
      "a\\b": /contains a backslash/,
      "out.jsonl": /is a link that leads out/,
      "out/new.jsonl": /is a link that leads out/,
      "dangling.jsonl": /Cannot write NOTIFICATION_FILE \(ELOOP\)/,
      [join(outside, "kept.jsonl")]: /is outside of the directory/,
      [join(outside, "new.jsonl")]: /is outside of the directory/,
      "none/new.jsonl": /is in a folder that does not exist: create it/,
      ".": /Cannot write NOTIFICATION_FILE \(EISDIR\)/,
      pipe: /Cannot write NOTIFICATION_FILE \(ENXIO\)/,
    };
    for (const [NOTIFICATION_FILE, refusal] of Object.entries(refusals)) {
      const context = toolContext({ workDir, config: { NOTIFICATION_FILE } });
      expect([NOTIFICATION_FILE, await reasonOf("file", context)]).toEqual([
        NOTIFICATION_FILE,
        expect.stringMatching(refusal),
      ]);
    }
    expect(await readFile(join(outside, "kept.jsonl"), "utf8")).toBe("kept");
  });
});

describe("the generic webhook", () => {
  it("gets the notice as JSON, signed over time and body", async () => {
    const context = await startHttp();
    await send(["webhook"], context);
    const { headers, body } = firstRequest();
    const time = String(headers["x-skillflow-timestamp"]);
    const digest = createHmac("sha256", SECRET).update(`${time}.${body}`).digest("hex");
    expect(headers["x-skillflow-signature"]).toBe(`sha256=${digest}`);
    expect(time).toMatch(/^\d{10}$/);
    expect(JSON.parse(body)).toEqual({ id: headers["idempotency-key"], ...NOTICE });
  });

  it("is unsigned without a secret, with a note", async () => {
    const context = await startHttp();
    const { NOTIFICATION_WEBHOOK_SECRET: _, ...config } = context.config;
    expect(await send(["webhook"], { ...context, config })).toMatchObject({
      channels: [{ receipt: { signed: false } }],
    });
    expect(firstRequest().headers).not.toHaveProperty("x-skillflow-signature");
  });

  it("gets the same key for every attempt of a call, and another for another call or message", async () => {
    const context = await startHttp((_, before) =>
      before === 0 ? { status: 429, text: "", headers: { "retry-after": "0" } } : undefined,
    );
    await send(["webhook"], context);
    await send(["webhook"], context);
    await send(["webhook"], { ...context, callId: "ünlike\r\nx: y/2" });
    await send(["webhook"], context, { ...NOTICE, title: "Another" });
    const keys = service?.requests.map(({ headers }) => headers["idempotency-key"]) ?? [];
    expect(keys).toHaveLength(5);
    expect(new Set(keys.slice(0, 3)).size).toBe(1);
    expect(new Set(keys).size).toBe(3);
    expect(keys[3]).toMatch(/^%C3%BCnlike%0D%0Ax%3A%20y%2F2:[0-9a-f]{12}$/);
  });
});

describe("Discord", () => {
  it("gets an embed without mentions, and returns the created message", async () => {
    const context = await startHttp();
    await send(["discord"], context);
    expect(firstRequest().url).toBe(`${DISCORD_PATH}?wait=true`);
    expect(service?.discord[0]).toEqual({
      embeds: [
        {
          title: "[critical] Checkout is down",
          description: `${NOTICE["text"]}\n\n${NOTICE["link"]}`,
          color: 0xe74c3c,
          fields: NOTICE["fields"],
        },
      ],
      allowed_mentions: { parse: [] },
    });
  });

  it("uses the thread that the address names", async () => {
    const context = await startHttp();
    const config = { ...context.config, DISCORD_WEBHOOK_URL: `${service?.url}${DISCORD_PATH}?thread_id=42` };
    await send(["discord"], { ...context, config });
    expect(firstRequest().url).toBe(`${DISCORD_PATH}?thread_id=42&wait=true`);
  });

  it("is checked against Discord's published contract", async ({ skip }) => {
    skip(!hasDiscordContract, "shared/contracts/discord/openapi.json is not next to this repository");
    const context = await startHttp();
    await send(["discord"], context, longest("x"));
    expect(service?.discord).toHaveLength(1);
  });

  it.each([
    ["@everyone and @HERE <@1> <@&2> <#3> </deploy:4>", "@ everyone and @ HERE < @1> < @&2> < #3> < /deploy:4>"],
    ["[bank](https://evil.example)", "[bank] (https://evil.example)"],
    ["[https://bank.example](https://evil.example)", "[https://bank.example ] (https://evil.example)"],
    ["[x](<https://evil.example>)", "[x] (< https://evil.example>)"],
    ["\\[x](https://evil.example)", "\\[x] (https://evil.example)"],
    ["https://a.example/[x](https://evil.example/)", "https://a.example/%5Bx%5D%28https://evil.example/)"],
    ["https://bank.example@evil.example/x", "https://bank.example @evil.example/x"],
    [`https://bank.example${")".repeat(50)}@evil.example`, `https://bank.example ${")".repeat(50)}@evil.example`],
    ["https:///bank.example@evil.example", "https:// /bank.example@evil.example"],
    ["https://a.example/@everyone", "https://a.example/%40everyone"],
    [
      "http://a.example/http://!https://bank.example@evil.example",
      "http://a.example/http:// !https://bank.example @evil.example",
    ],
    ["<t:1700000000:R> <:fire:1> <a:x:2>", "< t:1700000000:R> < :fire:1> < a:x:2>"],
    ["a <\u200b@1> [x]\u200b(https://e.example)", "a < @1> [x] (https://e.example)"],
    ["if a<b && c > d: `x[0](y)` **bold**", "if a<b && c > d: `x[0] (y)` **bold**"],
    ["See (https://example.com/a?b=1), or **https://example.com**.", undefined],
  ])("gets %j as %j", async (text, sent = text) => {
    const context = await startHttp();
    await send(["discord"], context, { title: "t", text });
    expect(service?.discord[0]?.embeds[0]?.description).toBe(sent);
  });

  it("reports that its answer is not Discord's", async () => {
    const context = await startHttp(() => ({ text: "<html>" }));
    expect(await reasonOf("discord", context)).toMatch(/not from Discord. Check DISCORD_WEBHOOK_URL.*unclear/);
  });

  it("names the field at fault", async () => {
    const errors = { embeds: { _errors: [{ code: "BASE_TYPE_MAX_LENGTH", message: "Must be 10 or fewer" }] } };
    const context = await startHttp(() => ({
      status: 400,
      body: { message: "Invalid Form Body", code: 50035, errors },
    }));
    expect(await reasonOf("discord", context)).toMatch(/refused the message \(400: Invalid Form Body .*10 or fewer/);
  });

  it.each(["/api/webhooks/1/token/slack", "/api/channels/1", "/"])("has no webhook at %s", async (path) => {
    const config = { DISCORD_WEBHOOK_URL: `https://discord.com${path}` };
    expect(await reasonOf("discord", toolContext({ config }))).toMatch(/is not a webhook address/);
  });
});

describe("Teams", () => {
  it("gets a card of plain text", async () => {
    const context = await startHttp();
    await send(["teams"], context);
    expect(firstRequest().url).toBe(TEAMS_PATH);
    expect(service?.teams.flatMap(cardLines)).toEqual([
      "[critical] Checkout is down",
      "5xx since 08:00.",
      "Rolling *back* to `v41`.",
      "Service: checkout",
      "Since: 08:00 UTC",
      "https://example.com/issues/7?tab=log",
    ]);
  });

  it.each([
    [413, /too long for Teams/],
    [429, /rate limit holds until/],
    [404, /TEAMS_WEBHOOK_URL is wrong/],
  ])("reports the failure if it answers 200 for a failure with %i", async (status, reason) => {
    const text = `Webhook message delivery failed with error: Microsoft Teams endpoint returned HTTP error ${status} with ContextId x.`;
    const context = await startHttp(() => ({ text, headers: { "retry-after": "600" } }));
    expect(await reasonOf("teams", context)).toMatch(reason);
    expect(service?.requests).toHaveLength(1);
  });

  it("reports the failure if it answers 200 for another failure", async () => {
    const context = await startHttp(() => ({ text: "Webhook Bad Request: message delivery failed" }));
    expect(await reasonOf("teams", context)).toMatch(/Teams failed \(502.*unclear/);
  });
});

/** The longest input that the schema allows, of one character. */
function longest(unit: string): JsonObject {
  const of = (length: number) => unit.repeat(length).slice(0, length);
  const field = { name: of(60), value: of(300) };
  const link = `https://example.com/${"(".repeat(480)}`;
  return { title: of(150), text: of(3500), severity: "critical", fields: Array(10).fill(field), link };
}

describe("the longest message", () => {
  it.each(["x", "é", "漢", "😀", '"', "[x](", "<@1>", "@everyone", "a\n", "https://e.example@", "{{"])(
    "of %j fits Discord and Teams",
    async (unit) => {
      const context = await startHttp();
      expect(fits(sendSchema(), { ...longest(unit), channels: ["teams"] })).toBe(true);
      expect(await send(["discord", "teams"], context, longest(unit))).toMatchObject({ delivered: 2 });
    },
  );

  it("states how much of it is missing", async () => {
    const context = await startHttp();
    await send(["teams", "discord"], context, { ...longest("a\n"), fields: [] });
    expect(service?.teams.flatMap(cardLines)).toContainEqual(expect.stringMatching(/^… \[\d+ more lines\]$/));
    await send(["discord"], context, longest("[]("));
    expect(service?.discord[1]?.embeds[0]?.description).toMatch(/… \[\d+ more characters\]/);
  });
});

function sendSchema(): unknown {
  return notification.tools.find((tool) => tool.name === "send")?.input_schema;
}

describe("failing webhooks", () => {
  const busy = { status: 429, text: "", headers: { "retry-after": "0" } };

  it.each(turnOf(HTTP))("%s is retried after a 429, as requested", async (channel) => {
    const context = await startHttp((_, before) => (before === 0 ? busy : undefined));
    expect(await send([channel], context)).toMatchObject({ delivered: 1 });
    expect(service?.requests).toHaveLength(2);
  });

  it("Discord is retried after the time in its JSON", async () => {
    const body = { message: "You are being rate limited.", retry_after: 0.001, global: false };
    const context = await startHttp((_, before) => (before === 0 ? { status: 429, body } : undefined));
    expect(await send(["discord"], context)).toMatchObject({ delivered: 1 });
    expect(service?.requests).toHaveLength(2);
  });

  it("Discord is not retried when the time in its JSON is long", async () => {
    const context = await startHttp(() => ({ status: 429, body: { retry_after: 64.57, global: true } }));
    expect(await reasonOf("discord", context)).toMatch(/Discord's rate limit holds until .*Nothing was sent/);
    expect(service?.requests).toHaveLength(1);
  });

  it.each(turnOf(HTTP))("%s is abandoned when it stays busy", async (channel) => {
    const context = await startHttp(() => busy);
    expect(await reasonOf(channel, context)).toMatch(/rate limit holds until/);
    expect(service?.requests).toHaveLength(3);
  });

  it.each([
    ["pagerduty", 3],
    ["webhook", 1],
    ["discord", 1],
    ["teams", 1],
  ])("%s is called %i times when it fails with 500", async (channel, times) => {
    const context = await startHttp(() => ({ status: 500, text: "oops", headers: { "retry-after": "0" } }));
    expect(await reasonOf(channel, context)).toMatch(/failed \(500: oops\).*unclear: check before you send it again/);
    expect(service?.requests).toHaveLength(times);
  });

  it.each(turnOf(HTTP))("%s is not followed to a redirect's target", async (channel) => {
    const context = await startHttp(() => ({ status: 307, text: "", headers: { location: "/elsewhere" } }));
    expect(await reasonOf(channel, context)).toMatch(/returned a redirect \(307\).*Correct [A-Z_]+_URL/);
    expect(service?.requests).toHaveLength(1);
  });

  it.each(turnOf(HTTP))("%s that cannot be reached received nothing", async (channel) => {
    const context = await startHttp();
    await service?.close();
    expect(await reasonOf(channel, context)).toMatch(/could not be reached \(ECONNREFUSED\)\. Nothing was sent\.$/);
  });

  it.each(turnOf(HTTP))("%s that hangs up leaves the outcome unclear", async (channel) => {
    const context = await startHttp();
    const hangUp: typeof fetch = () => Promise.reject(new TypeError("fetch failed", { cause: { code: "ECONNRESET" } }));
    expect(await reasonOf(channel, { ...context, fetch: hangUp })).toMatch(
      /could not be reached \(ECONNRESET\).*unclear/,
    );
  });

  it.each(turnOf(HTTP))("%s that is silent is abandoned at the timeout", async (channel) => {
    const clock = new AbortController();
    vi.spyOn(AbortSignal, "timeout").mockReturnValue(clock.signal);
    const context = await startHttp();
    const silent: typeof fetch = (_url, init) => {
      setImmediate(() => clock.abort(new DOMException("late", "TimeoutError")));
      return new Promise((_, reject) => init?.signal?.addEventListener("abort", () => reject(init.signal?.reason)));
    };
    expect(await reasonOf(channel, { ...context, fetch: silent })).toMatch(/did not respond within 30 s.*unclear/);
  });

  it.each(turnOf(HTTP))("%s is abandoned once the call is aborted", { timeout: 5000 }, async (channel) => {
    const controller = new AbortController();
    const fetchThenAbort: typeof fetch = async (url, init) => {
      const response = await fetch(url, init);
      setImmediate(() => controller.abort(new Error("the run ended")));
      return response;
    };
    const later = () => ({ status: 429, text: "", headers: { "retry-after": "25" } });
    const context = await startHttp(later, { signal: controller.signal, fetch: fetchThenAbort });
    await expect(send(["console", channel], context)).rejects.toThrow("the run ended");
    expect(service?.requests).toHaveLength(1);
  });
});

describe("addresses of webhooks", () => {
  const address = (channel: (typeof HTTP)[number], url: string, hosts?: string) =>
    toolContext({
      config: { [FIELDS[channel][0]]: url, ...(hosts ? { NOTIFICATION_HOSTS: hosts } : {}) },
      fetch: () => Promise.reject(new Error("asked")),
    });

  it.each([
    ["discord", "https://discord.com/api/webhooks/1/t"],
    ["discord", "https://canary.discord.com/api/v10/webhooks/1/t"],
    ["teams", "https://prod-1.westeurope.logic.azure.com:443/workflows/x/triggers/manual/paths/invoke?sig=y"],
    ["teams", "https://default1.2.environment.api.powerplatform.com:443/powerautomate/x"],
    ["teams", "https://contoso.webhook.office.com/webhookb2/x"],
    ["webhook", "http://hooks.internal:8080/x"],
    ["webhook", "https://a.example.com/x", "other.example, *.example.com"],
    ["webhook", "https://[::1]/x", "[::1]"],
    ["discord", "http://proxy.internal/api/webhooks/1/t", "PROXY.internal"],
  ] as const)("%s may use %s", async (channel, url, hosts?: string) => {
    expect(await reasonOf(channel, address(channel, url, hosts))).toBe("asked");
  });

  it.each([
    ["discord", "https://discord.com.evil.example/api/webhooks/1/t"],
    ["discord", "http://discord.com/api/webhooks/1/t"],
    ["discord", "https://evildiscord.com/api/webhooks/1/t"],
    ["teams", "https://logic.azure.com.evil.example/x"],
    ["teams", "https://evillogic.azure.com/x"],
    ["discord", "https://discord.com/api/webhooks/1/t", "hooks.example.com"],
    ["webhook", "https://example.com/x", "*.example.com"],
    ["webhook", "https://example.com.evil.example/x", "example.com"],
    ["webhook", "ftp://example.com/canary"],
    ["webhook", "example.com/canary"],
    ["webhook", "https://user:canary@example.com/x"],
    ["webhook", "https://example.com/x", "https://example.com"],
    ["webhook", "https://example.com/x", "*"],
  ] as const)("%s may not use %s", async (channel, url, hosts?: string) => {
    const reason = await reasonOf(channel, address(channel, url, hosts));
    expect(reason).toMatch(/^(The host of )?[A-Z_]+ (is not|must|contains) /);
    expect(reason).not.toContain("canary");
  });
});

describe("e-mail", () => {
  it("arrives as text and as escaped HTML, with the configured sender and recipients", async () => {
    const context = await startSmtp();
    await send(["email"], context, { ...NOTICE, text: "a < b\n<img src=x>" });
    const [message] = mail?.messages ?? [];
    const [whole, text, html] = parseMail(message?.raw ?? "");
    expect(message).toMatchObject({ from: "bot@example.com", to: ["ops@example.com", "oncall@example.com"] });
    expect(whole && headerOf(whole, "subject")).toBe("[critical] Checkout is down");
    expect(whole && headerOf(whole, "auto-submitted")).toBe("auto-generated");
    expect(text?.content).toContain("a < b\n<img src=x>\n\nService: checkout");
    expect(html?.content).toContain("a &#60; b<br>\n&#60;img src=x&#62;<br>");
  });

  it("has the same Message-ID for every attempt of a call, and another for another call", async () => {
    const context = await startSmtp();
    for (const callId of ["run/a", "run/a", "run/b"]) await send(["email"], { ...context, callId });
    const ids = mail?.messages.map(({ raw }) => parseMail(raw).map((part) => headerOf(part, "message-id"))[0]) ?? [];
    expect(ids[0]).toMatch(/^<skillflow\.[0-9a-f]{40}@example\.com>$/);
    expect([ids[1] === ids[0], ids[2] === ids[0]]).toEqual([true, false]);
  });

  const url = (password: string, host = "127.0.0.1") =>
    `smtp://${encodeURIComponent(MAIL_USER)}:${encodeURIComponent(password)}@${host}:${mail?.port}`;
  const withUrl = (context: ToolContext, SMTP_URL: string) => ({ ...context, config: { ...context.config, SMTP_URL } });

  it("is sent after logging in", async () => {
    const context = await startSmtp();
    expect(await send(["email"], withUrl(context, url(MAIL_PASSWORD)))).toMatchObject({ delivered: 1 });
  });

  it("is not sent while offline, except to a server on this machine", async () => {
    const context = { ...(await startSmtp()), offline: true };
    expect(await send(["email"], context)).toMatchObject({ delivered: 1 });
    const elsewhere = await reasonOf("email", withUrl(context, "smtps://u:p@mail.example.com"));
    expect(elsewhere).toBe("The mail server mail.example.com was not contacted: the run is offline.");
  });

  it("reports a refused password without the password, even if the server repeats it", async () => {
    const context = await startSmtp();
    const reason = await reasonOf("email", withUrl(context, url("wrong canary/p@ss")));
    expect(reason).toMatch(/refused the name or the password in SMTP_URL \(535 .*\[redacted:SMTP_URL\]/);
    expect(reason).not.toContain("canary");
  });

  it("sends no password without encryption, except to this machine", async () => {
    const context = await startSmtp();
    // Reaches this machine, but is not known to.
    const reason = await reasonOf("email", withUrl(context, url(MAIL_PASSWORD, "0.0.0.0")));
    expect(reason).toMatch(/could not be encrypted .*Use a port that offers TLS, or smtps:/);
  });

  it("refuses an untrusted certificate", async () => {
    const context = await startSmtp({ disabledCommands: [] });
    expect(await reasonOf("email", context)).toMatch(/certificate/);
    expect(mail?.messages).toHaveLength(0);
  });

  it("reports refused recipients, and is delivered to those that the server accepts", async () => {
    const context = await startSmtp();
    const to = (NOTIFICATION_EMAIL_TO: string) => ({
      ...context,
      config: { ...context.config, NOTIFICATION_EMAIL_TO },
    });
    expect(await reasonOf("email", to("nobody@example.com"))).toMatch(
      /refused NOTIFICATION_EMAIL_TO \(550 unknown user\)\. Nothing was sent/,
    );
    expect(await send(["email"], to("nobody@example.com, ops@example.com"))).toMatchObject({
      channels: [{ outcome: "delivered", receipt: { recipients: 1, refused: ["nobody@example.com"] } }],
    });
  });

  it("reports a refused sender", async () => {
    const refusal = Object.assign(new Error("not you"), { responseCode: 553 });
    const context = await startSmtp({ onMailFrom: (_address, _session, done) => done(refusal) });
    expect(await reasonOf("email", context)).toMatch(/refused NOTIFICATION_EMAIL_FROM \(553 not you\)/);
  });

  it.each([
    [451, /does not accept the message now \(451 busy\)\. Nothing was sent. Send it again later/],
    [554, /refused the message \(554 busy\)/],
  ])("reports a server's %i", async (responseCode, reason) => {
    const context = await startSmtp({
      onData: (stream, _session, done) => {
        stream.on("end", () => done(Object.assign(new Error("busy"), { responseCode })));
        stream.resume();
      },
    });
    expect(await reasonOf("email", context)).toMatch(reason);
  });

  it("stops when the call is aborted while the server keeps the message", async () => {
    const controller = new AbortController();
    const context = await startSmtp({
      onData: (stream) => {
        stream.on("end", () => controller.abort(new Error("the call took too long")));
        stream.resume();
      },
    });
    await expect(send(["email", "console"], { ...context, signal: controller.signal })).rejects.toThrow(
      "the call took too long",
    );
  });

  it("times out for a server that never greets", async () => {
    const clock = new AbortController();
    vi.spyOn(AbortSignal, "timeout").mockReturnValue(clock.signal);
    const context = await startSmtp({ onConnect: () => setImmediate(() => clock.abort()) });
    expect(await reasonOf("email", context)).toMatch(/did not finish within 30 s.*unclear/);
  });

  it("leaves the outcome unclear if the connection broke off after the message", async () => {
    const sockets = new Set<Socket>();
    const context = await startSmtp({
      onData: (stream) => {
        stream.on("end", () => sockets.forEach((socket) => void socket.destroy()));
        stream.resume();
      },
    });
    mail?.onSocket((socket) => sockets.add(socket));
    const error: unknown = await send(["email"], context).catch((thrown: unknown) => thrown);
    expect(error).not.toHaveProperty("acted");
    expect(String(error)).toMatch(/closed the connection.*unclear: check before you send it again/);
  });

  it("reports that nothing was sent when the server cannot be reached", async () => {
    const context = await startSmtp();
    await mail?.close();
    expect(await reasonOf("email", context)).toMatch(/could not be reached.*ECONNREFUSED.*Nothing was sent/);
  });

  it.each([
    ["SMTP_URL", "mail.example.com:25"],
    ["SMTP_URL", "https://canary@mail.example.com"],
    ["SMTP_URL", "smtp://u:canary@mail.example.com/?tls.rejectUnauthorized=false"],
    ["SMTP_URL", "smtp://u:canary#x@mail.example.com"],
    ["SMTP_URL", "smtp://u:canary%zz@mail.example.com"],
    ["NOTIFICATION_EMAIL_FROM", "a@example.com, b@example.com"],
    ["NOTIFICATION_EMAIL_FROM", "a@example.com\r\nBcc: b@evil.example"],
    ["NOTIFICATION_EMAIL_TO", "A\nBcc: b@evil.example <a@example.com>"],
    ["NOTIFICATION_EMAIL_TO", "ops"],
    ["NOTIFICATION_EMAIL_TO", "a@example.com,,b@example.com"],
    ["NOTIFICATION_EMAIL_TO", Array(21).fill("a@example.com").join()],
  ])("refuses %s %j before anything is sent", async (field, value) => {
    const context = await startSmtp();
    const reason = await reasonOf("email", { ...context, config: { ...context.config, [field]: value } });
    expect(reason).toMatch(new RegExp(`^${field} (must|contains)`));
    expect(reason).not.toContain("canary");
    expect(mail?.messages).toHaveLength(0);
  });
});

describe("a model's text", () => {
  const pieces = fc.constantFrom(
    ..."@everyone|@here|<@1>|<@&2>|<#3>|<t:1:R>|](|](https://evil.example)|{{DATE(2026-01-01,SHORT)}}".split("|"),
    "\r\nBcc: all@evil.example\r\n\r\n",
    "https://bank.example@evil.example",
    "http://",
    "<at>x</at>",
    "\r\n.\r\n",
    "##[error]",
    "\n::error::",
  );
  const text = fc
    .array(fc.oneof(pieces, hostileText), { maxLength: 8 })
    .map((parts) => `x${parts.join("")}`.slice(0, 300));
  const hostile = fc.record({
    title: text.map((title) => title.slice(0, 150)),
    text,
    fields: fc.array(fc.record({ name: text.map((name) => name.slice(0, 60)), value: text }), { maxLength: 2 }),
  });
  const TEXTS = LONG ? 100 : 25;
  const holds = (property: (notice: JsonObject) => Promise<void>, numRuns = TEXTS) =>
    fc.assert(fc.asyncProperty(hostile, property), { numRuns });
  const control = /[^\P{Cc}\n\t]|[\u202a-\u202e\u2066-\u2069]/u;

  it("contains no mention, no foreign link and no command in Discord", async () => {
    const context = await startHttp();
    await holds(async (notice) => {
      await send(["discord"], context, notice);
      const texts = service?.discord.at(-1)?.embeds.flatMap(textsOf) ?? [];
      for (const each of texts) {
        expect(each).not.toMatch(/\]\(|<[@#:/]|<\w+:|@everyone|@here/i);
        expect(each).not.toMatch(control);
        expect(each).not.toMatch(/https?:\/\/[^\s/?#]*@/i);
      }
    });
  });

  it("is plain text in a Teams card", async () => {
    const context = await startHttp();
    await holds(async (notice) => {
      const before = service?.teams.length ?? 0;
      await send(["teams"], context, notice);
      const lines = service?.teams.slice(before).flatMap(cardLines) ?? [];
      expect(lines.length).toBeGreaterThan(1);
      expect(lines.join("\n")).not.toMatch(/\{\{/);
      expect(lines.join("\n")).not.toMatch(control);
    });
  });

  /** Each is a conversation with the mail server. */
  const MAILS = LONG ? 30 : 10;

  it("adds no header, no recipient and no element to an e-mail", async () => {
    const context = await startSmtp();
    const expected = "from to subject message-id date mime-version content-type auto-submitted".split(" ").sort();
    await holds(async (notice) => {
      await send(["email"], context, notice);
      const message = mail?.messages.at(-1);
      const [whole, plain, html, ...others] = parseMail(message?.raw ?? "");
      expect(message?.to).toEqual(["ops@example.com", "oncall@example.com"]);
      expect(whole?.headers.map(([name]) => name).sort()).toEqual(expected);
      expect(others).toEqual([]);
      expect(html?.content.replace(/<\/?(p|strong)>|<br>/g, "")).not.toMatch(/[<>"'`]/);
      expect(plain?.content).not.toMatch(control);
    }, MAILS);
    expect(mail?.messages).toHaveLength(MAILS);
  });

  it("stays on its lines in the console", async () => {
    const { logged, context } = loggingContext();
    await holds(async (notice) => {
      await send(["console"], context, notice);
      const [first, ...others] = logged.at(-1)?.split("\n") ?? [];
      expect(first).toMatch(/^Notification: /);
      expect(others.every((line) => line.startsWith("  | "))).toBe(true);
      expect(logged.at(-1)).not.toMatch(/##\[/);
      expect(logged.at(-1)).not.toMatch(control);
    });
  });

  it("stays on its line in the file, and in its members in the webhook's body", async () => {
    const http = await startHttp();
    const context = { ...http, config: { ...http.config, NOTIFICATION_FILE: "hostile.jsonl" } };
    await holds(async (notice) => {
      expect(await send(["file", "webhook"], context, notice)).toMatchObject({ delivered: 2 });
      const members = Object.keys(JSON.parse(service?.requests.at(-1)?.body ?? "{}"));
      expect(members).toEqual(["id", "title", "text", "fields"]);
    });
    const lines = (await readFile(join(workDir, "hostile.jsonl"), "utf8")).trimEnd().split("\n");
    expect(lines).toHaveLength(TEXTS);
    for (const line of lines) expect(Object.keys(JSON.parse(line))).toEqual(["at", "call", "title", "text", "fields"]);
  });
});

describe("the input", () => {
  it.each([
    ["a host", { url: "https://evil.example" }],
    ["an unknown channel", { channels: ["sms"] }],
    ["no channel", { channels: [] }],
    ["a link with a user name", { link: "https://bank.example@evil.example/" }],
    ["a link that is a script", { link: "javascript:alert(1)" }],
    ["a link with a space", { link: "https://example.com/ x" }],
    ["an endless text", { text: "x".repeat(3501) }],
  ])("is refused with %s", (_what, change) => {
    expect(fits(sendSchema(), { ...NOTICE, channels: ["console"] })).toBe(true);
    expect(fits(sendSchema(), { ...NOTICE, channels: ["console"], ...change })).toBe(false);
  });

  it.each(["title", "text"])("is refused when its %s has nothing visible", async (member) => {
    const notice = { ...NOTICE, [member]: "\u200b\u202e\n" };
    await expect(send(["console"], toolContext(), notice)).rejects.toThrow(`The ${member} contains nothing visible`);
  });
});

describe("PagerDuty and Opsgenie", () => {
  const bodies = () => service?.requests.map(({ body }) => JSON.parse(body) as JsonObject) ?? [];

  it("get an alert with its severity, facts and link", async () => {
    const context = await startHttp();
    expect(await send(["pagerduty", "opsgenie"], context)).toMatchObject({
      delivered: 2,
      channels: [
        { channel: "pagerduty", receipt: { dedup_key: expect.stringMatching(/^[0-9a-f]{40}$/) } },
        { channel: "opsgenie", receipt: { request_id: "43a29c5c-3dbf-4fa4-9c26-f4f71023e120" } },
      ],
    });
    const sent = bodies();
    expect(sent.find((body) => "payload" in body)).toMatchObject({
      event_action: "trigger",
      payload: {
        summary: "[critical] Checkout is down",
        severity: "critical",
        custom_details: { Service: "checkout", Since: "08:00 UTC", text: NOTICE["text"] },
      },
      links: [{ href: NOTICE["link"] }],
    });
    expect(sent.find((body) => "priority" in body)).toMatchObject({
      message: "Checkout is down",
      priority: "P1",
      description: expect.stringContaining("Since: 08:00 UTC"),
      details: { Service: "checkout" },
    });
  });

  it("get facts of the same name, and one that is called text", async () => {
    const fields = ["a", "b"].flatMap((value) => [
      { name: "Pod", value },
      { name: "text", value },
    ]);
    const context = await startHttp();
    await send(["pagerduty", "opsgenie"], context, { ...NOTICE, fields });
    const [pagerduty, opsgenie] = bodies().sort((a, b) => Number("priority" in a) - Number("priority" in b));
    expect(pagerduty).toMatchObject({
      payload: { custom_details: { Pod: "a\nb", text: `a\nb\n${NOTICE["text"]}` } },
    });
    expect(opsgenie).toMatchObject({ details: { Pod: "a\nb" } });
  });

  it.each(["pagerduty", "opsgenie"])("%s is tried again after a broken connection", async (channel) => {
    const context = await startHttp();
    let isBroken = false;
    const flaky: typeof fetch = (url, init) => {
      if (isBroken) return context.fetch(url, init);
      isBroken = true;
      return Promise.reject(new TypeError("fetch failed", { cause: { code: "ECONNRESET" } }));
    };
    expect(await send([channel], { ...context, fetch: flaky })).toMatchObject({ delivered: 1 });
  });

  it.each(["teams", "pagerduty", "opsgenie"])("%s did not confirm a message with a web page", async (channel) => {
    const context = await startHttp(() => ({ text: "\n<!doctype html><title>Sign in</title>" }));
    expect(await reasonOf(channel, context)).toMatch(/response is not from .* and any proxy in front of it.*unclear/);
  });

  it.each(["pagerduty", "opsgenie"])(
    "%s accepts the longest message, and gets the same alert key from the same call",
    async (channel) => {
      const context = await startHttp((_, before) => {
        return before === 0 ? { status: 429, text: "", headers: { "retry-after": "0" } } : undefined;
      });
      await send([channel], context, longest("x"));
      await send([channel], context, longest("x"));
      await send([channel], { ...context, callId: "run-2/1" }, longest("x"));
      const keys = bodies().map((body) => body["dedup_key"] ?? body["alias"]);
      expect(keys).toHaveLength(4);
      expect(new Set(keys.slice(0, 3)).size).toBe(1);
      expect(keys[3]).not.toBe(keys[2]);
    },
  );

  it.each(["pagerduty", "opsgenie"])(
    "%s may have the alert if it refuses only an attempt after a failed one",
    async (channel) => {
      const context = await startHttp((_, before) =>
        before === 0
          ? { status: 503, text: "", headers: { "retry-after": "0" } }
          : { status: 400, body: { message: "no" } },
      );
      const error: unknown = await send([channel], context).catch((thrown: unknown) => thrown);
      expect(error).not.toHaveProperty("acted");
      expect(String(error)).toMatch(/400: no.*An earlier attempt failed: whether that one was sent is unclear/);
      expect(bodies()).toHaveLength(2);
    },
  );

  it.each([
    ["pagerduty", "PAGERDUTY_ROUTING_KEY", /400: Event object is invalid.*routing_key/],
    ["opsgenie", "OPSGENIE_API_KEY", /401: Key format is not valid!\)\. OPSGENIE_API_KEY is wrong/],
  ])("%s reports that %s is wrong, without showing it", async (channel, field, message) => {
    const context = await startHttp();
    const wrong = "canaryWrong0123456789abcdef01234";
    const reason = await reasonOf(channel, { ...context, config: { ...context.config, [field]: wrong } });
    expect(reason).toMatch(message);
    const echoed = await startHttp(({ body, headers }) => ({
      status: 400,
      body: { message: `${body} ${headers.authorization}` },
    }));
    expect(await reasonOf(channel, { ...echoed, config: { ...echoed.config, [field]: wrong } })).not.toContain(wrong);
    const odd = { ...context, config: { ...context.config, [field]: "no key\n" } };
    expect(await reasonOf(channel, odd)).toMatch(new RegExp(`^${field} is not the`));
  });

  it.each([
    ["pagerduty", "PAGERDUTY_EVENTS_URL", "https://events.pagerduty.com.evil.example/v2/enqueue"],
    ["opsgenie", "OPSGENIE_ALERTS_URL", "http://api.opsgenie.com/v2/alerts"],
  ])("%s sends its key to its vendor alone", async (channel, field, address) => {
    const context = await startHttp();
    const { NOTIFICATION_HOSTS: _, [field]: __, ...config } = context.config;
    const elsewhere = { ...context, config: { ...config, [field]: address } };
    expect(await reasonOf(channel, elsewhere)).toMatch(`${field} is not an https address of`);
    const asked: string[] = [];
    const fetch = async (url: unknown) => {
      asked.push(String(url));
      return Response.json({}, { status: 202 });
    };
    await send([channel], { ...context, config, fetch: fetch as typeof globalThis.fetch });
    const addresses = {
      pagerduty: "https://events.pagerduty.com/v2/enqueue",
      opsgenie: "https://api.opsgenie.com/v2/alerts",
    };
    expect(asked).toEqual([addresses[channel as keyof typeof addresses]]);
  });

  it("opsgenie sends alerts to Jira Service Management, whose host needs no entry in NOTIFICATION_HOSTS", async () => {
    const context = await startHttp();
    const { NOTIFICATION_HOSTS: _, ...config } = context.config;
    const address = "https://api.atlassian.com/jsm/ops/integration/v2/alerts";
    const asked: unknown[] = [];
    const fetch = async (url: unknown, init?: RequestInit) => {
      asked.push(String(url), new Headers(init?.headers).get("authorization"));
      return Response.json({ result: "Request will be processed", requestId: "r-1" }, { status: 202 });
    };
    const jira = { ...config, OPSGENIE_ALERTS_URL: address };
    await send(["opsgenie"], { ...context, config: jira, fetch: fetch as typeof globalThis.fetch });
    expect(asked).toEqual([address, `GenieKey ${OPSGENIE_KEY}`]);
  });
});

for (const channel of [...HTTP, "pagerduty", "opsgenie"]) {
  describeSkill(notification, {
    config: httpConfig,
    inputs: { send: { ...NOTICE, channels: [channel] }, channels: {} },
    offline: ["channels"],
    // Alerts have a key by which their service recognizes repetitions.
    ...(channel === "pagerduty" || channel === "opsgenie" ? { attempts: 3, retriesCuts: true } : {}),
    takesAnyAnswer: channel === "webhook",
    flood: (_, response) => {
      response.writeHead(200, { "content-type": "application/json" });
      response.end(JSON.stringify({ id: "1300000000000000001", content: "x".repeat(50_000) }));
    },
  });
}
