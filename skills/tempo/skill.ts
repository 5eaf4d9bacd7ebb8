import { defineSkill } from "skillflow";
import { required, secret, setting, variables } from "skillflow/internal";
import { describeAccess } from "./access.ts";
import { measureTools } from "./measures.ts";
import { traceTools } from "./traces.ts";

export default defineSkill({
  id: "tempo",
  name: "Tempo",
  description:
    "Traces in Grafana Tempo or Grafana Cloud: rates, errors and latencies of spans, traces by TraceQL, one trace as a tree.",
  category: "observability",
  config: variables({
    TEMPO_URL: required(
      setting(
        "base_url",
        "Address that serves /api/search: http://tempo:3200, https://tempo-prod-01.grafana.net/tempo for Grafana Cloud, or /api/datasources/proxy/uid/UID under Grafana's address.",
      ),
    ),
    TEMPO_TOKEN: secret(
      "token",
      "Token or password, if Tempo requires one. Read access is enough: the traces:read scope in Grafana Cloud.",
    ),
    TEMPO_USERNAME: setting(
      "token",
      "User name for basic authentication, with the token as password. In Grafana Cloud: the instance number.",
    ),
    TEMPO_ORG_ID: setting("token", "Tenant, sent as X-Scope-OrgID, if Tempo has several."),
  }),
  probe: describeAccess,
  tools: [...measureTools, ...traceTools],
});
