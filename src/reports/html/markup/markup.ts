import { htmlContent, htmlText } from "../../../core/base/inert.ts";

/** Safe HTML. Only `html` and `trustedMarkup` create it, so untrusted text is always escaped. */
export interface Markup {
  readonly markup: string;
}

export type Content = Markup | string | number | undefined | readonly Content[];

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
  if (content === undefined) return "";
  if (typeof content === "string") return inert(content);
  if (typeof content === "number") return String(content);
  if ("markup" in content) return content.markup;
  return content.map((part) => render(part, inert)).join("");
}
