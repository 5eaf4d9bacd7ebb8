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

/** Does work of the library: a stray error of it that no run takes counts as late, and none of the host's own does. */
export function markedAsOurs<Value>(work: () => Value): Value {
  return contextNow().suspects.length > 0 ? work() : within({ suspects: [{ take: () => false }] }, work);
}

/**
 * Gives a stray error to the work whose context the process is in; `late` where that work is over. Undefined where the
 * error is none of a run's: a host's own errors must not be taken.
 */
export function claimStray(error: unknown): "taken" | "late" | undefined {
  const { suspects } = contextNow();
  if (suspects.length === 0) return undefined;
  return suspects.some((suspect) => suspect.take(error)) ? "taken" : "late";
}
