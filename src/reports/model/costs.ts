import { groupBy } from "../../core/base/values.ts";
import { documentOf, nodePath } from "../../core/document/inner/place.ts";
import { addUsage } from "../../core/engine/fold/fold-reply.ts";
import { UsageTotals } from "../../core/engine/fold/state.ts";
import { costOf } from "../../core/engine/result/result.ts";
import { durationOf, type Visit } from "./visit.ts";

/** Returns the usage of each node, by its path such as `each/look`. The cost is null if a price is unknown. */
export function costsOf(visits: readonly Visit[]) {
  const nodes = groupBy(visits, ({ at, node }) => nodePath(at === undefined ? undefined : documentOf(at), node));
  return [...nodes].map(([node, own]) => {
    const usage = usageOf(own);
    return {
      node,
      name: own[0]?.name ?? node,
      visits: own.length,
      modelCalls: usage.modelCalls,
      calls: own.reduce((sum, { calls }) => sum + calls.length, 0),
      inputTokens: usage.inputTokens,
      outputTokens: usage.outputTokens,
      costUsd: costOf(usage),
      ms: own.reduce((sum, visit) => sum + durationOf(visit), 0),
    };
  });
}

export function usageOf(visits: readonly Visit[]): UsageTotals {
  const usage = new UsageTotals();
  for (const turn of visits.flatMap(({ turns }) => turns)) {
    if (turn.kind === "asked" && turn.answer.type === "model:reply") addUsage(usage, turn.answer.usage);
  }
  return usage;
}
