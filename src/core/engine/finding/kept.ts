import type { RunEvent } from "../event/event.ts";
import { type RunRecord, workflowAt } from "../event/record.ts";
import { fold } from "../fold/fold.ts";
import { begin, type State } from "../fold/state.ts";
import type { StoredRun } from "../ports.ts";
import { type FoundClaim, findingOf } from "./finding.ts";

/** Returns the claims of a run that hold, then those of its inner runs. Equal claims with the same quotes count once. */
export function keptClaims({ record, events }: Pick<StoredRun, "record" | "events">): FoundClaim[] {
  const claims = statesOf(record, events).flatMap((state) => {
    const workflow = workflowAt(record, state.inside?.at);
    return workflow ? findingOf(state, { record, workflow }).claims : [];
  });
  const known = new Map<string, FoundClaim>();
  for (const claim of claims) {
    const key = JSON.stringify([claim.text, claim.quotes.map(({ ref, quote }) => [ref, quote])]);
    if (!known.has(key)) known.set(key, claim);
  }
  return [...known.values()];
}

/** Returns the state of a run and those of its inner runs that count. The run itself keeps no state of a finished one. */
function statesOf(record: RunRecord, events: readonly RunEvent[]): State[] {
  const run = begin(record);
  const inner = new Map<string, State>();
  for (const event of events) {
    const ending = event.type === "inner:end" ? run.run.inner.get(event.inner) : undefined;
    if (ending?.inside) inner.set(ending.inside.prefix, ending);
    fold(run, event);
  }
  for (const open of run.run.inner.values()) if (open.inside) inner.set(open.inside.prefix, open);
  return [run, ...[...inner.values()].filter(counts)];
}

/** Checks whether an inner run belongs to the last visit of its node, and no resume has taken that visit back. */
function counts({ inside }: State): boolean {
  if (!inside) return true;
  const last = inside.parent.path.findLast(({ node }) => node === inside.node);
  return (
    last !== undefined &&
    [`${last.key}/`, `${last.key}[`].some((key) => inside.prefix.startsWith(key)) &&
    counts(inside.parent)
  );
}
