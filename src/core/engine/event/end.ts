import * as z from "zod";
import { type Fitting, lazy } from "../../base/values.ts";

export const runErrorSchema = lazy(() =>
  z.object({
    code: z.string(),
    message: z.string(),
    hint: z.string().optional(),
    node: z.string().optional(),
  }),
);
export type RunError = Fitting<typeof runErrorSchema>;

export const RUN_STATUSES = ["succeeded", "failed", "stopped", "interrupted", "waiting", "skipped"] as const;
export type RunStatus = (typeof RUN_STATUSES)[number];

/** Where a run did less than its workflow asks for, although it went on. */
export const degradedSchema = lazy(() =>
  z.array(
    z.object({
      node: z.string(),
      skill: z.string().optional().describe("absent if the node itself fell short"),
      reason: z.string(),
    }),
  ),
);
export type Degraded = Fitting<typeof degradedSchema>[number];

/** A word that a run waits for. */
export const waitingSchema = lazy(() =>
  z.object({
    node: z.string().describe("as signal takes it: ask, top/each[fp-81]/ask"),
    ask: z.string(),
    since: z.string().describe("ISO 8601"),
    until: z.string().optional().describe("ISO 8601; absent: for ever"),
    digest: z.string().optional().describe("of the plan that is asked about"),
  }),
);
export type Waiting = Fitting<typeof waitingSchema>;
