import { shortText } from "../../base/preview.ts";
import { groupBy, type JsonObject } from "../../base/values.ts";
import type { EvidenceRule } from "../../document/workflow/evaluator.ts";
import type { EvidenceCounts } from "../event/node-result.ts";
import { type CheckedCite, type CheckedClaim, type Cite, citesOf, claimsOf, claimText } from "./claims.ts";
import { type Quote, readQuote } from "./quote.ts";
import { excerptOf, type Found, findQuotes, type Source } from "./source.ts";

/** Checks claims against the results that they cite, without asking a model. */

/** A result that can be cited, or in `problem` the reason that it is not evidence. */
export type Evidence = ({ readonly source: Source } | { readonly problem: string }) & { readonly isTeam: boolean };

export interface Examined {
  readonly claims: readonly CheckedClaim[];
  /** Reason that there are no claims. */
  readonly missing?: string;
  /** Excerpts around the valid quotes, by result. */
  readonly excerpts: ReadonlyMap<string, string>;
}

/** Returns the distinct references in the claims, valid or not. */
export function citedRefs(rule: EvidenceRule, data: JsonObject): Set<string> {
  const claims = claimsOf(rule, data);
  if ("missing" in claims) return new Set();
  return new Set(claims.flatMap((claim) => citesOf(rule, claim).map(({ ref }) => ref)));
}

interface Examining {
  readonly evidenceOf: (ref: string) => Evidence;
  readonly mostOfExcerpt: number;
}

type Searched = Cite & { readonly read: Quote; found?: Found | undefined };

export function examine(rule: EvidenceRule, data: JsonObject, { evidenceOf, mostOfExcerpt }: Examining): Examined {
  const claims = claimsOf(rule, data);
  if ("missing" in claims) return { claims: [], missing: claims.missing, excerpts: new Map() };
  const cited = claims.map((claim) =>
    citesOf(rule, claim).map((cite): Searched => ({ ...cite, read: readQuote(cite.quote) })),
  );
  const byRef = groupBy(cited.flat(), ({ ref }) => ref);
  const excerpts = new Map<string, string>();
  const known = new Map<string, Evidence>();
  for (const [ref, cites] of byRef) {
    const evidence = evidenceOf(ref);
    known.set(ref, evidence);
    if ("problem" in evidence) continue;
    const found = findQuotes(
      evidence.source,
      cites.map(({ read }) => read),
    );
    for (const [index, cite] of cites.entries()) cite.found = found[index];
    const held = found.filter((one) => one !== undefined);
    if (held.length > 0 && mostOfExcerpt > 0) excerpts.set(ref, excerptOf(held, mostOfExcerpt));
  }
  const checked = claims.map((claim, index): CheckedClaim => {
    const cites = (cited[index] ?? []).map((cite): CheckedCite & { readonly isTeam: boolean } => {
      const { ref, quote } = cite;
      const evidence = known.get(ref);
      const problem = problemOf(cite, evidence);
      return { ref, quote, isTeam: evidence?.isTeam ?? false, ...(problem === undefined ? {} : { problem }) };
    });
    const supported = cites.some(({ problem, isTeam }) => problem === undefined && (isTeam || !rule.independent));
    return { claim, supported, cites: cites.map(({ isTeam: _, ...cite }) => cite) };
  });
  return { claims: checked, excerpts };
}

function problemOf({ ref, read, found }: Searched, evidence: Evidence | undefined): string | undefined {
  if (evidence && "problem" in evidence) return evidence.problem;
  if (read.kind === "refused") return read.problem;
  if (found) return undefined;
  return read.kind === "field"
    ? `its quote is shorter than 8 characters and no whole field of ${ref}`
    : `its quote does not occur in ${ref}`;
}

/** Counts the evidence. `claims` and `cites` include what is removed later. */
export function countEvidence(
  mode: "fail" | "drop" | "mark",
  claims: readonly CheckedClaim[],
  independent: boolean,
): EvidenceCounts {
  const supported = claims.filter((claim) => claim.supported).length;
  const cites = claims.flatMap((claim) => claim.cites);
  const dropped = mode === "drop" ? unsupportedClaims(claims, independent) : [];
  return {
    claims: claims.length,
    supported,
    dropped: dropped.length,
    cites: cites.length,
    held: cites.filter(({ problem }) => problem === undefined).length,
    ...(dropped.length > 0 ? { dropped_claims: dropped } : {}),
  };
}

export function sumEvidence(all: readonly EvidenceCounts[]): EvidenceCounts {
  const sum = (of: (counts: EvidenceCounts) => number) => all.reduce((total, counts) => total + of(counts), 0);
  const dropped = all.flatMap(({ dropped_claims = [] }) => dropped_claims);
  return {
    claims: sum(({ claims }) => claims),
    supported: sum(({ supported }) => supported),
    dropped: sum(({ dropped }) => dropped),
    cites: sum(({ cites }) => cites),
    held: sum(({ held }) => held),
    ...(dropped.length > 0 ? { dropped_claims: dropped } : {}),
  };
}

const MOST_TOLD = 50;

/** Lists the unsupported claims for the prompt of the next attempt. */
export function describeUnsupported(claims: readonly CheckedClaim[], independent: boolean): string[] {
  const unsupported = unsupportedClaims(claims, independent);
  const lines = unsupported.slice(0, MOST_TOLD).map(({ claim, reason }) => `${shortText(claim, 160)} — ${reason}`);
  const left = unsupported.length - lines.length;
  return left > 0 ? [...lines, `and ${left} more`] : lines;
}

function unsupportedClaims(claims: readonly CheckedClaim[], independent: boolean) {
  return claims.flatMap(({ claim, supported, cites }) => {
    if (supported) return [];
    const problems = cites.flatMap(({ ref, problem }) =>
      problem === undefined ? [] : [`${ref || "no ref"}: ${problem}`],
    );
    const others =
      problems.length < cites.length && independent ? ["none of its evidence is from the team's own systems"] : [];
    const why = cites.length === 0 ? "it cites no result" : [...problems.slice(0, 5), ...others].join("; ");
    return [{ claim: shortText(claimText(claim), 300), reason: shortText(why, 300) }];
  });
}
