import { formatCount, formatTime, shortText } from "../../core/base/preview.ts";
import type { Account } from "../model/account.ts";
import { type Moment, momentsOf } from "../model/incident/chronicle.ts";
import { type Point, type Series, seriesOf } from "../model/incident/series.ts";
import { foldRest, html, type Markup } from "./markup/markup.ts";

/** The incident's timeline, and a plot of each metric that a claim quotes. Undefined if the record shows neither. */
export function chronicleHtml(account: Account): Markup | undefined {
  const moments = momentsOf(account);
  if (moments.length === 0) return undefined;
  const plots = seriesOf(account).map((series) => plotHtml(series, moments));
  return html`${listHtml(moments)}${plots.length > 0 && html`<div class="plots">${plots}</div>`}`;
}

function listHtml(moments: readonly Moment[]): Markup {
  let day = "";
  const rows = moments.map(({ kind, time, at, what, ref }) => {
    const [date = "", clock = ""] = time === undefined ? ["", at] : at.split(" ");
    const isNew = date !== day;
    day = date;
    const cite = ref !== undefined && ref !== "input" && html` <a class="cite" href="#${ref}">${ref}</a>`;
    return html`<li class="${kind}"><time>${isNew && date !== "" && html`<span class="meta">${date}</span> `}${shortText(clock, 40)}</time><p dir="auto">${what}${cite}</p></li>`;
  });
  return foldRest(rows, {
    open: 40,
    title: (_, count) => `${formatCount(count)} more`,
    wrap: (some) => html`<ol class="moments">${some}</ol>`,
  });
}

/** Size of a plot, in units that are pixels on a phone. */
const [WIDTH, HEIGHT] = [340, 130];
const [LEFT, RIGHT, TOP, BOTTOM] = [44, 332, 26, 108];
const MOST_DRAWN = 300;

function plotHtml({ name, ref, points, quoted }: Series, moments: readonly Moment[]): Markup {
  const [first, last] = [points[0]?.time ?? 0, points.at(-1)?.time ?? 0];
  const near = Math.max(last - first, 60_000);
  const marks = moments.flatMap(({ kind, time }) => {
    const isNear = time !== undefined && time > first - near && time < last + near;
    return isNear && (kind === "alert" || kind === "change") ? [{ kind, time }] : [];
  });
  const times = [first, last, ...[...quoted, ...marks].map(({ time }) => time)];
  const [from, to] = [Math.min(...times), Math.max(...times)];
  const values = [...points, ...quoted].map(({ value }) => value);
  const [least, most] = [values.reduce((a, b) => Math.min(a, b), 0), values.reduce((a, b) => Math.max(a, b), 0)];
  const xOf = (time: number) => round(LEFT + ((RIGHT - LEFT) * (time - from)) / (to - from || 1));
  const yOf = (value: number) => round(BOTTOM - ((BOTTOM - TOP) * (value - least)) / (most - least || 1));
  const said = [
    ...quoted.map(({ time, value, claim }) => `claim ${claim} quotes ${value} at ${clockOf(time)}`),
    ...marks.map(({ kind, time }) => `${kind} at ${clockOf(time)}`),
  ];
  const label = `${shortText(name, 80)} from ${clockOf(first)} to ${clockOf(last)}, between ${values.reduce((a, b) => Math.min(a, b))} and ${values.reduce((a, b) => Math.max(a, b))}; ${said.join("; ")}`;
  return html`<figure class="plot"><figcaption><strong dir="auto">${shortText(name, 80)}</strong> <a class="cite" href="#${ref}">${ref}</a></figcaption>
<svg role="img" aria-label="${label}" viewBox="0 0 ${WIDTH} ${HEIGHT}">
<path class="axis-line" d="M${LEFT} ${TOP}V${BOTTOM}H${RIGHT}"/>
${text(LEFT - 5, TOP + 9, numberOf(most), "end")}${text(LEFT - 5, BOTTOM, numberOf(least), "end")}
${text(LEFT, HEIGHT - 7, clockOf(from), "start")}${text(RIGHT, HEIGHT - 7, clockOf(to), "end")}
${marks.map(({ kind, time }, index) => markHtml(kind, xOf(time), index))}
<polyline class="line" points="${thinned(points)
    .map(({ time, value }) => `${xOf(time)},${yOf(value)}`)
    .join(" ")}"/>
${quoted.map(({ time, value, claim }) => html`<circle class="quoted" cx="${xOf(time)}" cy="${yOf(value)}" r="4"><title>claim ${claim}</title></circle>`)}
</svg></figure>`;
}

/** Draws a line with its name at its top, in one of two rows, so that neighbors do not overlap. */
function markHtml(kind: "alert" | "change", x: string, index: number): Markup {
  const isLeft = Number(x) < (LEFT + RIGHT) / 2;
  const y = index % 2 === 0 ? 10 : 21;
  return html`<path class="mark ${kind}" d="M${x} ${y - 8}V${BOTTOM}"/>${text(Number(x) + (isLeft ? 4 : -4), y, kind, isLeft ? "start" : "end", kind)}`;
}

function text(x: number, y: number, said: string, anchor: string, look = ""): Markup {
  return html`<text class="${look}" x="${x}" y="${y}" text-anchor="${anchor}">${said}</text>`;
}

/** Keeps the lowest and the highest point of each stretch. */
function thinned(points: readonly Point[]): Point[] {
  if (points.length <= MOST_DRAWN) return [...points];
  const size = Math.ceil((2 * points.length) / MOST_DRAWN);
  const kept: Point[] = [];
  for (let at = 0; at < points.length; at += size) {
    const some = points.slice(at, at + size);
    const order = [...some].sort((a, b) => a.value - b.value);
    kept.push(...[order[0], order.at(-1)].filter((each) => each !== undefined).sort((a, b) => a.time - b.time));
  }
  return kept;
}

const round = (value: number) => value.toFixed(1);
const clockOf = (time: number) => formatTime(new Date(time).toISOString()).slice(11, 19);
const numberOf = (value: number) => Number(value.toPrecision(3)).toLocaleString("en-US", { notation: "compact" });
