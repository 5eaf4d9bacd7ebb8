import { defineSkill } from "skillflow";
import { describeAccess } from "./access.ts";
import { alertTools } from "./alerts.ts";
import { nameTools } from "./names.ts";
import { queryTools } from "./queries.ts";
import { targetTools } from "./targets.ts";

export default defineSkill({
  id: "prometheus",
  name: "Prometheus",
  description: "Metrics, alerts, rules and scrape targets of Prometheus, Mimir, Thanos or Grafana Cloud.",
  category: "observability",
  config: {
    PROMETHEUS_URL: {
      description:
        "Where /api/v1 is: http://prometheus:9090, or https://prometheus-prod-01-eu-west-0.grafana.net/api/prom of Grafana Cloud.",
      required: true,
      env: "PROMETHEUS_URL",
      format: "base_url",
      secret: false,
    },
    PROMETHEUS_TOKEN: {
      description:
        "What lets in, where something is needed: reading is enough, the scope metrics:read in Grafana Cloud.",
      env: "PROMETHEUS_TOKEN",
      format: "token",
    },
    PROMETHEUS_USERNAME: {
      description:
        "With it the token is the password of basic authentication: in Grafana Cloud the number of the instance.",
      env: "PROMETHEUS_USERNAME",
      format: "token",
      secret: false,
    },
    PROMETHEUS_ORG_ID: {
      description: "The tenant, sent as X-Scope-OrgID, where Mimir or Cortex has several.",
      env: "PROMETHEUS_ORG_ID",
      format: "token",
      secret: false,
    },
  },
  probe: describeAccess,
  tools: [...queryTools, ...alertTools, ...targetTools, ...nameTools],
});
