import type { Edge, WorkflowNode } from "../workflow/node.ts";
import type { Workflow } from "../workflow/workflow.ts";
import { nodePath } from "./place.ts";

/** What nodes run, by the path of the node: `each`, `top/each`. */
type InnerWorkflows = ReadonlyMap<string, { readonly workflow: Workflow }>;

/**
 * A workflow with the nodes of those inside it beside its own (`each/look`), for whoever asks what may come after what: what
 * leads to a node leads to the beginning of what it runs, and all that is done there leads to the node.
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
  // From the outermost inwards, so that what leads to a call leads to what the called one calls.
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
