import { formatCost, formatCount } from "../../core/base/preview.ts";
import { html, trustedMarkup } from "../html/markup/markup.ts";
import type { Report } from "../model/report.ts";
import style from "./browser/live.css?raw" with { type: "text" };
import script from "./browser/live.js?raw" with { type: "text" };
import tokens from "./browser/tokens.css?raw" with { type: "text" };

/**
 * Turns a report into a page of the local server, with a link to all runs. While the run is in progress, a bar shows its
 * current activity from its events.
 */
export function runPage(report: Report, drawn: string, isUnderWay: boolean): (nonce: string) => string {
  const { run, workflow } = report.record;
  const after = report.events.findLastIndex(({ type }) => type === "node:enter") - 1;
  const before = totals(report, after);
  const names = Object.fromEntries(Object.entries(workflow.nodes).map(([id, { name }]) => [id, name]));
  const bar = isUnderWay
    ? html`<aside class="ui-live" id="ui-live" aria-label="Live progress" data-running data-run="${run}" data-after="${after}" data-tokens="${before.tokens}" data-cost="${before.cost}" data-names="${JSON.stringify(names)}">
<div class="now"><span class="ui-state running"><span class="ui-busy-dot"></span><span id="ui-word">running</span></span><span class="doing" id="ui-doing" role="status">starting…</span><span class="spent" id="ui-spent">${formatCount(before.tokens)} tokens · ${formatCost(before.cost)}</span></div>
<ol id="ui-feed"></ol></aside>`
    : undefined;
  const [head = "", rest = ""] = served(drawn).split(/(?=<body[ >])/);
  const [open = "<body>"] = /^<body[^>]*>/.exec(rest) ?? [];
  const top = html`<a class="ui-back" href="/">← All runs</a>${bar}`;
  return (nonce) => {
    const running = isUnderWay ? html`<script nonce="${nonce}">${trustedMarkup(script)}</script>` : undefined;
    return `${head}${open}${top.markup}${rest.slice(open.length).replace("</body>", () => `${running?.markup ?? ""}</body>`)}`;
  };
}

/** Adds the server's styles, and removes the report's own CSP: the server sends one, which a second could only narrow. */
function served(drawn: string): string {
  const head = /<meta http-equiv="Content-Security-Policy"[^<>]*>\n?/.exec(drawn)?.[0] ?? "";
  return drawn
    .replace(head, "")
    .replace("</head>", () => `<link rel="icon" href="data:,">\n<style>\n${tokens}\n${style}</style>\n</head>`);
}

function totals({ events }: Report, upTo: number): { readonly tokens: number; readonly cost: number } {
  let [tokens, cost] = [0, 0];
  for (const event of events) {
    if (event.seq > upTo || event.type !== "model:reply") continue;
    tokens += (event.usage?.inputTokens ?? 0) + (event.usage?.outputTokens ?? 0);
    cost += event.usage?.costUsd ?? 0;
  }
  return { tokens, cost };
}
