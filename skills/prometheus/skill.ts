import { defineSkill } from "skillflow";
import { describeAccess } from "./access.ts";
import { alertTools } from "./alerts.ts";
import { nameTools } from "./names.ts";
import { queryTools } from "./queries.ts";
import { targetTools } from "./targets.ts";

export default defineSkill({
  id: "prometheus",
  name: "Prometheus",
  description: "Metrics, alerts, rules and scrape targets in Prometheus, Mimir, Thanos or Grafana Cloud.",
  category: "observability",
  config: {
    PROMETHEUS_URL: {
      description:
        "Address that serves /api/v1: http://prometheus:9090, or https://prometheus-prod-01-eu-west-0.grafana.net/api/prom for Grafana Cloud.",
      required: true,
      env: "PROMETHEUS_URL",
      format: "base_url",
      secret: false,
    },
    PROMETHEUS_TOKEN: {
      description:
        "Token or password, if Prometheus requires one. Read access is enough: the metrics:read scope in Grafana Cloud.",
      env: "PROMETHEUS_TOKEN",
      format: "token",
    },
    PROMETHEUS_USERNAME: {
      description:
        "User name for basic authentication, with the token as password. In Grafana Cloud: the instance number.",
      env: "PROMETHEUS_USERNAME",
      format: "token",
      secret: false,
    },
    PROMETHEUS_ORG_ID: {
      description: "Tenant, sent as X-Scope-OrgID, if Mimir or Cortex has several.",
      env: "PROMETHEUS_ORG_ID",
      format: "token",
      secret: false,
    },
  },
  probe: describeAccess,
  tools: [...queryTools, ...alertTools, ...targetTools, ...nameTools],
});
