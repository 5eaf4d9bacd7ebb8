import { each, firstOf, mentions, resultSchema, TEAM_SNAPSHOT } from "skillflow/internal";
import * as z from "zod";
import { contains, limit } from "./fields.ts";
import { answered, labels, prometheusTool, text } from "./service.ts";

const NEEDS = "permission to read rules (in Grafana Cloud the rules:read scope)";
const INSTEAD =
  "This server evaluates no rules. If another one does, set PROMETHEUS_URL to that one. query {query: 'ALERTS'} may show the alerts.";

const RULE = "name group state query for_seconds:number health last_error alerts:number labels:any annotations:any";

export const alertTools = [
  prometheusTool({
    name: "list_alerts",
    description:
      "Lists firing and pending alerts, oldest first: labels, annotations, start time, value. Call this first. Does not show Alertmanager's silences. For the query of an alert: list_rules.",
    ...TEAM_SNAPSHOT,
    selects: ["state", "contains"],
    input_schema: z.strictObject({
      state: z.enum(["firing", "pending"]).optional().describe("Default: both."),
      contains: contains.describe("In the name, labels or annotations. Case-insensitive."),
      limit: limit.describe("Default 20."),
    }),
    output_schema: resultSchema(
      "alerts firing pending",
      `alerts:[{ name state since value labels:any annotations:any }] firing:number pending:number matching:number
        left_out:number note`,
    ),
    work: async (ask, input) => {
      const { data } = await ask({ path: ["alerts"], needs: NEEDS, instead: INSTEAD, answer: alertsAnswer });
      const count = (state: string) => data.alerts.filter((alert) => alert.state === state).length;
      const matching = data.alerts
        .filter((alert) => (!input.state || alert.state === input.state) && mentions(alert, input.contains))
        .sort((a, b) => ((a.activeAt ?? "") < (b.activeAt ?? "") ? -1 : 1));
      const { shown, ...counts } = firstOf(matching, input.limit ?? 20);
      return {
        alerts: shown.map(({ labels: { alertname, ...others }, state, activeAt, value, annotations }) => {
          return { name: alertname, state, since: activeAt, value, labels: others, annotations };
        }),
        firing: count("firing"),
        pending: count("pending"),
        ...counts,
        note: data.alerts.length === 0 ? "The rules are evaluated, and no alert is firing or pending." : undefined,
      };
    },
  }),
  prometheusTool({
    name: "list_rules",
    description:
      "Lists alerting rules, firing first: the PromQL, how long it must hold, whether its evaluation fails. Give `contains`: a server has hundreds of rules. For firing alerts: list_alerts.",
    ...TEAM_SNAPSHOT,
    selects: ["contains", "state"],
    input_schema: z.strictObject({
      contains: contains.describe("In the name, query, labels or annotations."),
      state: z.enum(["firing", "pending", "inactive"]).optional(),
      limit: limit.describe("Default 10."),
    }),
    output_schema: resultSchema(
      "rules rules_total",
      `rules:[{ ${RULE} }] rules_total:number matching:number left_out:number`,
    ),
    work: async (ask, input) => {
      const { data } = await ask({
        path: ["rules"],
        query: { type: "alert" },
        needs: NEEDS,
        instead: INSTEAD,
        answer: rulesAnswer,
      });
      const all = data.groups.flatMap(({ name: group, rules }) => rules.map((rule) => ({ ...rule, group })));
      const matching = all
        .filter((rule) => (!input.state || rule.state === input.state) && mentions(rule, input.contains))
        .sort((a, b) => rank(a.state) - rank(b.state));
      const { shown, ...counts } = firstOf(matching, input.limit ?? 10);
      return {
        rules: shown.map(({ duration, lastError, alerts, ...rule }) => {
          return { ...rule, for_seconds: duration, last_error: lastError || undefined, alerts: alerts?.length ?? 0 };
        }),
        rules_total: all.length,
        ...counts,
      };
    },
  }),
];

const alert = z.object({
  labels,
  annotations: labels.nullish(),
  state: z.string(),
  activeAt: text,
  value: z.union([z.string(), z.number().transform(String)]).nullish(),
});
const alertsAnswer = answered(z.object({ alerts: z.array(alert) }));

const rule = z.object({
  ...each(z.string(), "name query"),
  state: text,
  duration: z.number().nullish(),
  ...each(text, "health lastError"),
  labels: labels.nullish(),
  annotations: labels.nullish(),
  alerts: z.array(z.unknown()).nullish(),
});
const rulesAnswer = answered(z.object({ groups: z.array(z.object({ name: z.string(), rules: z.array(rule) })) }));

function rank(state: string | null | undefined): number {
  return state === "firing" ? 0 : state === "pending" ? 1 : 2;
}
