import type { BlobInfo } from "../../base/blobs.ts";
import { followPath } from "../../base/path.ts";
import { cutText, shortText } from "../../base/preview.ts";
import { groupBy, type Json, type JsonObject, stringsIn } from "../../base/values.ts";
import type { EvidenceEvaluator, EvidenceRule } from "../../document/workflow/evaluator.ts";
import type { RecordedCall } from "../event/call.ts";
import type { CiteFault, EvidenceCounts, TextFault } from "../event/node-result.ts";
import {
  type Checked,
  type CheckedCite,
  type CheckedClaim,
  type Cite,
  citesOf,
  claimsOf,
  claimText,
  type EarlierClaim,
  factualText,
  heldIn,
  isDropped,
  modesOf,
  refsOf,
} from "./claims.ts";
import { createFactCheck, type FactCheck } from "./facts.ts";
import { foldedClaim, type Quote, readQuote } from "./quote.ts";
import { type Found, findQuotes, nearestTo } from "./source.ts";

/** Checks claims against the results that they cite, without asking a model. */

/** A result that can be cited, or in `problem` the reason that it is not evidence. */
export type Evidence = (
  | {
      readonly texts: readonly string[];
      /** True if parts were left out that repeat the call's arguments. Quotes of them are looked for in the run's input. */
      readonly repeats?: boolean;
      /** Texts with the lines that were left out because an earlier write sent them. Absent if no write came before. */
      readonly whole?: readonly string[];
    }
  | { readonly problem: string; readonly code: CiteFault }
) & { readonly isTeam: boolean };

/** Input of the check, except the texts of blobs. */
export interface EvidenceQuestion {
  readonly node: string;
  readonly evaluator: EvidenceEvaluator;
  readonly data: JsonObject;
  /** The cited results. Other references are not results of this run. */
  readonly results: readonly CitedResult[];
  /** The run's input, which can be cited as `input`. */
  readonly input: Json;
  readonly earlier: readonly EarlierClaim[];
  readonly mostOfExcerpt: number;
}

export interface CitedResult {
  readonly call: RecordedCall;
  readonly isTeam: boolean;
  readonly isWrite: boolean;
  /** True if the tool runs code that the model wrote. */
  readonly isOwnCode: boolean;
  /** Inputs of earlier writes through the same skill. Text that they sent is not evidence when it is read back. */
  readonly sent: readonly Json[];
  /** Fields of the result that repeat the input, if the tool declares them. */
  readonly echoes?: readonly string[];
  readonly blobs: readonly BlobInfo[];
}

/** Returns the distinct references that the check of an answer needs, valid or not. */
export function citedRefs(rule: EvidenceRule, data: JsonObject, earlier: readonly EarlierClaim[]): Set<string> {
  const claims = claimsOf(rule, data);
  if ("missing" in claims) return new Set();
  const cites = [...claims, ...refutationsOf(rule, data)].flatMap((claim) => citesOf(rule, claim));
  return new Set([...cites, ...quotedIn(rule, earlier)].flatMap(refsOf));
}

function refutationsOf({ refutes }: EvidenceRule, data: JsonObject): readonly Json[] {
  const found = refutes === undefined ? [] : followPath(refutes, data);
  return "missing" in found ? [] : found;
}

/** Returns the citations of earlier nodes, if fields are compared with what they quote. */
function quotedIn({ texts }: EvidenceRule, earlier: readonly EarlierClaim[]): readonly Cite[] {
  return texts ? earlier.flatMap(({ cites }) => cites) : [];
}

export const INPUT_REF = "input";

