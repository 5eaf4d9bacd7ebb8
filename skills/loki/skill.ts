import { defineSkill } from "skillflow";
import { probeWith, required, secret, setting, variables, wholePages } from "skillflow/internal";
import * as z from "zod";
import { countTools } from "./counts.ts";
import { bounds } from "./fields.ts";
import { lineTools } from "./lines.ts";
import { answered, withLoki } from "./service.ts";
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
  // Checks access by requesting the labels of the last ten minutes.
  probe: probeWith(withLoki, async (ask) => {
    const now = Date.now();
    const { data } = await ask({
      path: ["labels"],
      query: bounds({ from: now - 600_000, to: now }),
      answer: answered(z.array(z.string()).nullish()),
    });
    return `queries work; labels in the last ten minutes: ${data?.length ?? 0}`;
  }),
  tools: [...lineTools, ...countTools, ...streamTools].map(wholePages),
});
