import { defined } from "../../base/values.ts";
import type { EvidenceEvaluator } from "../../document/workflow/evaluator.ts";
import type { WorkflowNode } from "../../document/workflow/node.ts";
import { type Documents, nodeAt } from "../event/record.ts";
import {
  type Checked,
  type CheckedClaim,
  claimText,
  heldIn,
  isDropped,
  modesOf,
  type Refutations,
} from "../evidence/claims.ts";
import { foldedClaim } from "../evidence/quote.ts";
import type { LastVisit } from "../fold/visit.ts";

/** Claims of an answer after the evidence check, in the words that all views share. */

/** A checked claim. `dropped` and `refuted` claims had quotes that were found, but do not count. */
export interface JudgedClaim extends Omit<CheckedClaim, "claim"> {
  readonly text: string;
  readonly status: "found" | "partial" | "unbound" | "unsupported" | "dropped" | "refuted";
  /** Place of the run that it is from, for an inner run. */
  readonly at?: string;
  /** Reason of a refutation, or why the claim, itself a refutation, does not hold. */
  readonly why?: string;
  /** True for an unsupported claim that its node only marks. */
  readonly marked?: true;
}

/** Judges the claims of a visit, as its node in the record asks for. */
export function judgedAt(record: Documents, { at, step: { node, checked = [] }, refuted }: LastVisit): JudgedClaim[] {
  const claims = checked.flatMap((check) => judgeClaims(nodeAt(record, at, node), check, refuted));
  return claims.map((claim) => ({ ...claim, ...defined("at", at) }));
}

/** Judges the claims of a check at a node. `refuted` are those that later nodes refuted. */
export function judgeClaims(
  node: Pick<WorkflowNode, "eval"> | undefined,
  { evaluator: name, claims, refuted: own = [] }: Checked,
  refuted: Refutations = new Map(),
): JudgedClaim[] {
  const evaluator = node?.eval?.find((each): each is EvidenceEvaluator => {
    return each.kind === "evidence" && each.name === name;
  });
  const modes = modesOf(evaluator);
  const refutations = evaluator && evaluator.rule.refutes === evaluator.rule.claims ? own : [];
  return claims.map((checked, index) => {
    const { claim, ...rest } = checked;
    const text = claimText(claim);
    const refutation = refutations[index];
    if (rest.supported && refutation?.holds === false) {
      return { ...rest, text, status: "dropped", why: refutation.reason };
    }
    const why = rest.supported && refuted.size > 0 ? refuted.get(foldedClaim(text)) : undefined;
    if (why !== undefined) return { ...rest, text, status: "refuted", why };
    const isLost = rest.supported && isDropped(checked, modes);
    const marked = !rest.supported && modes.unsupported === "mark" ? { marked: true as const } : {};
    return { ...rest, text, status: isLost ? "dropped" : statusOf(rest), ...marked };
  });
}

function statusOf({ supported, unbound, partial }: Pick<CheckedClaim, "supported" | "unbound" | "partial">) {
  if (!supported) return "unsupported";
  if (unbound) return "unbound";
  return partial ? "partial" : "found";
}

export function holds({ status }: Pick<JudgedClaim, "status">): boolean {
  return status === "found" || status === "partial" || status === "unbound";
}

/** Merges equal claims of one run into one with the cites of all, in the order of their first appearance. */
export function mergeClaims(claims: readonly JudgedClaim[]): JudgedClaim[] {
  const known = new Map<string, JudgedClaim>();
  for (const claim of claims) {
    const key = JSON.stringify([claim.at, claim.text, claim.status]);
    const before = known.get(key);
    const others = claim.cites.filter(
      (cite) => !before?.cites.some(({ ref, quote }) => ref === cite.ref && quote === cite.quote),
    );
    known.set(key, before ? { ...before, cites: [...before.cites, ...others] } : claim);
  }
  return [...known.values()];
}

/** Describes what the check found of a claim: `1 of 2 quotes found, facts not found: 12%`. */
export function foundWords({ status, cites, partial, unbound, why }: Omit<JudgedClaim, "text" | "supported">): string {
  const held = heldIn(cites).length;
  if (cites.length === 0) return "it cites no result";
  if (status === "unsupported")
    return held > 0 ? "none of its evidence is from the team's own systems" : "quotes not found";
  const quotes = partial ? `${held} of ${cites.length} quotes found` : held === 1 ? "quote found" : "quotes found";
  const facts = unbound ? `, facts not found: ${unbound.join(", ")}` : partial ? ", facts found" : "";
  return `${quotes}${facts}${why === undefined ? "" : `; ${status === "refuted" ? "refuted" : "refutes nothing"}: ${why}`}`;
}
