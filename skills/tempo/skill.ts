import { defineSkill } from "skillflow";
import { probeWith, required, secret, setting, variables } from "skillflow/internal";
import * as z from "zod";
import { measureTools } from "./measures.ts";
import { periodParameters, withTempo } from "./service.ts";
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
  // Checks access by requesting one trace of the last ten minutes.
  probe: probeWith(withTempo, async (ask, context) => {
    const query = { q: "{}", limit: 1, ...periodParameters({ from: "now-10m" }, context.now()) };
    const answer = z.object({ traces: z.array(z.unknown()).nullish() });
    const { traces } = await ask({ path: ["search"], query, answer });
    return traces?.length ? "can read traces" : "connected, but there is no trace in the last ten minutes";
  }),
  tools: [...measureTools, ...traceTools],
});
