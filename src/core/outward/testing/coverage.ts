import { documentOf, nodePath } from "../../document/inner/place.ts";
import type { Workflow } from "../../document/workflow/workflow.ts";
import type { RunEvent } from "../../engine/event/event.ts";

/** Which nodes, edges and steps of a workflow the cases of its tests reach. */

/** Document of a workflow, and the paths of the nodes that run it. The path of the outermost one is empty. */
export interface Covered {
  readonly workflow: Workflow;
  readonly at: readonly string[];
}

export const PARTS = ["nodes", "edges", "steps"] as const;

export interface Part {
  readonly kind: (typeof PARTS)[number];
  /** Keys and indexes from the document's root. */
  readonly path: readonly (string | number)[];
  readonly name: string;
  readonly isReached: boolean;
}

/** Lists the parts of a document. `reached` holds what the cases reached, as `reachedIn` names it. */
export function partsOf({ workflow, at }: Covered, reached: ReadonlySet<string>): Part[] {
  const part = (kind: Part["kind"], path: Part["path"], name: string, key: (place: string) => string): Part => {
    return { kind, path, name, isReached: at.some((place) => reached.has(key(place))) };
  };
  const nodes = Object.entries(workflow.nodes).flatMap(([id, { steps = [] }]) => [
    part("nodes", ["nodes", id], `the node ${id}`, (place) => nodeKey(place, id)),
    ...steps.map((step, index) => {
      const key = (place: string) => `${nodeKey(place, id)}.${step.id}`;
      return part("steps", ["nodes", id, "steps", index], `the step ${step.id} of ${id}`, key);
    }),
  ]);
  const edges = workflow.edges.map(({ from, to }, index) =>
    part("edges", ["edges", index], `the edge from ${from} to ${to}`, (place) => edgeKey(place, index)),
  );
  return [...nodes, ...edges];
}

/** Returns the nodes that a run entered, the edges that it followed and the steps that made a call. */
export function reachedIn(events: readonly RunEvent[]): ReadonlySet<string> {
  return new Set(
    events.flatMap((event) => {
      const place = documentOf(("at" in event ? event.at : undefined) ?? "");
      if (event.type === "node:enter") return [nodeKey(place, event.node)];
      if (event.type === "route") return [edgeKey(place, event.edge)];
      if (event.type !== "node:exit") return [];
      const steps = event.result.toolCalls.flatMap(({ step }) => step ?? []);
      return steps.map((step) => `${nodeKey(place, event.node)}.${step}`);
    }),
  );
}

function nodeKey(place: string, node: string): string {
  return `node ${nodePath(place === "" ? undefined : place, node)}`;
}

function edgeKey(place: string, index: number): string {
  return `edge ${place}#${index}`;
}
