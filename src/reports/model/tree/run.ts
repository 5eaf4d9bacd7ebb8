import { formatTime, plural, shortText } from "../../../core/base/preview.ts";
import { groupBy, isObject } from "../../../core/base/values.ts";
import { unroutedText } from "../../../core/engine/event/end.ts";
import { numbersInQuote } from "../../../core/engine/evidence/quote.ts";
import type { EvidenceRecord } from "../../../core/engine/evidence/records.ts";
import { foundWords, holds } from "../../../core/engine/finding/claims.ts";
import { type Place, sectionsOf } from "../../../core/engine/finding/sections.ts";
import type { Answers } from "../../../core/engine/result/commands.ts";
import type { Account } from "../account.ts";
import type { Deed } from "../deeds.ts";
import type { Failure } from "../failure.ts";
import {
  type Block,
  badge,
  code,
  codeIn,
  command,
  type Fact,
  type Item,
  joinWords,
  list,
  type Section,
  section,
  span,
  strong,
  text,
  type Words,
  words,
} from "./tree.ts";

/** Describes the first failure, then the error that ended the run, which may only follow from it. */
export function failureSection({ headline, hint, end, place }: Failure): Section {
  const line = place?.line === undefined ? [] : words`, line ${place.line} of the workflow`;
  const parts = [
    ...(hint === undefined ? [] : [text([span("verse", hint)])]),
    ...(end === undefined ? [] : [text(words`Then: ${end}`)]),
  ];
  return section([strong(headline), ...line], parts, { tone: "failed" });
}

export function nextSteps({ next }: Pick<Failure, "next">): Item[] {
  return next.map(({ text: step, command: typed }) => {
    const said = step.charAt(0).toUpperCase() + step.slice(1);
    return { words: typed === undefined ? words`${said}` : words`${said}: ${command(typed)}` };
  });
}

/** Names the node where the run ended although edges lead on, and why none of them applied. */
export function unroutedSection({ result: { unrouted }, nameOf }: Pick<Account, "result" | "nameOf">): Section[] {
  if (!unrouted) return [];
  const { node, edges } = unrouted;
  const rows = edges.map(({ to, reason }) => ({ words: words`to ${code(to)}: ${reason}` }));
  const title = words`▲ The run ${unroutedText(nameOf(node), edges.length)}`;
  return [section(title, list(rows), { tone: "degraded" })];
}

export function awaitedSection({ awaited }: Pick<Account, "awaited">): Section[] {
  if (awaited.length === 0) return [];
  const items = awaited.map(({ name, node, ask, since, until, digest, ...answers }): Item => {
    const about = joinWords([
      words`${strong(name)} asks`,
      node === name ? undefined : words`${code(node)}`,
      words`since ${formatTime(since)}`,
      until === undefined ? undefined : words`until ${formatTime(until)}`,
    ]);
    const plan = digest === undefined ? [] : [text(words`for the plan with digest ${code(digest)}`)];
    return { words: about, parts: [text([span("verse", ask)]), ...plan, ...answerLines(answers)] };
  });
  return [section(words`Waiting for a decision`, list(items), { tone: "waiting" })];
}

export function answerLines({ approve, deny }: Answers): Block[] {
  return [text(words`approve: ${command(approve)}`), text(words`deny: ${command(deny)}`)];
}

/** Lists what the run found, without the headline and the claims. */
export function findingFacts({ finding }: Pick<Account, "finding">): Fact[] {
  return sectionsOf(finding).flatMap((section): Fact[] => {
    if (section.kind === "list") {
      return section.items.map(({ text: excluded, why }) => {
        return [section.term, why === undefined ? words`${excluded}` : words`${excluded}: ${why}`];
      });
    }
    if (section.kind !== "fact") return [];
    const where = placeWords(section.places);
    const fact: Fact = [section.term, marked(section.text, section.mark)];
    return where.length === 0 ? [fact] : [fact, ["Where", where]];
  });
}

export function marked(said: Words | string, mark: string | undefined): Words {
  return mark === undefined ? words`${said}` : words`${said} ${badge(mark, "degraded")}`;
}

/** Describes the place of the cause: its file with the line, and its commit. */
function placeWords(places: readonly Place[]): Words {
  return joinWords(places.map(({ before, code: place }) => words`${span("own", before)}${code(place)}`));
}

export function deedLists({ done, waiting, undone }: Account["deeds"]): Block[] {
  return [
    ...list(done.map(deedItem), { title: "Done", look: "done" }),
    ...list(waiting.map(deedItem), { title: "Waiting for you", look: "waiting" }),
    ...list(undone.map(deedItem), { title: "Not done", look: "undone" }),
  ];
}

function deedItem({ text: done, why, link, at }: Deed): Item {
  const where = link === undefined ? [] : words` ${code(link)}`;
  return { words: [span("text", done, at), ...where], ...(why === undefined ? {} : { why: codeIn(why) }) };
}

/** Returns a title such as `quotes found for 5 of 6 claims`. */
export function evidenceTitle({ claims }: Pick<Account["evidence"], "claims">): string {
  const quoted = claims.filter(({ supported }) => supported).length;
  const unbound = claims.filter(({ status }) => status === "unbound").length;
  const facts = unbound === 0 ? "" : `, facts not found for ${unbound}`;
  return `quotes found for ${quoted} of ${plural(claims.length, "claim")}${facts}`;
}

type Claim = Account["evidence"]["claims"][number];

type RecordOf = (cite: Claim["cites"][number]) => EvidenceRecord | undefined;

