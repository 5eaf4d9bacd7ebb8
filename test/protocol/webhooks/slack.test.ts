import { readFileSync } from "node:fs";
import { join } from "node:path";
import { defineSkill, defineTool } from "skillflow";
import { afterAll, afterEach, describe, expect, it } from "vitest";
import { feedbackOf } from "../../../src/app/runs/afterwards/feedback.ts";
import { collectStats } from "../../../src/app/runs/afterwards/stats.ts";
import type { Skill } from "../../../src/core/skill/skill.ts";
import { makeProject, readEvents, removeProjects } from "../../cli/program.ts";
import { BOT_TOKEN } from "../../services/slack.ts";
import {
  buttonsOf,
  clickOf,
  eventOf,
  type Fault,
  type FromSlack,
  mentionOf,
  REPORT,
  SIGNING_SECRET,
  shownIn,
  signedBySlack,
  startSlackWorkspace,
} from "../../services/slack-workspace.ts";
import { send, startListening, workspaceAt } from "./listening.ts";

/** A conversation in Slack: what people write and click, what the thread shows, and what attackers try. */

const EVIL = "pool <!channel> <@U777> @here *is* <https://evil.example|full> & done";
const WORKFLOW = {
  id: "triage",
  name: "Triage <!here>",
  entry: "look",
  writes: "plan",
  report: { headline: "look.headline", cause: "look.cause", action: "look.first_step" },
  nodes: {
    look: {
      name: "Look <!here>",
      instruction: "Look.",
      skills: ["sink"],
      output: {
        type: "object",
        properties: { headline: { type: "string" }, cause: { type: "string" }, first_step: { type: "string" } },
      },
    },
  },
  edges: [] as object[],
};
const ASKING = {
  ...WORKFLOW,
  id: "asking",
  nodes: { ...WORKFLOW.nodes, sure: { name: "Sure", approval: { ask: "File these? <!here>", of: "plan" } } },
  edges: [{ from: "look", to: "sure" }],
};
const TITLES = ["one ``` <!channel>", "two"];
const REPLIES = [
  { node: "look", calls: TITLES.map((title) => ({ tool: "sink_file", input: { title } })) },
  { node: "look", data: { headline: EVIL, cause: "The pool has 5 connections", first_step: "Enlarge it" } },
];

const running: { stop(): Promise<void> }[] = [];
afterEach(async () => {
  for (const one of running.splice(0)) await one.stop();
});
afterAll(removeProjects);

interface Around {
  readonly slack?: object;
  readonly workflow?: object;
  readonly fault?: Fault;
  readonly ask?: NonNullable<Parameters<typeof startListening>[2]>["ask"];
  readonly write?: (title: string) => Promise<void> | void;
  readonly replies?: readonly object[];
  readonly limits?: object;
}

async function conversation(given: Around = {}) {
  const {
    slack: setting = {},
    workflow = WORKFLOW,
    fault,
    ask,
    write,
    replies = [...REPLIES, ...REPLIES],
    limits,
  } = given;
  const slack = await startSlackWorkspace(fault);
  const written: string[] = [];
  const sink = defineSkill({
    id: "sink",
    name: "Sink",
    description: "files things",
    category: "general",
    config: {},
    tools: [
      defineTool({
        name: "file",
        description: "files",
        effect: "write",
        input_schema: { type: "object", properties: { title: { type: "string" } }, required: ["title"] },
        handler: async ({ title }: { readonly title: string }) => {
          await write?.(title);
          written.push(title);
          return { url: `${REPORT}${written.length}` };
        },
      }),
    ],
  });
  const cwd = makeProject({
    "w.yml": workflow,
    "script.json": { replies },
    "listen.yml": {
      port: 0,
      model: "script:script.json",
      ...(limits ? { limits } : {}),
      slack: { channels: { C123: { workflow: "w.yml" } }, approvers: ["U777"], ...setting },
    },
  });
  const env = {
    SLACK_SIGNING_SECRET: SIGNING_SECRET,
    SLACK_BOT_TOKEN: BOT_TOKEN,
    SLACK_API_URL: `${slack.url}/api`,
    SKILLFLOW_REPORT_URL: `${REPORT}run`,
  };
  const around = { env, given: [sink as Skill], ...(ask ? { ask } : {}) };
  const listener = await startListening(cwd, {}, around);
  running.push({ stop: () => listener.stop().finally(() => slack.close()) });
  return { cwd, slack, listener, written, workspace: workspaceAt(cwd, around) };
}

