import type { ToolContext } from "skillflow";
import * as z from "zod";
import { withDatadog } from "./client.ts";

/** Both keys at once: the API key lets nobody read monitors, the application key alone is none. */
export async function describeAccess(context: ToolContext): Promise<string> {
  const told = await withDatadog(context, async (ask) => {
    const query = { page_size: 1, page: 0 };
    await ask({ path: "/api/v1/monitor", query, permission: "monitors_read", answer: z.array(z.unknown()) });
    return "both keys are accepted";
  });
  return String(told);
}
