import { formatCost, formatCount, formatDuration, formatTime, plural, shortText } from "../../core/base/preview.ts";
import { unroutedText } from "../../core/engine/result/unrouted.ts";
import type { Account, RunState } from "../model/account.ts";
import { paidWords } from "../model/account.ts";
import type { Deed } from "../model/deeds.ts";
import { html, type Markup } from "./markup/markup.ts";

/** Head of the page: the run's outcome, its finding and its actions. */

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
<h1 dir="auto">${oneSentence(headline)}</h1>
${threeHtml(account)}${failureHtml(account)}${unroutedHtml(account)}${awaitedHtml(account)}
</header>`;
}

/** Returns the first sentence of a long headline. The visit's result shows the full text. */
function oneSentence(text: string): string {
  const [line = text] = text.trim().split(/\n/, 1);
  if (line.length <= MOST_HEADLINE) return line;
  const sentence = /^.{20,200}?[.!?](?=\s)/.exec(line)?.[0];
  return sentence ?? shortText(line, MOST_HEADLINE);
}

const MOST_HEADLINE = 240;

function threeHtml({ state, standing, finding, deeds, record }: Account): Markup {
  const { done, waiting, undone } = deeds;
  const did = [
    done.length > 0 ? `${formatCount(done.length)} done` : "",
    waiting.length > 0 ? `${formatCount(waiting.length)} waiting for you` : "",
    undone.length > 0 ? `${formatCount(undone.length)} not done` : "",
  ].filter((part) => part !== "");
  const found = [finding.verdict, finding.severity].filter((part) => part !== undefined).join(" · ");
  const kind = record.kind === "run" ? "" : ` (${record.kind})`;
  return html`<dl class="three">
<div><dt>The run</dt><dd><span class="badge ${state}"><span aria-hidden="true">${STATE_MARKS[state]}</span> ${state}</span> ${standing === state ? kind : `${standing}${kind}`}</dd></div>
<div><dt>What it found</dt><dd dir="auto">${found === "" ? (finding.headline === undefined ? "nothing that it names" : "see the headline") : found}</dd></div>
<div><dt>What it did</dt><dd>${did.length === 0 ? "nothing outside of itself" : did.join(", ")}</dd></div>
</dl>`;
}

function failureHtml({ failure, headline }: Account): Markup | undefined {
  if (!failure) return undefined;
  const { place, visit, next, hint, end } = failure;
  const at = visit === undefined ? undefined : html` <a href="#${visit.anchor}">Visit ${visit.number}</a>`;
  const line = place?.line === undefined ? "" : `, line ${place.line} of the workflow`;
  const told = failure.headline === headline ? failure.message : failure.headline;
  const steps = next.map(({ text, command }) => {
    return html`<li>${text}${command === undefined ? undefined : html`: <code>skillflow ${command}</code>`}</li>`;
  });
  return html`<div class="callout failed"><p dir="auto"><strong>${told}</strong>${at}${line}</p>
${hint === undefined ? undefined : html`<p dir="auto">${hint}</p>`}${end === undefined ? undefined : html`<p dir="auto">Then: ${end}</p>`}
${steps.length === 0 ? undefined : html`<p class="meta">What to do</p><ul class="list">${steps}</ul>`}</div>`;
}

/** Shows the node where the run ended although edges lead on, and why none of them applied. */
function unroutedHtml({ result: { unrouted }, nameOf }: Account): Markup | undefined {
  if (!unrouted) return undefined;
  const { node, edges } = unrouted;
  const rows = edges
    .slice(0, MOST_AWAITED)
    .map(({ to, reason }) => html`<li dir="auto">to <code>${to}</code>: ${reason}</li>`);
  return html`<div class="callout degraded"><p dir="auto"><strong>▲ The run ${unroutedText(nameOf(node), edges.length)}</strong></p><ul class="list">${rows}</ul></div>`;
}

/** Shows pending approvals with the commands that answer them. */
function awaitedHtml({ awaited }: Account): Markup | undefined {
  if (awaited.length === 0) return undefined;
  const items = awaited.slice(0, MOST_AWAITED).map(({ name, node, ask, since, until, approve, deny }) => {
    const when = `asked ${formatTime(since)}${until === undefined ? "" : `, until ${formatTime(until)}`}`;
    return html`<li><p dir="auto"><strong>${name}</strong> <span class="meta">${node} · ${when}</span></p><p class="verse" dir="auto">${ask}</p>
