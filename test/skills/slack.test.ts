import type { JsonObject, ToolContext } from "skillflow";
import { toolContext } from "skillflow/testing";
import { afterEach, describe, expect, it } from "vitest";
import slack from "../../skills/slack/skill.ts";
import { callTool, describeSkill, failureOf, fits } from "../contracts/skill.ts";
import { turnOf } from "../harness/long.ts";
import { BOT_TOKEN, type Script, type SlackService, startSlack, USER_TOKEN, WEBHOOK_PATH } from "../services/slack.ts";

const FIRST = "1700000000.000100";
const BLOCKS: JsonObject[] = [
  { type: "header", text: { type: "plain_text", text: "Checkout is down" } },
  { type: "section", text: { type: "mrkdwn", text: "*5xx* since 08:00" }, fields: [{ type: "mrkdwn", text: "sev1" }] },
  { type: "divider" },
  { type: "context", elements: [{ type: "plain_text", text: "run 7" }] },
];
const INPUTS: Readonly<Record<string, JsonObject>> = {
  send_message: { text: "Checkout is down", blocks: BLOCKS },
  send_thread_reply: { text: "Rolled back.", thread_ts: FIRST },
  update_message: { text: "Resolved.", channel: "C0123456789", ts: FIRST },
  send_direct_message: { user: "oncall", text: "Checkout is down: please look." },
  add_reaction: { channel: "C0123456789", ts: FIRST, emoji: "eyes" },
  read_channel: { channel: "#incidents", since: "2026-01-31T08:00:00Z", limit: 5 },
  read_thread: { channel: "C0123456789", thread_ts: FIRST },
  search_messages: { query: "checkout in:#incidents", by_time: true },
  list_channels: { name: "incid" },
  list_users: { name: "ada" },
};
const READS = ["read_channel", "read_thread", "search_messages", "list_channels", "list_users"];

/** Every way a message can leave: each tool as the bot, and the webhook. */
const WAYS = [
  ["send_message", "bot"],
  ["send_message", "webhook"],
  ["send_thread_reply", "bot"],
  ["update_message", "bot"],
] as const;

let service: SlackService;
afterEach(() => service?.close());

async function start(way: "bot" | "webhook", script?: Script, parts: Partial<ToolContext> = {}): Promise<ToolContext> {
  service = await startSlack(script);
  const { SLACK_WEBHOOK_URL = "", ...bot } = configFor(service.url);
  return toolContext({ config: { SLACK_WEBHOOK_URL, ...(way === "bot" ? bot : {}) }, ...parts });
}

function configFor(url: string): Record<string, string> {
  return {
    SLACK_WEBHOOK_URL: `${url}${WEBHOOK_PATH}`,
    SLACK_BOT_TOKEN: BOT_TOKEN,
    SLACK_USER_TOKEN: USER_TOKEN,
    SLACK_MENTIONS: "oncall=U0ADA00001, S0TEAM0001, here",
    SLACK_CHANNEL: "#incidents",
    SLACK_API_URL: `${url}/api/`,
  };
}

function call(name: string, context: ToolContext, input: JsonObject = INPUTS[name] ?? {}): Promise<JsonObject> {
  return callTool(slack, name, input, context) as Promise<JsonObject>;
}

