import { html, type Markup, trustedMarkup } from "../html/markup/markup.ts";
import style from "./browser/site.css?raw" with { type: "text" };
import tokens from "./browser/tokens.css?raw" with { type: "text" };

interface SitePage {
  readonly title: string;
  readonly body: Markup;
  /** Our own script, and the nonce that the server's policy allows. */
  readonly script?: { readonly code: string; readonly nonce: string };
}

/** Creates a page of `skillflow ui`. The server sends its content security policy. */
export function sitePage({ title, body, script }: SitePage): string {
  return html`<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<meta name="robots" content="noindex">
<link rel="icon" href="data:,">
<title>${title}</title>
<style>
${trustedMarkup(tokens)}
${trustedMarkup(style)}</style>
</head>
<body class="site">
${body}
${script && html`<script nonce="${script.nonce}">${trustedMarkup(script.code)}</script>`}
</body>
</html>
`.markup;
}

export function problemPage(title: string, message: string): string {
  const body = html`<main class="problem"><p class="mark" aria-hidden="true">✘</p><h1>${title}</h1><p>${message}</p></main>`;
  return sitePage({ title, body });
}
