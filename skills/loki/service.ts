import { grafanaHeaders, lenient, type Service, toolsWith, workOn } from "skillflow/internal";
import * as z from "zod";

const LOKI: Service = {
  name: "Loki",
  address: "LOKI_URL",
  api: ["loki", "api", "v1"],
  keys: ["LOKI_TOKEN"],
  needs: "permission to read logs (in Grafana Cloud the logs:read scope)",
  headers: grafanaHeaders("LOKI"),
};

export const withLoki = workOn(LOKI);

export const lokiTool = toolsWith(withLoki);

/** Returns the schema of a response with data. Empty label lists are null. */
export function answered<Data extends z.ZodType>(data: Data) {
  return z.object({ status: z.literal("success"), data });
}

export const labels = z.record(z.string(), z.string());

/** Bytes and lines that a query processed. */
export const stats = lenient(
  z.object({ summary: z.object({ totalBytesProcessed: z.number(), totalLinesProcessed: z.number() }) }),
);

export function readOf(told: z.infer<typeof stats>) {
  return told ? { bytes: told.summary.totalBytesProcessed, lines: told.summary.totalLinesProcessed } : undefined;
}