/** Checks the claims. `evidenceOf` returns the evidence of a reference. */
export function examine(question: EvidenceQuestion, evidenceOf: (ref: string) => Evidence): Checked {
  const { node, evaluator, data, input, earlier, mostOfExcerpt } = question;
  const { rule, name } = evaluator;
  const claims = claimsOf(rule, data);
  const event = { type: "evidence:checked", node, evaluator: name } as const;
  if ("missing" in claims) return { ...event, claims: [], missing: claims.missing, excerpts: {} };
  const openOf = (cite: Cite): Open => ({ cite, read: readQuote(cite.quote), finds: [] });
  const cited = claims.map((claim) => citesOf(rule, claim).map(openOf));
  const refutations = refutationsOf(rule, data);
  const said = groupBy(refutations.length > 0 ? earlier : [], ({ text }) => foldedClaim(text));
  const refuting = refutations.map((entry) => citesOf(rule, entry).map(openOf));
  const quoted = quotedIn(rule, earlier).map(openOf);
  const known = searchAll([...cited.flat(), ...refuting.flat(), ...quoted], evidenceOf);
  const facts = createFactCheck();
  const given: Given = { known, rule, input: JSON.stringify(input), facts, nearestLeft: MOST_NEAREST };
  const checked = claims.map((claim, index) => checkClaim(claim, cited[index] ?? [], given));
  const held = checked.flatMap(({ supported }, index) => (supported ? (cited[index] ?? []) : []));
  const texts = checkTexts(data, recordsOf([...held, ...quoted]), given);
  const refuted = refutations.map((entry, index) => {
    return checkRefutation({ entry, opens: refuting[index] ?? [] }, said, given);
  });
  return {
    ...{ ...event, claims: checked },
    ...(texts.length > 0 ? { texts } : {}),
    ...(refuted.length > 0 ? { refuted } : {}),
    excerpts: mostOfExcerpt > 0 ? excerptsOf(cited.flat(), mostOfExcerpt) : {},
  };
}

/** Returns the fields of the answer with facts that neither a quoted record nor the input contains. */
function checkTexts(data: JsonObject, records: readonly string[], { rule, facts, input }: Given): TextFault[] {
  return (rule.texts ?? []).flatMap((path) => {
    const values = followPath(path, data);
    if ("missing" in values) return [];
    const texts = values.flatMap((value) => (typeof value === "object" ? stringsIn(value) : [String(value)]));
    const missing = facts(texts.join("\n"), [...records, input]);
    return missing.length > 0 ? [{ path, missing }] : [];
  });
}

/** Checks a refutation: an earlier node has the claim, and each of its citations holds. */
function checkRefutation(
  { entry, opens }: { readonly entry: Json; readonly opens: readonly Open[] },
  said: ReadonlyMap<string, readonly EarlierClaim[]>,
  given: Given,
): NonNullable<Checked["refuted"]>[number] {
  const claim = claimText(entry);
  const isTeams = ({ ref }: Cite) => given.known.get(ref)?.isTeam === true;
  const nodes = [...new Set(said.get(foldedClaim(claim))?.map(({ node }) => node))];
  const cites = opens.map((open) => checkCite(open, given));
  const problems = [
    ...(nodes.length === 0 ? ["no earlier node has this claim, word for word"] : []),
    ...problemsOf(cites),
    ...(given.rule.independent && !heldIn(cites).some(isTeams) ? [FOREIGN] : []),
  ];
  const quotes = cites.map(({ ref, quote }) => `${ref}: ${JSON.stringify(shortText(quote, 200))}`);
  const holds = problems.length === 0;
  return { claim, nodes, holds, reason: shortText((holds ? quotes : problems).join("; "), 600), cites };
}

/** A citation and what was found for it in each of its results. */
interface Open {
  readonly cite: Cite;
  readonly read: Quote;
  readonly finds: { readonly ref: string; readonly found: Found | undefined }[];
}

/** Searches each result once for all quotes that cite it. */
function searchAll(cites: readonly Open[], evidenceOf: (ref: string) => Evidence): ReadonlyMap<string, Evidence> {
  const known = new Map<string, Evidence>();
  const pairs = cites.flatMap((open) => refsOf(open.cite).map((ref) => ({ ref, open })));
  for (const [ref, same] of groupBy(pairs, ({ ref }) => ref)) {
    const opens = same.map(({ open }) => open);
    const evidence = evidenceOf(ref);
    known.set(ref, evidence);
    if ("problem" in evidence) continue;
    find(opens, ref, evidence.texts);
    if (!evidence.repeats) continue;
    const input = evidenceOf(INPUT_REF);
    known.set(INPUT_REF, input);
    const open = opens.filter(({ finds }) => !finds.some(({ found }) => found));
    if ("texts" in input && open.length > 0) find(open, INPUT_REF, input.texts);
  }
  return known;
}

