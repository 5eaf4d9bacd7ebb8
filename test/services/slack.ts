import type { ServerResponse } from "node:http";
import { type Loopback, type LoopbackRequest, sendJson, startLoopback } from "skillflow/testing";
import * as z from "zod";
import type { Vendor } from "./vendor.ts";

/**
 * Slack as documented: an incoming webhook that answers in plain text, and the Web API that answers `{ok: false,
 * error}` with status 200. Block shapes and limits are those of `@slack/types`.
 */
export interface SlackService extends Loopback {
  /** Every message that was posted, as it was sent. */
  readonly messages: readonly Message[];
}

/** An answer instead of Slack's own, or undefined. `before` counts the requests so far. */
export type Script = (
  request: LoopbackRequest,
  before: number,
) => SlackAnswer | undefined | Promise<SlackAnswer | undefined>;

export interface SlackAnswer {
  readonly status?: number;
  readonly text?: string;
  readonly body?: unknown;
  readonly headers?: Readonly<Record<string, string>>;
}

export const WEBHOOK_PATH = "/services/T0CANARY/B0CANARY/canarysecret";
export const BOT_TOKEN = "xoxb-canary-0123456789";
export const USER_TOKEN = "xoxp-canary-0123456789";
const CHANNELS = new Map([
  ["#incidents", "C0123456789"],
  ["C0123456789", "C0123456789"],
  ["D0123456789", "D0123456789"],
]);
const FIRST_STAMP = "1700000000.000100";

export async function startSlack(script: Script = () => undefined): Promise<SlackService> {
  const messages: Message[] = [];
  let before = 0;
  const loopback = await startLoopback(async (request, response) => {
    const scripted = await script(request, before++);
    if (scripted) return send(response, scripted);
    const webhook = request.url === WEBHOOK_PATH;
    send(response, webhook ? answerWebhook(request, messages) : answerApi(request, messages));
  });
  return { ...loopback, messages };
}

const plainText = (longest: number) =>
  z.strictObject({
    type: z.literal("plain_text"),
    text: z.string().min(1).max(longest),
    emoji: z.boolean().optional(),
  });
const text = (longest: number) =>
  z.union([
    plainText(longest),
    z.strictObject({
      type: z.literal("mrkdwn"),
      text: z.string().min(1).max(longest),
      verbatim: z.boolean().optional(),
    }),
  ]);
export const shownBlock = z.union([
  z.strictObject({ type: z.literal("header"), text: plainText(150) }),
  z.strictObject({ type: z.literal("divider") }),
  z.strictObject({ type: z.literal("context"), elements: z.array(text(3000)).min(1).max(10) }),
  z
    .strictObject({
      type: z.literal("section"),
      text: text(3000).optional(),
      fields: z.array(text(2000)).min(1).max(10).optional(),
    })
    .refine((section) => section.text || section.fields),
]);
const messageSchema = z.strictObject({
  text: z.string(),
  blocks: z.array(shownBlock).max(50).optional(),
  channel: z.string().optional(),
  ts: z.string().optional(),
  thread_ts: z.string().optional(),
  reply_broadcast: z.boolean().optional(),
  link_names: z.boolean().optional(),
  parse: z.enum(["none", "full"]).optional(),
  unfurl_links: z.boolean().optional(),
  unfurl_media: z.boolean().optional(),
});
export type Message = z.infer<typeof messageSchema>;

function answerWebhook({ method, body }: LoopbackRequest, messages: Message[]): SlackAnswer {
  if (method !== "POST") return { status: 405, text: "method_not_allowed" };
  const message = messageSchema.safeParse(parsed(body));
  if (!message.success) return { status: 400, text: body.includes("blocks") ? "invalid_blocks" : "invalid_payload" };
  if (message.data.text === "") return { status: 400, text: "no_text" };
  messages.push(message.data);
  return { text: "ok" };
}

const LISTED = { limit: z.coerce.number().int().min(1).max(1000).optional(), cursor: z.string().optional() };
const stamp = z.string().regex(/^\d+\.\d{6}$/);

