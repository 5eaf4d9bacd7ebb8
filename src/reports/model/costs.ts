import { documentOf, nodePath } from "../../core/document/inner/place.ts";
import { durationOf, type Visit } from "./visit.ts";

/** Usage of a node, summed over its visits. */
export interface NodeCost {
  /** Id of the node. In an inner run, its path: `each/look`. */
  readonly node: string;
  readonly name: string;
  readonly visits: number;
  readonly modelCalls: number;
  readonly calls: number;
  readonly inputTokens: number;
  readonly outputTokens: number;
  /** null if a price is unknown. */
  readonly costUsd: number | null;
  readonly ms: number;
}

export function costsOf(visits: readonly Visit[]): NodeCost[] {
  const costs = new Map<string, NodeCost>();
  for (const visit of visits) {
    const node = nodePath(visit.at === undefined ? undefined : documentOf(visit.at), visit.node);
    const so = costs.get(node) ?? { ...NOTHING, node, name: visit.name };
    costs.set(node, {
      ...so,
      visits: so.visits + 1,
      modelCalls: so.modelCalls + visit.modelCalls,
      calls: so.calls + visit.calls.length,
      inputTokens: so.inputTokens + visit.inputTokens,
      outputTokens: so.outputTokens + visit.outputTokens,
      costUsd: so.costUsd === null || visit.costUsd === null ? null : so.costUsd + visit.costUsd,
      ms: so.ms + durationOf(visit),
    });
  }
  return [...costs.values()];
}

const NOTHING = {
  visits: 0,
  modelCalls: 0,
  calls: 0,
  inputTokens: 0,
  outputTokens: 0,
  costUsd: 0,
  ms: 0,
};
