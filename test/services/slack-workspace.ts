import { createHmac } from "node:crypto";
import { type Loopback, type LoopbackRequest, sendJson, startLoopback } from "skillflow/testing";
import * as z from "zod";
import { BOT_TOKEN, type SlackAnswer, shownBlock } from "./slack.ts";

/**
 * A workspace of Slack with people, threads and an app: signs its requests as Slack does, and refuses messages that
 * Slack refuses, or that mention people, link elsewhere or would be unfurled.
 */
export interface SlackWorkspace extends Loopback {
  /** Messages of the app, each in its current state. */
  readonly messages: readonly Posted[];
  readonly ephemerals: readonly Ephemeral[];
  /** Faults in what the app sent. */
  readonly faults: readonly string[];
  readonly groups: Map<string, readonly string[]>;
  /** Resolves once `isSo` returns true. Checked after every request. */
  until(isSo: () => boolean): Promise<void>;
}

export const SIGNING_SECRET = "canary-signing-secret-0123456789";
export const REPORT = "https://reports.example.org/";

const button = z.strictObject({
  type: z.literal("button"),
  action_id: z.string().max(255),
  text: z.strictObject({ type: z.literal("plain_text"), text: z.string().min(1).max(75) }),
  value: z.string().max(2000),
  style: z.enum(["primary", "danger"]).optional(),
});
const actions = z.strictObject({
  type: z.literal("actions"),
  block_id: z.string().min(1).max(255),
  elements: z.array(button).min(1).max(25),
});
const stamp = z.string().regex(/^\d+\.\d{6}$/);
const content = {
  text: z.string().min(1).max(40_000),
  blocks: z
    .array(z.union([actions, shownBlock]))
    .max(50)
    .optional(),
};
const METHODS = {
  "chat.postMessage": z.strictObject({
    ...content,
    channel: z.string(),
    thread_ts: stamp,
    unfurl_links: z.literal(false),
    unfurl_media: z.literal(false),
  }),
  "chat.update": z.strictObject({ ...content, channel: z.string(), ts: stamp }),
  "chat.postEphemeral": z.strictObject({ ...content, channel: z.string(), user: z.string(), thread_ts: stamp }),
  "chat.getPermalink": z.strictObject({ channel: z.string(), message_ts: stamp }),
  "conversations.replies": z.strictObject({ channel: z.string(), ts: stamp, limit: z.coerce.number().int() }),
  "usergroups.users.list": z.strictObject({ usergroup: z.string().startsWith("S") }),
};
type Method = keyof typeof METHODS;
const READS: readonly Method[] = ["chat.getPermalink", "conversations.replies", "usergroups.users.list"];

export type Ephemeral = z.infer<(typeof METHODS)["chat.postEphemeral"]>;
export interface Posted extends z.infer<(typeof METHODS)["chat.postMessage"]> {
  readonly ts: string;
  /** Texts before each edit. */
  readonly before: readonly string[];
}
type Button = z.infer<typeof button> & { readonly block_id: string };

/** An answer instead of Slack's own. `count` is the number of earlier requests of this method. */
export type Fault = (method: string, count: number, posted: () => void) => SlackAnswer | "hang up" | undefined;

export async function startSlackWorkspace(fault: Fault = () => undefined): Promise<SlackWorkspace> {
  const messages: Posted[] = [];
  const ephemerals: Ephemeral[] = [];
  const faults: string[] = [];
  const groups = new Map<string, readonly string[]>();
  const looks = new Set<() => void>();
  const counts = new Map<string, number>();
  const loopback = await startLoopback((request, response) => {
    const method = new URL(request.url, "http://slack").pathname.replace("/api/", "");
    const count = counts.get(method) ?? 0;
    counts.set(method, count + 1);
    const own = () => answer(request, method, { messages, ephemerals, faults, groups });
    const scripted = fault(method, count, () => void own());
    const { status = 200, body, headers } = scripted === "hang up" ? {} : (scripted ?? own());
    if (scripted === "hang up") response.destroy();
    else sendJson(response, status, body, headers);
    for (const look of [...looks]) look();
  });
  const until = (isSo: () => boolean) =>
    new Promise<void>((resolve) => {
      const look = () => {
        if (!isSo()) return;
        looks.delete(look);
        resolve();
      };
      looks.add(look);
      look();
    });
  return { ...loopback, messages, ephemerals, faults, groups, until };
}

interface Kept {
  readonly messages: Posted[];
  readonly ephemerals: Ephemeral[];
  readonly faults: string[];
  readonly groups: ReadonlyMap<string, readonly string[]>;
}

function answer(request: LoopbackRequest, method: string, kept: Kept): SlackAnswer {
  const isRead = READS.includes(method as Method);
  const shape = METHODS[method as Method];
  const fail = (error: string): SlackAnswer => {
    kept.faults.push(`${method}: ${error}`);
    return { body: { ok: false, error } };
  };
  if (!shape) return fail("unknown_method");
  if (request.headers.authorization !== `Bearer ${BOT_TOKEN}`) return fail("invalid_auth");
  if (request.method !== (isRead ? "GET" : "POST")) return fail("invalid_method");
  if (!isRead && !request.headers["content-type"]?.startsWith("application/json")) return fail("invalid_post_type");
  const given: unknown = isRead
    ? Object.fromEntries(new URL(request.url, "http://slack").searchParams)
    : JSON.parse(request.body);
  const read = shape.safeParse(given);
  if (!read.success) return fail(`invalid_arguments ${read.error.message}`);
  const marked = markup(request.body);
  if (marked.length > 0) kept.faults.push(`${method}: markup ${marked.join(" ")}`);
  return { body: { ok: true, ...accept(method as Method, read.data as never, kept) } };
}

