import type { SkimmedRun } from "../../../core/engine/event/skim.ts";
import type { Store } from "../../../core/engine/ports.ts";
import { nextTurn } from "../../../run/beside.ts";

const AT_ONCE = 50;

/**
 * Reads what a list shows of each run, in their order. Keeps of it only what `take` returns, and lets other work through
 * after some runs: a store can have very many.
 */
export async function skimAll<Value>(
  store: Pick<Store, "skim">,
  runs: readonly string[],
  take: (skimmed: SkimmedRun) => Value,
): Promise<PromiseSettledResult<Value>[]> {
  const taken: PromiseSettledResult<Value>[] = [];
  for (let at = 0; at < runs.length; at += AT_ONCE) {
    const some = runs.slice(at, at + AT_ONCE).map(async (run) => take(await store.skim(run)));
    for (const settled of await Promise.allSettled(some)) taken.push(settled);
    await nextTurn();
  }
  return taken;
}
