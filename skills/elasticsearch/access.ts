import type { ToolContext } from "skillflow";
import * as z from "zod";
import { withElasticsearch } from "./service.ts";

/** Returns the cluster's name and version. */
export async function describeAccess(context: ToolContext): Promise<string> {
  const told = await withElasticsearch(context, async (ask) => {
    const version = z.object({ number: z.string(), distribution: z.string().optional() });
    const answer = z.object({ cluster_name: z.string(), version });
    const cluster = await ask({ path: [], needs: "the monitor privilege on the cluster", answer });
    return `${cluster.cluster_name}, ${cluster.version.distribution ?? "elasticsearch"} ${cluster.version.number}`;
  });
  return String(told);
}
