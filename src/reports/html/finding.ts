import { formatCost, formatCount, formatDuration, formatTime, plural, shortText } from "../../core/base/preview.ts";
import { modelText } from "../../core/document/model-list.ts";
import type { Account, RunState } from "../model/account.ts";
import { paidWords } from "../model/account.ts";
import type { Failure } from "../model/failure.ts";
import {
  awaitedSection,
  deedLists,
  failureSection,
  findingFacts,
  nextSteps,
  unroutedSection,
} from "../model/tree/run.ts";
import { facts, list, type Section, span, words } from "../model/tree/tree.ts";
import { html, type Markup } from "./markup/markup.ts";
import { blocksHtml } from "./markup/tree.ts";

export const STATE_MARKS: Readonly<Record<RunState, string>> = {
  succeeded: "✔",
  degraded: "▲",
  failed: "✘",
  stopped: "■",
  interrupted: "■",
  waiting: "◆",
  skipped: "○",
  running: "●",
};

export function headHtml(account: Account): Markup {
  const { record, result, headline, state } = account;
  return html`<header class="head ${state}">
<p class="kicker"><span dir="auto">${record.workflow.name}</span> <span class="meta">run ${result.run} · ${formatTime(record.at)}</span></p>
<h1 dir="auto">${oneSentence(headline)}</h1>${strengthHtml(account)}
${threeHtml(account)}${calloutsHtml(account)}
</header>`;
}

/** Returns the first sentence of a long headline. The visit's result shows the full text. */
export function oneSentence(text: string): string {
  const [line = text] = text.trim().split(/\n/, 1);
  if (line.length <= MOST_HEADLINE) return line;
  const sentence = /^.{20,200}?[.!?](?=\s)/.exec(line)?.[0];
  return sentence ?? shortText(line, MOST_HEADLINE);
}

const MOST_HEADLINE = 240;

/** Shows how many of the checked claims hold, next to the headline that rests on them. */
function strengthHtml({ finding: { counts } }: Account): Markup | undefined {
  if (counts.claims === 0) return undefined;
  const look = counts.kept === 0 ? "failed" : counts.kept < counts.claims || counts.unbound > 0 ? "degraded" : "";
  return html`<p class="lead"><a class="badge ${look}" href="#evidence">${counts.kept} of ${plural(counts.claims, "claim")} kept</a></p>`;
}

/** Returns the look of a severity by its number, 1 being the highest. Without a number, the severity stands out less. */
function severityLook(severity: string): string {
  const [level] = /\d/.exec(severity) ?? [];
  if (level === undefined) return "degraded";
  return Number(level) <= 1 ? "sev1" : Number(level) === 2 ? "failed" : "degraded";
}

function threeHtml({ state, standing, finding, deeds, record }: Account): Markup {
  const { done, waiting, undone } = deeds;
  const counted = Object.entries({ done, "waiting for you": waiting, "not done": undone });
  const did = counted.flatMap(([words, { length }]) => (length > 0 ? [`${formatCount(length)} ${words}`] : []));
  const { severity, verdict } = finding;
  const badge =
    severity !== undefined && html`<span class="badge ${severityLook(severity)}">${shortText(severity, 40)}</span> `;
  const judged =
    verdict ?? (severity !== undefined ? "" : finding.headline === undefined ? "no verdict" : "see the headline");
  const kind = record.kind === "run" ? "" : ` (${record.kind})`;
  return html`<dl class="three">
<div><dt>The run</dt><dd><span class="badge ${state}"><span aria-hidden="true">${STATE_MARKS[state]}</span> ${state}</span> ${standing === state ? kind : `${standing}${kind}`}</dd></div>
<div><dt>What it found</dt><dd dir="auto">${badge}${judged}</dd></div>
<div><dt>What it did</dt><dd>${did.length === 0 ? "no external changes" : did.join(", ")}</dd></div>
</dl>`;
}

function calloutsHtml(account: Account): Markup {
  const { failure } = account;
  return blocksHtml([
    ...(failure ? [failureCallout(failure, account.headline)] : []),
    ...unroutedSection(account),
    ...awaitedSection(account),
  ]);
}

/** Adds the visit and what to do. Leaves out the node's name if the page's headline already has it. */
function failureCallout(failure: Failure, headline: string): Section {
  const { title, parts, ...callout } = failureSection(
    failure.headline === headline ? { ...failure, headline: failure.message } : failure,
  );
  const { visit } = failure;
  const at = visit === undefined ? [] : words` ${span("dim", `Visit ${visit.number}`, visit.anchor)}`;
  const steps = list(nextSteps(failure), { title: "What to do" });
  return { ...callout, title: [...title, ...at], parts: [...parts, ...steps] };
}

export function findingHtml(account: Account): Markup {
  const { finding, deeds } = account;
  const { first_step: action } = finding;
  const rows = findingFacts(account).filter(([term]) => term !== "Verdict" && term !== "First step");
  const first =
    action !== undefined && html`<div class="first-step"><h3>First step</h3><p dir="auto">${action}</p></div>`;
  const isEmpty = rows.length === 0 && action === undefined;
  const nothing = isEmpty && html`<p class="nil">The run names no cause, severity or first step.</p>`;
  const did = deedLists(deeds);
  const done = did.length > 0 && html`<div class="did">${blocksHtml(did)}</div>`;
  return html`${first}${blocksHtml(facts(rows))}${nothing}${done}${spentHtml(account)}`;
}

function spentHtml({ result, record, answeredBy, recordingCost, isUnderWay }: Account): Markup {
  const { usage } = result;
  const cached = usage.inputTokens > 0 ? Math.round((100 * usage.cachedTokens) / usage.inputTokens) : 0;
  const cost = answeredBy === undefined ? formatCost(usage.costUsd) : paidWords(answeredBy, recordingCost);
  const facts = {
    Took: formatDuration(usage.durationMs),
    Cost: cost,
    Tokens: `${formatCount(usage.inputTokens)} in (${cached} % cached), ${formatCount(usage.outputTokens)} out`,
    Model: modelText(record.settings.model),
    Writes: record.settings.writes,
    ...(isUnderWay ? {} : { "Exit code": String(result.exitCode) }),
  };
  return html`<dl class="facts">${Object.entries(facts).map(([term, fact]) => html`<div><dt>${term}</dt><dd>${fact}</dd></div>`)}</dl>`;
}
