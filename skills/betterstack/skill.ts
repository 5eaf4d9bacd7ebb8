import { defineSkill } from "skillflow";
import { wholePages } from "skillflow/internal";
import { describeAccess } from "./access.ts";
import { availabilityTools } from "./availability.ts";
import { incidentTools } from "./incidents.ts";
import { logTools } from "./logs.ts";
import { monitorTools } from "./monitors.ts";
import { respondTools } from "./respond.ts";
import { sourceTools } from "./sources.ts";
import { timelineTools } from "./timeline.ts";

export default defineSkill({
  id: "betterstack",
  name: "Better Stack",
  description:
    "Incidents, timelines, on-call calendars, uptime monitors and heartbeats in Better Stack; read-only SQL on a source's logs.",
  category: "observability",
  config: {
    BETTERSTACK_API_TOKEN: {
      description: "A global API token, or an Uptime API token. list_sources needs a global one.",
      required: true,
      env: "BETTERSTACK_API_TOKEN",
      format: "token",
    },
    BETTERSTACK_API_URL: {
      description: "Address of the Uptime and Telemetry APIs, if it is not Better Stack's own, such as a proxy's.",
      env: "BETTERSTACK_API_URL",
      format: "base_url",
      secret: false,
    },
    BETTERSTACK_QUERY_ENDPOINT: {
      description: "For query_logs: address of the SQL API, such as https://eu-nbg-2-connect.betterstackdata.com.",
      env: "BETTERSTACK_QUERY_ENDPOINT",
      format: "text",
      secret: false,
    },
    BETTERSTACK_QUERY_USERNAME: {
      description: "For query_logs: user name of the SQL API connection.",
      env: "BETTERSTACK_QUERY_USERNAME",
      format: "text",
    },
    BETTERSTACK_QUERY_PASSWORD: {
      description: "For query_logs: password of the SQL API connection.",
      env: "BETTERSTACK_QUERY_PASSWORD",
      format: "text",
    },
    BETTERSTACK_SOURCE: {
      description:
        "For query_logs: the only source that it may read, by its name in list_sources: t123456_my_app. Separate several with commas.",
      env: "BETTERSTACK_SOURCE",
      format: "list",
      secret: false,
    },
  },
  probe: describeAccess,
  tools: [
    ...incidentTools,
    ...timelineTools,
    ...respondTools,
    ...monitorTools,
    ...availabilityTools,
    ...sourceTools,
    ...logTools,
  ].map(wholePages),
});