/** Reading methods: the arguments that each accepts, as a form, and Slack's answer. */
const READS: Readonly<Record<string, { readonly takes: z.ZodType; readonly token?: string; readonly answer: object }>> =
  {
    "conversations.history": {
      takes: z.strictObject({
        channel: z.literal("C0123456789"),
        oldest: stamp.optional(),
        latest: stamp.optional(),
        ...LISTED,
      }),
      answer: {
        messages: [
          {
            type: "message",
            ts: "1769846401.000200",
            user: "U0ADA00001",
            text: "Checkout is slow <https://a.example>",
            reply_count: 2,
            thread_ts: "1769846401.000200",
            reactions: [{ name: "eyes", count: 2, users: ["U0ADA00001"] }],
          },
          {
            type: "message",
            subtype: "bot_message",
            ts: "1769846400.000100",
            bot_id: "B01",
            username: "deploys",
            text: "",
          },
        ],
        has_more: true,
        response_metadata: { next_cursor: "bmV4dA==" },
      },
    },
    "conversations.replies": {
      takes: z.strictObject({ channel: z.literal("C0123456789"), ts: stamp, ...LISTED }),
      answer: {
        messages: [
          { ts: FIRST_STAMP, user: "U0ADA00001", text: "Slow.", thread_ts: FIRST_STAMP, reply_count: 1 },
          {
            ts: "1700000001.000100",
            user: "U0BOB00001",
            text: "The pool.",
            thread_ts: FIRST_STAMP,
            files: [{ name: "graph.png" }],
          },
        ],
        has_more: false,
        response_metadata: { next_cursor: "" },
      },
    },
    "search.messages": {
      takes: z.strictObject({
        query: z.string().min(1),
        sort: z.enum(["score", "timestamp"]),
        count: z.coerce.number().max(100),
        page: z.coerce.number().max(100),
        highlight: z.literal("false"),
      }),
      token: USER_TOKEN,
      answer: {
        query: "checkout",
        messages: {
          total: 2,
          matches: [
            {
              ts: "1769846401.000200",
              user: "U0ADA00001",
              username: "ada",
              text: "Checkout is slow",
              channel: { id: "C0123456789", name: "incidents" },
              permalink: "https://acme.slack.com/archives/C0123456789/p1769846401000200",
            },
          ],
          paging: { count: 1, total: 2, page: 1, pages: 2 },
        },
      },
    },
    "conversations.list": {
      takes: z.strictObject({
        types: z.literal("public_channel,private_channel"),
        exclude_archived: z.literal("true"),
        ...LISTED,
      }),
      answer: {
        channels: [
          {
            id: "C0123456789",
            name: "incidents",
            is_member: true,
            num_members: 12,
            topic: { value: "What is down", creator: "", last_set: 0 },
            purpose: { value: "" },
          },
          {
            id: "C0999999999",
            name: "lunch",
            is_member: false,
            num_members: 40,
            topic: { value: "" },
            purpose: { value: "" },
          },
        ],
        response_metadata: { next_cursor: "" },
      },
    },
    "users.list": {
      takes: z.strictObject(LISTED),
      answer: {
        members: [
          {
            id: "U0ADA00001",
            name: "ada",
            real_name: "Ada L.",
            deleted: false,
            is_bot: false,
            tz: "Europe/London",
            profile: { title: "SRE", display_name: "ada" },
          },
          { id: "U0GONE0001", name: "gone", deleted: true, profile: {} },
        ],
        response_metadata: { next_cursor: "bmV4dA==" },
      },
    },
    "users.lookupByEmail": {
      takes: z.strictObject({ email: z.email() }),
      answer: { user: { id: "U0ADA00001", name: "ada", real_name: "Ada L.", profile: { email: "ada@example.com" } } },
    },
  };

/** Writing methods other than those for messages. */
const ACTS: Readonly<Record<string, { readonly takes: z.ZodType; readonly answer: object }>> = {
  "conversations.open": {
    takes: z.strictObject({ users: z.string().regex(/^U/) }),
    answer: { channel: { id: "D0123456789" } },
  },
  "reactions.add": {
    takes: z.strictObject({ channel: z.string().regex(/^[CD]/), timestamp: stamp, name: z.string() }),
    answer: {},
  },
};

