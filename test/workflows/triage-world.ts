import type { ChildProcess } from "node:child_process";
import { once } from "node:events";
import { cpSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { gunzipSync, gzipSync } from "node:zlib";
import type { JsonObject } from "skillflow";
import { expect } from "vitest";
import { parse } from "yaml";
import type { Script } from "../../src/core/outward/testing/script.ts";
import { type Ended, makeProject } from "../cli/program.ts";
import { LONG } from "../harness/long.ts";
import { makeQuickFolder } from "../harness/quick-folder.ts";
import * as betterstack from "../services/betterstack.ts";
import { type ChatRequest, startChat } from "../services/chat.ts";
import * as datadog from "../services/datadog.ts";
import * as github from "../services/github.ts";
import * as linear from "../services/linear.ts";
import type { ModelService, Scripted, ScriptedCall } from "../services/script.ts";
import * as sentry from "../services/sentry.ts";
import { ISSUE } from "../services/sentry-samples.ts";
import * as slack from "../services/slack.ts";

/**
 * The environment of the triage workflow: local evidence, a scripted model, and a service for each vendor that refuses
 * what the vendor refuses and stores what is written.
 */

const ROOT = join(import.meta.dirname, "..", "..");
export const COMMIT = "04fa1ae1e6d7406be2c045d3bec08667de177676";

/** Credentials of each skill that reads evidence. */
export const READING = {
  OPENAI_API_KEY: "sk-canary-Z9y8X7w6V5u4T3s2R1q0",
  SENTRY_AUTH_TOKEN: sentry.TOKEN,
  DD_API_KEY: datadog.API_KEY,
  DD_APP_KEY: datadog.APP_KEY,
  BETTERSTACK_API_TOKEN: betterstack.TOKEN,
  BETTERSTACK_QUERY_USERNAME: betterstack.USERNAME,
  BETTERSTACK_QUERY_PASSWORD: betterstack.PASSWORD,
};
/** Credentials that write, except for the webhook, whose address is known once it is started. */
export const WRITING = {
  GITHUB_TOKEN: github.TOKEN,
  LINEAR_API_KEY: linear.KEY,
  SLACK_BOT_TOKEN: slack.BOT_TOKEN,
};

/** The form of a link to a tracker's issue, and the variables of a process that reads there. */
export const TRACKERS = {
  github: {
    link: /https:\/\/github\.com\/acme\/shop\/issues\/(\d+)/,
    reading: { GITHUB_TOKEN: github.READ_TOKEN } as Readonly<Record<string, string>>,
    known: (id: string) => ({ tracker: "github", id: `#${id}`, number: Number(id) }),
  },
  linear: {
    link: /https:\/\/linear\.app\/acme\/issue\/(OPS-\d+)/,
    reading: { GITHUB_TOKEN: github.READ_TOKEN, LINEAR_API_KEY: linear.READ_KEY } as Readonly<Record<string, string>>,
    known: (id: string) => ({ tracker: "linear", id, number: null }),
  },
};
export type Tracker = keyof typeof TRACKERS;

export const trackers: readonly Tracker[] = linear.hasSchema ? ["github", "linear"] : ["github"];

// -- What the model answers

const recording = parse(readFileSync(join(ROOT, "workflows/incident-triage.script.yml"), "utf8")) as Script;

/** The last reply of its kind that the workflow's own recording has for a node. */
function recorded(node: string, kind: "calls" | "data") {
  return recording.replies.findLast((reply) => reply.node === node && reply[kind] !== undefined) ?? { node };
}

export function textOf({ messages }: ChatRequest): string {
  return messages.map(({ content }) => content ?? "").join("\n");
}

/** The part of the prompt that matches, or a text that fits no expectation. */
export function seen(body: ChatRequest, pattern: RegExp): string {
  return pattern.exec(textOf(body))?.[1] ?? `(nothing like ${pattern.source})`;
}

/** The recorded answer, with the references that the calls of this run have. */
export function recordedData({ messages }: ChatRequest): JsonObject {
  const text = JSON.stringify(recorded("investigate", "data").data);
  const results = messages.filter(({ role }) => role === "tool");
  const refs = results.map(({ content }) => /^\[(r\d+)\]/.exec(content ?? "")?.[1] ?? "r99");
  const called = (ref: number) => (ref < FIRST_CALL ? `r${ref}` : (refs[ref - FIRST_CALL] ?? "r99"));
  return JSON.parse(text.replace(/"r(\d+)"/g, (_, ref) => `"${called(Number(ref))}"`));
}

/** The number of the recorded reference of the model's first call. Those before it are of the first look. */
const FIRST_CALL = 4;

export type Turn = (body: ChatRequest) => Scripted;

export const data = (value: unknown): Scripted => ({ text: JSON.stringify(value) });

/** The turns of a run. The commit and the line are those in its prompts. */
function investigating(more: (body: ChatRequest) => object): readonly Turn[] {
  return [
    () => ({ calls: [...(recorded("investigate", "calls").calls ?? []), ERRORS] }),
    (body) => {
      const commit = seen(body, /"id":"(04fa1ae[0-9a-f]{33})"/);
      const line = Number(seen(body, /"(\d+) 04fa1ae[0-9a-f]+ +return \{/));
      return data({ ...recordedData(body), commit, line, ...more(body) });
    },
  ];
}

/** The turns of a run whose cause a tracker knows: the issue is the one that the first look found. */
export function commentingTurns(tracker: Tracker): readonly Turn[] {
  const { known, link } = TRACKERS[tracker];
  return investigating((body) => ({ known_issue: known(seen(body, link)) }));
}

/** The turns of a run that files an issue with this title. */
export function filingTurns(title: string): readonly Turn[] {
  return investigating(() => ({ headline: title }));
}

const ERRORS: ScriptedCall = {
  tool: "datadog_search_logs",
  input: { query: "service:checkout status:error", from: "2026-11-20T14:30:00Z", to: "2026-11-20T14:45:00Z" },
};

// -- The services around it

export type Write = "comment" | "issue" | "message";

/** Called when a service has received a write and has not answered. Returns true to lose the write. */
export type OnWrite = (write: Write) => Promise<boolean>;

export interface World {
  /** Addresses, none of them a secret, and that of the model. */
  readonly places: Readonly<Record<string, string>>;
  /** Posts to the channel: a secret. */
  readonly webhook: string;
  readonly model: ModelService<ChatRequest>;
  readonly messages: readonly slack.Message[];
  /** The texts of new comments of a tracker. */
  comments(tracker: Tracker): readonly string[];
  /** The titles of new issues of a tracker, oldest first. */
  issues(tracker: Tracker): readonly string[];
  /** Messages about requests that a service did not allow. */
  refusals(): readonly string[];
}

interface Around {
  readonly turns?: readonly Turn[] | ((body: ChatRequest, index: number) => Scripted | undefined);
  readonly onWrite?: OnWrite;
  /** A log line quotes these. They must not appear in any output. */
  readonly leak?: readonly string[];
}

const KNOWN = {
  number: 41,
  title: "Checkout loses a connection with declined payments",
  body: "Seen in staging.",
  state: "open",
  html_url: "https://github.com/acme/shop/issues/41",
};
const LOST = { status: 502, body: { message: "Bad gateway" } };
const NO_ISSUES = { body: { data: { list: { nodes: [], pageInfo: { hasNextPage: false, endCursor: null } } } } };
const OURS = { user: { login: "triage", id: 7, type: "Bot" } };

/** The team's private repository with one open issue, which keeps its comments and the issues that are filed. */
function repository(comments: JsonObject[], issues: JsonObject[], onWrite: OnWrite): github.Script {
  return async ({ operation, parameters, body, example }) => {
    const published = example as JsonObject;
    const isOurs = `${parameters["owner"]}/${parameters["repo"]}` === "acme/shop";
    if (operation === "repos/get") return { body: { ...published, private: isOurs } };
    if (operation === "issues/list-for-repo") return { body: issues.toReversed() };
    if (operation === "issues/create") {
      if (await onWrite("issue")) return LOST;
      const number = 100 + issues.length;
      const html_url = `https://github.com/acme/shop/issues/${number}`;
      issues.push({ ...published, ...body, ...OURS, number, id: 9000 + number, html_url });
      return { body: issues.at(-1) };
    }
    if (operation === "search/issues-and-pull-requests") {
      const isFound = ["repo:acme/shop", "state:open", "checkout"].every((part) => parameters["q"]?.includes(part));
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
    comments.push({ ...published, ...body, ...OURS, id, html_url: `${KNOWN.html_url}#issuecomment-${id}` });
    return { body: comments.at(-1) };
  };
}

const closing: (() => Promise<void>)[] = [];

/** After each test. */
export async function closeWorlds(): Promise<void> {
  await Promise.all(closing.splice(0).map((close) => close()));
}

export async function startWorld({ turns = [], onWrite = async () => false, leak = [] }: Around): Promise<World> {
  const comments: JsonObject[] = [];
  const issues: JsonObject[] = [];
  const turn = typeof turns === "function" ? turns : (body: ChatRequest, index: number) => turns[index]?.(body);
  const model = await startChat((body, index) => turn(body, index) ?? { text: "Unexpected question." });
  const hub = await github.startGitHub(repository(comments, issues, onWrite));
  const board = await linear.startLinear(async ({ operation }) => {
    if (!linear.hasSchema) return NO_ISSUES;
    if (operation === "CreateIssue") return (await onWrite("issue")) ? LOST : undefined;
    return operation === "CreateComment" && (await onWrite("comment")) ? LOST : undefined;
  });
  const channel = await slack.startSlack(async () => ((await onWrite("message")) ? LOST : undefined));
  const errors = await sentry.startSentry(() => (sentry.hasContract ? undefined : { body: [ISSUE] }));
  const monitors = await datadog.startDatadog(({ operation, example }) =>
    operation === "logs/search"
      ? { text: JSON.stringify(example).replace("payments:443", `us with ${leak.join(" and ")}`) }
      : undefined,
  );
  const uptime = await betterstack.startBetterStack();
  closing.push(...[model, hub, board, channel, errors, monitors, uptime].map((service) => () => service.close()));
  const had = { comments: board.workspace.comments.length, issues: board.workspace.issues.length };
  const added = (rows: readonly Readonly<Record<string, unknown>>[], before: number, field: string) =>
    rows.slice(0, rows.length - before).map((row) => String(row[field]));
  return {
    model,
    webhook: `${channel.url}${slack.WEBHOOK_PATH}`,
    messages: channel.messages,
    comments: (at) =>
      at === "github"
        ? comments.map((comment) => String(comment["body"]))
        : added(board.workspace.comments, had.comments, "body").reverse(),
    issues: (at) =>
      at === "github"
        ? issues.map((issue) => String(issue["title"]))
        : added(board.workspace.issues, had.issues, "title").reverse(),
    refusals: () => [hub, board, errors, monitors, uptime].flatMap((service) => service.refusals),
    places: {
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
      SLACK_API_URL: `${channel.url}/api`,
      SLACK_CHANNEL: "#incidents",
    },
  };
}

// -- The program

export const OUTPUT = ["--json", "--verbose", "--no-discover", "--out", "out"];

/** The arguments of a run of the alert. */
export function runOf(id: string, ...more: string[]): string[] {
  return [
    ...["run", "workflows/incident-triage.yml", "--run-id", id, "--model", "openai-compatible:local-model"],
    ...["--input", "@workflows/incidents/checkout-5xx/alert.json", ...OUTPUT, ...more],
  ];
}

const INCIDENT = "workflows/incidents/checkout-5xx";

/** A project with the workflow and its incident, whose logs are thinned out in the short form of the tests. */
export function makeDesk(): string {
  const cwd = makeProject({}, makeQuickFolder("desk-"));
  const isNeeded = (path: string) => !path.includes("/incidents/") || path.includes(INCIDENT);
  cpSync(join(ROOT, "workflows"), join(cwd, "workflows"), { recursive: true, filter: isNeeded });
  if (LONG) return cwd;
  thinned ??= readdirSync(join(ROOT, INCIDENT, "logs")).map((name) => [name, thinLog(name)] as const);
  for (const [name, content] of thinned) writeFileSync(join(cwd, INCIDENT, "logs", name), content);
  return cwd;
}

let thinned: readonly (readonly [name: string, content: Buffer])[] | undefined;

/** Distinguishes the kinds of frequent lines in the logs. */
const FREQUENT = /"status":\d+|status=\d+|order paid|received|approved/;

/** The rare lines of a log, the first hundred of each frequent kind, and every fiftieth line after those. */
function thinLog(name: string): Buffer {
  const lines = gunzipSync(readFileSync(join(ROOT, INCIDENT, "logs", name)))
    .toString("latin1")
    .split("\n");
  const counts = new Map<string, number>();
  const kept = lines.filter((line) => {
    const [kind] = FREQUENT.exec(line) ?? [];
    if (kind === undefined) return true;
    const count = counts.get(kind) ?? 0;
    counts.set(kind, count + 1);
    return count < 100 || count % 50 === 0;
  });
  return gzipSync(Buffer.from(kept.join("\n"), "latin1"));
}

function spellingsOf(secrets: readonly string[]): readonly string[] {
  const basic = `${betterstack.USERNAME}:${betterstack.PASSWORD}`;
  return [...secrets, slack.WEBHOOK_PATH, basic].flatMap((secret) => [
    secret,
    encodeURIComponent(secret),
    Buffer.from(secret).toString("base64").replace(/=+$/, ""),
  ]);
}

/** Nothing of any secret on the streams, in the project's files, of which the journal and `--out` are some, or in a prompt. */
export function expectNoSecrets(
  cwd: string,
  ended: readonly Ended[],
  world: World,
  secrets: readonly string[] = Object.values({ ...READING, ...WRITING }),
): void {
  const spellings = spellingsOf(secrets);
  const expectNone = (text: string, place: string) => {
    for (const spelling of spellings) expect(text.includes(spelling), `${place} holds ${spelling}`).toBe(false);
  };
  for (const { stdout, stderr } of ended) expectNone(`${stdout}\n${stderr}`, "a stream");
  const entries = readdirSync(cwd, { recursive: true, encoding: "utf8", withFileTypes: true });
  const files = entries.filter((entry) => entry.isFile()).map(({ parentPath, name }) => join(parentPath, name));
  expect(files).toContain(join(cwd, "out/result.json"));
  for (const file of files) expectNone(readFileSync(file, "latin1"), file);
  expectNone(JSON.stringify(world.model.bodies), "a prompt");
}

/** Kills the program, once, when a service has received the write. The service continues when the program has died. */
export function createReaper(write: Write, fate: "arrived" | "lost") {
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
