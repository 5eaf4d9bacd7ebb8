import type { ToolContext } from "skillflow";
import { resultSchema, textLike, WRITE_ONCE } from "skillflow/internal";
import * as z from "zod";
import { blocks, renderBlocks } from "./blocks.ts";
import { isCode, slackTool } from "./failure.ts";
import { channel, channelOf, checkedChannel, markup, SENT, text, timestamp } from "./fields.ts";
import { mention, mentionBlock, mentionText, personOf } from "./mentions.ts";
import { callApi } from "./web-api.ts";
import { postToWebhook } from "./webhook.ts";

const BOT = ["SLACK_BOT_TOKEN"];

export const messageTools = [
  slackTool({
    name: "send_message",
    description: "Posts one message: as the bot if a channel is given or configured, otherwise through the webhook.",
    effect: "write",
    targets: ["channel"],
    input_schema: z.strictObject({
      text,
      blocks: blocks.optional(),
      channel: channel.optional().describe("An id or #name, which needs the bot. Default: the configured one."),
      mention,
    }),
    output_schema: SENT,
    work: async (context, input) => {
      const message = post(input, context);
      const place = input.channel ?? context.config["SLACK_CHANNEL"];
      if (context.config["SLACK_BOT_TOKEN"] && place) {
        return messageOf(await callApi("chat.postMessage", { ...message, channel: checkedChannel(place) }, context));
      }
      if (input.channel) throw new Error(needsBot("Posting to a channel by name"));
      if (!context.config["SLACK_WEBHOOK_URL"]) return channelOf(undefined, context);
      await postToWebhook(message, context);
      return { sent: true, via: "webhook" };
    },
  }),
  slackTool({
    name: "send_thread_reply",
    description: "Replies in a message's thread, with news about the same incident.",
    effect: "write",
    targets: ["channel", "thread_ts"],
    needs: BOT,
    input_schema: z.strictObject({
      text,
      blocks: blocks.optional(),
      channel: channel.optional().describe("An id or #name. Default: the configured one."),
      thread_ts: timestamp.describe("`ts` of the thread's first message, such as 1700000000.000100."),
      broadcast: z.boolean().optional().describe("Also shows the reply in the channel."),
      mention,
    }),
    output_schema: SENT,
    work: async (context, input) => {
      requireBot("A thread reply", context);
      const place = channelOf(input.channel, context);
      const { thread_ts, broadcast = false } = input;
      const reply = { ...post(input, context), channel: place, thread_ts, reply_broadcast: broadcast };
      return messageOf(await callApi("chat.postMessage", reply, context));
    },
  }),
  slackTool({
    name: "update_message",
    description: "Replaces a message that this bot posted. Notifies no one.",
    ...WRITE_ONCE,
    targets: ["channel"],
    needs: BOT,
    input_schema: z.strictObject({
      text,
      blocks: blocks.optional(),
      channel: textLike(/^[CGD][A-Z0-9]{5,20}$/).describe("`channel` of the message: the id, not a name."),
      ts: timestamp.describe("`ts` of the message."),
    }),
    output_schema: SENT,
    work: async (context, input) => {
      requireBot("An update", context);
      const { unfurl_links: _, unfurl_media: __, ...message } = post(input, context);
      const place = checkedChannel(input.channel);
      // Without blocks, Slack may keep the earlier ones, which hide the new text.
      const update = { blocks: [], ...message, channel: place, ts: input.ts };
      return messageOf(await callApi("chat.update", update, context));
    },
  }),
  slackTool({
    name: "send_direct_message",
    description: "Writes to one person listed in SLACK_MENTIONS. Post in a channel what a team should know.",
    effect: "write",
    targets: ["user"],
    needs: [...BOT, "SLACK_MENTIONS"],
    input_schema: z.strictObject({
      user: z.string().min(1).max(80).describe("Name or id from SLACK_MENTIONS."),
      text,
    }),
    output_schema: SENT,
    work: async (context, input) => {
      requireBot("A message to a person", context);
      const users = personOf(input.user, context);
      const opened = await callApi("conversations.open", { users }, context);
      const place = (opened["channel"] as { readonly id?: unknown } | undefined)?.id;
      if (typeof place !== "string")
        throw new Error("Slack opened no conversation with this person. Nothing was sent.");
      return messageOf(await callApi("chat.postMessage", { ...post(input, context), channel: place }, context));
    },
  }),
  slackTool({
    name: "add_reaction",
    description: "Adds an emoji to a message, such as eyes while a person investigates.",
    ...WRITE_ONCE,
    targets: ["channel"],
    needs: BOT,
    input_schema: z.strictObject({
      channel: z.string().regex(/^[CGD][A-Z0-9]{5,20}$/),
      ts: timestamp,
      emoji: textLike(/^[a-z0-9_+'-]+(::skin-tone-[2-6])?$/, 100).describe(
        "Name without colons, such as white_check_mark.",
      ),
    }),
    output_schema: resultSchema("reacted", "reacted:flag existing:flag"),
    work: async (context, { channel: place, ts, emoji }) => {
      requireBot("A reaction", context);
      try {
        await callApi("reactions.add", { channel: checkedChannel(place), timestamp: ts, name: emoji }, context);
        return { reacted: true };
      } catch (error) {
        if (isCode(error, "already_reacted")) return { reacted: true, existing: true };
        throw error;
      }
    },
  }),
];

interface Written {
  readonly text: string;
  readonly blocks?: z.infer<typeof blocks> | undefined;
  readonly mention?: readonly string[] | undefined;
}

/** Builds a message from which Slack fetches no links, and in which names do not become mentions. */
function post(input: Written, context: ToolContext) {
  const mentions = mentionText(input.mention, context);
  const own = mentions === "" ? [] : [mentionBlock(mentions)];
  return {
    text: [mentions, markup(input.text)].filter((part) => part !== "").join(" "),
    ...(input.blocks ? { blocks: [...own, ...renderBlocks(input.blocks)] } : {}),
    link_names: false,
    parse: "none",
    unfurl_links: false,
    unfurl_media: false,
  } as const;
}

function messageOf(answer: { readonly [key: string]: unknown }) {
  return { sent: true, via: "bot", channel: String(answer["channel"] ?? ""), ts: String(answer["ts"] ?? "") };
}

function requireBot(what: string, { config }: ToolContext): void {
  if (!config["SLACK_BOT_TOKEN"]) throw new Error(needsBot(what));
}

function needsBot(what: string): string {
  return `${what} needs SLACK_BOT_TOKEN, which is not set. Only send_message without a channel works, through the webhook.`;
}
