import { afterAll, afterEach, describe, expect } from "vitest";
import { oneOf } from "../harness/long.ts";
import { send } from "../protocol/webhooks/listening.ts";
import { BOT_TOKEN } from "../services/slack.ts";
import {
  buttonsOf,
  clickOf,
  mentionOf,
  SIGNING_SECRET,
  shownIn,
  startSlackWorkspace,
} from "../services/slack-workspace.ts";
import { runHere } from "./in-process.ts";
import { killListening, type Process, start } from "./listening-process.ts";
import { makeProject, readEvents, removeProjects } from "./program.ts";
import { ENV, linesOf, SINK, scriptOf, statusesOf, toldBy } from "./sink.ts";

const it = oneOf(2);

/** Slack as a workplace, with the built program as a process that dies in the middle. */

afterEach(killListening);
afterAll(removeProjects);

const WORKFLOW = {
  id: "w",
  name: "W",
  entry: "a",
  writes: "plan",
  nodes: { a: { name: "A", instruction: "File it.", skills: ["sink"] } },
  edges: [],
};
const FILES = {
  "w.yml": WORKFLOW,
  "s.json": scriptOf([{ title: "die after" }, { title: "second" }, { title: "third" }]),
  "skills/sink/skill.ts": SINK,
  "listen.yml": { model: "script:s.json", slack: { channels: { C123: { workflow: "w.yml" } }, approvers: ["U777"] } },
};