<p>Yes: <code>skillflow ${approve}</code></p><p>No: <code>skillflow ${deny}</code></p></li>`;
  });
  const more = awaited.length - items.length;
  const rest = more > 0 ? html`<p class="meta">${plural(more, "more question")}: see the visits.</p>` : undefined;
  return html`<div class="callout waiting"><p><strong>${awaited.length === 1 ? "It waits for a person's word" : `It waits for ${plural(awaited.length, "word")} of a person`}</strong></p><ul class="list">${items}</ul>${rest}</div>`;
}

const MOST_AWAITED = 12;

/** Shows the finding, what the run did, and what it cost. */
export function findingHtml(account: Account): Markup {
  const { finding, deeds } = account;
  const { severity, impact, cause, action } = finding;
  const rows: [string, Markup][] = [
    ...(severity === undefined
      ? []
      : [["Severity", html`<span class="severity" dir="auto">${severity}</span>`] as [string, Markup]]),
    ...(impact === undefined ? [] : [["Impact", html`<p dir="auto">${impact}</p>`] as [string, Markup]]),
    ...(cause === undefined ? [] : [["Cause", causeHtml(cause)] as [string, Markup]]),
    ...(cause?.confidence === undefined
      ? []
      : [["Confidence", html`<span dir="auto">${cause.confidence}</span>`] as [string, Markup]]),
  ];
  const first =
    action === undefined
      ? undefined
      : html`<div class="first-step"><h3>First step</h3><p dir="auto">${action}</p></div>`;
  const told = rows.map(([term, shown]) => html`<div class="member"><dt>${term}</dt><dd>${shown}</dd></div>`);
  const body = rows.length === 0 ? undefined : html`<dl class="kv finding">${told}</dl>`;
  const nothing =
    rows.length === 0 && action === undefined
      ? html`<p class="nil">The run names no cause, severity or first step.</p>`
      : undefined;
  return html`${first}${body}${nothing}${deedsHtml(deeds)}${spentHtml(account)}`;
}

function causeHtml({ text, file, line, commit }: NonNullable<Account["finding"]["cause"]>): Markup {
  const where = file === undefined ? undefined : html`<code>${file}${line === undefined ? "" : `:${line}`}</code>`;
  const change = commit === undefined ? undefined : html`commit <code>${commit}</code>`;
  const places = [where, change].filter((part) => part !== undefined);
  const shown =
    places.length === 0
      ? undefined
      : html`<p class="where">${places.map((place, index) => html`${index === 0 ? "" : " · "}${place}`)}</p>`;
  return html`<p dir="auto">${text}</p>${shown}`;
}

function deedsHtml({ done, waiting, undone }: Account["deeds"]): Markup | undefined {
  const groups = [
    ["done", "Done", done],
    ["waiting", "Waits for your word", waiting],
    ["undone", "Not done", undone],
  ] as const;
  const shown = groups.flatMap(([look, title, deeds]) => {
    if (deeds.length === 0) return [];
    return [html`<section class="deeds ${look}"><h3>${title}</h3><ul>${listed(deeds)}</ul></section>`];
  });
  return shown.length === 0 ? undefined : html`<div class="did">${shown}</div>`;
}

function listed(deeds: readonly Deed[]): readonly Markup[] {
  const items = deeds.map(deedHtml);
  if (items.length <= MOST_DEEDS) return items;
  const rest = items.slice(MOST_DEEDS);
  return [
    ...items.slice(0, MOST_DEEDS),
    html`<li><details class="fold"><summary>${plural(rest.length, "more")}</summary><ul>${rest}</ul></details></li>`,
  ];
}

const MOST_DEEDS = 12;

function deedHtml({ text, why, link, at }: Deed): Markup {
  const what = at === undefined ? html`${text}` : html`<a href="#${at}">${text}</a>`;
  const where = link === undefined ? undefined : html` <code>${link}</code>`;
  const because = why === undefined ? undefined : html`<span class="because" dir="auto">${codeIn(why)}</span>`;
  return html`<li dir="auto">${what}${where}${because}</li>`;
}

/** Formats text between backticks as code. */
function codeIn(text: string): Markup {
  return html`${text.split("`").map((piece, index) => (index % 2 === 1 ? html`<code>${piece}</code>` : html`${piece}`))}`;
}

function spentHtml({ result, record, answeredBy, recordingCost, isUnderWay }: Account): Markup {
  const { usage } = result;
  const cached = usage.inputTokens > 0 ? Math.round((100 * usage.cachedTokens) / usage.inputTokens) : 0;
  const cost = answeredBy === undefined ? formatCost(usage.costUsd) : paidWords(answeredBy, recordingCost);
  const facts: [string, string][] = [
    ["Took", formatDuration(usage.durationMs)],
    ["Cost", cost],
    ["Tokens", `${formatCount(usage.inputTokens)} in (${cached} % cached), ${formatCount(usage.outputTokens)} out`],
    ["Model", record.settings.model],
    ["Writes", record.settings.writes],
    ...(isUnderWay ? [] : [["Exit code", String(result.exitCode)] as [string, string]]),
  ];
  return html`<dl class="facts">${facts.map(([term, fact]) => html`<div><dt>${term}</dt><dd>${fact}</dd></div>`)}</dl>`;
}
