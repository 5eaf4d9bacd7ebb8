import { formatCount } from "../../../core/base/preview.ts";
import { isObject, isTexts, type Json, type JsonObject } from "../../../core/base/values.ts";
import { markQuotes } from "./marks.ts";
import { foldRest, html, type Markup, rowsHtml, tableHtml } from "./markup.ts";
import { proseHtml } from "./prose.ts";

export interface Showing {
  /** Checks whether a reference belongs to a call on the page. */
  readonly cites: (ref: string) => boolean;
  /** Renders text as Markdown, for values that a model wrote. */
  readonly prose?: boolean;
  readonly inTable?: boolean;
  /** Renders nested values as JSON, to keep the pages of large runs small. */
  readonly compact?: boolean;
  /** Quotes of claims to mark in the text. */
  readonly quotes?: ReadonlySet<string>;
}

/** Renders a JSON value with lists and tables. Long parts are folded, but nothing is cut. */
export function valueHtml(value: Json, showing: Showing, depth = 0): Markup {
  if (typeof value === "string") return textHtml(value, showing, depth === 0);
  if (value === null) return html`<span class="nil">none</span>`;
  if (typeof value === "boolean") return html`<span class="scalar">${value ? "yes" : "no"}</span>`;
  if (typeof value === "number") return html`<span class="scalar">${value}</span>`;
  if (depth >= (showing.compact ? 0 : DEEPEST)) return verbatimHtml(jsonText(value, showing), showing);
  if (!Array.isArray(value)) return objectHtml(value as JsonObject, showing, depth);
  if (value.length === 0) return html`<span class="nil">none</span>`;
  const columns = showing.inTable ? undefined : columnsOf(value);
  if (columns) {
    const cells = (value as readonly JsonObject[]).map((row) => columns.map((key) => row[key]));
    return gridHtml(columns.map(labelOf), cells, showing, depth);
  }
  const items = value.map((item) => html`<li dir="auto">${valueHtml(item, showing, depth + 1)}</li>`);
  return sections(items, "items", (some) => html`<ul class="list">${some}</ul>`);
}

const NO_QUOTES: ReadonlySet<string> = new Set();
const DEEPEST = 4;
const MOST_COLUMNS = 7;
/** Maximum number of list items that are shown without a fold. */
const MOST_OPEN = 30;
/** Maximum length of a text that is shown without a fold. */
const LONGEST_OPEN = 1500;