type Conversation = Awaited<ReturnType<typeof conversation>>;

/** Sends a request that Slack must be able to count as delivered. */
async function post({ listener }: Pick<Conversation, "listener">, sent: FromSlack) {
  const answer = await send(listener.url, sent);
  expect([answer.status, answer.text]).toEqual([200, ""]);
}

/** Mentions the app, and resolves once the message shows the text. */
async function mentioned(talk: Conversation, shows: string) {
  const mention = mentionOf("checkout returns &lt;502&gt; &amp; more");
  await post(talk, mention);
  await talk.slack.until(() => talk.slack.messages.some((message) => shownIn(message).includes(shows)));
  return mention;
}

/** Presses a button of the run's message. */
async function press(talk: Conversation, [action, at = 0]: readonly [string, number?], user?: string) {
  const [message] = talk.slack.messages;
  if (!message) throw new Error("there is no message");
  const button = buttonsOf(message).filter(({ action_id }) => action_id === action)[at];
  if (!button) throw new Error(`no button ${action}`);
  await post(talk, clickOf(message, button, user));
  return button;
}

/** Resolves with the next message that only one person sees. */
async function whispered({ slack }: Conversation, work: () => Promise<unknown>) {
  const before = slack.ephemerals.length;
  await work();
  await slack.until(() => slack.ephemerals.length > before);
  const said = slack.ephemerals.at(-1);
  return { ...said, text: (said?.text ?? "").replaceAll("\u200b", "") };
}

const runOf = ({ listener }: Conversation) => listener.ended[0]?.split(" ")[0] ?? "";
const linesOf = async ({ workspace }: Conversation) => (await feedbackOf(workspace)).lines;
const inputOf = ({ cwd }: Conversation, run: string) =>
  JSON.parse(readFileSync(join(cwd, ".skillflow/runs", `${run}.jsonl`), "utf8").split("\n")[0] ?? "").input;

