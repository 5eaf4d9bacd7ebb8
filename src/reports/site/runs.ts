import { formatCost, formatCount, formatDuration, plural, shortText } from "../../core/base/preview.ts";
import type { RunSummary } from "../../core/engine/record/run-summary.ts";
import { STATE_MARKS } from "../html/finding.ts";
import { html, type Markup } from "../html/markup/markup.ts";
import { stateOf } from "../model/account.ts";
import script from "./browser/runs.js?raw" with { type: "text" };
import { sitePage } from "./page.ts";

export interface RunList {
  /** Runs with the headlines of those that have ended and found something. */
  readonly runs: readonly (RunSummary & { readonly headline: string | null })[];
  /** Ids of runs that a process is executing. */
  readonly underWay: readonly string[];
  readonly problems: readonly { readonly id: string; readonly message: string }[];
  readonly page: number;
  readonly pages: number;
  readonly total: number;
  /** Number of runs that a filter searched, if there are more. */
  readonly searched?: number;
}

export interface RunsView extends RunList {
  /** Location of the runs, as text. */
  readonly place: string;
  readonly view: { readonly state: string; readonly text: string };
}

export function runsPage(view: RunsView, nonce: string): string {
  const { runs, problems, total, underWay, place } = view;
  const isFiltered = view.view.state !== "" || view.view.text !== "";
  const none = html`No runs yet. Start one: <code>skillflow run WORKFLOW</code>`;
  const busy = underWay.length > 0 ? ` · ${underWay.length} running` : "";
  const body = html`<header class="top"><h1>Runs</h1><p><span id="count">${plural(total, "run")}${busy}</span> · <span class="place">${place}</span> · <a href="/stats">Stats</a></p></header>
${filterHtml(view)}
<main id="list">${
    total === 0
      ? html`<div class="runs empty"><p>${isFiltered ? "No run matches." : none}</p></div>`
      : html`<ul class="runs">${runs.map((run) => html`<li>${rowOf(run, underWay.includes(run.id))}</li>`)}${problems.map(problemRow)}</ul>`
  }${pagesOf(view)}</main>`;
  return sitePage({ title: busy === "" ? "Runs" : `(${underWay.length}) Runs`, body, script: { code: script, nonce } });
}

function filterHtml({ view: { state, text }, searched }: RunsView): Markup {
  const options = Object.keys(STATE_MARKS).map((each) =>
    each === state ? html`<option selected>${each}</option>` : html`<option>${each}</option>`,
  );
  const note = searched !== undefined && html`<span>among the newest ${formatCount(searched)} runs</span>`;
  return html`<form class="filter" role="search"><label>State <select name="state"><option value="">all</option>${options}</select></label>
<label>Text <input type="search" name="q" value="${text}" placeholder="id, workflow or verdict" maxlength="200"></label><button>Filter</button>${note}</form>`;
}

function rowOf(run: RunsView["runs"][number], isUnderWay: boolean): Markup {
  const { id, name, headline, workflow, kind, verdict, degraded, unrouted, startedAt } = run;
  const took = isUnderWay ? "so far" : "took";
  return html`<a class="row" href="/runs/${encodeURIComponent(id)}">
<span title="${degraded.map(({ node, reason }) => `${node}: ${reason}`).join("\n")}">${stateHtml(run, isUnderWay)}</span>
<span class="what"><b title="${workflow}" dir="auto">${shortText(headline ?? name, 200)}</b>${
    verdict !== null && html`<span class="chip verdict">${shortText(verdict, 60)}</span>`
  }${
    degraded.length > 0 &&
    !isUnderWay &&
    stateOf(run) === run.status &&
    html`<span class="chip degraded">▲ degraded</span>`
  }${unrouted !== null && html`<span class="chip degraded">▲ no edge applied after ${shortText(unrouted, 60)}</span>`}${kind !== "run" && html`<span class="chip">${kind}</span>`}<span class="id">${headline !== null && `${shortText(name, 120)} · `}${id}</span></span>
<span class="fact when"><strong>${startedAt.slice(0, 10)}</strong> ${startedAt.slice(11, 16)} UTC</span>
<span class="fact took">${took} <strong>${formatDuration(run.durationMs)}</strong></span>
<span class="fact end spent"><strong>${formatCost(run.costUsd)}</strong> ${formatCount(run.inputTokens + run.outputTokens)} tokens</span>
</a>`;
}

/** Shows a run's state as text, with a mark so that it does not depend on color. */
function stateHtml(run: Pick<RunSummary, "status" | "degraded" | "exitCode">, isUnderWay: boolean): Markup {
  if (isUnderWay) return html`<span class="ui-state running"><span class="ui-busy-dot"></span>running</span>`;
  const state = stateOf(run);
  return html`<span class="ui-state ${state}"><span aria-hidden="true">${STATE_MARKS[state]}</span>${state}</span>`;
}

function problemRow({ id, message }: RunsView["problems"][number]): Markup {
  return html`<li><span class="row"><span><span class="ui-state failed"><span aria-hidden="true">✘</span>unreadable</span></span>
<span class="what"><b>${shortText(message, 200)}</b><span class="id">${id}</span></span></span></li>`;
}

function pagesOf({ page, pages, view: { state, text } }: RunsView): Markup | undefined {
  if (pages === 1) return undefined;
  const filter = Object.entries({ state, q: text }).filter(([, value]) => value !== "");
  const kept = filter.map(([name, value]) => `&${name}=${encodeURIComponent(value)}`).join("");
  const link = (to: number, text: string) =>
    to < 1 || to > pages ? html`<span></span>` : html`<a href="/?page=${to}${kept}">${text}</a>`;
  return html`<nav class="pages" aria-label="Pages">${link(page - 1, "← newer")}<span>page ${page} of ${pages}</span>${link(page + 1, "older →")}</nav>`;
}
