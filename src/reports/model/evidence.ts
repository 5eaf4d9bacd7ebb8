import { nodePath } from "../../core/document/inner/place.ts";
import type { CheckedClaim } from "../../core/engine/evidence/claims.ts";
import { claimText } from "../../core/engine/evidence/claims.ts";
import type { Visit } from "./visit.ts";

/** Result of the evidence check, for the claims of each node's last visit. */
export interface Evidence {
  readonly claims: readonly Claim[];
  readonly supported: number;
  /** Nodes that had to make claims but made none, with the reason. */
  readonly missing: readonly { readonly visit: Visit; readonly why: string }[];
}

export interface Claim {
  readonly text: string;
  readonly supported: boolean;
  readonly cites: CheckedClaim["cites"];
  readonly visit: Visit;
}

export function evidenceOf(visits: readonly Visit[]): Evidence {
  const last = [...new Map(visits.map((visit) => [nodePath(visit.at, visit.node), visit])).values()];
  const checked = last.flatMap((visit) => visit.evidence.map((found) => ({ visit, found })));
  const claims = joined(
    checked.flatMap(({ visit, found }) => {
      return found.claims.map(({ claim, supported, cites }): Claim => {
        return { text: claimText(claim), supported, cites, visit };
      });
    }),
  );
  return {
    claims: [...claims.filter(({ supported }) => supported), ...claims.filter(({ supported }) => !supported)],
    supported: claims.filter(({ supported }) => supported).length,
    missing: checked.flatMap(({ visit, found }) =>
      found.missing === undefined ? [] : [{ visit, why: found.missing }],
    ),
  };
}

/** Merges identical claims of several nodes into one with the cites of all. */
function joined(claims: readonly Claim[]): Claim[] {
  const known = new Map<string, Claim>();
  for (const claim of claims) {
    const key = JSON.stringify([claim.text, claim.supported]);
    const before = known.get(key);
    const others = claim.cites.filter(
      (cite) => !before?.cites.some(({ ref, quote }) => ref === cite.ref && quote === cite.quote),
    );
    known.set(key, before ? { ...before, cites: [...before.cites, ...others] } : claim);
  }
  return [...known.values()];
}

/** Verified quotes by the reference of the result that contains them. */
export type Quotes = ReadonlyMap<string, ReadonlySet<string>>;

export function quotesOf(visits: readonly Visit[]): Quotes {
  const quotes = new Map<string, Set<string>>();
  for (const { cites } of visits.flatMap(({ evidence }) => evidence.flatMap(({ claims }) => claims))) {
    for (const { ref, quote, problem } of cites) {
      if (problem === undefined) quotes.set(ref, (quotes.get(ref) ?? new Set()).add(quote));
    }
  }
  return quotes;
}