/** Finds what Slack would turn into a mention, or into a link to a place other than the report. */
function markup(body: string): string[] {
  const found = [...body.matchAll(/<[^<>]{0,300}>/g)].map(([text]) => text);
  return found.filter((text) => !text.startsWith(`<${REPORT}`) && !text.startsWith("<https://sink/"));
}

function accept(method: Method, data: Posted & Ephemeral & { readonly usergroup: string }, kept: Kept): object {
  const { messages, ephemerals, groups } = kept;
  const { channel, ts } = data;
  const ids = (data.blocks ?? []).flatMap((block) => (block.type === "actions" ? [block.block_id] : []));
  if (new Set(ids).size < ids.length) kept.faults.push(`${method}: a block_id is used twice`);
  if (method === "chat.postMessage") {
    const posted = { ...data, ts: `1800000000.${String(messages.length).padStart(6, "0")}`, before: [] };
    messages.push(posted);
    return { channel, ts: posted.ts, message: { text: data.text } };
  }
  if (method === "chat.update") {
    const at = messages.findIndex((message) => message.ts === ts && message.channel === channel);
    const old = messages[at];
    if (!old) return { ok: false, error: "message_not_found" };
    messages[at] = { ...old, ...data, before: [...old.before, old.text] };
    return { channel, ts, text: data.text };
  }
  if (method === "chat.postEphemeral") ephemerals.push(data);
  if (method === "chat.getPermalink") return { channel, permalink: `https://acme.slack.com/archives/${channel}/p1` };
  if (method === "conversations.replies") {
    const own = messages.filter((message) => message.thread_ts === ts);
    return { messages: own.map((message) => ({ ts: message.ts, bot_id: "B1", text: message.text })), has_more: false };
  }
  return method === "usergroups.users.list" ? { users: groups.get(data.usergroup) ?? [] } : {};
}

/** Buttons of a message, in order. */
export function buttonsOf({ blocks = [] }: Pick<Posted, "blocks">): Button[] {
  return blocks.flatMap((block) => {
    return block.type === "actions" ? block.elements.map((one) => ({ ...one, block_id: block.block_id })) : [];
  });
}

/** All text of a message. */
export function shownIn({ text, blocks = [] }: Pick<Posted, "text" | "blocks">): string {
  return [text, JSON.stringify(blocks)].join("\n").replaceAll("\u200b", "");
}

export interface FromSlack {
  readonly path: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
}

interface Signing {
  /** Milliseconds. */
  readonly at?: number;
  readonly secret?: string;
  readonly headers?: Readonly<Record<string, string>>;
}

/** Signs a request as Slack does. */
export function signedBySlack(
  path: string,
  body: string,
  { at = Date.now(), secret = SIGNING_SECRET, headers = {} }: Signing = {},
): FromSlack {
  const timestamp = String(Math.floor(at / 1000));
  const mac = createHmac("sha256", secret).update(`v0:${timestamp}:${body}`).digest("hex");
  const type = path.endsWith("events") ? "application/json" : "application/x-www-form-urlencoded";
  const sent = { "content-type": type, "x-slack-request-timestamp": timestamp, "x-slack-signature": `v0=${mac}` };
  return { path, body, headers: { ...sent, ...headers } };
}

let count = 0;

interface Said {
  readonly text: string;
  readonly type?: "app_mention" | "message";
  readonly channel?: string;
  readonly user?: string;
  readonly ts?: string;
  readonly thread?: string;
  readonly id?: string;
  readonly more?: object;
}

/** An event about a message, with a unique id and time unless they are given. */
export function eventOf(
  { text, type = "app_mention", channel = "C123", user = "U777", ts, thread, id, more = {} }: Said,
  signing: Signing = {},
): FromSlack & { readonly ts: string } {
  count += 1;
  const at = ts ?? `1795400000.${String(count).padStart(6, "0")}`;
  const event = { type, user, text, ts: at, channel, event_ts: at, ...(thread ? { thread_ts: thread } : {}), ...more };
  const envelope = { type: "event_callback", token: "old", team_id: "T01", event_id: id ?? `Ev${count}`, event };
  return { ...signedBySlack("/slack/events", JSON.stringify(envelope), signing), ts: at };
}

export const mentionOf = (text: string, more: Omit<Said, "text"> = {}, signing: Signing = {}) =>
  eventOf({ text: `<@UBOT> ${text}`, ...more }, signing);

/** A click on a button of a message. */
export function clickOf(
  { channel, ts, thread_ts }: Pick<Posted, "channel" | "ts" | "thread_ts">,
  { action_id, value }: Pick<Button, "action_id" | "value">,
  user = "U777",
): FromSlack {
  count += 1;
  const payload = {
    type: "block_actions",
    user: { id: user, username: "someone", team_id: "T01" },
    channel: { id: channel, name: "ops" },
    container: { type: "message", message_ts: ts, channel_id: channel, thread_ts },
    message: { ts, thread_ts, blocks: [] },
    response_url: "https://hooks.slack.com/actions/never",
    actions: [
      { type: "button", action_id, block_id: "b", value, action_ts: `1795400060.${String(count).padStart(6, "0")}` },
    ],
  };
  return signedBySlack("/slack/interactions", new URLSearchParams({ payload: JSON.stringify(payload) }).toString());
}
