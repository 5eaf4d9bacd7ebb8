import type { ToolContext } from "skillflow";
import * as z from "zod";
import { nanoseconds } from "./fields.ts";
import { API, answered, NEEDS, withLoki } from "./service.ts";

/** Checks access by requesting the labels of the last ten minutes. */
export async function describeAccess(context: ToolContext): Promise<string> {
  const told = await withLoki(context, async (ask) => {
    const now = Date.now();
    const { data } = await ask({
      path: [...API, "labels"],
      query: { start: nanoseconds(now - 600_000), end: nanoseconds(now) },
      needs: NEEDS,
      answer: answered(z.array(z.string()).nullish()),
    });
    return `queries work; labels in the last ten minutes: ${data?.length ?? 0}`;
  });
  return String(told);
}
