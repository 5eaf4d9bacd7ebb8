import { firstOf, formatCost, formatCount, formatDuration, plural, shortText } from "../../core/base/preview.ts";
import type { Stats, StatsRow } from "../../core/engine/record/stats.ts";
import { html, type Markup } from "../html/markup/markup.ts";
import { sitePage } from "./page.ts";

const PERIODS = [7, 30, 90, 365] as const;

/** Creates the page of counts per workflow and model. It has no script, and every plot has its numbers as text. */
export function statsPage({ rows, skipped, days }: Stats & { readonly days: number }): string {
  const links = PERIODS.map((each) =>
    each === days ? html` <a href="/stats?days=${each}" aria-current="page">${each} days</a>` : link(each),
  );
  const most = {
    cost: Math.max(0, ...rows.map(({ costUsd }) => costUsd ?? 0)),
    time: Math.max(0, ...rows.map(({ medianMs }) => medianMs ?? 0)),
    tokens: Math.max(0, ...rows.map(tokensOf)),
  };
  const cards =
    rows.length === 0
      ? html`<div class="runs empty"><p>No runs in the last ${plural(days, "day")}.</p></div>`
      : html`<div class="stats">${rows.map((row) => cardOf(row, most))}</div>`;
  const body = html`<header class="top"><h1>Stats</h1><nav class="periods" aria-label="Period"><a href="/">← All runs</a>${links}</nav></header>
<main>${cards}${skippedOf(skipped)}</main>`;
  return sitePage({ title: "Stats", body });
}

const link = (days: number) => html` <a href="/stats?days=${days}">${days} days</a>`;

function tokensOf({ tokens }: StatsRow): number {
  return tokens.input + tokens.output;
}

function cardOf(row: StatsRow, most: Readonly<Record<"cost" | "time" | "tokens", number>>): Markup {
  const { costUsd, medianMs } = row;
  const { held, inconclusive, not_held } = row.rechecks;
  const waiting = Math.max(0, row.planned - row.applied - row.rejected);
  const tokens = `${formatCount(row.tokens.input)} in, ${formatCount(row.tokens.output)} out`;
  return html`<section class="card"><h2>${shortText(row.workflow, 120)}</h2><p class="model">${shortText(row.model, 120)} · ${plural(row.runs, "run")}</p>
<div class="plots">${[
    shares("Verdicts", verdictParts(row)),
    shares("Judgements", graded({ right: row.right, partly: row.partly, wrong: row.wrong })),
    shares("Rechecks", graded({ held, inconclusive, "not held": not_held })),
    shares("Planned writes", graded({ applied: row.applied, open: waiting, rejected: row.rejected })),
    amount("Cost", formatCost(costUsd), part(costUsd, most.cost)),
    amount("Median time", medianMs === null ? "none ended" : formatDuration(medianMs), part(medianMs, most.time)),
    amount("Tokens", tokens, part(tokensOf(row), most.tokens)),
  ]}</div></section>`;
}

/** Returns three counts as parts of a bar, from good to bad. */
function graded(counts: Readonly<Record<string, number>>): Part[] {
  const tones = ["ok", "mid", "no"] as const;
  return Object.entries(counts).map(([name, count], index) => ({ name, count, tone: tones[index] ?? "no" }));
}

const MOST_VERDICTS = 6;
const TONES = ["one", "two", "three"] as const;

/** Returns the most frequent verdicts, and the others as one. */
function verdictParts({ verdicts, runs }: StatsRow): Part[] {
  const found = Object.entries(verdicts).sort(([, a], [, b]) => b - a);
  const shown = found.slice(0, MOST_VERDICTS);
  const total = (entries: typeof found) => entries.reduce((sum, [, count]) => sum + count, 0);
  const parts = shown.map(([name, count], index): Part => {
    return { name: shortText(name, 60), count, tone: TONES[index % TONES.length] ?? "one" };
  });
  return [
    ...parts,
    { name: "others", count: total(found.slice(MOST_VERDICTS)), tone: "mid" as const },
    { name: "no verdict", count: runs - total(found), tone: "none" as const },
  ].filter(({ count }) => count > 0);
}

interface Part {
  readonly name: string;
  readonly count: number;
  readonly tone: "ok" | "mid" | "no" | "none" | (typeof TONES)[number];
}

/** Draws a bar that is divided by counts, with a legend. The label of the bar has the same numbers. */
function shares(title: string, parts: readonly Part[]): Markup {
  const total = parts.reduce((sum, { count }) => sum + count, 0);
  if (total === 0) return html`<figure><figcaption>${title}</figcaption><p class="value">none</p></figure>`;
  const label = `${title}: ${parts.map(({ name, count }) => `${count} ${name}`).join(", ")}`;
  let left = 0;
  const segments = parts.map(({ count, tone }) => {
    const width = (count / total) * WIDTH;
    const segment = html`<rect class="${tone}" x="${round(left)}" y="0" width="${round(width)}" height="8"/>`;
    left += width;
    return segment;
  });
  const legend = parts.map(
    ({ name, count, tone }) =>
      html`<li><svg class="key" viewBox="0 0 8 8"><rect class="${tone}" width="8" height="8"/></svg>${formatCount(count)} ${name}</li>`,
  );
  return html`<figure><figcaption>${title}</figcaption>${bar(label, segments)}<ul class="legend" aria-hidden="true">${legend}</ul></figure>`;
}

/** Draws an amount as a part of the largest amount on the page. */
function amount(title: string, value: string, share: number): Markup {
  const filled = html`<rect class="none" x="0" y="0" width="${WIDTH}" height="8"/><rect class="one" x="0" y="0" width="${round(share * WIDTH)}" height="8"/>`;
  return html`<figure><figcaption>${title}</figcaption>${bar(`${title}: ${value}`, [filled])}<p class="value" aria-hidden="true">${value}</p></figure>`;
}

const WIDTH = 200;

function bar(label: string, segments: readonly Markup[]): Markup {
  return html`<svg class="bar" role="img" aria-label="${label}" viewBox="0 0 ${WIDTH} 8" preserveAspectRatio="none">${segments}</svg>`;
}

const part = (value: number | null, most: number) => (value === null || most === 0 ? 0 : value / most);
const round = (value: number) => value.toFixed(2);

const MOST_SKIPPED = 20;

function skippedOf(skipped: Stats["skipped"]): Markup | undefined {
  if (skipped.length === 0) return undefined;
  const rows = skipped.map(({ run, line, reason }) => {
    return html`<li>${run ?? `line ${line} of the feedback`}: ${shortText(reason, 200)}</li>`;
  });
  const shown = firstOf(rows, MOST_SKIPPED, (left) => html`<li>and ${formatCount(left)} more</li>`);
  return html`<section class="skipped"><h2>Not counted</h2><ul>${shown}</ul></section>`;
}
