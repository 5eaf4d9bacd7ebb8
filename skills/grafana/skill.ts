import { defineSkill } from "skillflow";
import { probeWith, required, secret, setting, variables, wholePages } from "skillflow/internal";
import * as z from "zod";
import { alertTools } from "./alerts.ts";
import { annotationTools } from "./annotations.ts";
import { dashboardTools } from "./dashboards.ts";
import { routingTools } from "./routing.ts";
import { withGrafana } from "./service.ts";
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
  // Checks access with a search, which every role is allowed.
  probe: probeWith(withGrafana, async (ask) => {
    const answer = z.array(z.object({ uid: z.string() }));
    const found = await ask({ path: ["api", "search"], query: { type: "dash-db", limit: 1 }, answer });
    return found.length > 0 ? "can read dashboards" : "connected, but this token can see no dashboards";
  }),
  tools: [...alertTools, ...annotationTools, ...dashboardTools, ...silenceTools, ...routingTools].map(wholePages),
});
