import { html, type Markup, rowsHtml, tableHtml } from "./markup.ts";

/** Renders plain text, for example with linked references and marked quotes. */
export type Inline = (text: string) => Markup;

/**
 * Renders a safe subset of Markdown: paragraphs, lists, code, tables, bold and emphasis.
 * All other syntax, such as links, images and HTML, stays text.
 */
export function proseHtml(text: string, plain: Inline): Markup {
  const lines = text.split(/\r\n?|[\n\u2028\u2029]/);
  const blocks: Markup[] = [];
  for (let at = 0; at < lines.length; ) {
    const { shown, next } = blockAt(lines, at, plain);
    if (shown) blocks.push(shown);
    at = next;
  }
  return html`<div class="prose" dir="auto">${blocks}</div>`;
}

interface Block {
  readonly shown: Markup | undefined;
  readonly next: number;
}

function blockAt(lines: readonly string[], at: number, plain: Inline): Block {
  const line = lines[at] ?? "";
  if (line.trim() === "") return { shown: undefined, next: at + 1 };
  const fence = /^\s{0,3}(`{3,}|~{3,})/.exec(line)?.[1];
  if (fence !== undefined) return codeAt(lines, at, fence, plain);
  if (isRow(line) && /^[\s|:-]+$/.test(lines[at + 1] ?? "x") && isRow(lines[at + 1] ?? ""))
    return tableAt(lines, at, plain);
  if (ITEM.test(line)) return listAt(lines, at, plain);
  const heading = /^#{1,6}\s+(\S.*)$/.exec(line)?.[1];
  if (heading !== undefined)
    return { shown: html`<p><strong>${inlineHtml(heading, plain)}</strong></p>`, next: at + 1 };
  return paragraphAt(lines, at, plain);
}

const ITEM = /^(\s*)(?:[-*+]|(\d{1,9})[.)])\s+(.*)$/;

function isRow(line: string): boolean {
  return line.length < 10_000 && line.trim().length > 1 && line.trim().startsWith("|") && line.trim().endsWith("|");
}

function codeAt(lines: readonly string[], at: number, fence: string, plain: Inline): Block {
  const isEnd = (line: string) => line.trim().startsWith(fence) && /^[`~]+$/.test(line.trim());
  let end = at + 1;
  while (end < lines.length && !isEnd(lines[end] ?? "")) end++;
  return { shown: html`<pre><code>${plain(lines.slice(at + 1, end).join("\n"))}</code></pre>`, next: end + 1 };
}

function tableAt(lines: readonly string[], at: number, plain: Inline): Block {
  let end = at + 2;
  while (end < lines.length && isRow(lines[end] ?? "")) end++;
  const cells = (line: string) =>
    line
      .trim()
      .slice(1, -1)
      .split(/(?<!\\)\|/)
      .map((cell) => cell.trim().replaceAll("\\|", "|"));
  const names = cells(lines[at] ?? "");
  const inline = (row: readonly string[]) => row.map((cell) => inlineHtml(cell, plain));
  const rows = lines.slice(at + 2, end).map((line) => inline(cells(line)));
  return { shown: tableHtml(inline(names), rowsHtml(names, rows)), next: end };
}

/** Renders a flat list. Nested items become indented items of the same list. */
function listAt(lines: readonly string[], at: number, plain: Inline): Block {
  const items: { text: string; readonly depth: number }[] = [];
  const isNumbered = ITEM.exec(lines[at] ?? "")?.[2] !== undefined;
  let end = at;
  for (; end < lines.length; end++) {
    const line = lines[end] ?? "";
    const item = ITEM.exec(line);
    const last = items.at(-1);
    if (item) items.push({ text: item[3] ?? "", depth: Math.min(3, Math.floor((item[1] ?? "").length / 2)) });
    else if (line.trim() !== "" && /^\s/.test(line) && last) last.text += `\n${line.trim()}`;
    else break;
  }
  const shown = items.map(({ text, depth }) => html`<li class="depth-${depth}">${inlineHtml(text, plain)}</li>`);
  return { shown: isNumbered ? html`<ol>${shown}</ol>` : html`<ul>${shown}</ul>`, next: end };
}

function paragraphAt(lines: readonly string[], at: number, plain: Inline): Block {
  let end = at + 1;
  while (end < lines.length && !startsBlock(lines[end] ?? "")) end++;
  return { shown: html`<p>${inlineHtml(lines.slice(at, end).join("\n"), plain)}</p>`, next: end };
}

function startsBlock(line: string): boolean {
  return line.trim() === "" || /^\s{0,3}(?:`{3,}|~{3,}|#{1,6}\s)/.test(line) || ITEM.test(line) || isRow(line);
}

const CODE = /(`[^`\n]+`)/;
const STRONG = /(\*\*[^*\n]+\*\*)/;

function inlineHtml(text: string, plain: Inline): Markup {
  const pieces = text.split(CODE).map((piece, index) => {
    if (index % 2 === 1) return html`<code>${plain(piece.slice(1, -1))}</code>`;
    const parts = piece.split(STRONG).map((part, at) => {
      return at % 2 === 1 ? html`<strong>${plain(part.slice(2, -2))}</strong>` : plain(part);
    });
    return html`${parts}`;
  });
  return html`${pieces}`;
}
