import { defineSkill } from "skillflow";
import { wholePages } from "skillflow/internal";
import { describeAccess } from "./access.ts";
import { eventTools } from "./events.ts";
import { incidentTools } from "./incidents.ts";
import { logTools } from "./logs.ts";
import { metricTools } from "./metrics.ts";
import { monitorTools } from "./monitors.ts";
import { muteTools } from "./mute.ts";
import { spanTools } from "./spans.ts";

export default defineSkill({
  id: "datadog",
  name: "Datadog",
  description:
    "Logs, metrics, monitors, events, incidents, traces and service dependencies in Datadog; mutes monitors.",
  category: "observability",
  config: {
    DD_API_KEY: { description: "An API key of the organization.", required: true, env: "DD_API_KEY", format: "token" },
    DD_APP_KEY: {
      description: "An application key. It has the permissions of its owner, or of its scopes.",
      required: true,
      env: "DD_APP_KEY",
      format: "token",
    },
    DD_SITE: {
      description: "The Datadog site, such as datadoghq.eu or us5.datadoghq.com. Default: datadoghq.com.",
      env: "DD_SITE",
      format: "host",
      secret: false,
    },
    DD_API_URL: {
      description: "Address of the API, if it does not follow from the site, such as a proxy's.",
      env: "DD_API_URL",
      format: "base_url",
      secret: false,
    },
  },
  probe: describeAccess,
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
