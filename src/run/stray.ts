import { AsyncLocalStorage } from "node:async_hooks";
import { SkillflowError } from "../core/base/errors.ts";

/** Owner of background work, asked to claim a stray error. */
export interface Suspect {
  /** Claims the error. Returns false if the work is finished, so that its parent is asked. */
  take(error: unknown): boolean;
  /** True if the work is code of a skill, which must not end the process. */
  readonly isSkill?: boolean;
}

/** Async context of the current work. There is only one storage, because each one slows down every promise. */
interface Context {
  /** Owners of stray errors, nearest first. */
  readonly suspects: readonly Suspect[];
  /** True if the work already has a slot in the queue. */
  readonly isPlaced: boolean;
}

const storage = new AsyncLocalStorage<Context>();
const NOTHING: Context = { suspects: [], isPlaced: false };

export function contextNow(): Context {
  return storage.getStore() ?? NOTHING;
}

export function within<Value>(changes: Partial<Context>, work: () => Value): Value {
  const { suspects, isPlaced } = contextNow();
  return storage.run({ suspects, isPlaced, ...changes }, work);
}

/** Stray errors: thrown in a timer, by an emitter, or in a promise without a handler. */

/** The top-level suspects: runs that are in progress. */
const first = new Set<Suspect>();

/** Runs the work. The suspect may claim stray errors of the work, even later. */
export function suspected<Value>(
  suspect: Suspect,
  work: () => Value | Promise<Value>,
  isPlaced = contextNow().isPlaced,
): Promise<Value> {
  const outer = contextNow().suspects;
  if (outer.length === 0) first.add(suspect);
  const working = within({ suspects: [suspect, ...outer], isPlaced }, async () => work());
  return outer.length === 0 ? working.finally(() => first.delete(suspect)) : working;
}

/**
 * Assigns a stray error to the work that caused it, by the current async context. Without a context, assigns it to the
 * only active run. Returns false if no work claims it.
 */
export function blameStray(error: unknown): boolean {
  const [only, ...others] = first;
  const named = contextNow().suspects;
  return [...named, ...(only && others.length === 0 ? [only] : [])].some((suspect) => suspect.take(error));
}

/** Guards the process while work is in progress. The library sets it. */
let hold: () => () => void = () => () => undefined;

/** Sets the function that is called when work begins. It returns the function to call when that work has ended. */
export function guardWork(guard: typeof hold): void {
  hold = guard;
}

/** Work of the library outside of a run, such as importing skills. */
const OURS: Suspect = { take: () => false, isSkill: true };

/** Marks work as the library's: an unclaimed stray error counts as late, unlike errors of the host. */
export async function markedAsOurs<Value>(work: () => Promise<Value>): Promise<Value> {
  if (contextNow().suspects.length > 0) return work();
  const release = hold();
  try {
    return await within({ suspects: [OURS] }, work);
  } finally {
    release();
  }
}

/** Loads skills outside of a run. `report` receives stray errors of their modules, even late ones. */
export function importing<Value>(report: (error: unknown) => void, work: () => Value): Value {
  const take = (error: unknown) => {
    // An error of our own, such as a refused exit, ends the command.
    if (first.size > 0 || error instanceof SkillflowError) return false;
    report(error);
    return true;
  };
  return within({ suspects: [...contextNow().suspects, { take }] }, work);
}

/** Checks whether code of a skill is running: a handler, or a module that is imported. */
export function runsSkill(): boolean {
  return contextNow().suspects[0]?.isSkill === true;
}

/**
 * Assigns a stray error to the work of the current async context. Returns `late` if that work is finished. Returns
 * undefined outside of runs, because the host's errors are not ours.
 */
export function claimStray(error: unknown): "taken" | "late" | undefined {
  const { suspects } = contextNow();
  if (suspects.length === 0) return undefined;
  return suspects.some((suspect) => suspect.take(error)) ? "taken" : "late";
}
