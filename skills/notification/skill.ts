import { defineSkill } from "skillflow";
import { notificationTools } from "./tools.ts";

export default defineSkill({
  id: "notification",
  name: "Notifications",
  description:
    "One message to people and systems: console, file, signed webhook, Discord, Microsoft Teams, e-mail, PagerDuty, Opsgenie.",
  category: "notification",
  config: {
    DISCORD_WEBHOOK_URL: {
      description: "A Discord webhook's address. It posts to the one channel it was made for.",
      env: "DISCORD_WEBHOOK_URL",
      format: "url",
    },
    TEAMS_WEBHOOK_URL: {
      description: "A Microsoft Teams webhook's address: of a workflow, or of an incoming webhook.",
      env: "TEAMS_WEBHOOK_URL",
      format: "url",
    },
    NOTIFICATION_WEBHOOK_URL: {
      description: "Where the channel `webhook` posts its JSON.",
      env: "NOTIFICATION_WEBHOOK_URL",
      format: "url",
    },
    NOTIFICATION_WEBHOOK_SECRET: {
      description: "Signs what is posted to NOTIFICATION_WEBHOOK_URL (HMAC-SHA256). Unsigned when absent.",
      env: "NOTIFICATION_WEBHOOK_SECRET",
      format: "text",
    },
    SMTP_URL: {
      description: "The mail server: smtps://user:password@host:465, or smtp://…:587, percent-encoded where needed.",
      env: "SMTP_URL",
      format: "url",
      schemes: ["smtp", "smtps"],
    },
    NOTIFICATION_EMAIL_FROM: {
      description: "The sender of e-mail: an address, or Name <address>.",
      env: "NOTIFICATION_EMAIL_FROM",
      format: "email",
      secret: false,
    },
    NOTIFICATION_EMAIL_TO: {
      description: "The recipients of e-mail, separated by commas.",
      env: "NOTIFICATION_EMAIL_TO",
      format: "email_list",
      secret: false,
    },
    PAGERDUTY_ROUTING_KEY: {
      description: "The integration key of a PagerDuty service (Events API v2).",
      env: "PAGERDUTY_ROUTING_KEY",
      format: "token",
    },
    PAGERDUTY_EVENTS_URL: {
      description:
        "Where PagerDuty takes events, such as https://events.eu.pagerduty.com/v2/enqueue. The US one when absent.",
      env: "PAGERDUTY_EVENTS_URL",
      format: "url",
      secret: false,
    },
    OPSGENIE_API_KEY: {
      description: "The key of an Opsgenie API integration that may create alerts.",
      env: "OPSGENIE_API_KEY",
      format: "token",
    },
    OPSGENIE_ALERTS_URL: {
      description:
        "Where Opsgenie takes alerts, such as https://api.eu.opsgenie.com/v2/alerts. The US one when absent.",
      env: "OPSGENIE_ALERTS_URL",
      format: "url",
      secret: false,
    },
    NOTIFICATION_FILE: {
      description: "The file that the channel `file` appends to, one JSON object a line; inside the working directory.",
      env: "NOTIFICATION_FILE",
      format: "text",
      secret: false,
    },
    NOTIFICATION_HOSTS: {
      description:
        "The only hosts that webhooks may be on, separated by commas; *.example.com for all below. When absent: the vendors' own for Discord, Teams, PagerDuty and Opsgenie, any for `webhook`.",
      env: "NOTIFICATION_HOSTS",
      format: "host_list",
      secret: false,
    },
  },
  tools: notificationTools,
});
