import type { RunRecord } from "../../core/engine/event/record.ts";
import type { Cite } from "../../core/engine/evidence/claims.ts";
import { holds, type JudgedClaim, judgedAt, mergeClaims } from "../../core/engine/finding/claims.ts";
import type { FoundClaim } from "../../core/engine/finding/finding.ts";
import { describeQuotes, type FoundQuote } from "../../core/engine/finding/quotes.ts";
import { lastVisitsOf } from "../../core/engine/fold/last-visits.ts";
import type { State } from "../../core/engine/fold/state.ts";
import type { Visit } from "./visit.ts";
import { lastVisits } from "./visits.ts";

/** Result of the evidence check, for the claims of each node's last visit. */
export interface Evidence {
  /** Claims that hold come first. */
  readonly claims: readonly JudgedClaim[];
  /** Number of claims that hold. */
  readonly kept: number;
  /** Nodes that had to make claims but made none, with the reason. */
  readonly missing: readonly { readonly visit: Visit; readonly why: string }[];
  readonly quoteOf: (cite: Cite) => FoundQuote | undefined;
}

interface Known {
  readonly state: State;
  /** Claims of the finding, whose quotes are described. */
  readonly found: readonly FoundClaim[];
}

export function evidenceOf(record: RunRecord, visits: readonly Visit[], { state, found }: Known): Evidence {
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
    quoteOf: (cite) => quotes.get(keyOf(cite)),
    claims: [...kept, ...claims.filter((claim) => !holds(claim))],
    kept: kept.length,
    missing: lastVisits(visits).flatMap((visit) => {
      return visit.evidence.flatMap(({ missing: why }) => (why === undefined ? [] : [{ visit, why }]));
    }),
  };
}

const keyOf = ({ ref, quote }: Cite) => `${ref} ${quote}`;

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
