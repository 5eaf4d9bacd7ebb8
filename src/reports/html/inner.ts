import { formatCost, formatCount, formatDuration, plural, previewJson, shortText } from "../../core/base/preview.ts";
import { costOf } from "../../core/engine/result/result.ts";
import { usageOf } from "../model/costs.ts";
import { itemCounts, itemLook, itemWord } from "../model/items.ts";
import { durationOf, type InnerRun, type Visit } from "../model/visit.ts";
import { foldRest, html, type Markup, OPEN } from "./markup/markup.ts";
import { folded, valueHtml } from "./markup/value.ts";

/** Shows the runs inside a visit: the called workflow, or a map's items, with failed ones first and expanded. */
export function innerHtml({ inner, left }: Visit, draw: (visit: Visit) => Markup): Markup | undefined {
  const [first] = inner;
  if (!first) return left > 0 ? html`<p class="meta">${itemCounts(inner, left)}</p>` : undefined;
  if (first.key === undefined) {
    const visits = inner.flatMap((run) => [inputHtml(run), ...run.visits.map(draw)]);
    return html`<section class="part inner" id="${first.anchor}"><h4>Inside</h4>${visits}</section>`;
  }
  const shown = inner.filter(isToSee).map((run) => itemHtml(run, draw));
  const rest = inner.filter((run) => !isToSee(run)).map((run) => itemHtml(run, draw));
  return html`<section class="part inner"><h4>${itemCounts(inner, left)}</h4>${shown}${foldRest(rest, FOLDING)}</section>`;
}

const FOLDING = { open: 40, size: 100, title: (_: number, count: number) => `${formatCount(count)} more items` };

function isToSee(run: InnerRun): boolean {
  return run.status === "failed" || (run.status === undefined && run.visits.length > 0);
}

function itemHtml(run: InnerRun, draw: (visit: Visit) => Markup): Markup {
  const { key = "", verdict, complaint, anchor, visits } = run;
  const given = Object.values(run.input ?? {}).at(-1);
  const gist = given === undefined ? "" : previewJson(given, 100).replace(/\s+/g, " ");
  const facts = [verdict ?? "", gist, ...spentOn(run)].filter((fact) => fact !== "");
  const head = html`<span class="dot ${itemLook(run)}" aria-hidden="true"></span><h3 dir="auto">${key}</h3> <span class="badge ${itemLook(run)}">${itemWord(run)}</span><span class="meta" dir="auto">${shortText(facts.join(" · "), 240)}</span>`;
  if (visits.length === 0 && complaint.length < 200)
    return html`<div class="visit item" id="${anchor}"><p class="line">${head}<span class="meta" dir="auto">${complaint}</span></p></div>
`;
  const why =
    complaint !== "" &&
    html`<div class="complaint ${itemLook(run)}" dir="auto">${folded(complaint, html`<span class="verse">${complaint}</span>`)}</div>`;
  const body = html`<div class="inside" id="${anchor}">${why}${inputHtml(run)}${visits.map(draw)}</div>`;
  return html`<details class="visit item"${isToSee(run) && OPEN}><summary>${head}</summary>${body}</details>
`;
}

function spentOn(run: InnerRun): string[] {
  const { visits } = run;
  if (visits.length === 0) return [];
  const usage = usageOf(visits);
  const cost = costOf(usage);
  return [
    formatDuration(durationOf(run)),
    plural(usage.modelCalls, "model call"),
    cost === null ? "" : formatCost(cost),
  ];
}

function inputHtml({ input }: InnerRun): Markup | undefined {
  if (!input || Object.keys(input).length === 0) return undefined;
  return html`<details class="fold"><summary>Input <span class="meta">${shortText(previewJson(input, 120).replace(/\s+/g, " "), 120)}</span></summary><div>${valueHtml(input, { cites: () => false, compact: true })}</div></details>`;
}
