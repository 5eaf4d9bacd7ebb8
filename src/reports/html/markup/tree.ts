import { isAddress } from "../../../core/base/inert.ts";
import { formatCount, plural } from "../../../core/base/preview.ts";
import type { Block, Item, List, Section, Span, Tone, Words } from "../../model/tree/tree.ts";
import { markQuotes } from "./marks.ts";
import { html, type Markup, rowsHtml, tableHtml } from "./markup.ts";

/** Checks whether a page has an anchor, so that no link leads nowhere. */
export type Links = (anchor: string) => boolean;

const EVERYWHERE: Links = () => true;

/** Writes what a report says as HTML. `html` escapes all of it. */
export function blocksHtml(blocks: readonly Block[], links: Links = EVERYWHERE): Markup {
  return html`${blocks.map((block) => blockHtml(block, links))}`;
}

function blockHtml(block: Block, links: Links): Markup {
  switch (block.kind) {
    case "text":
      return block.tone === undefined
        ? html`<p dir="auto">${wordsHtml(block.words, links)}</p>`
        : html`<p class="complaint ${block.tone}" dir="auto">${wordsHtml(block.words, links)}</p>`;
    case "facts": {
      const rows = block.rows.map(([term, words]) => {
        return html`<div class="member"><dt>${term}</dt><dd dir="auto">${wordsHtml(words, links)}</dd></div>`;
      });
      return html`<dl class="kv">${rows}</dl>`;
    }
    case "code":
      return codeHtml(block);
    case "table": {
      const rows = block.rows.map((row) => row.map((cell) => wordsHtml(cell, links)));
      return tableHtml(block.columns, rowsHtml(block.columns, rows));
    }
    case "list":
      return listHtml(block, links);
    case "section":
      return sectionHtml(block, links);
  }
}

function sectionHtml({ id, title, tone, parts }: Section, links: Links): Markup {
  const line = wordsHtml(title, links);
  const body = blocksHtml(parts, links);
  if (tone !== undefined)
    return html`<div class="callout ${tone}"><p dir="auto"><strong>${line}</strong></p>${body}</div>`;
  if (id === undefined) return html`<article><h3 dir="auto">${line}</h3>${body}</article>\n`;
  return html`<article class="operation" id="${id}"><header><h3>${id}</h3><p dir="auto">${line}</p></header>${body}</article>\n`;
}

/** Maximum length of a code block that is shown without a fold. */
const MOST_OPEN = 6_000;

/** Maximum length of a record that is shown without a fold. */
const MOST_OPEN_RECORD = 600;

function codeHtml({ text, name, quote }: Extract<Block, { kind: "code" }>): Markup {
  const title = name !== undefined && quote === undefined && html`<h4>${name}</h4>`;
  const marked = markQuotes(text, new Set(quote === undefined ? [] : [quote]), (piece) => html`${piece}`);
  const block = html`${title}<pre><code>${marked}</code></pre>`;
  if (text.length <= (quote === undefined ? MOST_OPEN : MOST_OPEN_RECORD))
    return html`<div class="input">${block}</div>`;
  return html`<details class="fold input"><summary>${name ?? "Input"}, ${formatCount(text.length)} characters</summary><div>${block}</div></details>`;
}

/** Maximum number of items that are shown without a fold. Claims and their quotes are never folded. */
const MOST_ITEMS = 12;

function listHtml({ title, look, items }: List, links: Links): Markup {
  if (look === "claims") return html`<ol class="claims">${items.map((item) => claimHtml(item, links))}</ol>`;
  const shown = items.map((item) => itemHtml(item, links));
  if (look === "cites") return html`<ul class="cites">${shown}</ul>`;
  const rest = shown.slice(MOST_ITEMS);
  const folded =
    rest.length > 0 &&
    html`<li><details class="fold"><summary>${plural(rest.length, "more")}</summary><ul class="list">${rest}</ul></details></li>`;
  const body = [...shown.slice(0, MOST_ITEMS), folded];
  if (look === "done" || look === "waiting" || look === "undone")
    return html`<section class="deeds ${look}"><h3>${title}</h3><ul>${body}</ul></section>`;
  return html`${title !== undefined && html`<p class="meta">${title}</p>`}<ul class="list">${body}</ul>`;
}

function itemHtml({ words, why, parts = [] }: Item, links: Links): Markup {
  const because = why && html`<span class="because" dir="auto">${wordsHtml(why, links)}</span>`;
  return html`<li dir="auto">${wordsHtml(words, links)}${because}${blocksHtml(parts, links)}</li>`;
}

function claimHtml({ words, why, tone, parts = [] }: Item, links: Links): Markup {
  const because = why && html`<p class="because" dir="auto">${wordsHtml(why, links)}</p>`;
  return html`<li class="${tone === "success" ? "holds" : "lost"}"><p class="claim" dir="auto">${wordsHtml(words, links)}</p>${because}${blocksHtml(parts, links)}</li>\n`;
}

function wordsHtml(words: Words, links: Links = EVERYWHERE): Markup {
  return html`${words.map((span) => spanHtml(span, links))}`;
}

function spanHtml({ style, text, tone, to }: Span, links: Links): Markup {
  const isLinked = to !== undefined && links(to);
  if (style === "ref")
    return isLinked ? html`<a class="cite" href="#${to}">${text}</a>` : html`<span class="cite">${text}</span>`;
  const shown = STYLES[style](text, tone);
  return isLinked ? html`<a href="#${to}">${shown}</a>` : shown;
}

const STYLES: Readonly<Record<Exclude<Span["style"], "ref">, (text: string, tone?: Tone) => Markup>> = {
  own: (text) => html`${text}`,
  text: (text) => html`${text}`,
  verse: (text) => html`<span class="verse">${text}</span>`,
  code: (text) => html`<code>${text}</code>`,
  strong: (text) => html`<strong>${text}</strong>`,
  struck: (text) => html`<del dir="auto">${text}</del>`,
  dim: (text) => html`<span class="meta" dir="auto">${text}</span>`,
  quote: (text) => html`<q dir="auto">${text}</q>`,
  badge: (text, tone = "skipped") => html`<span class="badge ${tone}">${text}</span>`,
  command: (text) => html`<code>skillflow ${text}</code>`,
  link: (text) => (isAddress(text) ? html`<a href="${text}" rel="noreferrer">${text}</a>` : html`<code>${text}</code>`),
};