describe("a conversation", () => {
  it("shows one message, applies what an approver approves, and records the decisions", async () => {
    const talk = await conversation();
    const { slack, written, listener } = talk;
    const mention = await mentioned(talk, "First step");
    const run = runOf(talk);
    expect(inputOf(talk, run)).toEqual({
      text: "checkout returns <502> & more",
      channel: "C123",
      thread_ts: mention.ts,
      user: "U777",
      permalink: "https://acme.slack.com/archives/C123/p1",
    });
    const [message] = slack.messages;
    expect(message).toMatchObject({ channel: "C123", thread_ts: mention.ts });
    expect(message?.before.join()).toMatch(/queued|running/);
    const shown = shownIn(message ?? { text: "" });
    for (const part of ["The pool has 5 connections", "Enlarge it", "op-1", "op-2", `<${REPORT}run>`, "evil.example"])
      expect(shown).toContain(part);
    const labels = buttonsOf(message ?? {}).map(({ text, block_id }) => `${block_id} ${text.text}`);
    const each = (id: string) => ["Approve", "Deny", "Show"].map((label) => `${id} ${label}`);
    expect(labels).toEqual([
      ...each("op-1"),
      ...each("op-2"),
      "judgement Right",
      "judgement Partly",
      "judgement Wrong",
    ]);

    const input = await whispered(talk, () => press(talk, ["show"], "U999"));
    expect(input).toMatchObject({ channel: "C123", user: "U999", thread_ts: mention.ts });
    const [, json = ""] = /\{[\s\S]*\}/.exec(input.text) ? [0, /\{[\s\S]*\}/.exec(input.text)?.[0]] : [];
    expect(JSON.parse(json.replaceAll("&lt;", "<").replaceAll("&gt;", ">"))).toEqual({ title: TITLES[0] });

    const refused = await whispered(talk, () => press(talk, ["approve"], "U999"));
    expect(refused.text).toContain("You may not decide here");
    expect(written).toEqual([]);
    expect(await linesOf(talk)).toMatchObject([
      { kind: "refusal", run, operation: "op-1", by: "U999", reason: "U999 is not an approver of C123: approve op-1" },
    ]);

    const approve = await press(talk, ["approve"]);
    await slack.until(() => shownIn(slack.messages[0] ?? { text: "" }).includes("applied by U777"));
    expect(written).toEqual([TITLES[0]]);
    expect(readEvents(talk.cwd, run)).toContainEqual(expect.objectContaining({ type: "operation:begun", by: "U777" }));
    const again = clickOf(slack.messages[0] ?? { channel: "", ts: "", thread_ts: "" }, approve);
    expect((await whispered(talk, () => post(talk, again))).text).toMatch(
      /Nothing was changed: op-1 was applied by U777/,
    );
    expect(written).toEqual([TITLES[0]]);

    const deny = await press(talk, ["deny"]);
    expect(JSON.parse(deny.value)).toMatchObject({ op: "op-2" });
    await slack.until(() => shownIn(slack.messages[0] ?? { text: "" }).includes("denied by U777"));
    const late = { ...deny, action_id: "approve" };
    const over = await whispered(talk, () => post(talk, clickOf(slack.messages[0] ?? never(), late)));
    expect(over.text).toMatch(/Nothing was changed: op-2 was denied by U777 at/);

    await whispered(talk, () => press(talk, ["wrong"], "U888"));
    const twice = await whispered(talk, () => press(talk, ["wrong"], "U888"));
    expect(twice.text).toContain("Nothing was changed");
    const cause = (user: string) =>
      eventOf({ type: "message", text: "cause: a &lt;deploy&gt;", user, thread: mention.ts });
    expect((await whispered(talk, () => post(talk, cause("U999")))).text).toContain("Press Wrong first");
    // A cause with a mention arrives twice.
    const both = { text: "<@UBOT> cause: a &lt;deploy&gt;", user: "U888", thread: mention.ts };
    await post(talk, eventOf({ type: "message", ...both }));
    await whispered(talk, () => post(talk, eventOf(both)));
    await slack.until(() =>
      shownIn(slack.messages[0] ?? { text: "" }).includes("Judged wrong by U888: a &lt;deploy&gt;"),
    );
    const judgements = (await linesOf(talk)).filter(({ kind }) => kind === "judgement");
    expect(judgements).toMatchObject([
      { run, judgement: "wrong", by: "U888" },
      { run, judgement: "wrong", by: "U888", cause: "a <deploy>" },
    ]);
    const { rows } = await collectStats(talk.workspace, 0);
    expect(rows).toMatchObject([{ runs: 1, wrong: 1, planned: 2, applied: 1, rejected: 1 }]);
    expect([slack.messages.length, slack.faults, listener.faults]).toEqual([1, [], []]);
  });

  it("decides an approval with its buttons: refusals are events, and members of a group may decide", async () => {
    const slackSetting = { channels: { C123: { workflow: "w.yml", approvers: ["S42"] } } };
    const talk = await conversation({ workflow: ASKING, slack: slackSetting });
    const { slack, listener, cwd } = talk;
    slack.groups.set("S42", ["U555"]);
    const mention = await mentioned(talk, "Approval:");
    const run = runOf(talk);
    const [message] = slack.messages;
    const labels = buttonsOf(message ?? {}).map(({ text, block_id }) => `${block_id} ${text.text}`);
    expect(labels).toEqual([
      ...["Approve", "Deny", "Show"].map((label) => `approval-1 ${label}`),
      ...["op-1 Show", "op-2 Show"],
    ]);
    const plan = await whispered(talk, () => press(talk, ["show"]));
    for (const part of ["one", "two", "File these?"]) expect(plan.text).toContain(part);
    // The general list does not count here.
    for (const action of ["approve", "approve", "deny"]) await whispered(talk, () => press(talk, [action], "U777"));
    const refusals = readEvents(cwd, run).filter(({ type }) => type === "approval:refused");
    expect(refusals).toMatchObject([
      { node: "sure", by: "U777", reason: "U777 is not an approver of C123: approve sure" },
      { node: "sure", by: "U777", reason: "U777 is not an approver of C123: deny sure" },
    ]);
    const [approve = never()] = buttonsOf(message ?? {});
    for (const change of [{ digest: "0".repeat(64) }, { since: "2020-01-01T00:00:00Z" }, { node: "look" }]) {
      const value = JSON.stringify({ ...JSON.parse(approve.value), ...change });
      const answer = await whispered(talk, () =>
        post(talk, clickOf(message ?? never(), { ...approve, value }, "U555")),
      );
      expect(answer.text).toContain("Nothing was changed");
    }
    expect(readEvents(cwd, run).filter(({ type }) => type === "approval:given")).toEqual([]);
    await post(talk, mentionOf("and?", { thread: mention.ts }));
    await slack.until(() => shownIn(slack.messages[1] ?? { text: "" }).includes("waits for a decision: File these?"));
    await post(talk, clickOf(message ?? never(), approve, "U555"));
    await listener.until(() => listener.ended.includes(`${run} succeeded`));
    expect(readEvents(cwd, run)).toContainEqual(
      expect.objectContaining({ type: "approval:given", approved: true, by: "U555" }),
    );
    const second = await whispered(talk, () => post(talk, clickOf(message ?? never(), approve, "U555")));
    expect(second.text).toMatch(/Nothing was changed: it was approved by U555 at/);
    expect([slack.faults, listener.faults]).toEqual([[], []]);
  });

  it("asks the run of the thread once it has ended, and reports if it cannot", async () => {
    const asked: string[] = [];
    const talk = await conversation({
      ask: async (run, question) => {
        asked.push(`${run} ${question}`);
        return {
          answer: "Since <!here>",
          claims: [{ claim: "Since <!here>", evidence: [{ ref: "r1", quote: "q" }] }],
          evidence: { claims: 2, supported: 1, dropped: 1 },
        };
      },
    });
    const { slack } = talk;
    const mention = await mentioned(talk, "First step");
    await post(talk, mentionOf("since when?", { thread: mention.ts }));
    await slack.until(() => slack.messages.length === 2);
    expect(asked).toEqual([`${runOf(talk)} since when?`]);
    const shown = shownIn(slack.messages[1] ?? { text: "" });
    expect(shown).toContain("_1 of 2 claims removed: the quoted results do not show them_");
    expect(shown).toContain("• Since &lt;!here&gt; (`r1`)");
    const other = await conversation();
    const first = await mentioned(other, "First step");
    await post(other, mentionOf("since when?", { thread: first.ts }));
    await other.slack.until(() => shownIn(other.slack.messages[1] ?? { text: "" }).includes("cannot be asked"));
    expect([slack.faults, other.slack.faults]).toEqual([[], []]);
  });
});

