import type { EvidenceEvaluator } from "../../document/workflow/evaluator.ts";
import type { WorkflowNode } from "../../document/workflow/node.ts";
import type { EventOf } from "../event/event.ts";
import { type CheckedClaim, claimText, heldIn, isDropped, modesOf } from "../evidence/claims.ts";
import { foldedClaim } from "../evidence/quote.ts";

/** Claims of an answer after the evidence check, in the words that all views share. */

type Checked = EventOf<"evidence:checked">;

/** A checked claim. `dropped` and `refuted` claims had quotes that were found, but do not count. */
export interface JudgedClaim extends Omit<CheckedClaim, "claim"> {
  readonly text: string;
  readonly status: "found" | "partial" | "unbound" | "unsupported" | "dropped" | "refuted";
  /** Reason of a refutation, or why the claim, itself a refutation, does not hold. */
  readonly why?: string;
}

/** Judges the claims of a check at a node. `refuted` are the refutations of the whole run. */
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
    const why = rest.supported ? refuted.get(foldedClaim(text)) : undefined;
    if (why !== undefined) return { ...rest, text, status: "refuted", why };
    const isLost = rest.supported && isDropped(checked, modes);
    return { ...rest, text, status: isLost ? "dropped" : statusOf(rest) };
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

/** Reasons of refuted claims by their text, as quotes are compared. */
export type Refutations = ReadonlyMap<string, string>;

/** Returns the refutations that hold. */
export function refutedIn(checks: readonly Checked[]): Refutations {
  const all = checks.flatMap(({ refuted = [] }) => refuted).filter((refutation) => refutation.holds);
  return new Map(all.map(({ claim, reason }) => [foldedClaim(claim), reason]));
}

/** Merges equal claims into one with the cites of all, in the order of their first appearance. */
export function mergeClaims<Claim extends JudgedClaim>(claims: readonly Claim[]): Claim[] {
  const known = new Map<string, Claim>();
  for (const claim of claims) {
    const key = JSON.stringify([claim.text, claim.status]);
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
