import * as z from "zod";
import { durationSchema, lazyStrictObject, optional, positive } from "../../skill/field.ts";

export const workflowLimitsSchema = lazyStrictObject(() => ({
  max_cost_usd: optional(z.number().positive(), "Maximum cost of model calls, in US dollars"),
  max_tokens: optional(positive(), "Maximum input and output tokens"),
  max_steps: optional(positive(), "Maximum node visits (default 200)"),
  timeout: optional(durationSchema, "Time limit of the whole run: seconds, or 500ms, 90s, 10m, 2h, 14d"),
  per_day: optional(
    z.strictObject({
      max_cost_usd: optional(z.number().positive(), "Maximum cost of the model calls of all runs, in US dollars"),
      max_runs: optional(positive(), "Maximum number of runs started"),
    }),
    "Limits for all runs of the workflow per UTC day. Usage is stored with the states.",
  ),
}));
