import { defineSkill } from "skillflow";
import { probeWith, required, secret, setting, variables, wholePages } from "skillflow/internal";
import * as z from "zod";
import { availabilityTools } from "./availability.ts";
import { incidentTools } from "./incidents.ts";
import { logTools, sourceTools } from "./logs.ts";
import { monitorTools } from "./monitors.ts";
import { respondTools } from "./respond.ts";
import { withBetterStack } from "./service.ts";
import { timelineTools } from "./timeline.ts";

export default defineSkill({
  id: "betterstack",
  name: "Better Stack",
  description:
    "Incidents, timelines, on-call calendars, uptime monitors and heartbeats in Better Stack; read-only SQL on a source's logs.",
  category: "observability",
  config: variables({
    BETTERSTACK_API_TOKEN: required(
      secret("token", "A global API token, or an Uptime API token. list_sources needs a global one."),
    ),
    BETTERSTACK_API_URL: setting(
      "base_url",
      "Address of the Uptime and Telemetry APIs, if it is not Better Stack's own, such as a proxy's.",
    ),
    BETTERSTACK_QUERY_ENDPOINT: setting(
      "text",
      "For query_logs: address of the SQL API, such as https://eu-nbg-2-connect.betterstackdata.com.",
    ),
    BETTERSTACK_QUERY_USERNAME: secret("text", "For query_logs: user name of the SQL API connection."),
    BETTERSTACK_QUERY_PASSWORD: secret("text", "For query_logs: password of the SQL API connection."),
    BETTERSTACK_SOURCE: setting(
      "list",
      "For query_logs: the only source that it may read, by its name in list_sources: t123456_my_app. Separate several with commas.",
    ),
  }),
  // Checks that the token can read monitors, which a telemetry token cannot.
  probe: probeWith(withBetterStack, async (ask) => {
    await ask({ path: ["v2", "monitors"], query: { per_page: 1 }, answer: z.object({ data: z.array(z.unknown()) }) });
    return "the token reads monitors";
  }),
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
