import { nodePath } from "../../core/document/inner/place.ts";
import type { RunRecord } from "../../core/engine/event/record.ts";
import { holds, type JudgedClaim, judgeClaims, mergeClaims, refutedIn } from "../../core/engine/finding/claims.ts";
import { nodeAt } from "../../core/engine/fold/documents.ts";
import type { Visit } from "./visit.ts";

/** Result of the evidence check, for the claims of each node's last visit. */
export interface Evidence {
  /** Claims that hold come first. */
  readonly claims: readonly JudgedClaim[];
  /** Number of claims that hold. */
  readonly kept: number;
  /** Nodes that had to make claims but made none, with the reason. */
  readonly missing: readonly { readonly visit: Visit; readonly why: string }[];
}

export function evidenceOf(record: RunRecord, visits: readonly Visit[]): Evidence {
  const last = [...new Map(visits.map((visit) => [nodePath(visit.at, visit.node), visit])).values()];
  const claims = mergeClaims(claimsIn(record, last));
  const kept = claims.filter(holds);
  return {
    claims: [...kept, ...claims.filter((claim) => !holds(claim))],
    kept: kept.length,
    missing: last.flatMap((visit) => {
      return visit.evidence.flatMap(({ missing: why }) => (why === undefined ? [] : [{ visit, why }]));
    }),
  };
}

/** Returns the checked claims of visits. */
export function claimsIn(record: RunRecord, visits: readonly Visit[]): JudgedClaim[] {
  const refuted = refutedIn(visits.flatMap(({ evidence }) => evidence));
  return visits.flatMap(({ at, node, evidence }) => {
    return evidence.flatMap((check) => judgeClaims(nodeAt(record, at, node), check, refuted));
  });
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
