import type { State } from "./state.ts";
import type { Items, Visit } from "./visit.ts";

/** Tracks which inner runs can take steps, and which only wait for an approval. */

/** Updates whether an inner run, and those around it, are active after an event changed it. */
export function noteActive(state: State): void {
  const { inside } = state;
  const items = inside?.parent.visit?.items;
  if (!inside || !items?.running.has(inside.at)) return;
  const isActive = !isParked(state);
  if (items.active.has(inside.at) === isActive) return;
  if (isActive) items.active.add(inside.at);
  else items.active.delete(inside.at);
  noteActive(inside.parent);
}

/** Checks whether an inner run, and everything inside it, can only wait for an approval. */
function isParked({ visit, halt }: Pick<State, "visit" | "halt">): boolean {
  if (!visit || halt || visit.failure) return false;
  const { items } = visit;
  if (!items) return isWaiting(visit);
  return items.running.size > 0 && items.active.size === 0 && !mayBegin(items);
}

/** Checks whether a visit can do nothing until its approval is answered. */
export function isWaiting({ asked, failure }: Visit): boolean {
  return asked !== undefined && asked.word === undefined && failure === undefined;
}

/** Checks whether a further item may begin, apart from the concurrency limit. */
export function mayBegin({ all, begun, failed, stopsAtFailure }: Items): boolean {
  return begun < all.length && !(stopsAtFailure && failed > 0);
}
