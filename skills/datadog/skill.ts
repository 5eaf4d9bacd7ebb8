import { defineSkill } from "skillflow";
import { probeWith, required, secret, setting, variables, wholePages } from "skillflow/internal";
import * as z from "zod";
import { eventTools } from "./events.ts";
import { incidentTools } from "./incidents.ts";
import { logTools } from "./logs.ts";
import { metricTools } from "./metrics.ts";
import { monitorTools } from "./monitors.ts";
import { muteTools } from "./mute.ts";
import { withDatadog } from "./service.ts";
import { spanTools } from "./spans.ts";

export default defineSkill({
  id: "datadog",
  name: "Datadog",
  description:
    "Logs, metrics, monitors, events, incidents, traces and service dependencies in Datadog; mutes monitors.",
  category: "observability",
  config: variables({
    DD_API_KEY: required(secret("token", "An API key of the organization.")),
    DD_APP_KEY: required(secret("token", "An application key. It has the permissions of its owner, or of its scopes.")),
    DD_SITE: setting("host", "The Datadog site, such as datadoghq.eu or us5.datadoghq.com. Default: datadoghq.com."),
    DD_API_URL: setting("base_url", "Address of the API, if it does not follow from the site, such as a proxy's."),
  }),
  // Checks both keys with one request: reading monitors needs the API key and the application key.
  probe: probeWith(withDatadog, async (ask) => {
    const query = { page_size: 1, page: 0 };
    await ask({ path: ["api", "v1", "monitor"], query, needs: "monitors_read", answer: z.array(z.unknown()) });
    return "both keys are valid";
  }),
  tools: [
    ...logTools,
    ...metricTools,
    ...monitorTools,
    ...muteTools,
    ...eventTools,
    ...incidentTools,
    ...spanTools,
  ].map(wholePages),
});
