import { formatCost, formatCount, plural } from "../../core/base/preview.ts";
import { addUsage } from "../../core/engine/fold/fold-reply.ts";
import { UsageTotals } from "../../core/engine/fold/state.ts";
import type { EarlierQuestion } from "../../core/engine/record/ask.ts";
import { html, type Markup, trustedMarkup } from "../html/markup/markup.ts";
import type { Report } from "../model/report.ts";
import style from "./browser/live.css?raw" with { type: "text" };
import script from "./browser/live.js?raw" with { type: "text" };
import tokens from "./browser/tokens.css?raw" with { type: "text" };

/** State of the run, and the questions that were asked about it: undefined if it cannot be asked. */
type Live = { readonly isUnderWay: boolean; readonly questions: readonly EarlierQuestion[] | undefined };

/**
 * Turns a report into a page of the local server, with a link to all runs. While the run is in progress, a bar shows its
 * current activity from its events.
 */
export function runPage(report: Report, drawn: string, { isUnderWay, questions }: Live): (nonce: string) => string {
  const { run, workflow } = report.record;
  const after = Math.max(-1, report.events.findLastIndex(({ type }) => type === "node:enter") - 1);
  const before = totals(report, after);
  const namesIn = ({ nodes }: Pick<typeof workflow, "nodes">) => {
    return Object.fromEntries(Object.entries(nodes).map(([id, { name }]) => [id, name]));
  };
  const inner = Object.entries(report.record.inner ?? {}).map(([path, called]) => [path, namesIn(called.workflow)]);
  const names = { "": namesIn(workflow), ...Object.fromEntries(inner) };
  const bar =
    isUnderWay &&
    html`<aside class="ui-live" id="ui-live" aria-label="Live progress" data-running data-run="${run}" data-after="${after}" data-tokens="${before.tokens}" data-cost="${before.cost}" data-names="${JSON.stringify(names)}">
<div class="now"><span class="ui-state running"><span class="ui-busy-dot"></span><span id="ui-word">running</span></span><span class="doing" id="ui-doing" role="status">starting…</span><span class="spent" id="ui-spent">${formatCount(before.tokens)} tokens · ${formatCost(before.cost)}</span></div>
<ol id="ui-feed"></ol></aside>`;
  const [head = "", rest = ""] = served(drawn).split(/(?=<body[ >])/);
  const [open = "<body>"] = /^<body[^>]*>/.exec(rest) ?? [];
  const top = html`<a class="ui-back" href="/">← All runs</a>${bar}`;
  const asked = questions ? questionsHtml(run, questions).markup : "";
  return (nonce) => {
    const running = isUnderWay ? html`<script nonce="${nonce}">${trustedMarkup(script)}</script>` : undefined;
    return `${head}${open}${top.markup}${rest.slice(open.length).replace("</body>", () => `${asked}${running?.markup ?? ""}</body>`)}`;
  };
}

/** Shows earlier questions and the command that asks another one. The page itself is read-only. */
function questionsHtml(run: string, questions: readonly EarlierQuestion[]): Markup {
  const rows = questions.map(({ run: id, at, question, answer }) => {
    const shown = answer
      ? html`<p>${answer.answer}</p><p class="soft">${plural(answer.claims.length, "supported claim")}</p>`
      : html`<p class="soft">no answer</p>`;
    return html`<li><a href="/runs/${encodeURIComponent(id)}">${question}</a> <time class="soft">${at.slice(0, 16).replace("T", " ")} UTC</time>${shown}</li>`;
  });
  return html`<section class="ui-asked"><h2>Questions about this run</h2>${rows.length > 0 && html`<ol>${rows}</ol>`}<p>Ask one: <code>skillflow ask ${run} "QUESTION"</code></p></section>`;
}

/** Adds the server's styles, and removes the report's own CSP: the server sends one, which a second could only narrow. */
function served(drawn: string): string {
  const head = /<meta http-equiv="Content-Security-Policy"[^<>]*>\n?/.exec(drawn)?.[0] ?? "";
  return drawn
    .replace(head, "")
    .replace("</head>", () => `<link rel="icon" href="data:,">\n<style>\n${tokens}\n${style}</style>\n</head>`);
}

function totals({ events }: Report, upTo: number): { readonly tokens: number; readonly cost: number } {
  const usage = new UsageTotals();
  for (const event of events) {
    if (event.seq <= upTo && event.type === "model:reply") addUsage(usage, event.usage);
  }
  return { tokens: usage.inputTokens + usage.outputTokens, cost: usage.costUsd };
}