describe("the process", () => {
  it("loses nothing and does nothing twice, wherever it is killed", async () => {
    let living: Promise<Process> | undefined;
    const dies = new Set(["chat.getPermalink", "chat.postMessage"]);
    const slack = await startSlackWorkspace((method, _, posted) => {
      if (!dies.delete(method)) return undefined;
      if (method !== "chat.getPermalink") posted();
      living = living?.then(async ({ child, ended }) => {
        child.kill("SIGKILL");
        await ended;
        return restart();
      });
      return "hang up";
    });
    const cwd = makeProject(FILES);
    const env = {
      ...ENV,
      SLACK_SIGNING_SECRET: SIGNING_SECRET,
      SLACK_BOT_TOKEN: BOT_TOKEN,
      SLACK_API_URL: `${slack.url}/api`,
    };
    const restart = () => start(cwd, [], env);
    living = restart();
    const mention = mentionOf("checkout is down", { id: "Ev-once" });
    expect((await send((await living).url, mention)).status).toBe(200);
    const [shows] = [(text: string) => () => slack.messages.some((message) => shownIn(message).includes(text))];
    await slack.until(shows("succeeded"));
    expect([[...dies], slack.messages.length]).toEqual([[], 1]);
    expect((await send((await living).url, mention)).text).toBe("");
    const { stdout } = await runHere(["runs", "list", "--json"], { cwd });
    expect(JSON.parse(stdout).runs).toHaveLength(1);

    const [message] = slack.messages;
    const [approve] = buttonsOf(message ?? {});
    if (!message || !approve) throw new Error("there is no button");
    const before = await living;
    expect((await send(before.url, clickOf(message, approve))).status).toBe(200);
    // The tool wrote, and killed the process.
    await before.ended;
    living = restart();
    await slack.until(shows("in doubt by U777"));
    const [second] = buttonsOf(slack.messages[0] ?? {}).filter(({ action_id }) => action_id === "approve");
    if (!second) throw new Error("the second operation has no button");
    const now = await living;
    await send(now.url, clickOf(message, second));
    await slack.until(shows("applied by U777"));
    expect(linesOf(cwd).map((line) => line.replace(/^\S+ /, ""))).toEqual([
      '{"title":"die after"}',
      "died",
      '{"title":"second"}',
    ]);
    const run = JSON.parse(second.value).run as string;
    const replies = readEvents(cwd, run).filter(({ type }) => type === "model:reply");
    expect([replies.length, slack.messages.length, slack.faults]).toEqual([4, 1, []]);

    const [deny] = buttonsOf(slack.messages[0] ?? {}).filter(({ action_id }) => action_id === "deny");
    if (!deny) throw new Error("the third operation has no button");
    await send(now.url, clickOf(message, deny));
    await slack.until(shows("denied by U777"));
    const applied = await runHere(["apply", run, "--approve", "op-3", "--json"], { cwd, env: ENV });
    expect(applied.code).toBe(1);
    expect(statusesOf(toldBy(applied.stdout))).toEqual(["not_approved", "already_applied", "refused"]);
    expect(linesOf(cwd)).toHaveLength(3);
    expect((await runHere(["runs", "verify", run], { cwd })).code).toBe(0);
    now.child.kill("SIGTERM");
    expect(await now.ended).toBe(0);
    await slack.close();
  });

  it("answers a question in the thread of a run once, with checked references, although it is killed before it replies", async () => {
    const claim = (text: string, quote: string) => ({ claim: text, evidence: [{ ref: "r1", quote }] });
    const said = {
      answer: "Order 4711 timed out.",
      claims: [claim("Order 4711 failed", "order=4711"), claim("All is well", "order=9")],
    };
    const search = {
      files: "app.log",
      contains: "timeout",
      since: "2026-01-31T08:00:00Z",
      until: "2026-01-31T09:00:00Z",
    };
    const replies = [
      { node: "a", calls: [{ tool: "logs_search", input: search }] },
      { node: "a", calls: [{ tool: "sink_file", input: { title: "shop" } }] },
      { node: "a", text: "order 4711 timed out" },
      { node: "ask", data: said },
      { node: "ask", data: said },
    ];
    let living: Promise<Process> | undefined;
    let isAnswering = false;
    const slack = await startSlackWorkspace((method) => {
      if (method !== "chat.postMessage" || !isAnswering) return undefined;
      isAnswering = false;
      living = living?.then(async ({ child, ended }) => {
        child.kill("SIGKILL");
        await ended;
        return restart();
      });
      return "hang up";
    });
    const workflow = { ...WORKFLOW, nodes: { a: { ...WORKFLOW.nodes.a, skills: ["logs", "sink"] } } };
    const log = '2026-01-31T08:10:00Z level=error msg="timeout of the payment provider" order=4711\n';
    const cwd = makeProject({ ...FILES, "w.yml": workflow, "s.json": { replies }, "app.log": log });
    const api = { SLACK_SIGNING_SECRET: SIGNING_SECRET, SLACK_BOT_TOKEN: BOT_TOKEN, SLACK_API_URL: `${slack.url}/api` };
    const restart = () => start(cwd, [], { ...ENV, ...api });
    living = restart();
    const first = await living;
    const routes =
      "accepts 1 source (Ctrl-C stops)\n  POST /slack/events (C123) starts w.yml; may approve: U777\n  POST /slack/interactions takes";
    await first.until(() => first.said().includes(routes));
    const opening = mentionOf("checkout is down");
    await send(first.url, opening);
    await slack.until(() => slack.messages.some((message) => shownIn(message).includes("succeeded")));

    const [message] = slack.messages;
    const [approve] = buttonsOf(message ?? {}).filter(({ action_id }) => action_id === "approve");
    if (!message || !approve) throw new Error("there is no button");
    await send(first.url, clickOf(message, approve, "U666"));
    await slack.until(() => slack.ephemerals.length === 1);
    expect(slack.ephemerals[0]).toMatchObject({ user: "U666", thread_ts: opening.ts });
    expect(linesOf(cwd)).toEqual([]);

    isAnswering = true;
    const question = mentionOf("which order?", { thread: opening.ts, user: "U666", id: "Ev-question" });
    expect((await send(first.url, question)).status).toBe(200);
    await slack.until(() => slack.messages.length === 2);
    const answer = shownIn(slack.messages[1] ?? { text: "" });
    expect(slack.messages[1]?.thread_ts).toBe(opening.ts);
    expect(answer).toContain("Order 4711 failed (`r1`)");
    expect(answer).not.toContain("All is well");
    const now = await living;
    await send(now.url, question);
    now.child.kill("SIGTERM");
    expect([await now.ended, slack.messages.length, slack.faults]).toEqual([0, 2, []]);
    const listed = await runHere(["runs", "list", "--kind", "ask", "--json"], { cwd });
    const [asked] = JSON.parse(listed.stdout).runs;
    expect(asked).toMatchObject({ status: "succeeded", about: { question: "which order?" } });
    await slack.close();
  });

  it.each([
    ["without its secret", { SLACK_BOT_TOKEN: BOT_TOKEN }, 3, /SLACK_SIGNING_SECRET/],
    ["with an empty token", { SLACK_SIGNING_SECRET: SIGNING_SECRET, SLACK_BOT_TOKEN: "" }, 3, /SLACK_BOT_TOKEN/],
    [
      "with an address that is none",
      { SLACK_SIGNING_SECRET: SIGNING_SECRET, SLACK_BOT_TOKEN: BOT_TOKEN, SLACK_API_URL: "file:///x" },
      2,
      /SLACK_API_URL/,
    ],
  ])("does not listen %s", async (_, env, code, message) => {
    const cwd = makeProject(FILES);
    const ended = await runHere(["listen"], { cwd, env });
    expect([ended.code, ended.stdout]).toEqual([code, ""]);
    expect(ended.stderr).toMatch(message);
  });

  it.each([
    [
      "a workflow that needs another input",
      { channels: { C123: { workflow: "needs.yml" } } },
      /needs the input "alert"/,
    ],
    ["a channel by its name", { channels: { "#ops": { workflow: "w.yml" } } }, /not the id of a Slack channel/],
    ["an approver by name", { channels: { C123: { workflow: "w.yml" } }, approvers: ["@kim"] }, /not a Slack id/],
    ["no channel", { channels: {} }, /channels must not be empty/],
    ["neither sources nor Slack", undefined, /sources and slack are both missing/],
  ])("does not listen with %s", async (_, slack, message) => {
    const needs = { ...WORKFLOW, inputs: { alert: { type: "string", required: true } } };
    const listen = { model: "script:s.json", ...(slack ? { slack } : {}) };
    const cwd = makeProject({ ...FILES, "needs.yml": needs, "listen.yml": listen });
    const ended = await runHere(["listen"], {
      cwd,
      env: { SLACK_SIGNING_SECRET: SIGNING_SECRET, SLACK_BOT_TOKEN: BOT_TOKEN },
    });
    expect(ended.code).toBe(2);
    expect(ended.stderr).toMatch(message);
  });
});
