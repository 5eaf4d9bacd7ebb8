import { formatCost, formatDuration, formatTime, plural, shortText } from "../core/base/preview.ts";
import { unroutedText } from "../core/engine/event/end.ts";
import { holds } from "../core/engine/finding/claims.ts";
import { causeText } from "../core/engine/finding/finding.ts";
import { missingWords } from "../core/engine/finding/missing.ts";
import { markdownOf } from "./markdown-writer.ts";
import { type Account, accountOf, paidWords } from "./model/account.ts";
import { momentsOf } from "./model/incident/chronicle.ts";
import type { Report } from "./model/report.ts";
import { claimWords, droppedClaims, findingFacts, marked, nextSteps } from "./model/tree/run.ts";
import {
  type Block,
  code,
  command,
  fact,
  facts,
  type Item,
  list,
  type Section,
  section,
  span,
  text,
  type Words,
  words,
} from "./model/tree/tree.ts";
import { durationOf, statusOf, type Visit } from "./model/visit.ts";
import { isCurrent, lastVisits } from "./model/visits.ts";

/** Drafts a blameless post-mortem from the record of a run. Contains nothing that is not in the record. */
export function postmortemMarkdown(report: Report): string {
  const account = accountOf(report);
  const { finding } = account;
  const parts = [
    ...about(account),
    titled("Summary", summary(account)),
    titled("Impact", finding.impact === undefined ? [] : [verse(finding.impact, finding, "impact")]),
    titled("Timeline (UTC)", timeline(account)),
    titled("Root cause", cause(account)),
    titled("What went well", list(well(account).map(item))),
    titled("What went badly", [...list(badly(account).map(item)), ...droppedClaims(account)]),
    titled("Action items", list(actions(account), { look: "tasks" })),
    titled("Evidence", evidence(account)),
  ];
  return `${markdownOf([section(words`Post-mortem: ${shortText(account.headline, MOST_TITLE)}`, parts)], 1)}\n`;
}

const MOST_TITLE = 240;
const UNKNOWN = span("own", "_The record does not show this._");

function titled(title: string, parts: readonly Block[]): Section {
  return section([span("own", title)], parts.length === 0 ? [text([UNKNOWN])] : parts);
}

const item = (line: Words): Item => ({ words: line });

function about({ record, result, standing, finding }: Account): Block[] {
  const when = formatTime(record.at);
  return facts([
    fact("Severity", finding.severity) ?? ["Severity", [UNKNOWN]],
    fact("Verdict", finding.verdict) ?? ["Verdict", [UNKNOWN]],
    ["Investigated", words`${when}, by ${record.workflow.name}, run ${code(result.run)}: ${standing}`],
    ["Status", words`draft, generated from the run's record; blameless; complete it by hand`],
  ]);
}

/** Sums up what no other section shows. */
function summary({ finding, headline, failure, evidence: { claims, kept } }: Account): Block[] {
  const isTitle = headline === finding.headline && headline.length <= MOST_TITLE;
  return [
    ...(finding.headline === undefined || isTitle ? [] : [text([span("verse", finding.headline)])]),
    ...(claims.length > 0 ? [text(words`${kept} of ${plural(claims.length, "claim")} kept.`)] : []),
    ...(failure === undefined ? [] : [text(words`The investigation itself did not complete.`)]),
  ];
}

function timeline(account: Account): Block[] {
  const rows = momentsOf(account).map(({ at, what, ref }) => {
    return [words`${shortText(at, 60)}`, words`${what}${ref === undefined ? [] : words` ${span("ref", ref)}`}`];
  });
  return rows.length === 0 ? [] : [{ kind: "table", columns: ["When", "What"], rows }];
}

function cause(account: Account): Block[] {
  const said = causeText(account.finding);
  if (said === undefined) return [];
  const terms = ["Where", "Confidence", "Ruled out"];
  return [
    verse(said, account.finding, "cause"),
    ...facts(findingFacts(account).filter(([term]) => terms.includes(term))),
  ];
}

function verse(said: string, { missing }: Account["finding"], field: string): Block {
  return text(marked([span("verse", said)], missingWords(missing, field)));
}