function answerApi(request: LoopbackRequest, messages: Message[]): SlackAnswer {
  const { url, headers, body } = request;
  const method = url.slice("/api/".length);
  const read = READS[method];
  if (read) {
    if (headers.authorization !== `Bearer ${read.token ?? BOT_TOKEN}`) return refused("invalid_auth");
    if (headers["content-type"] !== "application/x-www-form-urlencoded") return refused("invalid_form_data");
    const taken = read.takes.safeParse(Object.fromEntries(new URLSearchParams(body)));
    return taken.success ? { body: { ok: true, ...read.answer } } : refused("invalid_arguments");
  }
  const act = ACTS[method];
  if (act && headers.authorization === `Bearer ${BOT_TOKEN}`) {
    return act.takes.safeParse(parsed(body)).success
      ? { body: { ok: true, ...act.answer } }
      : refused("invalid_arguments");
  }
  return answerMessage(request, messages);
}

function answerMessage({ url, headers, body }: LoopbackRequest, messages: Message[]): SlackAnswer {
  if (headers.authorization !== `Bearer ${BOT_TOKEN}`) return refused("invalid_auth");
  if (!headers["content-type"]?.startsWith("application/json")) return refused("invalid_post_type");
  const message = messageSchema.safeParse(parsed(body));
  if (!message.success)
    return refused("invalid_blocks", { response_metadata: { messages: ["[ERROR] must be valid"] } });
  const channel = CHANNELS.get(message.data.channel ?? "");
  if (!channel) return refused("channel_not_found");
  const { ts, thread_ts } = message.data;
  const isKnown = (at: string) => messages.some((_, index) => at === stampOf(index));
  if (url === "/api/chat.update") {
    if (message.data.channel !== channel) return refused("channel_not_found");
    const at = messages.findIndex((_, index) => ts === stampOf(index));
    const old = messages[at];
    if (!old) return refused("message_not_found");
    messages[at] = { ...old, ...message.data };
    return { body: { ok: true, channel, ts } };
  }
  if (url !== "/api/chat.postMessage") return refused("unknown_method");
  if (thread_ts && !isKnown(thread_ts)) return refused("thread_not_found");
  messages.push(message.data);
  return { body: { ok: true, channel, ts: stampOf(messages.length - 1), message: { text: message.data.text } } };
}

function stampOf(index: number): string {
  return `1700000000.${String(index + 100).padStart(6, "0")}`;
}

function refused(error: string, more: object = {}): SlackAnswer {
  return { body: { ok: false, error, ...more } };
}

function parsed(body: string): unknown {
  return body.startsWith("{") ? JSON.parse(body) : undefined;
}

function send(response: ServerResponse, { status = 200, text: words, body, headers }: SlackAnswer): void {
  if (words === undefined) {
    sendJson(response, status, body, headers);
  } else {
    response.writeHead(status, { "content-type": "text/html", ...headers });
    response.end(words);
  }
}

export const vendor: Vendor = {
  start: startSlack,
  env: (url) => ({
    SLACK_BOT_TOKEN: BOT_TOKEN,
    SLACK_USER_TOKEN: USER_TOKEN,
    SLACK_API_URL: `${url}/api`,
  }),
  secrets: [WEBHOOK_PATH, BOT_TOKEN],
  asked: ["list_channels", {}],
  questions: {
    "Did anyone write about it?": {
      asks: [
        ["read_channel", { channel: "#incidents", since: "2026-01-31T07:30:00Z" }],
        ["read_thread", ([{ messages }]) => ({ channel: "C0123456789", thread_ts: messages[0].ts })],
        ["search_messages", { query: "checkout", by_time: true }],
      ],
      tells: ["Checkout is slow", "The pool"],
    },
    "Who should know?": {
      asks: [
        ["list_channels", { name: "incid" }],
        ["list_users", { name: "ada" }],
      ],
      tells: ["C0123456789", "U0ADA00001", "SRE"],
    },
    "Do they know?": {
      asks: [["send_message", { text: "Checkout fails since 08:00: rolled back.", channel: "#incidents" }]],
      tells: ["C0123456789", "1700000000"],
    },
  },
};