/** Maximum length of a record that is shown at its quote, and of all of them. Each call shows its whole result. */
const MOST_OF_RECORD = 20_000;
const MOST_OF_RECORDS = 300_000;

/** Maximum length of a record that is shown at each of its quotes, and of a value that fits into a table. */
const MOST_TWICE = 300;
const MOST_IN_CELL = 60;

/** Lists claims with the quotes that were found and their records, and those that do not hold with the reason. */
export function claimLists({ claims, missing, quoteOf }: Omit<Account["evidence"], "kept">): Block[] {
  let left = MOST_OF_RECORDS;
  const seen = new Set<string>();
  const recordOf: RecordOf = (cite) => {
    const { record } = (cite.problem === undefined && quoteOf(cite)) || {};
    if (record === undefined || record.text.length > Math.min(left, MOST_OF_RECORD)) return undefined;
    const isTwice = seen.has(record.text);
    seen.add(record.text);
    if (isTwice && record.text.length > MOST_TWICE) return undefined;
    left -= record.text.length;
    return record;
  };
  const none = missing.map(({ visit, why }) => text(words`${visit.name}: ${why}`, "failed"));
  const inOrder = [...claims.filter(holds), ...claims.filter((claim) => !holds(claim))];
  const items = inOrder.map((claim) => claimItem(claim, recordOf));
  return [...none, ...list(items, { look: "claims" })];
}

function claimItem(claim: Claim, recordOf: RecordOf): Item {
  const cites = claim.cites.map((cite) => citeItem(cite, recordOf(cite)));
  const parts = list(cites, { look: "cites" });
  if (!holds(claim)) {
    const { text: said, status } = claim;
    const why = status === "dropped" ? `dropped: ${foundWords(claim)}` : foundWords(claim);
    return { words: words`${span("struck", said)} ${badge(why, "failed")}`, tone: "failed", parts };
  }
  return { words: claimWords(claim), tone: "success", parts };
}

/** Describes a claim that holds, with what was not found. */
export function claimWords(claim: Claim): Words {
  return marked(claim.text, claim.status === "found" ? undefined : foundWords(claim));
}

function citeItem({ ref, quote, problem }: Claim["cites"][number], record: EvidenceRecord | undefined): Item {
  if (problem === undefined) {
    return { words: words`${span("ref", ref, ref)} ${span("quote", quote)}`, parts: recordBlocks(quote, record) };
  }
  return { words: words`${span("ref", ref)} ${span("struck", quote)} ${span("dim", problem)}` };
}

const MOST_COLUMNS = 12;

/** Shows the record of a quote: a row or a flat object with its names, or else its text if that is more than the quote. */
function recordBlocks(quote: string, record: EvidenceRecord | undefined): Block[] {
  if (record === undefined) return [];
  const { value, text: shown } = record;
  const isFlat = typeof value === "object" && value !== null && Object.values(value).every(fitsCell);
  const columns = record.columns ?? (isObject(value) ? Object.keys(value) : []);
  if (isFlat && columns.length > 0 && columns.length <= MOST_COLUMNS) {
    const numbers = numbersInQuote(quote);
    const cells = Object.values(value).map((cell) => {
      const said = typeof cell === "string" ? cell : JSON.stringify(cell);
      const isQuoted = typeof cell === "number" ? numbers.has(cell) : said !== "" && quote.includes(said);
      return isQuoted ? [strong(said)] : words`${said}`;
    });
    return [{ kind: "table", columns, rows: [cells] }];
  }
  if (shown.length <= quote.length + 2) return [];
  return [{ kind: "code", text: shown, language: "text", name: "Whole record", quote }];
}

const fitsCell = (value: unknown) =>
  value === null || (typeof value !== "object" && String(value).length <= MOST_IN_CELL);

function markedWords(claim: Claim): string {
  const problems = claim.cites.flatMap(({ ref, problem }) => (problem === undefined ? [] : [`${ref}: ${problem}`]));
  return problems.length === 0 ? foundWords(claim) : shortText(problems.join("; "), 600);
}

/** Lists claims that were dropped from an answer, refuted, or kept with the mark that they are not shown, with the reason. */
export function droppedClaims({ evidence, result }: Pick<Account, "evidence" | "result">): Block[] {
  const item = (claim: string, reason: string): Item => ({ words: words`${claim}`, why: words`${reason}` });
  const dropped = (result.evidence?.dropped_claims ?? []).map(({ claim, reason }) => item(claim, reason));
  const refuted = evidence.claims.flatMap(({ text: claim, status, why = "" }) => {
    return status === "refuted" ? [item(claim, why)] : [];
  });
  const marked = evidence.claims.flatMap((claim) => (claim.marked ? [item(claim.text, markedWords(claim))] : []));
  return [
    ...list(dropped, { title: "Dropped" }),
    ...list(refuted, { title: "Refuted" }),
    ...list(marked, { title: "Not shown by evidence" }),
  ];
}

/** Lists skills that the run continued without, and the nodes that list them. */
export function leftOutList({ result, nameOf }: Pick<Account, "result" | "nameOf">): Item[] {
  const missing = result.degraded.filter(({ skill }) => skill !== undefined);
  return [...groupBy(missing, ({ skill = "" }) => skill)].map(([skill, lost]) => {
    const nodes = lost.map(({ node }) => nameOf(node)).join(", ");
    return { words: words`${code(skill)}: ${lost[0]?.reason ?? ""} (${nodes})` };
  });
}
