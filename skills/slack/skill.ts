import { defineSkill } from "skillflow";
import { messageTools } from "./messages.ts";
import { describeBot } from "./web-api.ts";

export default defineSkill({
  id: "slack",
  name: "Slack",
  description: "Messages to Slack channels and threads, by incoming webhook or as a bot.",
  category: "notification",
  config: {
    SLACK_WEBHOOK_URL: {
      description: "An incoming webhook's address. It posts to the one channel it was made for.",
      required: true,
      env: "SLACK_WEBHOOK_URL",
    },
    SLACK_BOT_TOKEN: {
      description: "A bot token (xoxb-) with chat:write: for other channels, thread replies and updates.",
      env: "SLACK_BOT_TOKEN",
    },
    SLACK_CHANNEL: {
      description: "The channel that the bot means when a call names none: an id such as C0123456789, or #name.",
      env: "SLACK_CHANNEL",
      secret: false,
    },
    SLACK_API_URL: {
      description: "The Web API's address. https://slack.com/api when absent.",
      env: "SLACK_API_URL",
      secret: false,
    },
  },
  probe: describeBot,
  tools: messageTools.map((tool) => ({ ...tool, settled_by: { channel: "SLACK_CHANNEL" } })),
});
