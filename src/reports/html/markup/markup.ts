import { htmlContent, htmlText } from "../../../core/base/inert.ts";

/** HTML that was written by us. Only `html` and `trustedMarkup` make it, so that a stranger's text cannot become any. */
export interface Markup {
  readonly markup: string;
}

export type Content = Markup | string | number | undefined | readonly Content[];

/** A piece of a page: what is put in is text, and made inert, unless it is markup itself. Attributes must be quoted. */
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

/** Of what we have written ourselves: nothing that is put in opens or ends a tag. */
function endsInTag(written: string, before: boolean): boolean {
  const [opened, closed] = [written.lastIndexOf("<"), written.lastIndexOf(">")];
  return opened === closed ? before : opened > closed;
}

/** For what was made by our own code: style sheets and drawings. */
export function trustedMarkup(markup: string): Markup {
  return { markup };
}

function render(content: Content, inert: (text: string) => string): string {
  if (content === undefined) return "";
  if (typeof content === "string") return inert(content);
  if (typeof content === "number") return String(content);
  if ("markup" in content) return content.markup;
  return content.map((part) => render(part, inert)).join("");
}
