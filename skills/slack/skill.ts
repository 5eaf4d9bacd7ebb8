import { defineSkill } from "skillflow";
import { wholePages } from "skillflow/internal";
import { directoryTools } from "./directory.ts";
import { messageTools } from "./messages.ts";
import { readingTools } from "./reading.ts";
import { describeBot } from "./web-api.ts";

export default defineSkill({
  id: "slack",
  name: "Slack",
  description:
    "Slack: messages to channels, threads and people, through an incoming webhook or as a bot; reads channels and threads.",
  category: "notification",
  config: {
    SLACK_WEBHOOK_URL: {
      description: "Address of an incoming webhook. It posts to one channel.",
      required: true,
      unless: "SLACK_BOT_TOKEN",
      env: "SLACK_WEBHOOK_URL",
      format: "url",
    },
    SLACK_BOT_TOKEN: {
      description:
        "A bot token (xoxb-): chat:write to write, channels:history, channels:read and users:read to read, reactions:write, im:write.",
      env: "SLACK_BOT_TOKEN",
      format: "token",
    },
    SLACK_USER_TOKEN: {
      description: "A user token (xoxp-) with search:read, for search_messages. Slack does not allow bots to search.",
      env: "SLACK_USER_TOKEN",
      format: "token",
    },
    SLACK_MENTIONS: {
      description:
        "Whom messages may notify or be sent to directly: ids of users (U…) and groups (S…), here, channel. name=id assigns a name. Separate with commas. Default: no one.",
      env: "SLACK_MENTIONS",
      format: "list",
      secret: false,
    },
    SLACK_CHANNEL: {
      description: "The bot's channel for calls that give none: an id such as C0123456789, or #name.",
      env: "SLACK_CHANNEL",
      format: "name",
      secret: false,
    },
    SLACK_API_URL: {
      description: "Address of the Web API. Default: https://slack.com/api.",
      env: "SLACK_API_URL",
      format: "base_url",
      secret: false,
    },
  },
  probe: describeBot,
  tools: [...messageTools, ...readingTools, ...directoryTools].map((tool) => ({
    ...wholePages(tool),
    settled_by: { channel: "SLACK_CHANNEL" },
  })),
});
