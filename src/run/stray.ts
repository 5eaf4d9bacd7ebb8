import { AsyncLocalStorage } from "node:async_hooks";

/** What is thrown where nobody waits for it: in a timer, by an emitter, in a promise that nobody holds. */

/** Somebody whose work may have thrown it. */
export interface Suspect {
  /** Takes it, or is over and leaves it to whoever began it. */
  take(error: unknown): boolean;
}

const suspects = new AsyncLocalStorage<readonly Suspect[]>();
/** Those who are at work and began by themselves: the runs. */
const first = new Set<Suspect>();

/** Does the work; what it leaves behind to be thrown later is its own for as long as it takes it. */
export async function suspected<Value>(suspect: Suspect, work: () => Promise<Value>): Promise<Value> {
  const outer = suspects.getStore() ?? [];
  if (outer.length === 0) first.add(suspect);
  try {
    return await suspects.run([suspect, ...outer], work);
  } finally {
    first.delete(suspect);
  }
}

/**
 * Gives a stray error to the work that it came from, by the context that the process is in while it hears of it; where
 * nothing tells, to the only run that there is. False where nobody takes it.
 */
export function blameStray(error: unknown): boolean {
  const [only, ...others] = first;
  const named = suspects.getStore() ?? [];
  return [...named, ...(only && others.length === 0 ? [only] : [])].some((suspect) => suspect.take(error));
}
