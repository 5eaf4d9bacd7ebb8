import * as z from "zod";
import { lazy } from "../../base/values.ts";
import { durationSchema, positive } from "../../skill/field.ts";

export const workflowLimitsSchema = lazy(() =>
  z.strictObject({
    max_cost_usd: z.number().positive().optional().describe("Maximum cost of model calls, in US dollars"),
    max_tokens: positive().optional().describe("Maximum input and output tokens"),
    max_steps: positive().optional().describe("Maximum node visits (default 200)"),
    timeout: durationSchema().optional().describe("Time limit of the whole run: seconds, or 500ms, 90s, 10m, 2h, 14d"),
    per_day: z
      .strictObject({
        max_cost_usd: z
          .number()
          .positive()
          .optional()
          .describe("Maximum cost of the model calls of all runs, in US dollars"),
        max_runs: positive().optional().describe("Maximum number of runs started"),
      })
      .optional()
      .describe("Limits for all runs of the workflow per UTC day. Usage is stored with the states."),
  }),
);
