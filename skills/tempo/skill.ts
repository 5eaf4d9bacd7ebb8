import { defineSkill } from "skillflow";
import { describeAccess } from "./access.ts";
import { measureTools } from "./measures.ts";
import { traceTools } from "./traces.ts";

export default defineSkill({
  id: "tempo",
  name: "Tempo",
  description:
    "Traces in Grafana Tempo or Grafana Cloud: rates, errors and latencies of spans, traces by TraceQL, one trace as a tree.",
  category: "observability",
  config: {
    TEMPO_URL: {
      description:
        "Address that serves /api/search: http://tempo:3200, https://tempo-prod-01.grafana.net/tempo for Grafana Cloud, or /api/datasources/proxy/uid/UID under Grafana's address.",
      required: true,
      env: "TEMPO_URL",
      format: "base_url",
      secret: false,
    },
    TEMPO_TOKEN: {
      description:
        "Token or password, if Tempo requires one. Read access is enough: the traces:read scope in Grafana Cloud.",
      env: "TEMPO_TOKEN",
      format: "token",
    },
    TEMPO_USERNAME: {
      description:
        "User name for basic authentication, with the token as password. In Grafana Cloud: the instance number.",
      env: "TEMPO_USERNAME",
      format: "token",
      secret: false,
    },
    TEMPO_ORG_ID: {
      description: "Tenant, sent as X-Scope-OrgID, if Tempo has several.",
      env: "TEMPO_ORG_ID",
      format: "token",
      secret: false,
    },
  },
  probe: describeAccess,
  tools: [...measureTools, ...traceTools],
});
