import { htmlContent, htmlText } from "../../../core/base/inert.ts";
import { shortText } from "../../../core/base/preview.ts";

/** Safe HTML. Only `html` and `trustedMarkup` create it, so untrusted text is always escaped. */
export interface Markup {
  readonly markup: string;
}

export type Content = Markup | string | number | false | undefined | readonly Content[];

/** Creates HTML from a template. Escapes all values except markup. Attribute values must be quoted. */
export function html(strings: TemplateStringsArray, ...contents: readonly Content[]): Markup {
  let markup = strings[0] ?? "";
  let isInTag = endsInTag(markup, false);
  for (const [index, content] of contents.entries()) {
    const next = strings[index + 1] ?? "";
    markup += render(content, isInTag ? htmlText : htmlContent) + next;
    isInTag = endsInTag(next, isInTag);
  }
  return { markup };
}

/** Checks whether template text ends inside a tag. Values cannot open or close tags. */
function endsInTag(written: string, before: boolean): boolean {
  const [opened, closed] = [written.lastIndexOf("<"), written.lastIndexOf(">")];
  return opened === closed ? before : opened > closed;
}

/** Marks the output of our own code as safe, such as style sheets and drawings. */
export function trustedMarkup(markup: string): Markup {
  return { markup };
}

function render(content: Content, inert: (text: string) => string): string {
  if (content === undefined || content === false) return "";
  if (typeof content === "string") return inert(content);
  if (typeof content === "number") return String(content);
  if ("markup" in content) return content.markup;
  return content.map((part) => render(part, inert)).join("");
}

/** Maximum length of a column's name, which is repeated at each of its cells. */
const MOST_OF_LABEL = 80;

/** Creates the rows of a table. Cells have the names of their columns, for narrow screens. */
export function rowsHtml(names: readonly string[], rows: readonly (readonly Content[])[]): Markup[] {
  const labels = names.map((name) => shortText(name, MOST_OF_LABEL));
  return rows.map((row) => {
    const cells = row.map((cell, at) => html`<td data-label="${labels[at]}"><div dir="auto">${cell}</div></td>`);
    return html`<tr>${cells}</tr>`;
  });
}
export function tableHtml(names: readonly Content[], rows: readonly Markup[], look = ""): Markup {
  const head = names.map((name) => html`<th scope="col" dir="auto">${name}</th>`);
  return html`<table class="records ${look}"><thead><tr>${head}</tr></thead><tbody>${rows}</tbody></table>`;
}

export const OPEN = trustedMarkup(" open");

interface Folding {
  /** Number of items shown directly, and in each fold. */
  readonly open: number;
  readonly size?: number;
  readonly title: (first: number, count: number) => string;
  readonly wrap?: (items: readonly Markup[]) => Markup;
}
export function foldRest(items: readonly Markup[], folding: Folding): Markup {
  const { open, size = items.length, title, wrap = (some) => html`${some}` } = folding;
  const folds: Markup[] = [];
  for (let at = open; at < items.length; at += size) {
    const some = items.slice(at, at + size);
    folds.push(html`<details class="fold"><summary>${title(at + 1, some.length)}</summary>${wrap(some)}</details>`);
  }
  return html`${wrap(items.slice(0, open))}${folds}`;
}
