import type { ToolContext } from "skillflow";
import * as z from "zod";
import { withBetterStack } from "./service.ts";

/** Checks that the token can read monitors, which a telemetry token cannot. */
export async function describeAccess(context: ToolContext): Promise<string> {
  const told = await withBetterStack(context, async (ask) => {
    await ask({ path: ["v2", "monitors"], query: { per_page: 1 }, answer: z.object({ data: z.array(z.unknown()) }) });
    return "the token reads monitors";
  });
  return String(told);
}
