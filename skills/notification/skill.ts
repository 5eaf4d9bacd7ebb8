import { defineSkill } from "skillflow";
import { secret, setting, variables } from "skillflow/internal";
import { notificationTools } from "./tools.ts";

export default defineSkill({
  id: "notification",
  name: "Notifications",
  description:
    "One message to people and systems: console, file, signed webhook, Discord, Microsoft Teams, e-mail, PagerDuty, Opsgenie.",
  category: "notification",
  config: variables({
    DISCORD_WEBHOOK_URL: secret("url", "Address of a Discord webhook. It posts to one channel."),
    TEAMS_WEBHOOK_URL: secret("url", "Address of a Microsoft Teams workflow or incoming webhook."),
    NOTIFICATION_WEBHOOK_URL: secret("url", "Address to which the channel `webhook` posts JSON."),
    NOTIFICATION_WEBHOOK_SECRET: secret(
      "text",
      "Signs posts to NOTIFICATION_WEBHOOK_URL (HMAC-SHA256). Without it, they are unsigned.",
    ),
    SMTP_URL: {
      ...secret("url", "Mail server: smtps://user:password@host:465, or smtp://…:587, percent-encoded where needed."),
      schemes: ["smtp", "smtps"],
    },
    NOTIFICATION_EMAIL_FROM: setting("email", "Sender of e-mail: an address, or Name <address>."),
    NOTIFICATION_EMAIL_TO: setting("email_list", "Recipients of e-mail, separated by commas."),
    PAGERDUTY_ROUTING_KEY: secret("token", "Integration key of a PagerDuty service (Events API v2)."),
    PAGERDUTY_EVENTS_URL: setting(
      "url",
      "Address of PagerDuty's Events API, such as https://events.eu.pagerduty.com/v2/enqueue. Default: the US address.",
    ),
    OPSGENIE_API_KEY: secret(
      "token",
      "Key of an API integration, of Opsgenie or Jira Service Management, that can create alerts.",
    ),
    OPSGENIE_ALERTS_URL: setting(
      "url",
      "Address of the Alert API, such as https://api.eu.opsgenie.com/v2/alerts, or https://api.atlassian.com/jsm/ops/integration/v2/alerts for Jira Service Management. Default: Opsgenie's US address.",
    ),
    NOTIFICATION_FILE: setting(
      "text",
      "File to which the channel `file` appends one JSON object per line. It must be inside the working directory.",
    ),
    NOTIFICATION_HOSTS: setting(
      "host_list",
      "The only hosts allowed for webhooks, separated by commas. *.example.com allows all subdomains. Default: the vendors' own hosts for Discord, Teams, PagerDuty and Opsgenie, any host for `webhook`.",
    ),
  }),
  tools: notificationTools,
});
