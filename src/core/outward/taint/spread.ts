import type { Edge } from "../../document/workflow/node.ts";

/**
 * Where something that begins at some nodes gets to: a node reads the results of all that can come before it, on whatever
 * path. Each node that it reaches, with the nearest one that it begins at.
 */
export function spread(beginnings: Iterable<string>, edges: readonly Edge[]): ReadonlyMap<string, string> {
  const targets = new Map<string, string[]>();
  for (const { from, to } of edges) {
    const known = targets.get(from);
    if (known) known.push(to);
    else targets.set(from, [to]);
  }
  const reached = new Map([...beginnings].map((node) => [node, node]));
  for (const [node, beginning] of reached) {
    for (const to of targets.get(node) ?? []) if (!reached.has(to)) reached.set(to, beginning);
  }
  return reached;
}
