import * as z from "zod";
import { type Fitting, isObject, lazy } from "../../base/values.ts";
import { json, jsonObject, lazyObject, optional } from "../../skill/field.ts";

const evalResultSchema = lazyObject(() => ({
  name: z.string(),
  kind: z.enum(["value", "function", "evidence", "judge"]),
  pass: z.boolean(),
  reasoning: z.string().optional(),
  score: z.number().optional(),
}));
export type EvalResult = Fitting<typeof evalResultSchema>;

export const blobInfoSchema = lazy(() => z.object({ blob_id: z.string(), kind: z.string(), size_bytes: z.int() }));

/** Reference to a call's result: `r7` is the result of the run's seventh recorded call. */
export const ref = lazy(() =>
  z.string().describe("Reference of the call's result, r<n>, where n counts the run's recorded calls"),
);

const toolCallSchema = lazyObject(() => ({
  ref: optional(ref(), "Absent if the call was not started"),
  tool: z.string(),
  input: json(),
  output: optional(json(), "Absent on error"),
  error: z.string().optional(),
  step: optional(z.string(), "Step of a steps node that made the call"),
  planned: optional(z.boolean(), "The call was recorded as an operation of the plan, not executed"),
}));
export type ToolCall = Fitting<typeof toolCallSchema>;

/** Explains why a call failed: its error, or a truthy `error` in its output. Undefined if it succeeded. */
export function callFailure({ error, output }: Pick<ToolCall, "error" | "output">): string | undefined {
  if (error !== undefined) return error;
  const said = isObject(output) ? output.error : undefined;
  return said ? String(typeof said === "object" ? JSON.stringify(said) : said) : undefined;
}

/** Reasons for which the executor itself fails a node. The words of its error may come from a provider or a tool. */
export const FAILURE_CAUSES = ["max_turns", "timeout", "limits", "evals", "in_doubt"] as const;
export type FailureCause = (typeof FAILURE_CAUSES)[number];

export const CITE_FAULTS = [
  "unknown_ref",
  "no_evidence",
  "own_code",
  "bad_quote",
  "not_found",
  "crosses_records",
] as const;
export type CiteFault = (typeof CITE_FAULTS)[number];

export const textFault = lazy(() =>
  z.object({ path: z.string(), missing: z.array(z.string()).describe("Facts that no quoted record contains") }),
);

export type TextFault = Fitting<typeof textFault>;

export const evidenceCountsSchema = lazyObject(() => ({
  claims: z.int().describe("Number before any are removed"),
  supported: z.int(),
  dropped: z.int(),
  cites: z.int().describe("Number before any are removed"),
  held: z.int().describe("Cites whose quote is in the result that they name"),
  partial: optional(z.int(), "Supported claims of which not all cites hold. Absent if there are none."),
  unbound: optional(z.int(), "Claims with facts that no quoted record contains. Absent if there are none."),
  dropped_claims: optional(
    z.array(z.object({ claim: z.string(), reason: z.string() })),
    "Removed and refuted claims with reasons. Absent if there are none.",
  ),
  texts: optional(
    z.array(
      textFault().extend({
        node: optional(z.string(), "In the sum of a run: path of the node, such as each.items[0].data.results.look"),
      }),
    ),
    "Fields of the answer with facts that no claim shows. Absent if there are none.",
  ),
}));
export type EvidenceCounts = Fitting<typeof evidenceCountsSchema>;

/** Visit in the trace. `iteration` counts the node's visits from 1. `retryAttempt` is absent without a retry. */
export const traceStepSchema = lazyObject(() => ({
  node: z.string(),
  status: z.enum(["success", "skipped", "failed"]),
  iteration: z.int(),
  retryAttempt: z.int().optional(),
  denied: optional(z.array(z.string()), "Write steps that were skipped, because writes are denied"),
}));
export type TraceStep = Fitting<typeof traceStepSchema>;

export const traceEdgeSchema = lazyObject(() => ({ from: z.string(), to: z.string(), reason: z.string() }));
export type TraceEdge = Fitting<typeof traceEdgeSchema>;

export const nodeResultSchema = lazyObject(() => ({
  status: z.enum(["success", "skipped", "failed"]),
  data: jsonObject(),
  toolCalls: z.array(toolCallSchema()),
  evals: z.array(evalResultSchema()).optional(),
  evidence: evidenceCountsSchema().optional(),
}));
export type NodeResult = Fitting<typeof nodeResultSchema>;
