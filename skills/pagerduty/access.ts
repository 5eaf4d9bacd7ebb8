import type { ToolContext } from "skillflow";
import * as z from "zod";
import { READS, withPagerDuty } from "./service.ts";

/** Checks access by requesting one incident. */
export async function describeAccess(context: ToolContext): Promise<string> {
  const told = await withPagerDuty(context, async (ask) => {
    const answer = z.object({ incidents: z.array(z.object({ id: z.string() })) });
    await ask({ path: ["incidents"], query: { limit: 1 }, needs: READS, answer });
    return context.config["PAGERDUTY_FROM"] ? "can read incidents" : "can read incidents; PAGERDUTY_FROM is not set";
  });
  return String(told);
}
