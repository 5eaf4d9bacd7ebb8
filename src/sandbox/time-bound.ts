import { createContext, Script } from "node:vm";
import type { TimeBound } from "../core/base/schema/time-bound.ts";

const MOST_MS = 1000;
/** Of one piece of work, once the pieces before it have used up a second between two turns of the event loop. */
const REST_MS = 50;
/** Of each piece of work; what is done at once is not counted, however often it is done. */
const FREE_MS = 0.5;
/** Of all work between two turns of the event loop, by which time nothing more is tried. */
const MOST_AT_A_STRETCH_MS = 1500;

/**
 * Interrupts work in the thread that does it, by the time limit of a script: the only way to end a regular expression
 * there. Between two turns of the event loop, where neither signals nor timers are heard, all of it together takes no
 * longer than about a second: one piece of work may take a second, those after it a moment each.
 */
export function createTimeBound(): TimeBound {
  const room: { work: unknown } = { work: undefined };
  const context = createContext(room);
  const script = new Script("work()");
  let spentMs = 0;
  const spend = (ms: number) => {
    if (ms <= FREE_MS) return;
    if (spentMs === 0) setImmediate(() => (spentMs = 0)).unref();
    spentMs += ms - FREE_MS;
  };
  return <Value>(work: () => Value) => {
    if (spentMs >= MOST_AT_A_STRETCH_MS) return undefined;
    const outer = room.work;
    const timeout = spentMs < MOST_MS ? MOST_MS : REST_MS;
    const began = performance.now();
    room.work = work;
    try {
      return script.runInContext(context, { timeout }) as Value;
    } catch (error) {
      if (!isTimeout(error)) throw error;
      return undefined;
    } finally {
      room.work = outer;
      spend(performance.now() - began);
    }
  };
}

function isTimeout(error: unknown): boolean {
  return (error as { readonly code?: unknown } | null)?.code === "ERR_SCRIPT_EXECUTION_TIMEOUT";
}