function find(opens: readonly Open[], ref: string, texts: readonly string[]): void {
  const quotes = opens.map(({ read }) => read);
  for (const [index, found] of findQuotes(texts, quotes).entries()) opens[index]?.finds.push({ ref, found });
}

/** Most quotes for which the nearest text is searched. */
const MOST_NEAREST = 20;

interface Given {
  readonly rule: EvidenceRule;
  readonly known: ReadonlyMap<string, Evidence>;
  readonly input: string;
  readonly facts: FactCheck;
  nearestLeft: number;
}

function checkClaim(claim: Json, opens: readonly Open[], given: Given): CheckedClaim {
  const { rule, known, input, facts } = given;
  const cites = opens.map((open) => checkCite(open, given));
  const holding = heldIn(cites);
  const supported = holding.some(({ ref }) => !rule.independent || known.get(ref)?.isTeam);
  if (!supported) return { claim, supported, cites };
  const unbound = facts(factualText(rule, claim), [...recordsOf(opens), input]);
  return {
    claim,
    supported,
    ...(holding.length < cites.length ? { partial: true } : {}),
    ...(unbound.length > 0 ? { unbound } : {}),
    cites,
  };
}

/** Returns the texts of the records that contain the quotes. A row's text has the names of its columns too. */
function recordsOf(opens: readonly Open[]): string[] {
  const records = opens.flatMap(({ finds }) => finds.flatMap(({ found = [] }) => found));
  return records.map(({ text, columns = [] }) => [text, ...columns].join("\n"));
}

/** Checks a citation. Of several results, one must contain the quote. */
function checkCite({ cite, read, finds }: Open, given: Given): CheckedCite {
  const { ref, quote } = cite;
  const { known } = given;
  const held = finds.find(({ found }) => found?.length);
  if (held) return { ref: held.ref, quote };
  const failed = (code: CiteFault, problem: string) => ({ ref, quote, code, problem });
  for (const each of refsOf(cite)) {
    const evidence = known.get(each);
    if (evidence && "problem" in evidence) return failed(evidence.code, evidence.problem);
  }
  if (read.kind === "refused") return failed("bad_quote", read.problem);
  if (finds.some(({ found }) => found)) {
    return failed("crosses_records", `its quote joins parts of different records of ${ref}`);
  }
  if (read.kind === "field") {
    const size = "fewer than 8 characters, not counting white space";
    return failed("not_found", `its quote has ${size}, and is not a whole field or record of ${ref}`);
  }
  const first = known.get(refsOf(cite)[0] ?? "");
  const evidence = first && "texts" in first && given.nearestLeft-- > 0 ? first : undefined;
  if (evidence?.whole && findQuotes(evidence.whole, [read])[0]) {
    return failed("not_found", `its quote is text that an earlier write of this run sent, which is not evidence`);
  }
  const nearest = evidence && nearestTo(evidence.texts, read);
  return { ...failed("not_found", `its quote does not occur in ${ref}`), ...(nearest ? { nearest } : {}) };
}

/** Returns the records with valid quotes, by result, up to a number of characters each. */
function excerptsOf(opens: readonly Open[], most: number): Checked["excerpts"] {
  const excerpts = new Map<string, string>();
  for (const { ref, found: [record] = [] } of opens.flatMap(({ finds }) => finds)) {
    const before = excerpts.get(ref);
    if (!record || before?.includes(record.text) || (before ?? "").length >= most) continue;
    const { text, at } = record.within ?? { text: record.text, at: 0 };
    const shown = cutText(text.slice(at, at + most + 1), most);
    excerpts.set(ref, before === undefined ? shown : cutText(`${before}\n${record.text}`, most));
  }
  return Object.fromEntries(excerpts);
}

