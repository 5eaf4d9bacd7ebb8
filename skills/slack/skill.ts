import { defineSkill } from "skillflow";
import { required, secret, setting, variables, wholePages } from "skillflow/internal";
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
  config: variables({
    SLACK_WEBHOOK_URL: {
      ...required(secret("url", "Address of an incoming webhook. It posts to one channel.")),
      unless: "SLACK_BOT_TOKEN",
    },
    SLACK_BOT_TOKEN: secret(
      "token",
      "A bot token (xoxb-): chat:write to write, channels:history, channels:read and users:read to read, reactions:write, im:write.",
    ),
    SLACK_USER_TOKEN: secret(
      "token",
      "A user token (xoxp-) with search:read, for search_messages. Slack does not allow bots to search.",
    ),
    SLACK_MENTIONS: setting(
      "list",
      "Whom messages may notify or be sent to directly: ids of users (U…) and groups (S…), here, channel. name=id assigns a name. Separate with commas. Default: no one.",
    ),
    SLACK_CHANNEL: setting("name", "The bot's channel for calls that give none: an id such as C0123456789, or #name."),
    SLACK_API_URL: setting("base_url", "Address of the Web API. Default: https://slack.com/api."),
  }),
  probe: describeBot,
  tools: [...messageTools, ...readingTools, ...directoryTools].map((tool) => ({
    ...wholePages(tool),
    settled_by: { channel: "SLACK_CHANNEL" },
  })),
});
