import { clip, each, firstOf, lenient, mentions, resultSchema, TEAM_SNAPSHOT } from "skillflow/internal";
import * as z from "zod";
import { ALERTMANAGER, contains, grafanaTool, labels, NO_ALERTING, number, ownOf, text } from "./service.ts";

const ALERT = "name state since folder rule_uid labels:any annotations:any values dashboard panel silenced_by:[text]";

const RULE =
  "name uid folder group state health last_error query for_seconds:number labels:any annotations:any instances:any";

export const alertTools = [
  grafanaTool({
    name: "list_alerts",
    description:
      "Lists alerts that are firing now, longest first: labels, measured values, start time, whether a silence suppresses them, dashboard and panel. Call this first. For the query of an alert, and rules that fail or lack data: list_rules.",
    ...TEAM_SNAPSHOT,
    selects: ["contains", "silenced"],
    input_schema: z.strictObject({
      contains: contains.describe("In the labels or annotations. Case-insensitive."),
      silenced: z
        .boolean()
        .optional()
        .describe("Only alerts that a silence suppresses, or only the others. Default: both."),
      limit: z.int().min(1).max(100).optional().describe("Default 20."),
    }),
    output_schema: resultSchema(
      "alerts active suppressed",
      `alerts:[{ ${ALERT} }] active:number suppressed:number matching:number left_out:number note`,
    ),
    work: async (ask, input) => {
      const all = await ask({
        path: [...ALERTMANAGER, "alerts"],
        query: { active: true, silenced: true, inhibited: true },
        needs: "the alert.instances:read permission",
        instead: NO_ALERTING,
        answer: z.array(alert),
      });
      const isHeld = ({ status }: z.infer<typeof alert>) => status.state === "suppressed";
      const matching = all
        .filter((one) => input.silenced === undefined || isHeld(one) === input.silenced)
        .filter((one) => mentions([one.labels, one.annotations], input.contains))
        .sort((a, b) => ((a.startsAt ?? "") < (b.startsAt ?? "") ? -1 : 1));
      const { shown, ...counts } = firstOf(matching, input.limit ?? 20);
      return {
        alerts: shown.map(({ labels: own, annotations, status, startsAt }) => ({
          name: own["alertname"],
          state: status.state,
          since: startsAt,
          folder: own["grafana_folder"],
          rule_uid: own["__alert_rule_uid__"],
          labels: ownOf(own, "alertname", "grafana_folder"),
          annotations: ownOf(annotations),
          values: annotations?.["__value_string__"] && clip(annotations["__value_string__"], 500),
          dashboard: annotations?.["__dashboardUid__"],
          panel: annotations?.["__panelId__"],
          silenced_by: status.silencedBy?.length ? status.silencedBy : undefined,
        })),
        active: all.filter((one) => !isHeld(one)).length,
        suppressed: all.filter(isHeld).length,
        ...counts,
        note: all.length === 0 ? "Grafana's rules are evaluated, and none of their alerts is firing." : undefined,
      };
    },
  }),
  grafanaTool({
    name: "list_rules",
    description:
      "Lists alert rules, firing first, then those that fail or lack data: the query, how long it must hold, and how many instances are in which state. Give `contains`: there may be hundreds of rules. For firing alerts, list_alerts is cheaper.",
    ...TEAM_SNAPSHOT,
    selects: ["contains", "state", "health"],
    input_schema: z.strictObject({
      contains: contains.describe("In the name, folder, query, labels or annotations."),
      state: z.enum(["firing", "pending", "inactive"]).optional(),
      health: z.enum(["ok", "error", "nodata"]).optional().describe("Result of the last evaluation."),
      limit: z.int().min(1).max(100).optional().describe("Default 10."),
    }),
    output_schema: resultSchema(
      "rules rules_total",
      `rules:[{ ${RULE} }] rules_total:number matching:number left_out:number`,
    ),
    work: async (ask, input) => {
      const { data } = await ask({
        path: ["api", "prometheus", "grafana", "api", "v1", "rules"],
        query: { limit_alerts: 1 },
        needs: "the alert.rules:read permission",
        instead: NO_ALERTING,
        answer: rulesAnswer,
      });
      const all = data.groups.flatMap(({ name: group, file: folder, rules }) =>
        rules.map((rule) => ({ ...rule, group, folder })),
      );
      const matching = all
        .filter((rule) => !input.state || rule.state === input.state)
        .filter(({ health }) => !input.health || (health ?? "").startsWith(input.health.slice(0, 3)))
        .filter((rule) => mentions(rule, input.contains))
        .sort((a, b) => rank(a) - rank(b));
      const { shown, ...counts } = firstOf(matching, input.limit ?? 10);
      return {
        rules: shown.map(({ query, duration, lastError, totals, ...rule }) => ({
          ...rule,
          labels: ownOf(rule.labels),
          annotations: ownOf(rule.annotations),
          query: query && clip(query, 1500),
          for_seconds: duration,
          last_error: lastError || undefined,
          instances: totals,
        })),
        rules_total: all.length,
        ...counts,
      };
    },
  }),
];

const alert = z.object({
  labels,
  annotations: labels.nullish(),
  startsAt: text,
  status: z.object({ state: z.string(), silencedBy: lenient(z.array(z.string())) }),
});

const rule = z.object({
  name: z.string(),
  ...each(text, "uid query state health lastError"),
  duration: number,
  labels: labels.nullish(),
  annotations: labels.nullish(),
  totals: lenient(z.record(z.string(), z.number())),
});
type Rule = z.infer<typeof rule>;
const rulesAnswer = z.object({
  data: z.object({ groups: z.array(z.object({ name: z.string(), file: text, rules: z.array(rule) })) }),
});

function rank({ state, health }: Rule): number {
  if (state === "firing") return 0;
  if (health && health !== "ok") return 1;
  return state === "pending" ? 2 : 3;
}