/** Counts the evidence. `claims` and `cites` include what is removed later. */
export function countEvidence(
  evaluator: EvidenceEvaluator,
  { claims, texts = [], refuted = [] }: Checked,
): EvidenceCounts {
  const modes = modesOf(evaluator);
  const cites = claims.flatMap((claim) => claim.cites);
  const lost = claims.filter((claim) => isDropped(claim, modes));
  const dropped = [...complaintsOf(evaluator.rule, lost), ...(modes.unsupported === "drop" ? faultsOf(refuted) : [])];
  return countsOf({
    claims: claims.length,
    supported: claims.filter((claim) => claim.supported).length,
    dropped: dropped.length,
    cites: cites.length,
    held: heldIn(cites).length,
    partial: claims.filter((claim) => claim.partial).length,
    unbound: claims.filter((claim) => claim.unbound).length,
    dropped_claims: dropped,
    texts,
  });
}

/** Leaves out the counts and lists that are absent if there is nothing to count. */
function countsOf({
  partial = 0,
  unbound = 0,
  dropped_claims = [],
  texts = [],
  ...counts
}: EvidenceCounts): EvidenceCounts {
  return {
    ...counts,
    ...(partial > 0 ? { partial } : {}),
    ...(unbound > 0 ? { unbound } : {}),
    ...(dropped_claims.length > 0 ? { dropped_claims } : {}),
    ...(texts.length > 0 ? { texts } : {}),
  };
}

const COUNTED = ["claims", "supported", "dropped", "cites", "held", "partial", "unbound"] as const;

export function sumEvidence(all: readonly EvidenceCounts[]): EvidenceCounts {
  const sums = COUNTED.map((name) => [name, all.reduce((sum, counts) => sum + (counts[name] ?? 0), 0)]);
  return countsOf({
    ...(Object.fromEntries(sums) as Record<(typeof COUNTED)[number], number>),
    dropped_claims: all.flatMap(({ dropped_claims = [] }) => dropped_claims),
    texts: all.flatMap(({ texts = [] }) => texts),
  });
}

function problemsOf(cites: readonly CheckedCite[]): string[] {
  if (cites.length === 0) return ["it cites no result"];
  return cites.flatMap(({ ref, problem, nearest }) => {
    if (problem === undefined) return [];
    const near = nearest === undefined ? "" : `; the nearest text there is: ${shortText(nearest, 200)}`;
    return [`${ref || "no ref"}: ${problem}${near}`];
  });
}

const MOST_LISTED = 50;

/** Lists the faults of an answer, for the model's next turn or attempt. */
export function describeFaults(rule: EvidenceRule, { claims, texts = [], refuted = [] }: Checked): string[] {
  const faults = [
    ...complaintsOf(rule, claims),
    ...texts.map(({ path, missing }) => {
      const facts = missing.slice(0, 10).join(", ");
      return { claim: path, reason: `neither the records that claims quote nor the input contain: ${facts}` };
    }),
    ...faultsOf(refuted),
  ];
  const lines = faults.slice(0, MOST_LISTED).map(({ claim, reason }) => `${shortText(claim, 160)} — ${reason}`);
  const left = faults.length - lines.length;
  return left > 0 ? [...lines, `and ${left} more`] : lines;
}

function faultsOf(refuted: NonNullable<Checked["refuted"]>) {
  return refuted.flatMap(({ claim, holds, reason }) => (holds ? [] : [{ claim: `refutation of: ${claim}`, reason }]));
}

function complaintsOf(rule: EvidenceRule, claims: readonly CheckedClaim[]) {
  return claims.flatMap((checked) => {
    const reasons = reasonsOf(rule, checked);
    if (reasons.length === 0) return [];
    return [{ claim: shortText(claimText(checked.claim), 300), reason: shortText(reasons.join("; "), 600) }];
  });
}

const FOREIGN = "none of its evidence is from the team's own systems";

function reasonsOf({ independent }: EvidenceRule, { supported, cites, unbound = [] }: CheckedClaim): string[] {
  const problems = problemsOf(cites);
  const isForeign = !supported && problems.length < cites.length && independent;
  return [
    ...problems.slice(0, 5),
    ...(isForeign ? [FOREIGN] : []),
    ...(unbound.length > 0 ? [`not in the records that it quotes: ${unbound.slice(0, 10).join(", ")}`] : []),
  ];
}
