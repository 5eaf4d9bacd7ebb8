import type { ToolContext } from "skillflow";
import * as z from "zod";
import { withDatadog } from "./service.ts";

/** Checks both keys with one request: reading monitors needs the API key and the application key. */
export async function describeAccess(context: ToolContext): Promise<string> {
  const told = await withDatadog(context, async (ask) => {
    const query = { page_size: 1, page: 0 };
    await ask({ path: ["api", "v1", "monitor"], query, needs: "monitors_read", answer: z.array(z.unknown()) });
    return "both keys are valid";
  });
  return String(told);
}