it("starts a run for a mention that begins with cause: outside of a run's thread, and none without a text", async () => {
  const talk = await conversation();
  await post(talk, mentionOf(" "));
  await talk.slack.until(() => talk.slack.messages.length === 1);
  expect(talk.slack.messages[0]?.text).toBe("Write a question after the mention.");
  await post(talk, mentionOf("Cause: what is the cause of the 502?"));
  await talk.slack.until(() => shownIn(talk.slack.messages[1] ?? { text: "" }).includes("First step"));
  expect(inputOf(talk, runOf(talk)).text).toBe("Cause: what is the cause of the 502?");
  expect([talk.listener.ended.length, talk.slack.faults]).toEqual([1, []]);
});

it("limits the length of its messages, and questions end with the day's budget", async () => {
  const long = "&<>".repeat(400);
  const reply = { type: "model:reply", usage: { costUsd: 2 } };
  const talk = await conversation({
    limits: { per_day: { max_cost_usd: 1 } },
    workflow: { ...ASKING, nodes: { ...WORKFLOW.nodes, sure: { name: "Sure", approval: { ask: long } } } },
    replies: [
      { node: "look", calls: [{ tool: "sink_file", input: { title: long } }] },
      { node: "look", data: { headline: long, cause: long, first_step: long } },
    ],
    ask: async (_run, _question, { onEvent }) => {
      onEvent(reply as never);
      const evidence = Array.from({ length: 900 }, (_, index) => ({ ref: `r${index}`, quote: long }));
      return {
        answer: `${long}\n${long}\n${long}\n${long}`,
        claims: [{ claim: long, evidence }],
        evidence: { claims: 1, supported: 1, dropped: 0 },
      };
    },
  });
  const { slack } = talk;
  const mention = await mentioned(talk, "Approval:");
  await whispered(talk, () => press(talk, ["show"]));
  await press(talk, ["approve"]);
  await slack.until(() => shownIn(slack.messages[0] ?? { text: "" }).includes("op-1"));
  await slack.until(() => buttonsOf(slack.messages[0] ?? {}).some(({ block_id }) => block_id === "judgement"));
  for (const count of [2, 3]) {
    await post(talk, mentionOf("why?", { thread: mention.ts }));
    await slack.until(() => slack.messages.length === count);
  }
  const texts = slack.messages.slice(1).map(({ text }) => text.replaceAll("\u200b", ""));
  expect(texts).toEqual([expect.stringContaining("&amp;"), "Not asked: the daily limit of $1 is reached"]);
  expect([slack.faults, talk.listener.faults]).toEqual([[], []]);
});

