import { contextNow, type Suspect, within } from "./context.ts";

/** What is thrown where nobody waits for it: in a timer, by an emitter, in a promise that nobody holds. */

/** Those who are at work and began by themselves: the runs. */
const first = new Set<Suspect>();

/** Does the work; what it leaves behind to be thrown later is its own for as long as it takes it. */
export async function suspected<Value>(suspect: Suspect, work: () => Value | Promise<Value>): Promise<Value> {
  const outer = contextNow().suspects;
  if (outer.length === 0) first.add(suspect);
  try {
    return await within<Value | Promise<Value>>({ suspects: [suspect, ...outer] }, work);
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
  const named = contextNow().suspects;
  return [...named, ...(only && others.length === 0 ? [only] : [])].some((suspect) => suspect.take(error));
}
