import { formatCount, formatTime, plural, shortText } from "../../core/base/preview.ts";
import {
  countStandings,
  isRedacted,
  linkOf,
  openCount,
  type PlanView,
  REDACTED_WARNING,
  reviewInput,
  type Shown,
  type ShownOperation,
  STANDING_WORDS,
} from "../model/plan.ts";
import { html, type Markup } from "./markup/markup.ts";
import { pageHtml } from "./markup/page.ts";

/** Creates a page for the review of a plan. */
export function planPage(plan: PlanView): string {
  const { run, workflow, operations } = plan;
  const told = countStandings(plan);
  const title = `${shortText(workflow, 120)}: ${plural(operations.length, "planned write")}`;
  const head = html`<header class="head"><p class="kicker">run ${shortText(run, 120)}</p><h1>${title}</h1><p class="lead">${told}</p></header>`;
  const sections = [{ id: "plan", title: "Operations", body: planHtml(plan, new Set()) }];
  return pageHtml({
    title,
    head,
    sections,
    colophon: `Written by skillflow from the plan of run ${shortText(run, 120)}.`,
  });
}

/** Shows all operations in full, because approval covers all of their content. Links sources to calls on the page. */
export function planHtml(plan: PlanView, calls: ReadonlySet<string>): Markup {
  const { run, digest, operations } = plan;
  const open = openCount(plan);
  const ids = new Set(operations.map(({ operation }) => operation.id));
  const apply =
    open === 0
      ? undefined
      : html`<p>${plural(open, "write")} to apply. What is approved is the content: <code>skillflow apply ${run} --yes --plan-digest ${digest}</code></p>`;
  const intro = html`<div class="callout info">${apply ?? html`<p>Plan digest <code>${digest}</code></p>`}</div>`;
  return html`${intro}${operations.map((shown) => operationHtml(shown, { calls, ids }))}`;
}

interface Places {
  /** References of the calls on the page. */
  readonly calls: ReadonlySet<string>;
  readonly ids: ReadonlySet<string>;
}

const BADGES: Readonly<Record<Shown, string>> = {
  planned: "active",
  applied: "success",
  failed: "failed",
  in_doubt: "skipped",
  skipped: "skipped",
  refused: "failed",
};

function operationHtml(shown: ShownOperation, places: Places): Markup {
  const { operation, now } = shown;
  const { id, summary, audience } = operation;
  const open = audience === "public" ? html` <span class="badge skipped">public</span>` : undefined;
  const warnings = warningsOf(operation).map((warning) => html`<p class="complaint skipped">${warning}</p>`);
  return html`<article class="operation" id="${id}"><header><h3>${id}</h3><p>${summary}</p><span class="badge ${BADGES[now.standing]}">${STANDING_WORDS[now.standing]}</span>${open}</header>
${warnings}${inputHtml(operation.input)}<dl class="kv">${factsOf(shown, places).map(([term, fact]) => html`<div class="member"><dt>${term}</dt><dd>${fact}</dd></div>`)}</dl>
</article>
`;
}

function warningsOf(operation: ShownOperation["operation"]): string[] {
  return [
    ...(isRedacted(operation) ? [REDACTED_WARNING] : []),
    ...(operation.held
      ? ["Held, also if writes are allowed: the text comes from a private source and the target is public."]
      : []),
    ...(operation.node_failed ? ["Its node failed in the end."] : []),
  ];
}

function factsOf({ operation, readAs, now }: ShownOperation, { calls, ids }: Places): [string, Markup][] {
  const { node, visit, skill, tool, audience, digest, sources, refers, filtered = [] } = operation;
  const { by, at, error } = now;
  const when = [by, at === undefined ? undefined : formatTime(at)].filter((part) => part !== undefined).join(", ");
  const link = now.standing === "applied" ? linkOf(now.output) : undefined;
  const read = sources.map((source) => sourceHtml(source, calls));
  return [
    ...(when === ""
      ? []
      : [
          [sentence(STANDING_WORDS[now.standing]), html`${when}${now.existing ? ", it was there already" : ""}`] as [
            string,
            Markup,
          ],
        ]),
    ...(link === undefined ? [] : [["At", html`<code>${link}</code>`] as [string, Markup]]),
    ...(error === undefined ? [] : [["Why", html`${error}`] as [string, Markup]]),
    ["Tool", html`<code>${skill} ${tool}</code>`],
    ["Read by", html`${audience === "public" ? "everybody" : "the team"}`],
    ["Planned by", html`${node}${visit > 1 ? `, visit ${visit}` : ""}`],
    ...(refers.length === 0 ? [] : [["After", listed(refers.map((id) => linked(id, ids)))] as [string, Markup]]),
    [
      "Had read of strangers",
      readAs !== undefined
        ? html`the same as before ${linked(readAs, ids)}`
        : read.length === 0
          ? html`<span class="nil">nothing</span>`
          : listed(read),
    ],
    ...filtered.map(({ kind, count }): [string, Markup] => ["Taken out", html`${plural(count, kind)}`]),
    ["Digest", html`<code>${digest}</code>`],
  ];
}

function sentence(words: string): string {
  return words.charAt(0).toUpperCase() + words.slice(1);
}

function sourceHtml(
  { ref, tool, node }: ShownOperation["operation"]["sources"][number],
  calls: ReadonlySet<string>,
): Markup {
  if (tool === undefined && ref === "input") return html`the run's input`;
  const what = [tool, node === undefined ? undefined : `in ${node}`].filter((part) => part !== undefined).join(" ");
  return html`${linked(ref, calls)}${what === "" ? "" : ` ${what}`}`;
}

function linked(id: string, known: ReadonlySet<string>): Markup {
  return known.has(id) ? html`<a class="cite" href="#${id}">${id}</a>` : html`<span class="cite">${id}</span>`;
}

function listed(items: readonly Markup[]): Markup {
  return html`${items.map((item, index) => (index === 0 ? item : html`, ${item}`))}`;
}

/** Shows the full input, folded if it is long. */
function inputHtml(input: ShownOperation["operation"]["input"]): Markup {
  const { json, texts } = reviewInput(input);
  const blocks = [
    ...(json === undefined ? [] : [html`<pre><code>${json}</code></pre>`]),
    ...texts.map(({ name, text }) => html`<h4>${name}</h4><pre><code>${text}</code></pre>`),
  ];
  const size = (json?.length ?? 0) + texts.reduce((sum, { text }) => sum + text.length, 0);
  if (size <= MOST_OPEN) return html`<div class="input">${blocks}</div>`;
  return html`<details class="fold input"><summary>The input, ${formatCount(size)} characters</summary><div>${blocks}</div></details>`;
}

const MOST_OPEN = 6_000;
