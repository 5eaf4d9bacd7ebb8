import type { State } from "./state.ts";
import type { Items, Visit } from "./visit.ts";

/** Which inner runs can take steps, and which only wait for an approval. */

/** Updates which of the items around an inner run are active, after an event that changed it. */
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

/** Whether an inner run, and everything inside it, can only wait for an approval. */
function isParked({ visit, halt }: Pick<State, "visit" | "halt">): boolean {
  if (!visit || halt || visit.failure) return false;
  const { items } = visit;
  if (!items) return isWaiting(visit);
  return items.running.size > 0 && items.active.size === 0 && !mayBegin(items);
}

/** Whether a visit can do nothing until an approval is answered. */
export function isWaiting({ asked, failure }: Visit): boolean {
  return asked !== undefined && asked.word === undefined && failure === undefined;
}

/** Whether there is an item to begin once there is a place for it. */
export function mayBegin({ all, begun, failed, stopsAtFailure }: Items): boolean {
  return begun < all.length && !(stopsAtFailure && failed > 0);
}