describe("the ways of a message", () => {
  it("posts through the webhook where there is only a webhook", async () => {
    const context = await start("webhook");
    expect(await call("send_message", context)).toEqual({ sent: true, via: "webhook" });
    expect(service.messages[0]?.text).toBe("Checkout is down");
    expect(service.messages[0]?.blocks).toHaveLength(4);
  });

  it("posts as the bot where a token and a channel are set, and returns where the message is", async () => {
    const context = await start("bot");
    const sent = await call("send_message", context);
    expect(sent).toEqual({ sent: true, via: "bot", channel: "C0123456789", ts: FIRST });
    const reply = { text: "More.", channel: String(sent["channel"]), thread_ts: String(sent["ts"]), broadcast: true };
    expect(await call("send_thread_reply", context, reply)).toMatchObject({ ts: "1700000000.000101" });
    expect(service.messages[1]).toMatchObject({ thread_ts: FIRST, reply_broadcast: true });
    expect(await call("update_message", context)).toMatchObject({ channel: "C0123456789", ts: FIRST });
  });

  it("posts through the webhook when the bot has no channel", async () => {
    const context = await start("bot");
    const { SLACK_CHANNEL: _, ...config } = context.config;
    expect(await call("send_message", { ...context, config })).toMatchObject({ via: "webhook" });
    await expect(call("send_thread_reply", { ...context, config })).rejects.toThrow(/SLACK_CHANNEL sets no default/);
  });

  it("removes the blocks of a message that is updated without any", async () => {
    const context = await start("bot");
    const blocks = [{ type: "header", text: { type: "plain_text", text: "Investigating" } }];
    const { channel = "", ts = "" } = await call("send_message", context, { text: "Investigating.", blocks });
    await call("update_message", context, { text: "Resolved.", channel, ts });
    expect(service.messages[0]).toMatchObject({ text: "Resolved.", blocks: [] });
  });

  it("needs no webhook: a bot token alone posts, and asks for the channel where none is set", async () => {
    const { SLACK_WEBHOOK_URL: _, ...config } = (await start("bot")).config;
    const context = toolContext({ config });
    expect(await call("send_message", context)).toMatchObject({ via: "bot" });
    const { SLACK_CHANNEL: __, ...bare } = config;
    await expect(call("send_message", toolContext({ config: bare }))).rejects.toThrow(/SLACK_CHANNEL sets no default/);
  });

  it.each(["send_thread_reply", "update_message"])("%s says that it needs the bot token", async (name) => {
    const context = await start("webhook");
    await expect(call(name, context)).rejects.toThrow(/needs SLACK_BOT_TOKEN, which is not set/);
    expect(service.requests).toHaveLength(0);
  });

  it("does not post to another channel through a webhook that has its own", async () => {
    const context = await start("webhook");
    await expect(call("send_message", context, { text: "hi", channel: "#other" })).rejects.toThrow(
      /needs SLACK_BOT_TOKEN/,
    );
    expect(service.requests).toHaveLength(0);
  });

  it("asks Slack to fetch no address and to look for no names", async () => {
    for (const way of ["bot", "webhook"] as const) {
      const context = await start(way);
      await call("send_message", context, { text: "@here https://example.com/x" });
      const quiet = { link_names: false, parse: "none", unfurl_links: false, unfurl_media: false };
      expect(service.messages[0]).toMatchObject(quiet);
      await service.close();
    }
  });
});

describe("who is pinged", () => {
  it("is whom SLACK_MENTIONS lists, by name or id, before the text and in a block of its own", async () => {
    const context = await start("bot");
    await call("send_message", context, { text: "Down. <!channel>", mention: ["@oncall", "S0TEAM0001", "here"] });
    const mentions = "<@U0ADA00001> <!subteam^S0TEAM0001> <!here>";
    expect(service.messages[0]?.text).toBe(`${mentions} Down. &lt;!channel&gt;`);
    await call("send_message", context, { text: "Down.", mention: ["oncall"], blocks: [{ type: "divider" }] });
    expect(service.messages[1]?.blocks?.[0]).toEqual({
      type: "section",
      text: { type: "mrkdwn", text: "<@U0ADA00001>" },
    });
  });

  it.each(["U0BOB00001", "everyone", "channel"])("is not %s, which it does not list", async (name) => {
    const context = await start("bot");
    const failure = /cannot be notified: SLACK_MENTIONS does not list it. It lists oncall, S0TEAM0001, here\./;
    await expect(call("send_message", context, { text: "x", mention: [name] })).rejects.toThrow(failure);
    await expect(call("send_direct_message", context, { text: "x", user: name })).rejects.toThrow(failure);
    expect(service.requests).toHaveLength(0);
  });

  it("is nobody where it is not set, and no group in person", async () => {
    const context = await start("bot");
    const { SLACK_MENTIONS: _, ...config } = context.config;
    await expect(call("send_message", { ...context, config }, { text: "x", mention: ["here"] })).rejects.toThrow(
      /It is not set, so no one can be/,
    );
    await expect(call("send_direct_message", context, { text: "x", user: "here" })).rejects.toThrow(/is not a person/);
    const odd = { ...context.config, SLACK_MENTIONS: "<!channel>" };
    await expect(call("send_message", { ...context, config: odd }, { text: "x", mention: ["x"] })).rejects.toThrow(
      /SLACK_MENTIONS: "<!channel>" must be/,
    );
    expect(service.requests).toHaveLength(0);
  });

  it("is one person alone by a direct message", async () => {
    const context = await start("bot");
    expect(await call("send_direct_message", context)).toEqual({
      sent: true,
      via: "bot",
      channel: "D0123456789",
      ts: FIRST,
    });
    expect(service.requests.map(({ url }) => url)).toEqual(["/api/conversations.open", "/api/chat.postMessage"]);
  });
});

