import { SkillflowError } from "../core/base/errors.ts";
import type { Stopping } from "./stop.ts";
import { contextNow, within } from "./stray.ts";

/** The process-wide queue for the tool calls of all runs and clients. */

const AT_ONCE = 8;
const MOST_WAITING = 256;

const waiting: (() => void)[] = [];
let underWay = 0;

/**
 * Runs the work when fewer than eight others are running, in the order of the calls. Throws `calls.full` if the queue
 * is too long, or the signal's reason if it aborts first. Nested calls take no slot, because they would wait for
 * themselves.
 */
export function inTurn<Value>(work: () => Promise<Value>, signal: Stopping): Promise<Value> {
  return atPlace(() => within({ isPlaced: true }, work), signal);
}

/** Like `inTurn`, for work that enters a context with `isPlaced` itself, because each context takes time. */
export async function atPlace<Value>(work: () => Promise<Value>, signal: Stopping): Promise<Value> {
  if (contextNow().isPlaced) return work();
  if (signal.aborted) throw signal.reason;
  if (underWay < AT_ONCE) underWay++;
  else await placeAfterOthers(signal);
  try {
    return await work();
  } finally {
    const next = waiting.shift();
    // The next waiting call takes over the slot.
    if (next) next();
    else underWay--;
  }
}

function placeAfterOthers(signal: Stopping): Promise<void> {
  if (waiting.length >= MOST_WAITING) {
    throw new SkillflowError("calls.full", `${MOST_WAITING} tool calls are waiting already: try again later`);
  }
  return new Promise((resolve, reject) => {
    const giveUp = () => {
      waiting.splice(waiting.indexOf(take), 1);
      reject(signal.reason);
    };
    const take = () => {
      signal.removeEventListener("abort", giveUp);
      resolve();
    };
    waiting.push(take);
    signal.addEventListener("abort", giveUp, { once: true });
  });
}