function textHtml(text: string, showing: Showing, isAlone: boolean): Markup {
  if (text.trim() === "") return html`<span class="nil">${text === "" ? "empty" : "blank"}</span>`;
  if (!showing.prose && isVerbatim(text)) return verbatimHtml(text, showing);
  const quotes = showing.quotes ?? NO_QUOTES;
  const inline = (piece: string) => markQuotes(piece, quotes, (rest) => linkCited(rest, showing));
  if (!/\n|^(?:[-*+#|]|\d+[.)]) |\*\*|`/.test(text))
    return folded(text, isAlone ? html`<div dir="auto">${inline(text)}</div>` : inline(text));
  return folded(text, proseHtml(text, inline));
}

function verbatimHtml(text: string, { quotes = NO_QUOTES }: Pick<Showing, "quotes">): Markup {
  return folded(text, html`<pre dir="auto">${markQuotes(text, quotes, (piece) => html`${piece}`)}</pre>`);
}

/** Formats JSON. The compact form has one line for each member or item. */
function jsonText(value: Json, { compact }: Showing): string {
  if (!compact) return JSON.stringify(value, undefined, 2);
  if (Array.isArray(value)) return itemLines(value, "");
  const lines = Object.entries(value as JsonObject).map(([key, member]) => {
    return Array.isArray(member) ? `${key}:\n${itemLines(member, "  ")}` : `${key}: ${JSON.stringify(member)}`;
  });
  return lines.join("\n");
}

function itemLines(items: readonly Json[], margin: string): string {
  return items.map((item) => `${margin}${JSON.stringify(item)}`).join("\n");
}

/** Folds a long text behind its first words. Its quotes are also listed outside the fold. */
export function folded(text: string, shown: Markup): Markup {
  if (text.length <= LONGEST_OPEN) return shown;
  const start = text
    .slice(0, 120)
    .replace(/\s+/g, " ")
    .replace(/[\ud800-\udbff]$/, "");
  return html`<details class="fold"><summary><span dir="auto">${start}…</span> <span class="meta">${formatCount(text.length)} characters</span></summary>${shown}</details>`;
}
function linkCited(text: string, { cites }: Pick<Showing, "cites">): Markup {
  const pieces = text.split(/\b(r[1-9]\d*)\b/);
  return html`${pieces.map((piece, index) => (index % 2 === 1 && cites(piece) ? html`<a class="cite" href="#${piece}">${piece}</a>` : html`${piece}`))}`;
}

/** Detects logs, code and diffs, which have many short or indented lines. */
function isVerbatim(text: string): boolean {
  const start = text.slice(0, 2000);
  const lines = start.split("\n");
  return lines.length > 3 && (/^(?:\s{2,}|\t|[{[@+-])/m.test(start) || start.length / lines.length < 60);
}

/** Returns `ruled out` for `ruled_out`. */
function labelOf(key: string): string {
  return key.replace(/(?<=\w)_(?=\w)/g, " ");
}

function objectHtml(value: JsonObject, showing: Showing, depth: number): Markup {
  const members = Object.entries(value);
  const table = columnsAndRows(value, showing, depth + 1);
  if (members.length === 0) return html`<span class="nil">empty</span>`;
  const rows = members.map(([key, member]) => {
    if (key === "rows" && table) return html`<div class="member wide"><dt>rows</dt><dd>${table}</dd></div>`;
    if (key === "columns" && table) return html``;
    const wide = isObject(member) || Array.isArray(member) ? " wide" : "";
    return html`<div class="member${wide}"><dt dir="auto">${labelOf(key)}</dt><dd dir="auto">${valueHtml(member, showing, depth + 1)}</dd></div>`;
  });
  return sections(rows, "fields", (some) => html`<dl class="kv">${some}</dl>`);
}

/** Returns the keys of objects that can be the rows of a table. Undefined for other values, and for too many keys. */
function columnsOf(values: readonly Json[]): string[] | undefined {
  const columns = new Set<string>();
  for (const value of values) {
    if (!isObject(value)) return undefined;
    for (const key of Object.keys(value)) columns.add(key);
    if (columns.size > MOST_COLUMNS) return undefined;
  }
  return [...columns];
}

/** Maximum size of a table. Further rows are shown as JSON, which keeps the page small. */
const MOST_WIDE = 20;
const MOST_IN_GRID = 300;

/** Renders the table of a result with `columns` and `rows`. Undefined if the value is not one. */
function columnsAndRows({ columns, rows }: JsonObject, showing: Showing, depth: number): Markup | undefined {
  if (!isTexts(columns) || columns.length > MOST_WIDE || !Array.isArray(rows) || rows.length === 0) return undefined;
  const cells = rows.filter((row): row is Json[] => Array.isArray(row) && row.length <= columns.length);
  if (cells.length < rows.length) return undefined;
  const left = cells.slice(MOST_IN_GRID);
  const rest = left.length > 0 && verbatimHtml(itemLines(left, ""), showing);
  return html`${gridHtml(columns as string[], cells.slice(0, MOST_IN_GRID), showing, depth)}${rest}`;
}

type Cells = readonly (Json | undefined)[];

function gridHtml(labels: readonly string[], rows: readonly Cells[], showing: Showing, depth: number): Markup {
  const cells = rows.map((row) => {
    return labels.map((_, index) => {
      const value = row[index];
      return value !== undefined && valueHtml(value, { ...showing, inTable: true }, depth + 1);
    });
  });
  return sections(rowsHtml(labels, cells), "rows", (some) => tableHtml(labels, some));
}

/** Shows the first items and folds the rest. */
function sections(items: readonly Markup[], noun: string, wrap: (items: readonly Markup[]) => Markup): Markup {
  const open = items.length <= MOST_OPEN + 5 ? items.length : MOST_OPEN;
  return foldRest(items, { open, title: (_, count) => `${formatCount(count)} more ${noun}`, wrap });
}
