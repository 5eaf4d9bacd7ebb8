import type { ToolContext } from "skillflow";
import * as z from "zod";
import { NEEDS, periodParameters, withTempo } from "./service.ts";

/** Checks access by requesting one trace of the last ten minutes. */
export async function describeAccess(context: ToolContext): Promise<string> {
  const told = await withTempo(context, async (ask) => {
    const query = { q: "{}", limit: 1, ...periodParameters({ from: "now-10m" }, context.now()) };
    const answer = z.object({ traces: z.array(z.unknown()).nullish() });
    const { traces } = await ask({ path: ["api", "search"], query, needs: NEEDS, answer });
    return traces?.length ? "can read traces" : "connected, but there is no trace in the last ten minutes";
  });
  return String(told);
}
