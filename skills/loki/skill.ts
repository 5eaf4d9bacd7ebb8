import { defineSkill } from "skillflow";
import { describeAccess } from "./access.ts";
import { countTools } from "./counts.ts";
import { lineTools } from "./lines.ts";
import { streamTools } from "./streams.ts";

export default defineSkill({
  id: "loki",
  name: "Loki",
  description:
    "Logs in Grafana Loki or Grafana Cloud: lines, counts over time, patterns, labels and what a query would read.",
  category: "observability",
  config: {
    LOKI_URL: {
      description: "Where /loki/api/v1 is: http://loki:3100, or https://logs-prod-012.grafana.net of Grafana Cloud.",
      required: true,
      env: "LOKI_URL",
      format: "base_url",
      secret: false,
    },
    LOKI_TOKEN: {
      description: "What lets in, where something is needed: reading is enough, the scope logs:read in Grafana Cloud.",
      env: "LOKI_TOKEN",
      format: "token",
    },
    LOKI_USERNAME: {
      description:
        "With it the token is the password of basic authentication: in Grafana Cloud the number of the instance.",
      env: "LOKI_USERNAME",
      format: "token",
      secret: false,
    },
    LOKI_ORG_ID: {
      description: "The tenant, sent as X-Scope-OrgID, where Loki has several.",
      env: "LOKI_ORG_ID",
      format: "token",
      secret: false,
    },
  },
  probe: describeAccess,
  tools: [...lineTools, ...countTools, ...streamTools],
});
