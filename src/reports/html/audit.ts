import { formatCost, formatCount, formatDuration, plural, previewJson, shortText } from "../../core/base/preview.ts";
import { defined, type JsonObject, toJson } from "../../core/base/values.ts";
import type { RunEvent } from "../../core/engine/event/event.ts";
import type { Account } from "../model/account.ts";
import { costsOf } from "../model/costs.ts";
import { eventText } from "../record/event-text.ts";
import { type Content, html, type Markup, rowsHtml, tableHtml } from "./markup/markup.ts";
import { valueHtml } from "./markup/value.ts";

export function costHtml({ every, result, answeredBy }: Account): Markup {
  const costs = costsOf(every);
  const most = Math.max(...costs.map(({ ms }) => ms), 1);
  const rows = costs
    .slice(0, MOST_ROWS)
    .map((cost) => [
      html`<span dir="auto">${cost.name}</span>${cost.node.includes("/") && html` <span class="meta" dir="auto">${cost.node}</span>`}`,
      ...countsOf(cost),
      html`${formatDuration(cost.ms)} <meter min="0" max="${most}" value="${cost.ms}" aria-label="${Math.round((100 * cost.ms) / most)} % of the longest"></meter>`,
      formatCost(cost.costUsd),
    ]);
  const { usage } = result;
  const sums = countsOf({ ...usage, visits: every.length, calls: every.flatMap(({ calls }) => calls).length });
  const total = [html`<strong>All</strong>`, ...sums, formatDuration(usage.durationMs), formatCost(usage.costUsd)];
  const note = answeredBy && html`<p class="meta">This run cost nothing: its answers came from a ${answeredBy}.</p>`;
  const columns = ["Node", "Visits", "Model calls", "Tool calls", "Tokens in", "Tokens out", "Time", "Cost"];
  const rest = costs.slice(MOST_ROWS).map((cost) => {
    return [cost.name, ...countsOf(cost), formatDuration(cost.ms), formatCost(cost.costUsd)].join("  ");
  });
  const others =
    rest.length > 0 &&
    html`<details class="fold"><summary>${plural(rest.length, "more node")}</summary><pre dir="auto">${rest.join("\n")}</pre></details>`;
  return html`${note}${tableHtml(columns, rowsHtml(columns, [...rows, total]), "figures")}${others}`;
}

type Counted = "visits" | "modelCalls" | "calls" | "inputTokens" | "outputTokens";

function countsOf(counts: Readonly<Record<Counted, number>>): string[] {
  const { visits, modelCalls, calls, inputTokens, outputTokens } = counts;
  return [visits, modelCalls, calls, inputTokens, outputTokens].map(formatCount);
}

/** Maximum number of table rows. Further nodes are listed as plain text. */
const MOST_ROWS = 100;

export function auditHtml(account: Account): Markup {
  const { record, result, events, remarks } = account;
  const sources = Object.entries(result.trace.sources).map(([field, { kind, origin, hash, content }]) => [
    html`<code>${field}</code>`,
    kind,
    kind === "inline"
      ? "in the workflow"
      : typeof origin === "string"
        ? origin
        : previewJson(origin, 240).replace(/\s+/g, " "),
    `${formatCount(content.length)} characters`,
    html`<code>${hash}</code>`,
  ]);
  const skills = record.skills.map(({ id, format, available, plannable, reason }) => [
    html`<code>${id}</code>`,
    format,
    html`<span class="badge ${available ? (plannable ? "skipped" : "success") : "failed"}">${available ? (plannable ? "planned writes only" : "available") : "missing"}</span>`,
    reason ?? "",
  ]);
  const places = { ...defined("workflow_file", record.file), ...defined("commit", record.commit) };
  const digest = events.at(-1)?.seal;
  const notices = remarks.map(({ text }) => html`<li dir="auto">${text}</li>`);
  const parts: Part[] = [
    ["Input", jsonHtml(record.input)],
    ...(notices.length > 0 ? [["Notices", html`<ul class="list">${notices}</ul>`] as const] : []),
    ...recordsOf("source", ["Field", "Kind", "From", "Size", "Hash"], sources),
    ...recordsOf("skill", ["Skill", "Format", "State", "Why"], skills),
    ["Settings", jsonHtml(toJson({ ...record.settings, ...places }) as JsonObject)],
    [plural(events.length, "recorded event"), eventsHtml(account)],
  ];
  const folded = parts.map(
    ([title, body]) =>
      html`<details class="fold audit" name="audit"><summary>${title}</summary><div>${body}</div></details>`,
  );
  const chain =
    digest &&
    html`<p class="meta">Last digest of the record: <code>${digest}</code>. <code>skillflow runs verify ${result.run} --digest ${digest}</code> shows whether it is as it was written.</p>`;
  return html`${folded}${chain}`;
}

type Part = readonly [title: string, body: Markup];

function recordsOf(noun: string, columns: readonly string[], rows: readonly (readonly Content[])[]): Part[] {
  return rows.length === 0 ? [] : [[plural(rows.length, noun), tableHtml(columns, rowsHtml(columns, rows))]];
}

function jsonHtml(value: JsonObject): Markup {
  return valueHtml(value, { cites: () => false });
}

/** Shows events as plain text, because a page cannot handle ten thousand table rows. */
function eventsHtml({ events, record }: Account): Markup {
  const start = Date.parse(record.at);
  const blocks: Markup[] = [];
  for (let at = 0; at < events.length; at += A_BLOCK) {
    const lines = events.slice(at, at + A_BLOCK).map((event) => lineOf(event, start));
    blocks.push(html`<pre class="ledger" dir="auto">${lines.join("\n")}</pre>`);
  }
  return html`<div class="ledgers" tabindex="0" role="region" aria-label="Recorded events">${blocks}</div>`;
}

const A_BLOCK = 250;

function lineOf(event: RunEvent, start: number): string {
  const offset = `+${((Date.parse(event.time) - start) / 1000).toFixed(1)}s`;
  const text = shortText(eventText(event), 180).replace(/\s+/g, " ");
  return `${String(event.seq).padStart(5)} ${offset.padStart(9)} ${event.type.padEnd(17)} ${text}`;
}
