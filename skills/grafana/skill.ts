import { defineSkill } from "skillflow";
import { describeAccess } from "./access.ts";
import { alertTools } from "./alerts.ts";
import { annotationTools } from "./annotations.ts";
import { dashboardTools } from "./dashboards.ts";
import { routingTools } from "./routing.ts";
import { silenceTools } from "./silences.ts";

export default defineSkill({
  id: "grafana",
  name: "Grafana",
  description:
    "Alerts, alert rules, silences and notification policies of Grafana's own alerting; annotations, dashboards with their queries, data sources.",
  category: "observability",
  config: {
    GRAFANA_URL: {
      description:
        "https://example.grafana.net, or where it is served. A Prometheus or Loki behind it answers those skills at /api/datasources/proxy/uid/UID below this address, with this token.",
      required: true,
      env: "GRAFANA_URL",
      format: "base_url",
      secret: false,
    },
    GRAFANA_TOKEN: {
      description:
        "A service account's token: the role Viewer reads; list_datasources takes the permission datasources:read, get_routing takes alert.notifications:read, silences take alert.silences:create and alert.silences:write.",
      required: true,
      env: "GRAFANA_TOKEN",
      format: "token",
    },
  },
  probe: describeAccess,
  tools: [...alertTools, ...annotationTools, ...dashboardTools, ...silenceTools, ...routingTools],
});
