import { grafanaHeaders, lenient, type Service, toolsWith, workOn } from "skillflow/internal";
import * as z from "zod";

const PROMETHEUS: Service = {
  name: "Prometheus",
  address: "PROMETHEUS_URL",
  api: ["api", "v1"],
  keys: ["PROMETHEUS_TOKEN"],
  needs: "permission to read metrics (in Grafana Cloud the metrics:read scope)",
  headers: grafanaHeaders("PROMETHEUS"),
};

export const withPrometheus = workOn(PROMETHEUS);

export const prometheusTool = toolsWith(withPrometheus);

/** Returns the schema of a response. Warnings report what a query left out. */
export function answered<Data extends z.ZodType>(data: Data) {
  return z.object({
    status: z.literal("success"),
    data,
    warnings: lenient(z.array(z.string())),
    infos: lenient(z.array(z.string())),
  });
}

interface Remarks {
  readonly warnings?: readonly string[] | null | undefined;
  readonly infos?: readonly string[] | null | undefined;
}

/** Returns Prometheus's own remarks about an incomplete response. */
export function remarksOf({ warnings, infos }: Remarks): readonly string[] | undefined {
  const all = [...(warnings ?? []), ...(infos ?? [])];
  return all.length > 0 ? all.slice(0, 5) : undefined;
}

export const labels = z.record(z.string(), z.string());
export const text = lenient(z.string());
