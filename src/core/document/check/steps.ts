import type { Diagnostic } from "../../base/diagnostic.ts";
import { parseCondition } from "../condition.ts";
import type { Workflow } from "../workflow/workflow.ts";
import { conditionMistake } from "./condition-mistakes.ts";

/** Roots of paths in `with`, in addition to the input and the nodes. */
export const WITH_ROOTS: readonly string[] = ["run", "finding"];

/** Roots of paths in the templates and conditions of steps, in addition to the input, the nodes and the skills. */
export const STEP_ROOTS: readonly string[] = ["steps", ...WITH_ROOTS];

export function checkSteps({ nodes }: Pick<Workflow, "nodes">): Diagnostic[] {
  const roots = new Set(["input", "skills", ...STEP_ROOTS, ...Object.keys(nodes)]);
  return Object.entries(nodes).flatMap(([id, { steps = [] }]) =>
    steps.flatMap(({ if: condition }, index): Diagnostic[] => {
      if (condition === undefined) return [];
      const rule = parseCondition(condition);
      const mistake = typeof condition === "string" ? conditionMistake(condition, roots) : undefined;
      const message = mistake?.message ?? rule;
      if (typeof message !== "string") return [];
      const path = ["nodes", id, "steps", index, "if"];
      const hint = mistake?.hint === undefined ? {} : { hint: mistake.hint };
      return [{ severity: "error", code: "SCHEMA", path, message: `the condition ${message}`, ...hint }];
    }),
  );
}