describe("what Slack tells", () => {
  it.each(READS)("%s gives what a model needs", async (name) => {
    expect(await call(name, await start("bot"))).toMatchSnapshot();
  });

  it("asks by id at once, and by a name among the channels that the bot sees", async () => {
    const context = await start("bot");
    await call("read_channel", context, { channel: "C0123456789" });
    expect(service.requests).toHaveLength(1);
    await expect(call("read_channel", context, { channel: "#nowhere" })).rejects.toThrow(
      /can see no active channel #nowhere/,
    );
  });

  it("reads the words of apps, which are in attachments or blocks instead of the text", async () => {
    const alert = {
      title: "Firing",
      text: "Checkout is down",
      fallback: "x",
      fields: [{ title: "env", value: "prod" }],
    };
    const section = { type: "section", text: { type: "mrkdwn", text: "Deploy failed" } };
    const list = {
      type: "context",
      elements: [
        { type: "plain_text", text: "by ada" },
        { type: "image", alt_text: "a" },
      ],
    };
    const messages = [
      { text: "", attachments: [alert, { from_url: "https://a.example", text: "A preview" }] },
      { text: "", blocks: [section, list] },
      { attachments: [{ fallback: "[no preview available]", blocks: [section] }, { fallback: "Closed" }] },
      {
        text: "See <https://a.example>",
        blocks: [section],
        attachments: [{ from_url: "https://a.example", title: "A" }],
      },
    ].map((message, index) => ({ ts: `1769846400.00000${index}`, ...message }));
    const context = await start("bot", () => ({ body: { ok: true, messages } }));
    const read = await call("read_channel", context, { channel: "C0123456789" });
    expect((read["messages"] as JsonObject[]).map(({ text }) => text)).toEqual([
      "Firing\nCheckout is down\nenv: prod",
      "Deploy failed\nby ada",
      "Deploy failed\nClosed",
      "See <https://a.example>",
    ]);
  });

  it("finds one person by e-mail address", async () => {
    const { users } = await call("list_users", await start("bot"), { email: "ada@example.com" });
    expect(users).toEqual([{ id: "U0ADA00001", name: "ada", real_name: "Ada L." }]);
  });

  it("says how many of a page it looked through, found and left out", async () => {
    const channels = Array.from({ length: 60 }, (_, index) => ({ id: `C000000${index}`, name: `inc-${index}` }));
    const context = await start("bot", () => ({
      body: { ok: true, channels, response_metadata: { next_cursor: "n" } },
    }));
    const listed = await call("list_channels", context, { name: "inc" });
    expect(listed).toMatchObject({ looked_through: 60, left_out: 10, next_cursor: "n" });
    expect(await call("list_channels", context, { name: "none" })).toEqual({
      channels: [],
      looked_through: 60,
      next_cursor: "n",
    });
  });

  it("reacts once, and says when the reaction was there before", async () => {
    expect(await call("add_reaction", await start("bot"))).toEqual({ reacted: true });
    await service.close();
    const context = await start("bot", () => ({ body: { ok: false, error: "already_reacted" } }));
    expect(await call("add_reaction", context)).toEqual({ reacted: true, existing: true });
  });

  it.each(turnOf(READS))("%s asks again after a 502, and says so in an answer of another form", async (name) => {
    const context = await start("bot", (_, before) =>
      before === 0 ? { status: 502, text: "", headers: { "retry-after": "0" } } : undefined,
    );
    await call(name, context);
    await service.close();
    const odd = await start("bot", () => ({ body: { ok: true, messages: 1, channels: 1, members: 1 } }));
    await expect(call(name, odd)).rejects.toThrow(/not in the expected form/);
  });
});

