import { defined } from "../../base/values.ts";
import { type Cause, causeText, type Excluded, type Finding, type FoundClaim } from "./finding.ts";
import { missingWords } from "./missing.ts";

/** A finding as one tree of sections, which every view writes in its own format. */

export type Section =
  | {
      readonly kind: "fact";
      readonly term: string;
      readonly text: string;
      readonly places: readonly Place[];
      /** Facts of the text that were not found, in words. */
      readonly mark: string | undefined;
    }
  | { readonly kind: "claims"; readonly claims: readonly FoundClaim[] }
  | { readonly kind: "list"; readonly term: string; readonly items: readonly Excluded[] }
  | { readonly kind: "footer"; readonly run: string; readonly checked: string; readonly url: string | undefined };

/** A place in the code: `src/pool.ts:42`, or `commit` with its id. */
export interface Place {
  readonly before: string;
  readonly code: string;
}

/** Returns the sections of a finding that have content, in the order in which they are shown. */
export function sectionsOf(finding: Finding): Section[] {
  const { cause, claims, rechecked = [], missing } = finding;
  const unseen = finding.missing_evidence.map((text) => ({ text }));
  const fact = (term: string, text: string | undefined, field = "", places: readonly Place[] = []): Section[] => {
    return text === undefined ? [] : [{ kind: "fact", term, text, places, mark: missingWords(missing, field) }];
  };
  const list = (term: string, items: readonly Excluded[]): Section[] => {
    return items.length === 0 ? [] : [{ kind: "list", term, items }];
  };
  return [
    ...fact("Severity", finding.severity, "severity"),
    ...fact("Verdict", finding.verdict),
    ...fact("Impact", finding.impact, "impact"),
    ...fact("Cause", causeText(finding), "cause", cause ? placesOf(cause) : []),
    ...fact("Confidence", cause?.confidence),
    ...fact("First step", finding.first_step, "first_step"),
    ...(claims.length === 0 ? [] : [{ kind: "claims", claims } as const]),
    ...RECHECKED.flatMap(([answer, term]) => {
      const own = rechecked.filter((claim) => claim.answer === answer);
      const items = own.map(({ claim, reason }) => ({ text: claim.replace(/\.$/, ""), ...defined("why", reason) }));
      return list(term, items);
    }),
    ...list("Ruled out", finding.ruled_out),
    ...list("Facts not found", otherMissing(missing)),
    ...list("Missing evidence", unseen),
    { kind: "footer", run: finding.run, checked: checkedWords(finding), url: finding.reportUrl },
  ];
}

/** Lists the missing facts of texts that the finding does not show. Their keys are paths. */
function otherMissing(missing: Finding["missing"] = {}): Excluded[] {
  const others = Object.entries(missing).filter(([key]) => key.includes("."));
  return others.map(([text, facts]) => ({ text, why: facts.join(", ") }));
}

const RECHECKED = [
  ["not_held", "Not held"],
  ["inconclusive", "Inconclusive"],
  ["held", "Held"],
] as const;

function placesOf({ file, line, commit }: Cause): Place[] {
  return [
    ...(file === undefined ? [] : [{ before: "", code: line === undefined ? file : `${file}:${line}` }]),
    ...(commit === undefined ? [] : [{ before: "commit ", code: commit }]),
  ];
}

/** Describes what was checked: `8 of 9 claims kept: quotes found in the results`. Empty if nothing was checked. */
function checkedWords({ counts: { claims, kept, unbound }, isUnquoted }: Finding): string {
  if (claims === 0) return "";
  const facts = unbound === 0 ? [] : [`${unbound} with facts not found in the quoted records`];
  const quotes = isUnquoted ? ["no quotes found in the results"] : kept === 0 ? [] : ["quotes found in the results"];
  const found = quotes.length === 0 ? "" : `: ${[...quotes, ...facts].join(", ")}`;
  return `${kept} of ${claims} ${claims === 1 ? "claim" : "claims"} kept${found}`;
}
