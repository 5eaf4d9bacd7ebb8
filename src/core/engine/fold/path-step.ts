import type { Degraded } from "../event/end.ts";
import type { EventOf } from "../event/event.ts";
import type { NodeResult } from "../event/node-result.ts";
import type { Refutations } from "../evidence/claims.ts";

/** Visit on the path of a run, and what is known of it once it has ended. */
export interface PathStep {
  readonly node: string;
  /** Key of the visit, such as `3:assess`. */
  readonly key: string;
  readonly via: number | undefined;
  result: NodeResult | undefined;
  /** The shortfalls of the visit and of the runs inside it. */
  degraded: readonly Degraded[];
  /** References that the result's claims cite. */
  cited?: string[];
  /** Evidence checks of the answer. */
  checked?: readonly EventOf<"evidence:checked">[];
  /** Last visits in its inner runs. */
  inner?: readonly LastVisit[];
  /** Its claims that later visits refuted. */
  refuted?: Map<string, string>;
}

/**
 * Last visit of a node, in a run or in one of its inner runs. Visits that a resume repeats, and inner runs of visits that are
 * not the last of their node, are left out.
 */
export interface LastVisit {
  /** Place of its run. Undefined for the run itself. */
  readonly at: string | undefined;
  /** Path of the node's data in the run that lists it: `think`, `ex.results.think`, `each.items[0].data.results.think`. */
  readonly path: string;
  readonly step: PathStep;
  /** Result without the claims that were refuted. Undefined while the visit continues. */
  readonly result: NodeResult | undefined;
  /** Claims of the visit that later nodes refuted. */
  readonly refuted: Refutations;
}
