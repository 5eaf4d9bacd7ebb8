import * as z from "zod";
import { type Fitting, lazy } from "../../base/values.ts";

const limitsSchema = lazy(() =>
  z.object({
    max_cost_usd: z.number().optional(),
    max_tokens: z.number().optional(),
    max_steps: z.number().optional(),
    timeout_ms: z.number().optional(),
    max_cost_usd_per_day: z.number().optional(),
    max_runs_per_day: z.number().optional(),
  }),
);

/** Recorded settings of a run, which `resume` can change. Durations are in milliseconds. */
export const settingsSchema = lazy(() =>
  z.object({
    model: z.string().describe("provider:name"),
    judge_model: z.string(),
    writes: z.enum(["allow", "plan", "deny"]),
    limits: limitsSchema(),
    max_turns: z.int(),
    node_timeout_ms: z.number().optional(),
    tool_timeout_ms: z.number(),
    context_mode: z
      .enum(["full", "readOnDemand"])
      .describe("whether skills' instructions stand in the prompt, or a list of them that the model reads from"),
    allow_public: z
      .boolean()
      .optional()
      .describe("text from private sources may be written where all the world reads it"),
  }),
);
export type Settings = Fitting<typeof settingsSchema>;

export const daySchema = lazy(() =>
  z.object({
    date: z.string().describe("UTC"),
    runs: z.int().describe("of the workflow begun that day, this one counted"),
    cost_usd: z.number().describe("what those that ended had cost"),
  }),
);
