import { defineSkill } from "skillflow";
import { probeWith, required, secret, setting, variables } from "skillflow/internal";
import * as z from "zod";
import { alertTools } from "./alerts.ts";
import { nameTools } from "./names.ts";
import { queryTools } from "./queries.ts";
import { answered, withPrometheus } from "./service.ts";
import { targetTools } from "./targets.ts";

export default defineSkill({
  id: "prometheus",
  name: "Prometheus",
  description: "Metrics, alerts, rules and scrape targets in Prometheus, Mimir, Thanos or Grafana Cloud.",
  category: "observability",
  config: variables({
    PROMETHEUS_URL: required(
      setting(
        "base_url",
        "Address that serves /api/v1: http://prometheus:9090, or https://prometheus-prod-01-eu-west-0.grafana.net/api/prom for Grafana Cloud.",
      ),
    ),
    PROMETHEUS_TOKEN: secret(
      "token",
      "Token or password, if Prometheus requires one. Read access is enough: the metrics:read scope in Grafana Cloud.",
    ),
    PROMETHEUS_USERNAME: setting(
      "token",
      "User name for basic authentication, with the token as password. In Grafana Cloud: the instance number.",
    ),
    PROMETHEUS_ORG_ID: setting("token", "Tenant, sent as X-Scope-OrgID, if Mimir or Cortex has several."),
  }),
  // Checks access with a query that every server can answer.
  probe: probeWith(withPrometheus, async (ask) => {
    const answer = answered(z.object({ resultType: z.string() }));
    await ask({ path: ["query"], query: { query: "vector(1)" }, answer });
    return "queries work";
  }),
  tools: [...queryTools, ...alertTools, ...targetTools, ...nameTools],
});
