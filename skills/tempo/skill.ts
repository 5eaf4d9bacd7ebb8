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
        "Where /api/search is: http://tempo:3200, https://tempo-prod-01.grafana.net/tempo of Grafana Cloud, or below Grafana /api/datasources/proxy/uid/UID.",
      required: true,
      env: "TEMPO_URL",
      format: "base_url",
      secret: false,
    },
    TEMPO_TOKEN: {
      description:
        "What lets in, where something is needed: reading is enough, the scope traces:read in Grafana Cloud.",
      env: "TEMPO_TOKEN",
      format: "token",
    },
    TEMPO_USERNAME: {
      description:
        "With it the token is the password of basic authentication: in Grafana Cloud the number of the instance.",
      env: "TEMPO_USERNAME",
      format: "token",
      secret: false,
    },
    TEMPO_ORG_ID: {
      description: "The tenant, sent as X-Scope-OrgID, where Tempo has several.",
      env: "TEMPO_ORG_ID",
      format: "token",
      secret: false,
    },
  },
  probe: describeAccess,
  tools: [...measureTools, ...traceTools],
});