describe("a model's text", () => {
  const cases: [string, string][] = [
    ["<!channel> <@U123> <#C1> <!subteam^S1>", "&lt;!channel&gt; &lt;@U123&gt; &lt;#C1&gt; &lt;!subteam^S1&gt;"],
    ["<https://evil.example|https://bank.example>", "&lt;<https://evil.example>|<https://bank.example>&gt;"],
    ["a < b && c > d", "a &lt; b &amp;&amp; c &gt; d"],
    ["&lt;!channel&gt;", "&amp;lt;!channel&amp;gt;"],
    ["see https://example.com/a?b=1&c=2).", "see <https://example.com/a?b=1&amp;c=2>)."],
    ["https://bank.example@evil.example/x", "<https://bank.example>@evil.example/x"],
    ["https://a.example/<!here>", "<https://a.example/>&lt;!here&gt;"],
    ["*bold* _it_ `code`", "*bold* _it_ `code`"],
  ];

  it.each(cases)("%s is sent as %s", async (text, sent) => {
    const context = await start("webhook");
    const block = { type: "section", text: { type: "mrkdwn", text } };
    await call("send_message", context, { text, blocks: [block] });
    expect(service.messages[0]?.text).toBe(sent);
    expect(service.messages[0]?.blocks?.[0]).toEqual({
      type: "section",
      text: { type: "mrkdwn", text: sent, verbatim: true },
    });
  });

  it("is escaped in plain text too", async () => {
    const context = await start("webhook");
    const header = { type: "header", text: { type: "plain_text", text: "<!here> & co" } };
    await call("send_message", context, { text: "x", blocks: [header] });
    expect(service.messages[0]?.blocks?.[0]).toMatchObject({ text: { text: "&lt;!here&gt; &amp; co" } });
  });
});

describe("blocks", () => {
  const schema = slack.tools.find((tool) => tool.name === "send_message")?.input_schema;
  const mrkdwn = (text: string) => ({ type: "mrkdwn", text });
  const plain = (text: string) => ({ type: "plain_text", text });

  it.each([
    ["an unknown type", { type: "video", title: "x" }],
    ["an image", { type: "image", image_url: "https://evil.example/?secret", alt_text: "x" }],
    ["a button", { type: "actions", elements: [{ type: "button", text: mrkdwn("x"), url: "https://evil.example" }] }],
    ["an empty text", { type: "section", text: mrkdwn("") }],
    ["eleven fields", { type: "section", fields: Array.from({ length: 11 }, () => mrkdwn("x")) }],
    ["a member of its own", { type: "divider", block_id: "x" }],
  ])("are refused with %s", (_, block) => {
    expect(fits(schema, { text: "x", blocks: [block] })).toBe(false);
  });

  it.each([
    ["a section without text", { type: "section" }, "blocks[0]: a section needs text or fields."],
    ["a divider with text", { type: "divider", text: mrkdwn("x") }, "blocks[0]: a divider has no text."],
    ["a context with text in place of elements", { type: "context", text: mrkdwn("x") }, "a context has no text"],
    ["a heading in mrkdwn", { type: "header", text: mrkdwn("x") }, "blocks[0]: a header is plain_text."],
    ["a heading of 151 characters", { type: "header", text: plain("x".repeat(151)) }, "longer than 150 characters"],
    ["a field of 2001 characters", { type: "section", fields: [plain("x".repeat(2001))] }, "longer than 2000"],
    ["a text that escaping makes too long", { type: "section", text: mrkdwn("&".repeat(1000)) }, "longer than 3000"],
  ])("are refused before sending with %s", async (_, block, message) => {
    const context = await start("bot");
    await expect(call("send_message", context, { text: "x", blocks: [block] })).rejects.toThrow(message);
    expect(service.requests).toHaveLength(0);
  });
});

