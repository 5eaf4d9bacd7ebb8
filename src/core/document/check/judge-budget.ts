import { type Diagnostic, warningAt } from "../../base/diagnostic.ts";
import { inlineWorkflow } from "../inner/inline.ts";
import { mostItems } from "../inner/items.ts";
import type { InnerWorkflows } from "../inner/place.ts";
import type { Workflow } from "../workflow/workflow.ts";

const USUAL_BUDGET = 50;

/** Warns if the expected judge calls, including those of inner workflows, exceed the budget. */
export function checkJudgeBudget(workflow: Workflow, inner: InnerWorkflows = new Map()): Diagnostic[] {
  const { judge_budget = USUAL_BUDGET } = workflow;
  const expected = expectedIn(workflow, inner, "");
  if (expected <= judge_budget) return [];
  const message = `up to ${expected} judge calls are expected, more than the judge_budget of ${judge_budget}`;
  return [warningAt("JUDGE_BUDGET", ["judge_budget"], message)];
}

function expectedIn(workflow: Workflow, inner: InnerWorkflows, path: string): number {
  return Object.entries(workflow.nodes).reduce((sum, [id, node]) => {
    const own = `${path}${id}`;
    const inside = inner.get(own)?.workflow ?? (node.nodes && inlineWorkflow(workflow, id, node));
    const judges = (node.eval ?? []).filter(({ kind }) => kind === "judge").length;
    const times = node.map ? mostItems(node.map) : 1;
    return sum + judges * (1 + (node.retry?.max ?? 0)) + (inside ? times * expectedIn(inside, inner, `${own}/`) : 0);
  }, 0);
}
