import { defineSkill } from "skillflow";
import { required, secret, setting, variables } from "skillflow/internal";
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
  config: variables({
    GRAFANA_URL: required(
      setting(
        "base_url",
        "Address of Grafana, such as https://example.grafana.net. The skills prometheus and loki can read a data source behind it at /api/datasources/proxy/uid/UID under this address, with this token.",
      ),
    ),
    GRAFANA_TOKEN: required(
      secret(
        "token",
        "A service account's token. Reading needs the Viewer role, list_datasources the permission datasources:read, get_routing alert.notifications:read, and silences alert.silences:create and alert.silences:write.",
      ),
    ),
  }),
  probe: describeAccess,
  tools: [...alertTools, ...annotationTools, ...dashboardTools, ...silenceTools, ...routingTools],
});
