import type { SkimmedRun } from "../../../core/engine/event/skim.ts";
import type { Store } from "../../../core/engine/ports.ts";
import { summarizeRun } from "../../../core/engine/record/run-summary.ts";
import { nextTurn } from "../../../run/beside.ts";
import { readSummaries } from "../../../stores/file/summaries.ts";
import type { Workspace } from "../../host.ts";

/** Summarizes all runs, newest first. */
export async function summarizeAll({ store, storeDirectory, host }: Workspace) {
  const runs = await store.list();
  const saved = storeDirectory === undefined ? undefined : readSummaries(storeDirectory, host.uid, runs);
  const found = await skimAll(store, runs, summarizeRun, saved?.known);
  await saved?.add(found.flatMap((each) => (each.status === "fulfilled" ? each.value : [])));
  return found;
}

const AT_ONCE = 50;

/**
 * Reads what a list shows of each run, in their order. Keeps of it only what `take` returns, and lets other work through
 * after some runs: a store can have very many. Does not read runs whose value is known.
 */
export async function skimAll<Value>(
  store: Pick<Store, "skim">,
  runs: readonly string[],
  take: (skimmed: SkimmedRun) => Value,
  known?: ReadonlyMap<string, Value>,
): Promise<PromiseSettledResult<Value>[]> {
  const taken: PromiseSettledResult<Value>[] = [];
  for (let at = 0; at < runs.length; at += AT_ONCE) {
    const some = runs.slice(at, at + AT_ONCE).map(async (run) => known?.get(run) ?? take(await store.skim(run)));
    for (const settled of await Promise.allSettled(some)) taken.push(settled);
    await nextTurn();
  }
  return taken;
}