function well({ visits, result, deeds }: Account): Words[] {
  const evals = lastVisits(visits).flatMap((visit) => visit.result?.evals ?? []);
  const passed = evals.filter(({ pass }) => pass).length;
  const took = formatDuration(result.usage.durationMs);
  return [
    ...(result.status === "succeeded" ? [words`The investigation finished within ${took}.`] : []),
    ...(evals.length > 0 ? [words`${passed} of ${plural(evals.length, "eval")} passed.`] : []),
    ...deeds.done.map((done) => words`Done: ${done.text}`),
  ];
}

function badly({ every, visits, finding, evidence: { claims, kept }, failure, result, nameOf }: Account): Words[] {
  const { unrouted } = result;
  const retried = every.filter((visit) => isCurrent(visit) && visit.retries.length > 0);
  const lost = claims.length - kept;
  const then = failure?.end === undefined ? [] : words`; then ${failure.end}`;
  return [
    ...(failure ? [words`${failure.headline}${then}`] : []),
    ...result.degraded.map(({ node, skill, reason }) => {
      return words`${code(node)} ${skill === undefined ? "was degraded" : words`had no ${code(skill)}`}: ${reason}`;
    }),
    ...(unrouted ? [words`The run ${unroutedText(nameOf(unrouted.node), unrouted.edges.length)}.`] : []),
    ...visits
      .filter((visit) => isCurrent(visit) && statusOf(visit) === "skipped")
      .map(({ name }) => words`${name} was skipped.`),
    ...(lost > 0 ? [words`${plural(lost, "claim")} did not hold.`] : []),
    ...retried.map(({ name, retries }) => words`${name} needed ${plural(retries.length + 1, "attempt")}.`),
    ...[...new Set([...finding.missing_evidence, ...gapsIn(visits)])].map((gap) => words`Not known: ${gap}`),
  ];
}

/** Returns what the last results list as unknown. */
function gapsIn(visits: readonly Visit[]): string[] {
  const lists = lastVisits(visits).flatMap(({ result }) => [result?.data["gaps"], result?.data["missing_evidence"]]);
  const gaps = lists.flatMap((gap) => (Array.isArray(gap) ? gap : []));
  return [...new Set(gaps.filter((gap): gap is string => typeof gap === "string"))];
}

function actions({ finding, deeds, awaited, result, failure }: Account): Item[] {
  const review = command(`apply ${result.run}`);
  return [
    ...(finding.first_step === undefined ? [] : [{ words: words`${finding.first_step}` }]),
    ...awaited.map(({ name, ask, approve }) => item(words`Answer ${name}: ${ask} (${command(approve)})`)),
    ...deeds.waiting.map(({ text: write, at = "" }) => item(words`Review ${code(at)}: ${write} (${review})`)),
    ...deeds.undone.map(({ text: undone, why = "" }) => item(words`Decide: ${undone} — ${why}`)),
    ...(failure ? nextSteps(failure) : []),
  ];
}

function evidence({ evidence: found, visits, every, result, record, answeredBy, recordingCost }: Account): Block[] {
  const tools = new Map(every.flatMap(({ calls, name }) => calls.map(({ ref, tool }) => [ref, `${tool} in ${name}`])));
  const rows = found.claims.filter(holds).map((claim): Item => {
    const held = claim.cites.filter(({ problem }) => problem === undefined);
    const quotes = held.map(({ ref, quote }) => {
      return item(words`${span("ref", ref)} (${tools.get(ref) ?? ""}): ${span("quote", quote)}`);
    });
    return { words: claimWords(claim), parts: list(quotes) };
  });
  const page = command(`report ${result.run} --report html=report.html`);
  const paid =
    answeredBy === undefined ? `cost ${formatCost(result.usage.costUsd)}` : paidWords(answeredBy, recordingCost);
  const took = formatDuration(visits.reduce((sum, visit) => sum + durationOf(visit), 0));
  return [
    ...list(rows),
    text(words`Each reference is a place of the run's page: ${page}, then ${code("report.html#r1")}.`),
    text(
      words`Run ${code(result.run)} of ${code(record.workflow.id)}, ${plural(every.length, "visit")}, ${took} of work, ${paid}.`,
    ),
  ];
}
