import { formatCost, formatCount, formatDuration, plural, previewJson, shortText } from "../../core/base/preview.ts";
import { itemCounts, itemLook, itemWord } from "../model/items.ts";
import { durationOf, type InnerRun, type Visit } from "../model/visit.ts";
import { html, type Markup } from "./markup/markup.ts";
import { folded, valueHtml } from "./markup/value.ts";

/** Shows the runs inside a visit: the called workflow, or a map's items, with failed ones first and expanded. */
export function innerHtml({ inner, left }: Visit, draw: (visit: Visit) => Markup): Markup | undefined {
  const [first] = inner;
  if (!first) return left > 0 ? html`<p class="meta">${itemCounts(inner, left)}</p>` : undefined;
  if (first.key === undefined) {
    const visits = inner.flatMap((run) => [inputHtml(run), ...run.visits.map(draw)]);
    return html`<section class="part inner" id="${first.anchor}"><h4>Inside</h4>${visits}</section>`;
  }
  const failed = inner.filter(isToSee);
  const others = inner.filter((run) => !isToSee(run));
  const shown = failed.map((run) => itemHtml(run, draw));
  const rest = others.map((run) => itemHtml(run, draw));
  return html`<section class="part inner"><h4>${itemCounts(inner, left)}</h4>${shown}${chunks(rest)}</section>`;
}

/** Number of items shown directly, and in each fold. */
const MOST_OPEN = 40;
const A_FOLD = 100;

function chunks(items: readonly Markup[]): Markup[] {
  const shown = [...items.slice(0, MOST_OPEN)];
  for (let at = MOST_OPEN; at < items.length; at += A_FOLD) {
    const some = items.slice(at, at + A_FOLD);
    shown.push(html`<details class="fold"><summary>${formatCount(some.length)} more items</summary>${some}</details>`);
  }
  return shown;
}

function isToSee(run: InnerRun): boolean {
  return run.status === "failed" || (run.status === undefined && run.visits.length > 0);
}

function itemHtml(run: InnerRun, draw: (visit: Visit) => Markup): Markup {
  const { key = "", verdict, complaint, anchor, visits } = run;
  const facts = [verdict ?? "", gistOf(run), ...spentOn(run)].filter((fact) => fact !== "");
  const head = html`<span class="dot ${itemLook(run)}" aria-hidden="true"></span><h3 dir="auto">${key}</h3> <span class="badge ${itemLook(run)}">${itemWord(run)}</span><span class="meta" dir="auto">${shortText(facts.join(" · "), 240)}</span>`;
  if (visits.length === 0 && complaint.length < 200)
    return html`<div class="visit item" id="${anchor}"><p class="line">${head}<span class="meta" dir="auto">${complaint}</span></p></div>
`;
  const why =
    complaint === ""
      ? undefined
      : html`<div class="complaint ${itemLook(run)}" dir="auto">${folded(complaint, html`<span class="verse">${complaint}</span>`)}</div>`;
  const body = html`<div class="inside" id="${anchor}">${why}${inputHtml(run)}${visits.map(draw)}</div>`;
  return isToSee(run)
    ? html`<details class="visit item" open><summary>${head}</summary>${body}</details>
`
    : html`<details class="visit item"><summary>${head}</summary>${body}</details>
`;
}

/** Summarizes the item's input in one line. */
function gistOf({ input }: InnerRun): string {
  const given = Object.values(input ?? {}).at(-1);
  return given === undefined ? "" : previewJson(given, 100).replace(/\s+/g, " ");
}

function spentOn(run: InnerRun): string[] {
  const { visits } = run;
  if (visits.length === 0) return [];
  const calls = visits.reduce((sum, visit) => sum + visit.modelCalls, 0);
  const cost = visits.reduce<number | null>(
    (sum, visit) => (sum === null || visit.costUsd === null ? null : sum + visit.costUsd),
    0,
  );
  return [formatDuration(durationOf(run)), plural(calls, "model call"), cost === null ? "" : formatCost(cost)];
}

function inputHtml({ input }: InnerRun): Markup | undefined {
  if (!input || Object.keys(input).length === 0) return undefined;
  return html`<details class="fold"><summary>Input <span class="meta">${shortText(previewJson(input, 120).replace(/\s+/g, " "), 120)}</span></summary><div>${valueHtml(input, { cites: () => false, compact: true })}</div></details>`;
}
