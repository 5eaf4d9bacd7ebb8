import type { ToolContext } from "skillflow";
import * as z from "zod";
import { withCloudWatch } from "./service.ts";

/** Checks access by requesting one alarm. */
export async function describeAccess(context: ToolContext): Promise<string> {
  const told = await withCloudWatch("monitoring", context, async (act) => {
    await act("DescribeAlarms", {
      input: { MaxRecords: 1 },
      answer: z.object({ MetricAlarms: z.array(z.unknown()).nullish() }),
    });
    return `can read alarms of ${context.config["AWS_REGION"]}`;
  });
  return String(told);
}
