import type { ToolContext } from "skillflow";
import { type Ask, grafanaHeaders, lenient, type Service, toolsWith, withService } from "skillflow/internal";
import * as z from "zod";

const LOKI: Service = {
  name: "Loki",
  address: "LOKI_URL",
  keys: ["LOKI_TOKEN"],
  headers: grafanaHeaders("LOKI"),
};

export function withLoki(context: ToolContext, work: (ask: Ask) => Promise<unknown>) {
  return withService(LOKI, context, work);
}

export const lokiTool = toolsWith(withLoki);

export const API = ["loki", "api", "v1"] as const;
export const NEEDS = "permission to read logs (in Grafana Cloud the logs:read scope)";

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
