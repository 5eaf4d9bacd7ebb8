import { documentOf } from "../../document/inner/place.ts";
import type { WorkflowNode } from "../../document/workflow/node.ts";
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

type Documents = Pick<RunRecord, "workflow" | "inner">;

/** Returns a node of a run or an inner run. Undefined if the record is foreign. */
export function nodeAt(record: Documents, at: string | undefined, node: string): WorkflowNode | undefined {
  const nodes = workflowAt(record, at)?.nodes ?? {};
  return Object.hasOwn(nodes, node) ? nodes[node] : undefined;
}

/** Returns the display name of a node in a run or an inner run. */
export function nameOfNode(record: Documents, at: string | undefined, node: string): string {
  return nodeAt(record, at, node)?.name ?? node;
}
