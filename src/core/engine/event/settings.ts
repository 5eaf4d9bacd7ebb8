import * as z from "zod";
import { type Fitting, lazy } from "../../base/values.ts";
import { modelChoice } from "../../document/model-list.ts";
import { optional } from "../../skill/field.ts";

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
    model: modelChoice().describe("Model, provider:name, or a list of models"),
    judge_model: modelChoice(),
    writes: z.enum(["allow", "plan", "deny"]),
    limits: limitsSchema(),
    max_turns: z.int(),
    node_timeout_ms: z.number().optional(),
    tool_timeout_ms: z.number(),
    context_mode: z
      .enum(["full", "readOnDemand"])
      .describe(
        "Whether the prompt contains the instructions of skills (full), or a list of skills that the model can read (readOnDemand)",
      ),
    allow_public: optional(z.boolean(), "Allows writes of text from private sources to public targets"),
  }),
);
export type Settings = Fitting<typeof settingsSchema>;

export const daySchema = lazy(() =>
  z.object({
    date: z.string().describe("UTC date"),
    runs: z.int().describe("Runs of the workflow started that day, including this one"),
    cost_usd: z.number().describe("Cost of the runs that ended"),
  }),
);
