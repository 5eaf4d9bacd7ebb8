import { createContext, Script } from "node:vm";
import { hasCode } from "../core/base/errors.ts";
import type { TimeBound } from "../core/base/schema/time-bound.ts";

/** Limit for each piece of work once earlier ones used up `mostMs` in the same turn of the event loop. */
const REST_MS = 50;
/** Time per piece of work that is not counted, so that frequent quick work is free. */
const FREE_MS = 0.5;
/** Time beyond `mostMs` for all work in one turn of the event loop. After that, no work is tried. */
const MORE_AT_A_STRETCH_MS = 500;

/**
 * Creates a time limit for synchronous work. It uses a script's timeout, the only way to interrupt a regular
 * expression. Signals and timers wait for the next turn of the event loop, so work within a turn is limited to about a
 * second: one piece may take a second, later ones a moment each.
 */
export function createTimeBound(mostMs = 1000): TimeBound {
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
    if (spentMs >= mostMs + MORE_AT_A_STRETCH_MS) return undefined;
    const outer = room.work;
    const timeout = spentMs < mostMs ? mostMs : REST_MS;
    const began = performance.now();
    room.work = work;
    try {
      return script.runInContext(context, { timeout }) as Value;
    } catch (error) {
      if (!hasCode(error, "ERR_SCRIPT_EXECUTION_TIMEOUT")) throw error;
      return undefined;
    } finally {
      room.work = outer;
      spend(performance.now() - began);
    }
  };
}
