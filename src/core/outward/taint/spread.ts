import { groupBy } from "../../base/values.ts";
import type { Edge } from "../../document/workflow/node.ts";

/**
 * Computes which nodes can be reached from some starting nodes, because a node reads the results of all nodes before
 * it. Maps each reachable node to its nearest starting node.
 */
export function spread(beginnings: Iterable<string>, edges: readonly Edge[]): ReadonlyMap<string, string> {
  const targets = groupBy(edges, ({ from }) => from);
  const reached = new Map([...beginnings].map((node) => [node, node]));
  for (const [node, beginning] of reached) {
    for (const { to } of targets.get(node) ?? []) if (!reached.has(to)) reached.set(to, beginning);
  }
  return reached;
}
