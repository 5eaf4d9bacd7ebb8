import { defineSkill } from "skillflow";
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
    "Incidents, their timelines, who is on call, uptime monitors and heartbeats in Better Stack; read-only SQL over a source's logs.",
  category: "observability",
  config: {
    BETTERSTACK_API_TOKEN: {
      description: "A global API token, or an Uptime API token: with that one, list_sources is refused.",
      required: true,
      env: "BETTERSTACK_API_TOKEN",
      format: "token",
    },
    BETTERSTACK_API_URL: {
      description: "The API's address where it is not Better Stack's own, such as a proxy's, for Uptime and Telemetry.",
      env: "BETTERSTACK_API_URL",
      format: "base_url",
      secret: false,
    },
    BETTERSTACK_QUERY_ENDPOINT: {
      description: "For query_logs: the SQL API's address, such as https://eu-nbg-2-connect.betterstackdata.com.",
      env: "BETTERSTACK_QUERY_ENDPOINT",
      format: "text",
      secret: false,
    },
    BETTERSTACK_QUERY_USERNAME: {
      description: "For query_logs: the user name of the SQL API's connection.",
      env: "BETTERSTACK_QUERY_USERNAME",
      format: "text",
    },
    BETTERSTACK_QUERY_PASSWORD: {
      description: "For query_logs: the password of the SQL API's connection.",
      env: "BETTERSTACK_QUERY_PASSWORD",
      format: "text",
    },
    BETTERSTACK_SOURCE: {
      description:
        "For query_logs: the only source it may read, as list_sources names it: t123456_my_app. Commas part several.",
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
  ],
});
