import { type Diagnostic, errorAt, warningAt } from "../../base/diagnostic.ts";
import { shortText } from "../../base/preview.ts";
import type { JsonObject } from "../../base/values.ts";
import { unclosedIn } from "../fill.ts";
import { callsOf } from "../workflow/step.ts";
import type { Workflow } from "../workflow/workflow.ts";
import { readCondition } from "./condition-mistakes.ts";

/** Roots of paths in `with`, in addition to the input and the nodes. */
export const WITH_ROOTS: readonly string[] = ["run", "finding"];

/** Roots of paths in the templates and conditions of steps, in addition to the input, the nodes and the skills. */
export const STEP_ROOTS: readonly string[] = ["steps", ...WITH_ROOTS];

export function checkSteps({ nodes }: Pick<Workflow, "nodes">): Diagnostic[] {
  const roots = new Set(["input", "skills", ...STEP_ROOTS, ...Object.keys(nodes)]);
  return Object.entries(nodes).flatMap(([id, { steps = [] }]) =>
    steps.flatMap((step, index): Diagnostic[] => {
      const { if: condition } = step;
      const at = ["nodes", id, "steps", index];
      const [open] = callsOf(step).flatMap(({ with: given = {} }) => unclosedIn(given as JsonObject));
      if (open !== undefined) {
        const message = `the template in "${shortText(open, 80)}" is not closed, so the tool gets it as written`;
        return [warningAt("UNKNOWN_PATH", [...at, "with"], message, "end it with }}, or write {{{{ for {{")];
      }
      if (condition === undefined) return [];
      const rule = readCondition(condition, roots);
      if (!("message" in rule)) return [];
      return [errorAt("SCHEMA", [...at, "if"], `the condition ${rule.message}`, rule.hint)];
    }),
  );
}
