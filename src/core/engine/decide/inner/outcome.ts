import type { Json, JsonObject } from "../../../base/values.ts";
import type { WorkflowNode } from "../../../document/workflow/node.ts";
import type { ItemOutcome, Visit } from "../../fold/visit.ts";

/** Returns the data of a node that runs workflows, finished or not: `{items, left, failed}`, or a call's own data. */
export function itemsData({ items }: Visit, { map }: WorkflowNode): JsonObject {
  if (!items) return map ? { items: [], left: 0, failed: 0 } : {};
  if (!map) return items.all[0]?.outcome?.data ?? {};
  const running = new Set([...items.running.values()].map(({ index }) => index));
  const told = items.all.flatMap((item) => {
    const outcome = item.outcome ?? (running.has(item.index) ? STOPPED : undefined);
    return outcome ? [{ key: item.key ?? "", ...outcome }] : [];
  });
  const notBegun = items.all.filter(({ outcome, index }) => !outcome && !running.has(index)).length;
  const failed = told.filter(({ status }) => status === "failed").length;
  return { items: told, left: items.left + notBegun, failed };
}

/** Returns the data of a `steps` node: the outputs of the steps that succeeded so far, by step. */
export function stepsData({ calls }: Pick<Visit, "calls">): JsonObject {
  const outputs = calls.flatMap(({ step, error, output = null }): [string, Json][] => {
    return step === undefined || error !== undefined ? [] : [[step, output]];
  });
  return Object.fromEntries(outputs);
}

const STOPPED: ItemOutcome = { status: "stopped", data: {} };
