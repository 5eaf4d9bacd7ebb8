import { defineSkill } from "skillflow";
import { required, secret, setting, variables } from "skillflow/internal";
import { describeAccess } from "./access.ts";
import { countTools } from "./counts.ts";
import { lineTools } from "./lines.ts";
import { streamTools } from "./streams.ts";

export default defineSkill({
  id: "loki",
  name: "Loki",
  description: "Logs in Grafana Loki or Grafana Cloud: lines, counts over time, patterns, labels and query costs.",
  category: "observability",
  config: variables({
    LOKI_URL: required(
      setting(
        "base_url",
        "Address that serves /loki/api/v1: http://loki:3100, or https://logs-prod-012.grafana.net for Grafana Cloud.",
      ),
    ),
    LOKI_TOKEN: secret(
      "token",
      "Token or password, if Loki requires one. Read access is enough: the logs:read scope in Grafana Cloud.",
    ),
    LOKI_USERNAME: setting(
      "token",
      "User name for basic authentication, with the token as password. In Grafana Cloud: the instance number.",
    ),
    LOKI_ORG_ID: setting("token", "Tenant, sent as X-Scope-OrgID, if Loki has several."),
  }),
  probe: describeAccess,
  tools: [...lineTools, ...countTools, ...streamTools],
});
