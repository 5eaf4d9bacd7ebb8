import { defineSkill } from "skillflow";
import { describeAccess } from "./access.ts";
import { countTools } from "./counts.ts";
import { lineTools } from "./lines.ts";
import { streamTools } from "./streams.ts";

export default defineSkill({
  id: "loki",
  name: "Loki",
  description: "Logs in Grafana Loki or Grafana Cloud: lines, counts over time, patterns, labels and query costs.",
  category: "observability",
  config: {
    LOKI_URL: {
      description:
        "Address that serves /loki/api/v1: http://loki:3100, or https://logs-prod-012.grafana.net for Grafana Cloud.",
      required: true,
      env: "LOKI_URL",
      format: "base_url",
      secret: false,
    },
    LOKI_TOKEN: {
      description:
        "Token or password, if Loki requires one. Read access is enough: the logs:read scope in Grafana Cloud.",
      env: "LOKI_TOKEN",
      format: "token",
    },
    LOKI_USERNAME: {
      description:
        "User name for basic authentication, with the token as password. In Grafana Cloud: the instance number.",
      env: "LOKI_USERNAME",
      format: "token",
      secret: false,
    },
    LOKI_ORG_ID: {
      description: "Tenant, sent as X-Scope-OrgID, if Loki has several.",
      env: "LOKI_ORG_ID",
      format: "token",
      secret: false,
    },
  },
  probe: describeAccess,
  tools: [...lineTools, ...countTools, ...streamTools],
});
