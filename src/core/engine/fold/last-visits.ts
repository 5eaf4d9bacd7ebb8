import type { Refutations } from "../evidence/claims.ts";
import type { State } from "./state.ts";
import type { Items, LastVisit, Visit } from "./visit.ts";

/** Lists the last visits of a run's nodes in order, each followed by those of its inner runs. */
export function lastVisitsOf(state: State): LastVisit[] {
  const last = new Map(state.path.map((step) => [step.node, step]));
  return [...last.values()].flatMap((step): LastVisit[] => {
    const { node, refuted = NONE } = step;
    const isOpen = state.visit?.key === step.key;
    const inner = isOpen && state.visit ? innerVisits(state, state.visit) : (step.inner ?? []);
    const result = isOpen ? undefined : state.results.get(node);
    const refutedToo = (visit: LastVisit) => ({ ...visit, refuted: new Map([...visit.refuted, ...refuted]) });
    const within = refuted.size === 0 ? inner : inner.map(refutedToo);
    return [{ at: state.inside?.at, path: node, step, result, refuted }, ...within];
  });
}

const NONE: Refutations = new Map();

/** Lists the last visits of the inner runs of a visit, the finished ones first. */
export function innerVisits({ run }: State, { key, items }: Visit): LastVisit[] {
  if (!items) return [];
  const open = [...run.inner.values()].filter(({ inside }) => inside?.parent.visit?.key === key);
  return [...items.visits, ...open.flatMap((inner) => visitsInside(inner, items))];
}

/** Lists those last visits of an inner run that checked claims or made steps, as the run around it lists them. */
export function visitsInside(inner: State, { running }: Items): LastVisit[] {
  const { at = "", node = "", key } = inner.inside ?? {};
  const place = key === undefined ? node : `${node}.items[${running.get(at)?.index}].data`;
  return lastVisitsOf(inner)
    .filter(({ step }) => step.checked || step.result?.toolCalls.some((call) => call.step !== undefined))
    .map((visit) => ({ ...visit, path: `${place}.results.${visit.path}` }));
}
