import * as z from "zod";
import { lazy } from "../../base/values.ts";
import { durationSchema, positive } from "../../skill/field.ts";

export const workflowLimitsSchema = lazy(() =>
  z.strictObject({
    max_cost_usd: z.number().positive().optional().describe("US dollars of model calls"),
    max_tokens: positive().optional().describe("tokens that models read and write"),
    max_steps: positive().optional().describe("node visits; default 200"),
    timeout: durationSchema().optional().describe("of the whole run: seconds, or 500ms, 90s, 10m, 2h, 14d"),
    per_day: z
      .strictObject({
        max_cost_usd: z.number().positive().optional().describe("US dollars of model calls of all its runs"),
        max_runs: positive().optional().describe("runs that begin"),
      })
      .optional()
      .describe("what all runs of the workflow may spend in a day (UTC), counted beside the states"),
  }),
);