function never(): never {
  throw new Error("it is missing");
}

describe("Slack's behavior", () => {
  it("sends events again, also with another attempt first, while the run is busy: each counts once", async () => {
    let release: () => void = () => undefined;
    const held = new Promise<void>((resolve) => {
      release = resolve;
    });
    const talk = await conversation({ workflow: { ...WORKFLOW, writes: "allow" }, write: () => held });
    const { slack, listener } = talk;
    const retry = { headers: { "x-slack-retry-num": "1", "x-slack-retry-reason": "http_timeout" } };
    const sent = (signing: object) => mentionOf("x", { id: "EvR", ts: "1795400009.000100" }, signing);
    for (const signing of [retry, {}, { at: Date.now() - 60_000 }]) await post(talk, sent(signing));
    // The event of the same message, for an app that also receives all messages of the channel.
    await post(talk, eventOf({ type: "message", text: "<@UBOT> x", ts: "1795400009.000100" }));
    await slack.until(() => slack.messages.length === 1);
    await post(talk, mentionOf("still?", { thread: "1795400009.000100" }));
    await slack.until(() => shownIn(slack.messages[1] ?? { text: "" }).includes("is still running"));
    release();
    await listener.until(() => listener.ended.length === 1);
    expect((await talk.workspace.store.list()).length).toBe(1);
    expect([slack.messages.length, slack.faults]).toEqual([2, []]);
  });

  it("limits and fails: the run does not notice, and the message arrives late, once", async () => {
    const fault: Fault = (method, count, posted) => {
      if (method === "chat.getPermalink") return { status: 500, body: {} };
      if (method === "chat.postMessage" && count === 0)
        return { status: 429, headers: { "retry-after": "1" }, body: {} };
      if (method !== "chat.postMessage" || count !== 1) return undefined;
      // Slack took it, and the answer was lost.
      posted();
      return "hang up";
    };
    const talk = await conversation({ fault });
    const { slack, listener } = talk;
    await post(talk, mentionOf("x"));
    await listener.until(() => listener.ended.length === 1);
    expect(listener.ended[0]).toContain("succeeded");
    expect(inputOf(talk, runOf(talk)).permalink).toBe("");
    await slack.until(() => slack.messages.some((message) => shownIn(message).includes("First step")));
    expect([slack.messages.length, slack.faults, listener.faults]).toEqual([1, [], []]);
  });

  it("verifies the address, and sends many events that are not for the app", async () => {
    const talk = await conversation();
    const verify = JSON.stringify({ type: "url_verification", token: "old", challenge: "abc" });
    const answer = await send(talk.listener.url, signedBySlack("/slack/events", verify));
    expect([answer.status, answer.json]).toEqual([200, { challenge: "abc" }]);
    for (const sent of [
      mentionOf("x", { channel: "C999" }),
      mentionOf("x", { more: { bot_id: "B1" } }),
      mentionOf("x", { more: { subtype: "bot_message" } }),
      eventOf({ type: "message", text: "hello" }),
      eventOf({ type: "message", text: "cause: nothing was asked" }),
      signedBySlack("/slack/events", JSON.stringify({ type: "app_rate_limited" })),
      signedBySlack("/slack/interactions", new URLSearchParams({ payload: '{"type":"shortcut"}' }).toString()),
    ])
      await post(talk, sent);
    await talk.listener.stop();
    running.pop();
    expect([await talk.workspace.store.list(), talk.slack.requests, talk.listener.faults]).toEqual([[], [], []]);
    await talk.slack.close();
  });
});

