import type { ToolContext } from "skillflow";
import { each, isoField, isoTime, lenient, resultSchema, SNAPSHOT, trim } from "skillflow/internal";
import * as z from "zod";
import { slackTool } from "./failure.ts";
import { channel, channelOf, cursor, DEFAULT_LIMIT, isId, limit, timestamp } from "./fields.ts";
import { readApi } from "./web-api.ts";

const time = isoField.optional();

const MESSAGE = "ts at user text thread_ts replies:number reactions:[text] files:[text]";

export const readingTools = [
  slackTool({
    name: "read_channel",
    description: "Reads a channel's messages, newest first, without replies.",
    effect: "read",
    reads: "private",
    clock: "range",
    range: { from: "since", to: "until" },
    needs: ["SLACK_BOT_TOKEN"],
    input_schema: z.strictObject({
      channel: channel.optional().describe("An id (cheaper) or #name. Default: the configured one."),
      since: time.describe("ISO 8601."),
      until: time,
      limit,
      cursor,
    }),
    output_schema: resultSchema("channel messages", `channel messages:[{ ${MESSAGE} }] next_cursor`),
    work: async (context, input) => {
      const place = await channelId(channelOf(input.channel, context), context);
      const span = { oldest: stampOf(input.since), latest: stampOf(input.until) };
      const query = { channel: place, ...span, limit: input.limit ?? DEFAULT_LIMIT, cursor: input.cursor };
      return pageOf(place, await readApi("conversations.history", query, context));
    },
  }),
  slackTool({
    name: "read_thread",
    description: "Reads a thread, oldest first: its first message and the replies.",
    effect: "read",
    reads: "private",
    clock: "range",
    needs: ["SLACK_BOT_TOKEN"],
    input_schema: z.strictObject({
      channel: channel.optional().describe("An id or #name. Default: the configured one."),
      thread_ts: timestamp,
      limit,
      cursor,
    }),
    output_schema: resultSchema("channel messages", `channel messages:[{ ${MESSAGE} }] next_cursor`),
    work: async (context, input) => {
      const place = await channelId(channelOf(input.channel, context), context);
      const query = {
        channel: place,
        ts: input.thread_ts,
        limit: input.limit ?? DEFAULT_LIMIT,
        cursor: input.cursor,
      };
      return pageOf(place, await readApi("conversations.replies", query, context));
    },
  }),
  slackTool({
    name: "search_messages",
    description: "Finds messages by words in everything that the user of SLACK_USER_TOKEN can see.",
    ...SNAPSHOT,
    reads: "private",
    selects: ["query"],
    needs: ["SLACK_USER_TOKEN"],
    input_schema: z.strictObject({
      query: z.string().min(1).max(300).describe("Words; in:#name, from:@name, after:2026-01-30."),
      by_time: z.boolean().optional().describe("Sort by time, newest first, instead of by relevance."),
      limit,
      page: z.int().min(1).max(100).optional(),
    }),
    output_schema: resultSchema("messages", `total:number messages:[{ ${MESSAGE} channel url }] next_page:number`),
    work: async (context, input) => {
      const { page = 1 } = input;
      const sort = input.by_time ? "timestamp" : "score";
      const query = { query: input.query, sort, count: input.limit ?? DEFAULT_LIMIT, page, highlight: false };
      const { messages } = searched.parse(await readApi("search.messages", query, context, "SLACK_USER_TOKEN"));
      return trim({
        total: messages.total,
        messages: messages.matches.map((match) => ({
          ...messageOf(match),
          channel: match.channel?.name ? `#${match.channel.name}` : match.channel?.id,
          url: match.permalink,
        })),
        next_page: page < (messages.paging?.pages ?? 0) ? page + 1 : undefined,
      });
    },
  }),
];

