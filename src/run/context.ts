import { AsyncLocalStorage } from "node:async_hooks";

/** Somebody whose work may have thrown it. */
export interface Suspect {
  /** Takes it, or is over and leaves it to whoever began it. */
  take(error: unknown): boolean;
}

/** What is known of the work that some code belongs to, wherever it waits. One storage: each costs every promise. */
interface Context {
  /** Whose stray errors it throws, the nearest first. */
  readonly suspects: readonly Suspect[];
  /** It has its place in the queue already. */
  readonly isPlaced: boolean;
}

const storage = new AsyncLocalStorage<Context>();
const NOTHING: Context = { suspects: [], isPlaced: false };

export function contextNow(): Context {
  return storage.getStore() ?? NOTHING;
}

export function within<Value>(changes: Partial<Context>, work: () => Value): Value {
  return storage.run({ ...contextNow(), ...changes }, work);
}
