import type { RunRecord } from "../../core/engine/event/record.ts";
import type { Cite } from "../../core/engine/evidence/claims.ts";
import { holds, judgedAt, mergeClaims } from "../../core/engine/finding/claims.ts";
import type { FoundClaim } from "../../core/engine/finding/finding.ts";
import { describeQuotes } from "../../core/engine/finding/quotes.ts";
import { lastVisitsOf } from "../../core/engine/fold/last-visits.ts";
import type { State } from "../../core/engine/fold/state.ts";
import type { Visit } from "./visit.ts";
import { lastVisits } from "./visits.ts";

/** Result of the evidence check, for the claims of each node's last visit. */
export type Evidence = ReturnType<typeof evidenceOf>;

interface Known {
  readonly state: State;
  /** Claims of the finding, whose quotes are described. */
  readonly found: readonly FoundClaim[];
}

export function evidenceOf(record: RunRecord, visits: readonly Visit[], { state, found }: Known) {
  const claims = mergeClaims(lastVisitsOf(state).flatMap((visit) => judgedAt(record, visit)));
  const kept = claims.filter(holds);
  const cites = claims.flatMap(({ cites }) => cites.filter(({ problem }) => problem === undefined));
  const known = new Map(found.flatMap(({ quotes }) => quotes.map((quote) => [keyOf(quote), quote])));
  const others = describeQuotes(
    state,
    cites.filter((cite) => !known.has(keyOf(cite))),
  );
  const quotes = new Map([...known, ...[...others.values()].map((quote) => [keyOf(quote), quote] as const)]);
  return {
    quoteOf: (cite: Cite) => quotes.get(keyOf(cite)),
    /** Claims that hold come first. */
    claims: [...kept, ...claims.filter((claim) => !holds(claim))],
    /** Number of claims that hold. */
    kept: kept.length,
    /** Nodes that had to make claims but made none, with the reason. */
    missing: lastVisits(visits).flatMap((visit) => {
      return visit.evidence.flatMap(({ missing: why }) => (why === undefined ? [] : [{ visit, why }]));
    }),
  };
}

const keyOf = ({ ref, quote }: Cite) => `${ref} ${quote}`;

/** Returns the verified quotes by the reference of the result that contains them. */
export function quotesOf(visits: readonly Visit[]): ReadonlyMap<string, ReadonlySet<string>> {
  const quotes = new Map<string, Set<string>>();
  for (const { cites } of visits.flatMap(({ evidence }) => evidence.flatMap(({ claims }) => claims))) {
    for (const { ref, quote, problem } of cites) {
      if (problem === undefined) quotes.set(ref, (quotes.get(ref) ?? new Set()).add(quote));
    }
  }
  return quotes;
}