describe("an attacker", () => {
  it("starts nothing without a signature over these bytes and this time", async () => {
    const talk = await conversation();
    const genuine = mentionOf("x");
    const { headers } = genuine;
    const late = Date.now() - 301_000;
    const forged: readonly (readonly [number, Partial<FromSlack>])[] = [
      [401, { headers: {} }],
      [401, { headers: { ...headers, "x-slack-signature": "v0=" } }],
      [401, { headers: { ...headers, "x-slack-signature": `v0=${"0".repeat(64)}` } }],
      [
        401,
        {
          headers: {
            ...headers,
            "x-slack-request-timestamp": String(Number(headers["x-slack-request-timestamp"]) + 1),
          },
        },
      ],
      [401, { body: genuine.body.replace("x", "y") }],
      [401, mentionOf("x", {}, { secret: "" })],
      [401, mentionOf("x", {}, { at: late })],
      [401, mentionOf("x", {}, { at: Date.now() + 302_000 })],
      [413, signedBySlack("/slack/events", JSON.stringify({ type: "event_callback", x: "x".repeat(1024 * 1024) }))],
      [400, signedBySlack("/slack/events", "{")],
      [
        400,
        signedBySlack("/slack/events", '{"type":"event_callback","event_id":"../x","event":{"type":"app_mention"}}'),
      ],
      [400, mentionOf("x", { user: "<!channel>" })],
      [400, mentionOf("x", { channel: "../../x" })],
      [400, signedBySlack("/slack/interactions", "payload=%7B")],
      [404, { path: "/slack/other" }],
    ];
    for (const [status, sent] of forged) {
      expect([sent, (await send(talk.listener.url, { ...genuine, ...sent })).status]).toEqual([sent, status]);
    }
    expect((await send(talk.listener.url, { ...genuine, method: "GET", body: "" })).status).toBe(405);
    expect(await talk.workspace.state.list()).toEqual([]);
  });

  it("cannot use a button's value for another run, operation or channel", async () => {
    const talk = await conversation({
      slack: { channels: { C123: { workflow: "w.yml" }, C124: { workflow: "w.yml", approvers: ["U666"] } } },
    });
    await mentioned(talk, "First step");
    const [message = never()] = talk.slack.messages;
    const [approve = never()] = buttonsOf(message);
    const value = JSON.parse(approve.value);
    const altered = [
      { ...value, op: "op-2" },
      { ...value, digest: "0".repeat(64) },
      { ...value, digest: undefined },
      { ...value, run: "../../x" },
      { ...value, run: "slack-other" },
      { ...value, op: "op-99" },
      [],
    ].map((one) => JSON.stringify(one));
    for (const one of [...altered, "", "{", "null"]) {
      const said = await whispered(talk, () => post(talk, clickOf(message, { ...approve, value: one })));
      expect([one, said.text]).toEqual([one, expect.stringContaining("Nothing was changed")]);
    }
    const elsewhere = clickOf({ ...message, channel: "C124" }, approve, "U666");
    expect((await whispered(talk, () => post(talk, elsewhere))).text).toContain("belongs to no run of this channel");
    const replayed = clickOf(message, approve);
    for (const _ of [1, 2, 3]) await post(talk, replayed);
    await talk.slack.until(
      () => talk.slack.ephemerals.filter(({ text }) => text.includes("was applied by")).length === 2,
    );
    expect(talk.written).toEqual([TITLES[0]]);
    expect([talk.slack.faults, talk.listener.faults]).toEqual([[], []]);
  });
});
