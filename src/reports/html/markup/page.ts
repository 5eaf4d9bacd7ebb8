import { html, type Markup, trustedMarkup } from "./markup.ts";
import sheet from "./page.css?raw" with { type: "text" };

interface HtmlPage {
  readonly title: string;
  readonly head: Markup;
  readonly sections: readonly Section[];
  readonly colophon: string;
  readonly style?: string;
}

export interface Section {
  readonly id: string;
  readonly title: string;
  readonly note?: string;
  readonly body: Markup;
}

const POLICY = "default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; form-action 'none'";

/** Creates a self-contained page without scripts or network requests, for phones and paper, too. */
export function pageHtml({ title, head, sections, colophon, style = "" }: HtmlPage): string {
  const links = sections.map((section) => html`<a href="#${section.id}">${section.title}</a>`);
  const nav = sections.length > 1 && html`<nav aria-label="Sections">${links}</nav>`;
  const shown = sections.map(
    (
      section,
    ) => html`<section id="${section.id}" aria-labelledby="${section.id}-title"><h2 id="${section.id}-title">${section.title}</h2>${section.note !== undefined && html`<p class="note">${section.note}</p>`}
${section.body}</section>
`,
  );
  return html`<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="${trustedMarkup(POLICY)}">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<meta name="referrer" content="no-referrer">
<meta name="robots" content="noindex">
<title>${title}</title>
<style>
${trustedMarkup(sheet + style)}</style>
</head>
<body>
${head}
${nav}
<main>
${shown}</main>
<footer class="colophon">${colophon}</footer>
</body>
</html>
`.markup;
}