const some = lenient(z.string());
const number = lenient(z.number());
const attachment = z.object({
  ...each(some, "pretext title text fallback from_url"),
  fields: lenient(z.array(z.object({ title: some, value: some }))),
  blocks: z.unknown().optional(),
});
const message = z.object({
  ts: z.string(),
  ...each(some, "user username bot_id"),
  bot_profile: lenient(z.object({ name: some })),
  ...each(some, "text thread_ts"),
  attachments: lenient(z.array(attachment)),
  blocks: z.unknown().optional(),
  reply_count: number,
  reactions: lenient(z.array(z.object({ name: z.string(), count: z.number() }))),
  files: lenient(z.array(z.object({ name: some, title: some }))),
});

const metadata = lenient(z.object({ next_cursor: some }));
const page = z.object({ messages: z.array(message), response_metadata: metadata });

const searched = z.object({
  messages: z.object({
    total: number,
    matches: z.array(message.extend({ channel: lenient(z.object({ id: some, name: some })), permalink: some })),
    paging: lenient(z.object({ pages: number })),
  }),
});

function pageOf(channel: string, answer: unknown) {
  const { messages, response_metadata } = page.parse(answer);
  return trim({ channel, messages: messages.map(messageOf), next_cursor: response_metadata?.next_cursor || undefined });
}

function messageOf(one: z.infer<typeof message>) {
  const { ts, thread_ts } = one;
  return {
    ts,
    at: isoTime(Number(ts) * 1000),
    user: one.user ?? one.username ?? one.bot_profile?.name ?? one.bot_id,
    text: wordsOf(one),
    thread_ts: thread_ts === ts ? undefined : thread_ts,
    replies: one.reply_count,
    reactions: one.reactions?.map(({ name, count }) => `${name} ${count}`),
    files: one.files?.map(({ name, title }) => name ?? title ?? "a file"),
  };
}

/** Returns a message's words. Alerts of apps often have no text, but attachments or blocks. */
function wordsOf({ text, attachments, blocks }: z.infer<typeof message>): string {
  // Attachments with a URL are previews of links.
  const own = attachments?.filter(({ from_url }) => !from_url).map(attachedWords) ?? [];
  const words = [text, ...own].filter((part) => part);
  return (words.length > 0 ? words : textsIn(blocks)).join("\n");
}

function attachedWords({ pretext, title, text, fallback, fields, blocks }: z.infer<typeof attachment>): string {
  const pairs = fields?.map((field) => [field.title, field.value].filter((part) => part).join(": ")) ?? [];
  const words = [pretext, title, text, ...pairs, ...textsIn(blocks)].filter((part) => part);
  return words.length > 0 ? words.join("\n") : (fallback ?? "");
}

/** Returns every text in blocks, which nest differently by their type. */
function textsIn(value: unknown): readonly string[] {
  if (typeof value !== "object" || value === null) return [];
  const { text } = value as { readonly text?: unknown };
  return typeof text === "string" ? [text] : Object.values(value).flatMap(textsIn);
}

function stampOf(time: string | undefined): string | undefined {
  if (time === undefined) return undefined;
  const milliseconds = Date.parse(time);
  if (Number.isNaN(milliseconds)) throw new Error(`"${time}" is not a time.`);
  return (milliseconds / 1000).toFixed(6);
}

const MOST_PAGES = 10;

/** Returns a channel's id, which reading requires. Looks a name up among the channels that the bot can see. */
async function channelId(place: string, context: ToolContext): Promise<string> {
  if (isId(place)) return place;
  let cursor: string | undefined;
  for (let asked = 0; asked < MOST_PAGES; asked++) {
    const query = { types: "public_channel,private_channel", exclude_archived: true, limit: 1000, cursor };
    const { channels, response_metadata } = listed.parse(await readApi("conversations.list", query, context));
    const found = channels.find(({ name }) => `#${name}` === place);
    if (found) return found.id;
    cursor = response_metadata?.next_cursor || undefined;
    if (!cursor) throw new Error(`The bot can see no active channel ${place}. Check the name, or invite the app.`);
  }
  throw new Error(`${place} is not among the first ${MOST_PAGES},000 channels. Give its id.`);
}

const listed = z.object({
  channels: z.array(z.object({ id: z.string(), name: some })),
  response_metadata: metadata,
});
