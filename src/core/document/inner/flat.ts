import type { Edge, WorkflowNode } from "../workflow/node.ts";
import type { Workflow } from "../workflow/workflow.ts";
import { type InnerWorkflows, nodePath } from "./place.ts";

/**
 * Merges inner workflows into the outer one (`each/look`), to analyze which nodes can follow which. Edges to a node
 * also lead to its inner entry, and every inner node leads back to the node.
 */
export function flatWorkflow(workflow: Workflow, inner: InnerWorkflows): Workflow {
  if (inner.size === 0) return workflow;
  const nodes: Record<string, WorkflowNode> = {};
  const edges: Edge[] = [];
  const add = (document: Workflow, at: string | undefined) => {
    for (const [id, node] of Object.entries(document.nodes)) nodes[nodePath(at, id)] = node;
    for (const edge of document.edges)
      edges.push({ ...edge, from: nodePath(at, edge.from), to: nodePath(at, edge.to) });
    for (const id of Object.keys(document.nodes)) {
      const path = nodePath(at, id);
      const inside = inner.get(path)?.workflow;
      if (!inside) continue;
      add(inside, path);
      for (const own of Object.keys(inside.nodes)) edges.push({ from: nodePath(path, own), to: path });
    }
  };
  add(workflow, undefined);
  // Outermost first, so that edges reach nested entries too.
  const beginnings = [...inner].map(([path, { workflow: inside }]) => ({ path, entry: nodePath(path, inside.entry) }));
  const leading = edges.filter(({ from, to }) => !from.startsWith(`${to}/`));
  for (const { path, entry } of beginnings) {
    const more = leading.filter(({ to }) => to === path).map(({ from }): Edge => ({ from, to: entry }));
    leading.push(...more);
    edges.push(...more);
  }
  const skills = Object.assign({}, ...[...inner.values()].map((each) => each.workflow.skills), workflow.skills);
  return { ...workflow, nodes, edges, skills };
}