describe("refusals", () => {
  it.each([
    [400, "invalid_payload", /Change the blocks or the text/],
    [400, "no_text", /must not be empty/],
    [403, "action_prohibited", /rules do not allow/],
    [403, "invalid_token", /SLACK_WEBHOOK_URL is disabled/],
    [404, "channel_not_found", /invite the app/],
    [404, "no_service", /SLACK_WEBHOOK_URL is disabled/],
    [410, "channel_is_archived", /archived. Choose another/],
    [401, "Unauthorized", /status 401: Unauthorized/],
    [422, "<html>odd</html>", /status 422: <html>odd/],
  ])("of the webhook, %i %s, tell what to change", async (status, text, advice) => {
    const context = await start("webhook", () => ({ status, text }));
    const error = await failureOf(() => call("send_message", context));
    expect(error.message).toMatch(advice);
    expect(service.requests).toHaveLength(1);
  });

  const BOT_TOOLS = ["send_message", "send_thread_reply", "update_message"];
  const CODES: [string, RegExp][] = [
    ["invalid_auth", /SLACK_BOT_TOKEN is wrong, expired or revoked/],
    ["channel_not_found", /invite the app/],
    ["not_in_channel", /Invite it/],
    ["is_archived", /archived/],
    ["msg_too_long", /Shorten/],
    ["message_not_found", /Use both values from the result of send_message/],
    ["cant_update_message", /Only the bot that posted/],
    ["something_new", /something_new/],
  ];
  it.each(CODES.flatMap(([code, advice]) => turnOf(BOT_TOOLS, 1).map((name) => [name, code, advice] as const)))(
    "%s explains %s, which comes with status 200",
    async (name, code, advice) => {
      const context = await start("bot", () => ({ body: { ok: false, error: code } }));
      await expect(call(name, context)).rejects.toThrow(advice);
      expect(service.requests).toHaveLength(1);
    },
  );

  it("name the scope that the token lacks, and the block at fault", async () => {
    const scope = { ok: false, error: "missing_scope", needed: "chat:write", provided: "channels:read" };
    await expect(call("send_message", await start("bot", () => ({ body: scope })))).rejects.toThrow(/scope chat:write/);
    await service.close();
    const messages = ["[ERROR] must be more than 0 characters [json-pointer:/blocks/0/text/text]"];
    const blocks = { ok: false, error: "invalid_blocks", response_metadata: { messages } };
    await expect(call("send_message", await start("bot", () => ({ body: blocks })))).rejects.toThrow("/blocks/0/text");
  });

  it.each([401, 403, 404, 422])("with status %i and no words of Slack's are refusals all the same", async (status) => {
    const context = await start("bot", () => ({ status, text: "<html></html>" }));
    await expect(call("send_message", context)).rejects.toThrow(`refused the request (${status})`);
  });

  it("of a thread, a message or a channel that is not there come from Slack", async () => {
    const context = await start("bot");
    await expect(call("send_thread_reply", context)).rejects.toThrow(/thread_not_found/);
    await expect(call("update_message", context)).rejects.toThrow(/message_not_found/);
    await expect(call("send_message", context, { text: "x", channel: "#nowhere" })).rejects.toThrow(
      /channel_not_found/,
    );
  });
});

