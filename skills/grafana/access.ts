import type { ToolContext } from "skillflow";
import * as z from "zod";
import { withGrafana } from "./service.ts";

/** Checks access with a search, which every role is allowed. */
export async function describeAccess(context: ToolContext): Promise<string> {
  const told = await withGrafana(context, async (ask) => {
    const answer = z.array(z.object({ uid: z.string() }));
    const found = await ask({ path: ["api", "search"], query: { type: "dash-db", limit: 1 }, answer });
    return found.length > 0 ? "can read dashboards" : "connected, but this token can see no dashboards";
  });
  return String(told);
}
