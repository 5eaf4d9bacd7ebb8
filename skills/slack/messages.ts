import { defineTool, type ToolContext } from "skillflow";
import * as z from "zod";
import { blocks, renderBlocks } from "./blocks.ts";
import { explaining } from "./failure.ts";
import { markup } from "./markup.ts";
import { callApi } from "./web-api.ts";
import { postToWebhook } from "./webhook.ts";

const CHANNEL = /^([CGD][A-Z0-9]{5,20}|#[^\s#@<>,/&]{1,80})$/;

const channel = z.string().max(81).regex(CHANNEL).describe("A channel's id such as C0123456789, or #name.");

const timestamp = z
  .string()
  .max(24)
  .regex(/^\d{1,12}\.\d{6}$/);

const text = z.string().min(1).max(3500).describe("Slack's mrkdwn.");

export const messageTools = [
  defineTool({
    name: "send_message",
    description: "Posts a message: to the webhook's channel, or as the bot where a channel is set.",
    effect: "write",
    input_schema: z.strictObject({
      text,
      blocks: blocks.optional(),
      channel: channel.optional().describe("An id or #name: needs the bot. Else the default one."),
    }),
    handler: (input, context) =>
      explaining(context, async () => {
        const place = input.channel ?? context.config["SLACK_CHANNEL"];
        if (context.config["SLACK_BOT_TOKEN"] && place) {
          return messageOf(await callApi("chat.postMessage", { ...post(input), channel: checked(place) }, context));
        }
        if (input.channel) throw new Error(needsBot("Posting to a channel by name"));
        await postToWebhook(post(input), context);
        return { sent: true, via: "webhook" };
      }),
  }),
  defineTool({
    name: "send_thread_reply",
    description: "Replies in a message's thread, as the bot.",
    effect: "write",
    needs: ["SLACK_BOT_TOKEN"],
    input_schema: z.strictObject({
      text,
      blocks: blocks.optional(),
      channel: channel.optional().describe("An id or #name; else the default one."),
      thread_ts: timestamp.describe("`ts` of the thread's first message, such as 1700000000.000100."),
      broadcast: z.boolean().optional().describe("Shows the reply in the channel too."),
    }),
    handler: (input, context) =>
      explaining(context, async () => {
        const place = botChannel(input.channel, "A thread reply", context);
        const { thread_ts, broadcast = false } = input;
        const reply = { ...post(input), channel: place, thread_ts, reply_broadcast: broadcast };
        return messageOf(await callApi("chat.postMessage", reply, context));
      }),
  }),
  defineTool({
    name: "update_message",
    description: "Replaces a message that this bot posted.",
    effect: "write",
    idempotent: true,
    needs: ["SLACK_BOT_TOKEN"],
    input_schema: z.strictObject({
      text,
      blocks: blocks.optional(),
      channel: z
        .string()
        .regex(/^[CGD][A-Z0-9]{5,20}$/)
        .describe("`channel` of the message: its id, not a name."),
      ts: timestamp.describe("`ts` of the message."),
    }),
    handler: (input, context) =>
      explaining(context, async () => {
        const place = botChannel(input.channel, "An update", context);
        const { unfurl_links: _, unfurl_media: __, ...message } = post(input);
        return messageOf(await callApi("chat.update", { ...message, channel: place, ts: input.ts }, context));
      }),
  }),
];

/** Nothing in a message is fetched by Slack, and no name in it becomes a mention. */
function post(input: { readonly text: string; readonly blocks?: z.infer<typeof blocks> | undefined }) {
  return {
    text: markup(input.text),
    ...(input.blocks ? { blocks: renderBlocks(input.blocks) } : {}),
    link_names: false,
    parse: "none",
    unfurl_links: false,
    unfurl_media: false,
  } as const;
}

function messageOf(answer: { readonly [key: string]: unknown }) {
  return { sent: true, via: "bot", channel: String(answer["channel"] ?? ""), ts: String(answer["ts"] ?? "") };
}

function botChannel(named: string | undefined, what: string, context: ToolContext): string {
  if (!context.config["SLACK_BOT_TOKEN"]) throw new Error(needsBot(what));
  const place = named ?? context.config["SLACK_CHANNEL"];
  if (!place) throw new Error("Name the channel: SLACK_CHANNEL sets no default.");
  return checked(place);
}

function checked(place: string): string {
  if (CHANNEL.test(place)) return place;
  throw new Error(`"${place.slice(0, 81)}" is not a channel: write its id, such as C0123456789, or #name.`);
}

function needsBot(what: string): string {
  return `${what} needs SLACK_BOT_TOKEN, which is not set: only send_message without a channel works here, by webhook.`;
}
