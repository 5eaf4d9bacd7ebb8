import { formatCount, formatDuration, plural, shortText } from "../../core/base/preview.ts";
import type { Account } from "../model/account.ts";
import { itemCounts, itemLook, itemWord } from "../model/items.ts";
import { type Bar, type TimelineRow, timelineOf } from "../model/timeline.ts";
import { type InnerRun, statusOf, statusWord, type Visit } from "../model/visit.ts";
import { foldRest, html, type Markup, trustedMarkup } from "./markup/markup.ts";

/** Timeline of a run, with a row for each visit and a bar for each call that it waited for. */

export type Bars = ReturnType<typeof barsOf>;

/** Draws bars whose positions are classes, written once per page, because its policy forbids style attributes. */
export function barsOf({ events, every }: Account) {
  const timeline = timelineOf(events, every);
  const lefts = new Set<number>();
  const widths = new Set<number>();
  const bar = ({ kind, failed, from, to, lane }: Bar, start: number, span: number, isLaned: boolean): Markup => {
    const left = Math.min(995, Math.round((1000 * (from - start)) / span));
    const width = Math.max(4, Math.min(1000 - left, Math.round((1000 * (to - from)) / span)));
    lefts.add(left);
    widths.add(width);
    const line = isLaned ? ` n${Math.min(MOST_LANES, kind === "model" ? 0 : lane + 1)}` : "";
    return html`<i class="${kind}${failed ? " bad" : ""} l${left} w${width}${line}"></i>`;
  };
  return {
    timeline,
    rowOf: (visit: Visit): TimelineRow => timeline.rows.get(visit) ?? { visit, from: 0, to: 0, bars: [], lanes: 0 },
    ofRow({ from, to, bars }: Omit<TimelineRow, "visit" | "lanes">): Markup {
      const span = Math.max(1, timeline.ms);
      const whole: Bar = { kind: "visit", failed: false, from, to, lane: 0 };
      return html`<span class="track" aria-hidden="true">${bar(whole, 0, span, false)}${bars.map((each) => bar(each, 0, span, false))}</span>`;
    },
    ofVisit({ from, to, bars, lanes }: TimelineRow): Markup | undefined {
      const calls = bars.filter(({ kind }) => kind === "call").length;
      if (calls < 2) return undefined;
      const span = Math.max(1, to - from);
      const counts = `${plural(bars.length - calls, "model call")} and ${plural(calls, "tool call")}`;
      const told = `${counts} in ${formatDuration(to - from)}, at most ${lanes} at once`;
      return html`<div class="lanes h${Math.min(MOST_LANES, lanes) + 1}" role="img" aria-label="${told}">${bars.map((each) => bar(each, from, span, true))}</div>`;
    },
    /** Returns the rules of all classes used so far. */
    style: () =>
      [
        ...[...lefts].map((left) => `.l${left}{left:${left / 10}%}`),
        ...[...widths].map((width) => `.w${width}{width:${width / 10}%}`),
      ].join(""),
  };
}

const MOST_LANES = 8;

export function wayHtml(account: Account, bars: Bars, graph: string | undefined): Markup {
  const { ms, breaks } = bars.timeline;
  const drawing =
    graph !== undefined &&
    html`<figure class="drawing"><div class="scroll" tabindex="0" role="group" aria-label="Drawing of the workflow">${trustedMarkup(graph)}</div><figcaption>The workflow with the path that the run took: thick edges were followed.</figcaption></figure>`;
  const axis = [0, 0.25, 0.5, 0.75, 1].map((part) => html`<span>${formatDuration(ms * part)}</span>`);
  const pauses = breaks.map(
    ({ at, ms: pause }) => html`<li>Resumed at ${formatDuration(at)}, after a pause of ${formatDuration(pause)}.</li>`,
  );
  const rows = account.visits.map((visit) => rowHtml(visit, account, bars));
  return html`<div class="legend"><span><i class="model"></i>model call</span><span><i class="call"></i>tool call</span><span><i class="call bad"></i>failed</span></div>
<div class="axis" aria-hidden="true">${axis}</div>${wayList(rows, "Visits")}${pauses.length > 0 && html`<ul class="list meta">${pauses}</ul>`}${drawing}`;
}

function wayList(items: readonly Markup[], noun: string): Markup {
  return foldRest(items, {
    open: 60,
    size: 100,
    title: (first, count) => `${noun} ${formatCount(first)} to ${formatCount(first + count - 1)}`,
    wrap: (some) => html`<ol class="way">${some}</ol>`,
  });
}

function rowHtml(visit: Visit, account: Account, bars: Bars): Markup {
  const row = bars.rowOf(visit);
  const { from, to } = row;
  const status = statusOf(visit);
  const { route, number, iteration, calls, retries } = visit;
  const notes = [
    statusWord(visit),
    iteration > 1 ? `visit ${iteration}` : "",
    `${formatDuration(to - from)}`,
    calls.length > 0 ? plural(calls.length, "call") : "",
    retries.length > 0 ? `${formatCount(retries.length)} ${retries.length === 1 ? "retry" : "retries"}` : "",
  ];
  const why =
    route &&
    route.reason !== "only path" &&
    html`<p class="why" dir="auto"><span class="meta">→ ${account.nameOf(route.to, visit.at)}:</span> ${route.reason}</p>`;
  return html`<li class="${status}"><span class="dot ${status}" aria-hidden="true">${number}</span><div class="what"><a class="name" href="#${visit.anchor}" dir="auto">${visit.name}</a>
<p>${notes.filter((note) => note !== "").join(" · ")}</p></div>${bars.ofRow(row)}${why}${insideHtml(visit, account, bars)}</li>
`;
}

/** Shows inner runs on the same time axis: a row for each item, or for each visit of the called workflow. */
function insideHtml({ inner, left }: Visit, account: Account, bars: Bars): Markup | undefined {
  if (inner.length === 0 && left === 0) return undefined;
  const [called] = inner;
  if (called && called.key === undefined) {
    const rows = called.visits.map((visit) => rowHtml(visit, account, bars));
    return html`<div class="within">${wayList(rows, "Visits")}</div>`;
  }
  const rows = inner.map((run) => itemRowHtml(run, bars));
  return html`<details class="fold within"><summary>${itemCounts(inner, left)}</summary>${wayList(rows, "Items")}</details>`;
}

function itemRowHtml(run: InnerRun, bars: Bars): Markup {
  const { clock } = bars.timeline;
  const [from, to] = [clock(run.startedAt), clock(run.endedAt)];
  const steps = run.visits.flatMap((visit) => bars.rowOf(visit).bars);
  const track = run.visits.length > 0 && bars.ofRow({ from, to, bars: steps });
  const notes = [itemWord(run), run.visits.length === 0 ? "" : formatDuration(to - from), run.complaint];
  return html`<li class="${itemLook(run)}"><span class="dot ${itemLook(run)}" aria-hidden="true"></span><div class="what"><a class="name" href="#${run.anchor}" dir="auto">${run.key ?? ""}</a>
<p dir="auto">${shortText(notes.filter((note) => note !== "").join(" · "), 200)}</p></div>${track}</li>
`;
}
