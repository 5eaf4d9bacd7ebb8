import * as z from "zod";
import { type Fitting, lazy } from "../../base/values.ts";
import { matching, optional, text } from "../../skill/field.ts";
import { conditionSchema } from "./rule.ts";

/** Steps of a `steps` node: tool calls that no model chooses. */

const callFields = lazy(() => ({
  tool: text().describe(
    "Name of the tool: as a model sees it, or its own name if only one of the node's skills has it",
  ),
  with: optional(
    z.record(z.string(), z.json()),
    "Input of the call. {{path}} inserts a value. A member written name? is left out if its path does not resolve.",
  ),
}));

const stepCall = lazy(() => z.strictObject(callFields()));
export type StepCall = Fitting<typeof stepCall>;

const nodeStep = lazy(() =>
  z
    .strictObject({
      id: matching(
        /^(?!(?:error|evals|fail_soft)$)[a-z][a-z0-9_]*$/,
        "must begin with a letter, have only a-z, 0-9 and _, and not be error, evals or fail_soft",
      ).describe("Name of the step, unique in the node. Later steps read its result at steps.ID."),
      ...stepCall().partial().shape,
      first_of: optional(z.array(stepCall()).min(1), "Calls of which the first with an available skill is made"),
      if: conditionSchema().optional(),
      on_error: optional(
        z.enum(["fail", "skip"]),
        "If the step fails: fail the node (default), or leave the step out of the node's data",
      ),
    })
    .refine((step) => (step.tool === undefined) !== (step.first_of === undefined), "needs either tool or first_of")
    .refine((step) => step.with === undefined || step.tool !== undefined, "with needs tool")
    .meta({ oneOf: [{ required: ["tool"] }, { required: ["first_of"] }], dependentRequired: { with: ["tool"] } }),
);
export type NodeStep = Fitting<typeof nodeStep>;

const MOST_STEPS = 50;

export const stepsSchema = lazy(() =>
  z
    .array(nodeStep())
    .min(1)
    .max(MOST_STEPS)
    .superRefine((steps, context) => {
      const seen = new Set<string>();
      for (const [index, { id }] of steps.entries()) {
        const message = `another step has the id ${id}`;
        if (seen.has(id)) context.addIssue({ code: "custom", path: [index, "id"], message });
        seen.add(id);
      }
    }),
);

export function callsOf({ tool, with: given, first_of }: NodeStep): readonly StepCall[] {
  return first_of ?? (tool === undefined ? [] : [{ tool, ...(given ? { with: given } : {}) }]);
}
