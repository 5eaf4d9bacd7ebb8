import { authorization, keyOf, lenient, type Service, textLike, toolsWith, workOn } from "skillflow/internal";
import * as z from "zod";

const GRAFANA: Service = {
  name: "Grafana",
  address: "GRAFANA_URL",
  keys: ["GRAFANA_TOKEN"],
  headers: (config) => authorization(undefined, keyOf(config, "GRAFANA_TOKEN")),
};

export const withGrafana = workOn(GRAFANA);

export const grafanaTool = toolsWith(withGrafana);

/** Path of Grafana's built-in Alertmanager. */
export const ALERTMANAGER = ["api", "alertmanager", "grafana", "api", "v2"] as const;

export const NO_ALERTING =
  "This Grafana evaluates no alert rules itself. To read the alerts of a Prometheus, use the skill prometheus.";

export const contains = z.string().min(1).max(200).optional();

export const uid = textLike(/^[A-Za-z0-9_-]+$/, 40);

export const labels = z.record(z.string(), z.string());
export const text = lenient(z.string());
export const number = lenient(z.number());

/** Returns the labels or annotations that users set, without Grafana's internal ones. */
export function ownOf(all: Readonly<Record<string, string>> | null | undefined, ...taken: readonly string[]) {
  return Object.fromEntries(Object.entries(all ?? {}).filter(([key]) => !/^__.*__$/.test(key) && !taken.includes(key)));
}
