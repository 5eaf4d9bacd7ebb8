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
      description: "Address of a Discord webhook. It posts to one channel.",
      env: "DISCORD_WEBHOOK_URL",
      format: "url",
    },
    TEAMS_WEBHOOK_URL: {
      description: "Address of a Microsoft Teams workflow or incoming webhook.",
      env: "TEAMS_WEBHOOK_URL",
      format: "url",
    },
    NOTIFICATION_WEBHOOK_URL: {
      description: "Address to which the channel `webhook` posts JSON.",
      env: "NOTIFICATION_WEBHOOK_URL",
      format: "url",
    },
    NOTIFICATION_WEBHOOK_SECRET: {
      description: "Signs posts to NOTIFICATION_WEBHOOK_URL (HMAC-SHA256). Without it, they are unsigned.",
      env: "NOTIFICATION_WEBHOOK_SECRET",
      format: "text",
    },
    SMTP_URL: {
      description: "Mail server: smtps://user:password@host:465, or smtp://…:587, percent-encoded where needed.",
      env: "SMTP_URL",
      format: "url",
      schemes: ["smtp", "smtps"],
    },
    NOTIFICATION_EMAIL_FROM: {
      description: "Sender of e-mail: an address, or Name <address>.",
      env: "NOTIFICATION_EMAIL_FROM",
      format: "email",
      secret: false,
    },
    NOTIFICATION_EMAIL_TO: {
      description: "Recipients of e-mail, separated by commas.",
      env: "NOTIFICATION_EMAIL_TO",
      format: "email_list",
      secret: false,
    },
    PAGERDUTY_ROUTING_KEY: {
      description: "Integration key of a PagerDuty service (Events API v2).",
      env: "PAGERDUTY_ROUTING_KEY",
      format: "token",
    },
    PAGERDUTY_EVENTS_URL: {
      description:
        "Address of PagerDuty's Events API, such as https://events.eu.pagerduty.com/v2/enqueue. Default: the US address.",
      env: "PAGERDUTY_EVENTS_URL",
      format: "url",
      secret: false,
    },
    OPSGENIE_API_KEY: {
      description: "Key of an Opsgenie API integration that can create alerts.",
      env: "OPSGENIE_API_KEY",
      format: "token",
    },
    OPSGENIE_ALERTS_URL: {
      description:
        "Address of Opsgenie's Alert API, such as https://api.eu.opsgenie.com/v2/alerts. Default: the US address.",
      env: "OPSGENIE_ALERTS_URL",
      format: "url",
      secret: false,
    },
    NOTIFICATION_FILE: {
      description:
        "File to which the channel `file` appends one JSON object per line. It must be inside the working directory.",
      env: "NOTIFICATION_FILE",
      format: "text",
      secret: false,
    },
    NOTIFICATION_HOSTS: {
      description:
        "The only hosts allowed for webhooks, separated by commas. *.example.com allows all subdomains. Default: the vendors' own hosts for Discord, Teams, PagerDuty and Opsgenie, any host for `webhook`.",
      env: "NOTIFICATION_HOSTS",
      format: "host_list",
      secret: false,
    },
  },
  tools: notificationTools,
});
