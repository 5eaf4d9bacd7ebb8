import { AsyncLocalStorage } from "node:async_hooks";

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
