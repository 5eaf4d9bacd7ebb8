import type { WorkflowNode } from "../workflow/node.ts";
import type { Workflow } from "../workflow/workflow.ts";

/**
 * Builds a map's inline workflow. It inherits skills, rules, context, models and state from the outer one. The mode of writes
 * is that of the run, which `--writes` can set.
 */
export function inlineWorkflow(outer: Workflow, id: string, node: WorkflowNode): Workflow {
  const { nodes = {}, edges = [], entry = "" } = node;
  const { skills, rules, context, model, judge_model, judge_budget, state } = outer;
  const kept = { skills, rules, context, model, judge_model, judge_budget, state };
  const own = Object.fromEntries(Object.entries(kept).filter(([, value]) => value !== undefined));
  return {
    id: `${outer.id}/${id}`,
    name: node.name,
    entry,
    nodes: nodes as Workflow["nodes"],
    edges: [...edges],
    ...own,
  };
}
