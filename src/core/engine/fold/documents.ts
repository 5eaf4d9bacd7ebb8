import { documentOf } from "../../document/inner/place.ts";
import type { InnerDocument, RunRecord } from "../event/record.ts";

/** Returns the workflow that an event belongs to: the run's own, or the inner one at its place. */
export function workflowAt(
  { workflow, inner = {} }: Pick<RunRecord, "workflow" | "inner">,
  at: string | undefined,
): InnerDocument["workflow"] | undefined {
  if (at === undefined) return workflow;
  const path = documentOf(at);
  return Object.hasOwn(inner, path) ? inner[path]?.workflow : undefined;
}

/** Returns the display name of a node in a run or an inner run. */
export function nameOfNode(
  record: Pick<RunRecord, "workflow" | "inner">,
  at: string | undefined,
  node: string,
): string {
  const nodes = workflowAt(record, at)?.nodes ?? {};
  return (Object.hasOwn(nodes, node) ? nodes[node]?.name : undefined) ?? node;
}
