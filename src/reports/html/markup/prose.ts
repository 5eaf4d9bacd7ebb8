import { html, type Markup, rowsHtml, tableHtml } from "./markup.ts";

/** Renders plain text, for example with linked references and marked quotes. */
export type Inline = (text: string) => Markup;

/**
 * Renders a safe subset of Markdown: paragraphs, lists, code, tables, bold and emphasis.
 * All other syntax, such as links, images and HTML, stays text.
 */
export function proseHtml(text: string, plain: Inline): Markup {
  const reader: Reader = { lines: text.split(/\r\n?|[\n\u2028\u2029]/), at: 0, plain };
  const blocks: (Markup | undefined)[] = [];
  while (reader.at < reader.lines.length) blocks.push(nextBlock(reader));
  return html`<div class="prose" dir="auto">${blocks}</div>`;
}

interface Reader {
  readonly lines: readonly string[];
  /** Index of the next line. */
  at: number;
  readonly plain: Inline;
}

/** Reads a block, and moves the reader behind it. Returns undefined for an empty line. */
function nextBlock(reader: Reader): Markup | undefined {
  const { lines, at, plain } = reader;
  const [line = "", next = ""] = lines.slice(at, at + 2);
  const fence = /^\s{0,3}(`{3,}|~{3,})/.exec(line)?.[1];
  if (fence !== undefined) return codeHtml(reader, fence);
  if (isRow(line) && /^[\s|:-]+$/.test(next) && isRow(next)) return gridHtml(reader);
  if (ITEM.test(line)) return listHtml(reader);
  reader.at += 1;
  if (line.trim() === "") return undefined;
  const heading = /^#{1,6}\s+(\S.*)$/.exec(line)?.[1];
  if (heading !== undefined) return html`<p><strong>${inlineHtml(heading, plain)}</strong></p>`;
  const rest = linesWhile(reader, (each) => !startsBlock(each));
  return html`<p>${inlineHtml([line, ...rest].join("\n"), plain)}</p>`;
}

/** Reads the next lines that fit. */
function linesWhile(reader: Reader, fits: (line: string) => boolean): readonly string[] {
  const { lines, at } = reader;
  while (reader.at < lines.length && fits(lines[reader.at] ?? "")) reader.at += 1;
  return lines.slice(at, reader.at);
}

const ITEM = /^(\s*)(?:[-*+]|(\d{1,9})[.)])\s+(.*)$/;

function isRow(line: string): boolean {
  return line.length < 10_000 && line.trim().length > 1 && line.trim().startsWith("|") && line.trim().endsWith("|");
}

function codeHtml(reader: Reader, fence: string): Markup {
  reader.at += 1;
  const code = linesWhile(reader, (line) => !(line.trim().startsWith(fence) && /^[`~]+$/.test(line.trim())));
  reader.at += 1;
  return html`<pre><code>${reader.plain(code.join("\n"))}</code></pre>`;
}

function gridHtml(reader: Reader): Markup {
  const cellsOf = (line: string) => {
    const cells = line
      .trim()
      .slice(1, -1)
      .split(/(?<!\\)\|/);
    return cells.map((cell) => cell.trim().replaceAll("\\|", "|"));
  };
  const inline = (row: readonly string[]) => row.map((cell) => inlineHtml(cell, reader.plain));
  const names = cellsOf(reader.lines[reader.at] ?? "");
  reader.at += 2;
  const rows = linesWhile(reader, isRow).map((line) => inline(cellsOf(line)));
  return tableHtml(inline(names), rowsHtml(names, rows));
}

/** Renders a flat list. Nested items become indented items of the same list. */
function listHtml(reader: Reader): Markup {
  const items: { text: string; readonly depth: number }[] = [];
  const isNumbered = ITEM.exec(reader.lines[reader.at] ?? "")?.[2] !== undefined;
  for (const line of linesWhile(reader, (each) => ITEM.test(each) || (each.trim() !== "" && /^\s/.test(each)))) {
    const [, margin = "", , text = ""] = ITEM.exec(line) ?? [];
    const last = items.at(-1);
    if (ITEM.test(line)) items.push({ text, depth: Math.min(3, Math.floor(margin.length / 2)) });
    else if (last) last.text += `\n${line.trim()}`;
  }
  const shown = items.map(({ text, depth }) => {
    return html`<li class="depth-${depth}">${inlineHtml(text, reader.plain)}</li>`;
  });
  return isNumbered ? html`<ol>${shown}</ol>` : html`<ul>${shown}</ul>`;
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
