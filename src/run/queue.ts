import { SkillflowError } from "../core/base/errors.ts";
import { contextNow, within } from "./context.ts";
import type { Stopping } from "./stop.ts";

/** The one queue of a process, round every tool call of all its runs and clients (workflow-format D66). */

const AT_ONCE = 8;
const MOST_WAITING = 256;

const waiting: (() => void)[] = [];
let underWay = 0;

/**
 * Does the work when fewer than eight others are under way, in the order of asking. Throws `calls.full` where too much
 * waits already, and the signal's reason where that comes first. What the work calls itself takes no place of its own, or
 * it would wait for its own end.
 */
export async function inTurn<Value>(work: () => Promise<Value>, signal: Stopping): Promise<Value> {
  if (contextNow().isPlaced) return work();
  if (signal.aborted) throw signal.reason;
  if (underWay < AT_ONCE) underWay++;
  else await placeAfterOthers(signal);
  try {
    return await within({ isPlaced: true }, work);
  } finally {
    const next = waiting.shift();
    // Whoever waits takes the place over.
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