describe("limits and failures", () => {
  it.each(turnOf(WAYS))("%s by %s waits as told after a 429 and is then sent once", async (name, way) => {
    const busy = { status: 429, body: { ok: false, error: "ratelimited" }, headers: { "retry-after": "0" } };
    const done = { body: { ok: true, channel: "C0123456789", ts: FIRST } };
    const context = await start(way, (_, before) => (before === 0 ? busy : done));
    expect(await call(name, context)).toMatchObject({ sent: true });
    expect(service.requests).toHaveLength(2);
  });

  it.each(turnOf(WAYS))("%s by %s says until when to wait when that is long", async (name, way) => {
    const context = await start(way, () => ({ status: 429, text: "rate_limited", headers: { "retry-after": "600" } }));
    await expect(call(name, context)).rejects.toThrow(/rate limit is used up until \d{4}-.*Nothing was done/);
    expect(service.requests).toHaveLength(1);
  });

  it.each(turnOf(WAYS))("%s by %s stops waiting when the call is aborted", { timeout: 5000 }, async (name, way) => {
    const controller = new AbortController();
    const fetchThenAbort: typeof fetch = async (url, init) => {
      const response = await fetch(url, init);
      setImmediate(() => controller.abort(new Error("the run ended")));
      return response;
    };
    const parts = { signal: controller.signal, fetch: fetchThenAbort };
    const context = await start(way, () => ({ status: 429, text: "", headers: { "retry-after": "25" } }), parts);
    await expect(call(name, context)).rejects.toThrow("the run ended");
    expect(service.requests).toHaveLength(1);
  });

  it.each(turnOf(WAYS))("%s by %s gives up when Slack stays busy", async (name, way) => {
    const context = await start(way, () => ({ status: 429, text: "", headers: { "retry-after": "0" } }));
    await expect(call(name, context)).rejects.toThrow(/rate limit is used up/);
    expect(service.requests).toHaveLength(3);
  });

  it.each(WAYS)("%s by %s is not repeated after a 500, which leaves it unclear", async (name, way) => {
    const context = await start(way, () => ({ status: 500, text: "rollup_error" }));
    await expect(call(name, context)).rejects.toThrow(/Slack failed \(500.*unclear: check before you send it again/);
    expect(service.requests).toHaveLength(1);
  });

  it.each(["send_message", "send_thread_reply", "update_message"])(
    "%s says so when the answer is not JSON",
    async (name) => {
      const context = await start("bot", () => ({ text: '{"ok": tr' }));
      await expect(call(name, context)).rejects.toThrow(/not from Slack. Check SLACK_API_URL.*unclear/);
    },
  );

  it.each(["bot", "webhook"] as const)("says that Slack cannot be reached by %s, without the address", async (way) => {
    const context = await start(way);
    await service.close();
    const error = await failureOf(() => call("send_message", context));
    expect(error.message).toBe("Slack could not be reached (ECONNREFUSED). Nothing was sent.");
  });

  it("says of a read alone that Slack cannot be reached", async () => {
    const context = await start("bot");
    await service.close();
    await expect(call("list_channels", context)).rejects.toThrow(
      "Slack failed (no response: ECONNREFUSED). Try again later.",
    );
  });

  it("lets the webhook's secret out no more than its address, alone as it stands in an answer", async () => {
    const context = await start("webhook", () => ({ status: 400, text: "no hook canarysecret is known" }));
    const error = await failureOf(() => call("send_message", context));
    expect(error.message).toContain("no hook [redacted:SLACK_WEBHOOK_URL] is known");
  });

  it("follows no redirect with a message or a token", async () => {
    for (const way of ["bot", "webhook"] as const) {
      const context = await start(way, () => ({ status: 302, text: "", headers: { location: "/elsewhere" } }));
      await expect(call("send_message", context)).rejects.toThrow(/could not be reached/);
      expect(service.requests).toHaveLength(1);
      await service.close();
    }
  });
});

describe("identifiers and addresses", () => {
  it.each(["C1", "U0123456789", "#a b", "#a,#b", "../x", "<!channel>", "@someone", "", "C0123456789\n"])(
    "a channel %j is refused by the schema and as the default",
    async (channel) => {
      const send = slack.tools.find((tool) => tool.name === "send_message");
      expect(fits(send?.input_schema, { text: "x", channel })).toBe(false);
      if (channel === "") return;
      const context = await start("bot");
      const config = { ...context.config, SLACK_CHANNEL: channel };
      await expect(call("send_message", { ...context, config })).rejects.toThrow(/is not a channel/);
      expect(service.requests).toHaveLength(0);
    },
  );

  it.each(["1", "1700000000.1", "1700000000.000100&x=1"])("a ts %j is refused by the schema", (ts) => {
    const update = slack.tools.find((tool) => tool.name === "update_message");
    expect(fits(update?.input_schema, { text: "x", channel: "C0123456789", ts })).toBe(false);
  });

  it.each([
    ["SLACK_WEBHOOK_URL", "hooks.slack.com/services/T/B/canary", "webhook"],
    ["SLACK_WEBHOOK_URL", "file:///services/T/B/canary", "webhook"],
    ["SLACK_API_URL", "javascript:1", "bot"],
  ] as const)("%s %s is refused without being shown", async (field, value, way) => {
    const context = await start(way);
    const config = { ...context.config, [field]: value };
    const error = await failureOf(() => call("send_message", { ...context, config }));
    expect(error.message).toMatch(new RegExp(`^${field} .* an http or https address\\.$`));
  });
});

for (const way of ["bot", "webhook"] as const) {
  const skill = way === "bot" ? slack : { ...slack, tools: slack.tools.filter((tool) => tool.name === "send_message") };
  describeSkill(skill, {
    config: (url) => (way === "bot" ? configFor(url) : { SLACK_WEBHOOK_URL: `${url}${WEBHOOK_PATH}` }),
    inputs: Object.fromEntries(skill.tools.map((tool) => [tool.name, INPUTS[tool.name] ?? {}])),
    flood: ({ url }, response) => {
      response.writeHead(200, { "content-type": "application/json" });
      const long = "x".repeat(5000);
      const messages = Array.from({ length: 100 }, () => ({ ts: FIRST, user: "U1", text: long }));
      const names = Array.from({ length: 200 }, () => ({
        id: "C0123456789",
        name: "incidents",
        topic: { value: long },
      }));
      const members = Array.from({ length: 200 }, () => ({ id: "U1", name: "ada", profile: { title: long } }));
      const found = { messages: { total: 100, matches: messages } };
      const lists = { messages, channels: names, members, ...(url.includes("search") ? found : {}) };
      const channel = url.includes("open") ? { id: "D0123456789" } : "C0123456789";
      response.end(JSON.stringify({ ok: true, channel, ts: FIRST, message: { text: long }, ...lists }));
    },
  });
}
