import type { ToolContext } from "skillflow";
import * as z from "zod";
import { answered, NEEDS, withPrometheus } from "./service.ts";

/** Checks access with a query that every server can answer. */
export async function describeAccess(context: ToolContext): Promise<string> {
  const told = await withPrometheus(context, async (ask) => {
    const answer = answered(z.object({ resultType: z.string() }));
    await ask({ path: ["api", "v1", "query"], query: { query: "vector(1)" }, needs: NEEDS, answer });
    return "queries work";
  });
  return String(told);
}
