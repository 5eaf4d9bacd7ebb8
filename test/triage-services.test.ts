import type { ChildProcess } from "node:child_process";
import { once } from "node:events";
import { cpSync, readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import type { JsonObject } from "skillflow";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { parse } from "yaml";
import type { Script } from "../src/models/script.ts";
import { runHere } from "./cli/in-process.ts";
import { type Ended, makeProject, readEvents, resultOf, runProgram } from "./cli/program.ts";
import { sliceOf } from "./long.ts";
import * as betterstack from "./services/betterstack.ts";
import { type ChatRequest, startChat } from "./services/chat.ts";
import * as datadog from "./services/datadog.ts";
import * as github from "./services/github.ts";
import * as linear from "./services/linear.ts";
import type { ModelService, Scripted, ScriptedCall } from "./services/script.ts";
import * as sentry from "./services/sentry.ts";
import { ISSUE } from "./services/sentry-samples.ts";
import * as slack from "./services/slack.ts";

/**
 * The triage workflow with every skill configured: the built program, local evidence, and beside it a service for each
 * vendor that refuses what the vendor refuses. The cause is known already, so the run ends in a comment and a message.
 */

const ROOT = join(import.meta.dirname, "..");
const PATH = ["gather", "diagnose", "assess", "comment", "notify"];
const SKILLS = ["betterstack", "datadog", "git", "github", "linear", "logs", "sentry", "slack"];
const COMMIT = "04fa1ae1e6d7406be2c045d3bec08667de177676";

const SECRETS = {
  OPENAI_API_KEY: "sk-canary-Z9y8X7w6V5u4T3s2R1q0",
  GITHUB_TOKEN: github.TOKEN,
  LINEAR_API_KEY: linear.KEY,
  SENTRY_AUTH_TOKEN: sentry.TOKEN,
  DD_API_KEY: datadog.API_KEY,
  DD_APP_KEY: datadog.APP_KEY,
  BETTERSTACK_API_TOKEN: betterstack.TOKEN,
  BETTERSTACK_QUERY_USERNAME: betterstack.USERNAME,
  BETTERSTACK_QUERY_PASSWORD: betterstack.PASSWORD,
  SLACK_BOT_TOKEN: slack.BOT_TOKEN,
};

/** Where the cause is known: which words find the open issue, and how one comments on it there. */
const TRACKERS = {
  github: {
    words: "declined payments",
    link: /https:\/\/github\.com\/acme\/shop\/issues\/(\d+)/,
    comment: (issue: string): ScriptedCall => ({
      tool: "github_add_comment",
      input: { number: Number(issue), body: NEWS },
    }),
  },
  linear: {
    words: "Checkout 5xx",
    link: /https:\/\/linear\.app\/acme\/issue\/(OPS-\d+)/,
    comment: (issue: string): ScriptedCall => ({ tool: "linear_add_comment", input: { issue, body: NEWS } }),
  },
};
type Tracker = keyof typeof TRACKERS;

const NEWS = "Again since 2026-11-20 14:38:05 UTC: both instances ran out of connections within ten declined payments.";

const trackers: readonly Tracker[] = linear.hasSchema ? ["github", "linear"] : ["github"];

// -- What the model answers

const recording = parse(readFileSync(join(ROOT, "workflows/incident-triage.script.yml"), "utf8")) as Script;

/** The last reply of its kind that the workflow's own recording has for a node. */
function recorded(node: string, kind: "calls" | "data") {
  return recording.replies.findLast((reply) => reply.node === node && reply[kind] !== undefined) ?? { node };
}

function textOf({ messages }: ChatRequest): string {
  return messages.map(({ content }) => content ?? "").join("\n");
}

/** What the prompt shows there, or a text that fits no expectation. */
function seen(body: ChatRequest, pattern: RegExp): string {
  return pattern.exec(textOf(body))?.[1] ?? `(nothing like ${pattern.source})`;
}

/** The references of the recorded results that this run has too, as it counts them. */
const REFS: Readonly<Record<string, string>> = {
  r8: "r1",
  r9: "r2",
  r10: "r3",
  r11: "r9",
  r12: "r10",
  r13: "r11",
  r14: "r12",
};

function recordedData(node: string): JsonObject {
  const text = JSON.stringify(recorded(node, "data").data);
  return JSON.parse(text.replace(/"(r\d+)"/g, (_, ref) => `"${REFS[ref] ?? "r99"}"`));
}

type Turn = (body: ChatRequest) => Scripted;

/** The model's turns in the order of the run. The commit, the line, the issue and the link are those in its prompts. */
function turnsFor(tracker: Tracker): readonly Turn[] {
  const { words, link, comment } = TRACKERS[tracker];
  const whole = new RegExp(`(${link.source})`);
  const searches: readonly ScriptedCall[] = [
    { tool: "linear_search_issues", input: { query: words, status: "open" } },
    { tool: "github_search_issues", input: { query: words, state: "open" } },
  ];
  const data = (value: unknown): Scripted => ({ text: JSON.stringify(value) });
  return [
    () => ({ calls: [...(recorded("gather", "calls").calls ?? []), ...LOOKS] }),
    () => data(recordedData("gather")),
    () => ({ calls: recorded("diagnose", "calls").calls ?? [] }),
    (body) => {
      const commit = seen(body, /"id":"(04fa1ae[0-9a-f]{33})"/);
      const line = Number(seen(body, /"(\d+) 04fa1ae[0-9a-f]+ +return \{/));
      return data({ ...recordedData("diagnose"), commit, line });
    },
    () => ({ calls: searches }),
    (body) =>
      data({
        ...recordedData("assess"),
        novelty: "known",
        known_issue: seen(body, whole),
        action: "comment",
      }),
    (body) => ({ calls: [comment(seen(body, link))] }),
    (body) => data({ commented: /"id":"?[\w-]+"?,"url":/.test(textOf(body)), link: seen(body, whole) }),
    (body) => ({ calls: [{ tool: "slack_send_message", input: { text: messageOf(body, whole) } }] }),
    (body) => data({ delivered: textOf(body).includes('"sent":true'), message: messageOf(body, whole) }),
  ];
}

const LOOKS: readonly ScriptedCall[] = [
  { tool: "sentry_list_issues", input: { query: "is:unresolved PoolTimeoutError", sort: "new", stats_period: "24h" } },
  {
    tool: "datadog_search_logs",
    input: { query: "service:checkout status:error", from: "2026-11-20T14:30:00Z", to: "2026-11-20T14:45:00Z" },
  },
  { tool: "betterstack_list_incidents", input: { resolved: false } },
  { tool: "betterstack_query_logs", input: { sql: "SELECT dt, raw FROM logs ORDER BY dt DESC", limit: 3 } },
  { tool: "github_list_commits", input: { until: "2026-11-20T14:38:36Z", limit: 3 } },
];

function messageOf(body: ChatRequest, link: RegExp): string {
  const [commit, file, line] = [/"commit":\s*"(\w+)"/, /"file":\s*"([^"]+)"/, /"line":\s*(\d+)/].map((pattern) =>
    seen(body, pattern),
  );
  return `SEV1 checkout: nobody can order.\nCause: ${commit}, ${file} line ${line}.\n${seen(body, link)}`;
}

// -- The services around it

type Write = "comment" | "message";

/** What happens when a service has a write in hand and has not answered; true when the write shall get lost. */
type OnWrite = (write: Write) => Promise<boolean>;

interface World {
  readonly env: Readonly<Record<string, string>>;
  readonly model: ModelService<ChatRequest>;
  readonly messages: readonly slack.Message[];
  /** The texts of the comments that a tracker keeps beyond those it had. */
  comments(tracker: Tracker): readonly string[];
  /** What any service was asked and did not allow. */
  refusals(): readonly string[];
  /** How many issues were created, at either tracker. */
  issues(): number;
}

const KNOWN = {
  number: 41,
  title: "Checkout loses a connection with declined payments",
  body: "Seen in staging.",
  state: "open",
  html_url: "https://github.com/acme/shop/issues/41",
};
/** A log line quotes every token of the run: it has to be kept from everything that follows. */
const LEAK = Object.values(SECRETS).join(" and ");
const LOST = { status: 502, body: { message: "Bad gateway" } };
const NO_ISSUES = { body: { data: { list: { nodes: [], pageInfo: { hasNextPage: false, endCursor: null } } } } };

/** A repository with one open issue, which keeps its comments. */
function repository(comments: JsonObject[], onWrite: OnWrite): github.Script {
  return async ({ operation, parameters, body, example }) => {
    const published = example as JsonObject;
    if (operation === "search/issues-and-pull-requests") {
      const isFound = ["repo:acme/shop", "state:open", TRACKERS.github.words].every((part) =>
        parameters["q"]?.includes(part),
      );
      const [item] = published["items"] as readonly JsonObject[];
      const items = isFound ? [{ ...item, ...KNOWN }] : [];
      return { body: { ...published, total_count: items.length, items } };
    }
    if (parameters["issue_number"] === undefined) return undefined;
    if (parameters["issue_number"] !== String(KNOWN.number)) return { status: 404, body: { message: "Not Found" } };
    if (operation === "issues/get") return { body: { ...published, ...KNOWN, comments: comments.length } };
    if (operation === "issues/list-comments") return { body: comments };
    if (operation !== "issues/create-comment") return undefined;
    if (await onWrite("comment")) return LOST;
    const id = 500 + comments.length;
    comments.push({ ...published, ...body, id, html_url: `${KNOWN.html_url}#issuecomment-${id}` });
    return { body: comments.at(-1) };
  };
}

let closing: (() => Promise<void>)[] = [];
beforeEach(() => {
  closing = [];
});
afterEach(async () => {
  for (const close of closing) await close();
});

async function startWorld(tracker: Tracker, onWrite: OnWrite = async () => false): Promise<World> {
  const comments: JsonObject[] = [];
  const turns = turnsFor(tracker);
  const model = await startChat((body, index) => turns[index]?.(body) ?? { text: "Nobody expected this question." });
  const hub = await github.startGitHub(repository(comments, onWrite));
  const board = await linear.startLinear(async ({ operation }) => {
    if (!linear.hasSchema) return NO_ISSUES;
    return operation === "CreateComment" && (await onWrite("comment")) ? LOST : undefined;
  });
  const channel = await slack.startSlack(async () => ((await onWrite("message")) ? LOST : undefined));
  const errors = await sentry.startSentry(() => (sentry.hasContract ? undefined : { body: [ISSUE] }));
  const monitors = await datadog.startDatadog(({ operation, example }) =>
    operation === "logs/search"
      ? { text: JSON.stringify(example).replace("payments:443", `us with ${LEAK}`) }
      : undefined,
  );
  const uptime = await betterstack.startBetterStack();
  closing = [model, hub, board, channel, errors, monitors, uptime].map((service) => () => service.close());
  const had = board.workspace.comments.length;
  return {
    model,
    messages: channel.messages,
    comments: (at) =>
      at === "github"
        ? comments.map((comment) => String(comment["body"]))
        : board.workspace.comments.slice(0, -had).map((comment) => String(comment["body"])),
    refusals: () => [hub, board, errors, monitors, uptime].flatMap((service) => service.refusals),
    issues: () =>
      [...hub.operations, ...board.operations].filter((name) => /^(issues\/create|CreateIssue)$/.test(name)).length,
    env: {
      ...SECRETS,
      OPENAI_BASE_URL: model.url,
      GITHUB_API_URL: hub.url,
      GITHUB_REPOSITORY: "acme/shop",
      LINEAR_API_URL: `${board.url}/graphql`,
      SENTRY_BASE_URL: errors.url,
      SENTRY_ORG: "acme",
      DD_API_URL: monitors.url,
      BETTERSTACK_API_URL: uptime.url,
      BETTERSTACK_QUERY_ENDPOINT: uptime.url,
      BETTERSTACK_SOURCE: betterstack.SOURCE,
      SLACK_WEBHOOK_URL: `${channel.url}${slack.WEBHOOK_PATH}`,
      SLACK_API_URL: `${channel.url}/api`,
      SLACK_CHANNEL: "#incidents",
    },
  };
}

// -- The program

const OUTPUT = ["--json", "--verbose", "--no-discover", "--out", "out"];
const RUN = [
  ...["run", "workflows/incident-triage.yml", "--run-id", "r", "--model", "openai-compatible:local-model"],
  ...["--input", "@workflows/incidents/checkout-5xx/alert.json", ...OUTPUT],
];

/** A project with the workflow and its incident. */
function makeDesk(): string {
  const cwd = makeProject();
  cpSync(join(ROOT, "workflows"), join(cwd, "workflows"), { recursive: true });
  return cwd;
}

const spellings = [
  ...Object.values(SECRETS),
  slack.WEBHOOK_PATH,
  `${betterstack.USERNAME}:${betterstack.PASSWORD}`,
].flatMap((secret) => [secret, encodeURIComponent(secret), Buffer.from(secret).toString("base64").replace(/=+$/, "")]);

function expectNoSecret(text: string, place: string): void {
  for (const spelling of spellings) expect(text.includes(spelling), `${place} holds ${spelling}`).toBe(false);
}

/** Nothing of any token on the streams, in the project's files, of which the journal and `--out` are some, or in a prompt. */
function expectNoSecrets(cwd: string, ended: readonly Ended[], world: World): void {
  for (const { stdout, stderr } of ended) expectNoSecret(`${stdout}\n${stderr}`, "a stream");
  for (const name of Object.keys(SECRETS)) expect(ended.at(-1)?.stdout).toContain(`[redacted:${name}]`);
  const entries = readdirSync(cwd, { recursive: true, encoding: "utf8", withFileTypes: true });
  const files = entries.filter((entry) => entry.isFile()).map(({ parentPath, name }) => join(parentPath, name));
  expect(files).toEqual(expect.arrayContaining([join(cwd, ".skillflow/runs/r.jsonl"), join(cwd, "out/result.json")]));
  for (const file of files) expectNoSecret(readFileSync(file, "latin1"), file);
  expectNoSecret(JSON.stringify(world.model.bodies), "a prompt");
}

function expectTriaged(ended: Ended, world: World, tracker: Tracker): void {
  expect(ended.code, ended.stderr).toBe(0);
  const result = resultOf(ended);
  expect(result).toMatchObject({ status: "succeeded", degraded: [] });
  const available = result.trace.skills.filter((skill) => skill.available).map((skill) => skill.id);
  expect(available.sort()).toEqual(SKILLS);
  expect(result.trace.steps.map((step) => step.node)).toEqual(PATH);
  expect(result.results["diagnose"]?.data).toMatchObject({ commit: COMMIT, file: "src/orders.js", line: 12 });
  expect(world.refusals()).toEqual([]);
  expect(world.issues()).toBe(0);
  expect(world.comments(tracker)).toEqual([expect.stringContaining(NEWS)]);
  expect(world.messages).toHaveLength(1);
  const [message] = world.messages;
  expect(message?.text).toContain(COMMIT);
  expect(message?.text).toContain("src/orders.js line 12");
  expect(message?.text).toMatch(TRACKERS[tracker].link);
}

/** The failed calls of a run, as `tool: error`. */
function failuresOf(ended: Ended): string[] {
  const calls = Object.values(resultOf(ended).results).flatMap((node) => node.toolCalls);
  return calls.flatMap(({ tool, error }) => (error === undefined ? [] : [`${tool}: ${error}`]));
}

/** Kills the program, once, when a service has the write in hand; the service goes on when the program is gone. */
function createReaper(write: Write, fate: "arrived" | "lost") {
  let child: ChildProcess | undefined;
  const onStart = (started: ChildProcess) => {
    child = started;
  };
  const onWrite: OnWrite = async (current) => {
    const victim = child;
    if (!victim || current !== write) return false;
    child = undefined;
    const gone = once(victim, "exit");
    victim.kill("SIGKILL");
    await gone;
    return fate === "lost";
  };
  return { onStart, onWrite };
}

describe.each(trackers)("the triage of a cause that %s knows", (tracker) => {
  it("ends in one comment and one message", async () => {
    const cwd = makeDesk();
    const world = await startWorld(tracker);
    const ended = await runHere(RUN, { cwd, env: world.env });
    expectTriaged(ended, world, tracker);
    expect(failuresOf(ended)).toEqual([]);
    expect(resultOf(ended).results["comment"]?.data).toMatchObject({ commented: true });
    expect(resultOf(ended).results["notify"]?.data).toMatchObject({ delivered: true });
    expect(world.model.bodies).toHaveLength(turnsFor(tracker).length);
    expectNoSecrets(cwd, [ended], world);
  });

  it.each(["arrived", "lost"] as const)(
    "ends the same when the program is killed while it comments, and the comment %s",
    async (fate) => {
      const cwd = makeDesk();
      const { onStart, onWrite } = createReaper("comment", fate);
      const world = await startWorld(tracker, onWrite);
      const killed = await runProgram(RUN, { cwd, env: world.env, onStart });
      expect(killed.signal).toBe("SIGKILL");
      expect(readEvents(cwd, "r").at(-1)).toMatchObject({ type: "tool:call", tool: `${tracker}_add_comment` });

      const ended = await runHere(["resume", "r", ...OUTPUT], { cwd, env: world.env });
      expectTriaged(ended, world, tracker);
      expect(failuresOf(ended)).toEqual([]);
      const [call] = resultOf(ended).results["comment"]?.toolCalls ?? [];
      expect(call?.output).toHaveProperty("url");
      const found = (call?.output as JsonObject | undefined)?.["existing"];
      expect(found, "the first comment is found where there is one").toBe(fate === "arrived" ? true : undefined);
      expect(world.model.bodies, "no answer was asked for twice").toHaveLength(turnsFor(tracker).length);
      expectNoSecrets(cwd, [killed, ended], world);
    },
  );
});

/** The message goes to the same place, whichever tracker was asked before. */
describe.each(sliceOf(trackers))("the triage of a cause that %s knows", (tracker) => {
  it("sends no second message when the program is killed while it sends one", async () => {
    const cwd = makeDesk();
    const { onStart, onWrite } = createReaper("message", "arrived");
    const world = await startWorld(tracker, onWrite);
    const killed = await runProgram(RUN, { cwd, env: world.env, onStart });
    expect(killed.signal).toBe("SIGKILL");
    const ended = await runHere(["resume", "r", ...OUTPUT], { cwd, env: world.env });
    expectTriaged(ended, world, tracker);
    expect(failuresOf(ended)).toEqual([expect.stringMatching(/^slack_send_message: in doubt: /)]);
    expect(resultOf(ended).results["notify"]?.data).toMatchObject({ delivered: false });
    expectNoSecrets(cwd, [killed, ended], world);
  });
});
