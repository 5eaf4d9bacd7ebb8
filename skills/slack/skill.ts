import { defineSkill } from "skillflow";
import { directoryTools } from "./directory.ts";
import { messageTools } from "./messages.ts";
import { readingTools } from "./reading.ts";
import { describeBot } from "./web-api.ts";

export default defineSkill({
  id: "slack",
  name: "Slack",
  description:
    "Slack: messages to channels, threads and people, by incoming webhook or as a bot; reads channels and threads.",
  category: "notification",
  config: {
    SLACK_WEBHOOK_URL: {
      description: "An incoming webhook's address. It posts to the one channel it was made for.",
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
      description: "A user's token (xoxp-) with search:read: for search_messages, which Slack keeps from bots.",
      env: "SLACK_USER_TOKEN",
      format: "token",
    },
    SLACK_MENTIONS: {
      description:
        "Whom messages may ping or go to in person: ids of users (U…) and groups (S…), here, channel; name=id gives a name. Parted by commas; nobody when absent.",
      env: "SLACK_MENTIONS",
      format: "list",
      secret: false,
    },
    SLACK_CHANNEL: {
      description: "The channel that the bot means when a call names none: an id such as C0123456789, or #name.",
      env: "SLACK_CHANNEL",
      format: "name",
      secret: false,
    },
    SLACK_API_URL: {
      description: "The Web API's address. https://slack.com/api when absent.",
      env: "SLACK_API_URL",
      format: "base_url",
      secret: false,
    },
  },
  probe: describeBot,
  tools: [...messageTools, ...readingTools, ...directoryTools].map((tool) => ({
    ...tool,
    settled_by: { channel: "SLACK_CHANNEL" },
  })),
});
