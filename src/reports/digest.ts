import { logJson, markdownCode, markdownLine, plainLine } from "../core/base/inert.ts";
import { plural, shortText } from "../core/base/preview.ts";
import { html, type Markup } from "./html/markup/markup.ts";
import { pageHtml } from "./html/markup/page.ts";
import { type Digest, type DigestItem, digestOf } from "./model/digest.ts";
import type { Report } from "./model/report.ts";

/** Digest of the items that a run judged, as a short message for people. */

/** Selects the format by the extension: `.md`, `.html`, `.json`, or `.slack.json` for Slack's blocks. */
export function digestFor(report: Report, path: string): string {
  const digest = digestOf(report);
  if (path.endsWith(".slack.json")) return jsonText(slackMessage(digest));
  if (path.endsWith(".json")) return jsonText(digest);
  return /\.html?$/.test(path) ? digestHtml(digest) : digestMarkdown(digest);
}

const jsonText = (value: object) => logJson(`${JSON.stringify(value, undefined, 2)}\n`);

const MOST_SHOWN = 50;

/** Counts the items that were not judged or not shown, so that no format drops them silently. */
function restOf(digest: Digest, shown: number): string[] {
  const { unchanged, skipped, left, beyond, untold, items } = digest;
  const unseen = untold + items.length - shown;
  const counted = (count: number, words: string) => (count === 0 ? [] : [`${count} ${words}`]);
  return [
    ...counted(unseen, "more judged now, in the run's report"),
    ...counted(unchanged, "unchanged since they were judged"),
    ...counted(skipped, "skipped"),
    ...counted(left, "left for the next run"),
    ...counted(beyond, "beyond what was listed"),
  ];
}

function sendingOf({ send, why }: Digest): string {
  return `${send ? "To be sent" : "Not to be sent"}: ${why}`;
}

const wordsOf = (name: string) => name.replaceAll("_", " ");

// -- Markdown

function digestMarkdown(digest: Digest): string {
  const { workflow, headline, failed, gaps, run, verdict } = digest;
  const shown = digest.items.slice(0, MOST_SHOWN);
  const rest = restOf(digest, shown.length);
  return `${[
    `## ${markdownLine(workflow)}: ${markdownLine(headline)}`,
    ...shown.map(itemMarkdown),
    ...(failed.length === 0
      ? []
      : [
          [
            "### Failed",
            ...failed
              .slice(0, MOST_SHOWN)
              .map(({ title, error }) => `- ${markdownLine(title)}: ${markdownLine(error)}`),
          ].join("\n"),
        ]),
    ...(gaps.length === 0 ? [] : [["### Gaps", ...gaps.map((gap) => `- ${markdownLine(gap)}`)].join("\n")]),
    ...(rest.length === 0 ? [] : [rest.map((line) => `- ${line}`).join("\n")]),
    `${markdownLine(sendingOf(digest))} · run ${markdownCode(run)}${verdict === undefined ? "" : ` · verdict ${markdownCode(verdict)}`}`,
  ].join("\n\n")}\n`;
}

function itemMarkdown(item: DigestItem): string {
  const { title, key, link, evidence, writes } = item;
  const where = link === undefined ? markdownCode(key) : `<${link}>`;
  return [
    `### ${markdownLine(wordsOf(item.class))}: ${markdownLine(title)}`,
    "",
    `- ${where}`,
    ...factsOf(item).map(([name, text]) => `- **${name}:** ${markdownLine(text)}`),
    ...evidence.flatMap(({ claim, cites }) => {
      const quotes = cites.map(({ ref, quote }) => `${markdownCode(ref)} “${markdownLine(quote)}”`);
      return [`- ${markdownLine(claim)}${quotes.length === 0 ? "" : ` — ${quotes.join("; ")}`}`];
    }),
    ...writes.map(({ id, standing, text, link: at }) => {
      return `- **${standing}** ${markdownCode(id)}: ${markdownLine(text)}${at === undefined ? "" : ` <${at}>`}`;
    }),
  ].join("\n");
}

function factsOf({ why, cause, confidence, commit, next_step, duplicate }: DigestItem): [string, string][] {
  const rows: [string, string | undefined][] = [
    ["Why", why],
    ["Cause", cause === undefined || confidence === undefined ? cause : `${cause} (confidence: ${confidence})`],
    ["Commit", commit],
    ["Known as", duplicate],
    ["Next step", next_step],
  ];
  return rows.flatMap(([name, text]): [string, string][] => (text === undefined ? [] : [[name, text]]));
}

// -- HTML

function digestHtml(digest: Digest): string {
  const { workflow, headline, run, failed, gaps } = digest;
  const shown = digest.items.slice(0, MOST_SHOWN);
  const head = html`<header class="head"><p class="kicker">run ${shortText(run, 120)}</p><h1>${shortText(workflow, 120)}: ${headline}</h1><p class="lead">${sendingOf(digest)}</p></header>`;
  const listOf = (lines: readonly string[]) => html`<ul>${lines.map((line) => html`<li>${line}</li>`)}</ul>`;
  const rest = restOf(digest, shown.length);
  const sections = [
    ...(shown.length === 0 ? [] : [{ id: "judged", title: "Judged now", body: html`${shown.map(itemHtml)}` }]),
    ...(failed.length === 0
      ? []
      : [
          {
            id: "failed",
            title: "Failed",
            body: listOf(failed.slice(0, MOST_SHOWN).map(({ title, error }) => `${title}: ${error}`)),
          },
        ]),
    ...(gaps.length === 0 ? [] : [{ id: "gaps", title: "Gaps", body: listOf(gaps) }]),
    { id: "rest", title: "Not told", body: rest.length === 0 ? html`<p>Nothing.</p>` : listOf(rest) },
  ];
  return pageHtml({
    title: `${shortText(workflow, 120)}: ${headline}`,
    head,
    sections,
    colophon: `Written by skillflow from run ${shortText(run, 120)}.`,
  });
}

function itemHtml(item: DigestItem): Markup {
  const { key, title, link, evidence, writes } = item;
  const anchor = (address: string) => html`<a href="${address}" rel="noreferrer">${address}</a>`;
  return html`<article><h3>${wordsOf(item.class)}: ${title}</h3><ul>
<li>${link === undefined ? html`<code>${key}</code>` : anchor(link)}</li>
${factsOf(item).map(([name, text]) => html`<li><b>${name}:</b> ${text}</li>`)}
${evidence.map(({ claim, cites }) => html`<li>${claim}${cites.map(({ ref, quote }) => html` <code>${ref}</code> “${quote}”`)}</li>`)}
${writes.map(({ id, standing, text, link: at }) => html`<li><b>${standing}</b> <code>${id}</code>: ${text} ${at === undefined ? undefined : anchor(at)}</li>`)}
</ul></article>
`;
}

// -- Slack

/** Limits of Slack: 50 blocks of 3000 characters. */
const MOST_BLOCKS = 50;
const MOST_BLOCK_TEXT = 3000;

/** Creates a message for `chat.postMessage` and webhooks. `verbatim` keeps Slack from adding links and mentions. */
function slackMessage(digest: Digest): object {
  const { workflow, headline, send, why, failed, gaps } = digest;
  const title = `${shortText(plainLine(workflow), 80)}: ${headline}`;
  const items = digest.items.slice(0, MOST_BLOCKS - 3);
  const rest = [
    ...restOf(digest, items.length),
    ...(failed.length === 0 ? [] : [`${plural(failed.length, "item")} failed`]),
    ...gaps.slice(0, 5),
    sendingOf(digest),
  ];
  const blocks = [
    { type: "header", text: { type: "plain_text", text: shortText(plainLine(title), 150), emoji: false } },
    ...items.map((item) => ({ type: "section", text: mrkdwn(itemSlack(item)) })),
    { type: "context", elements: [mrkdwn([slackText(rest.join(" · "))])] },
  ];
  return { send, why, text: cutSlack([slackText(title)]), unfurl_links: false, unfurl_media: false, blocks };
}

const mrkdwn = (lines: readonly string[]) => ({ type: "mrkdwn", text: cutSlack(lines), verbatim: true });

function itemSlack(item: DigestItem): string[] {
  const { key, title, link, evidence, writes } = item;
  const open = link === undefined ? slackText(key) : slackLink(link);
  return [
    `*${slackText(wordsOf(item.class))}* ${slackText(title)}`,
    open,
    ...factsOf(item).map(([name, text]) => `${name}: ${slackText(text)}`),
    ...evidence
      .flatMap(({ cites }) => cites.map(({ ref, quote }) => `${slackText(ref)} “${slackText(quote)}”`))
      .slice(0, 2),
    ...writes.map(({ id, standing, text, link: at }) => {
      return `${standing} ${id}: ${slackText(text)}${at === undefined ? "" : ` ${slackLink(at)}`}`;
    }),
  ];
}

/** Keeps as many whole lines as fit, so that no entity is cut. */
function cutSlack(lines: readonly string[]): string {
  const kept: string[] = [];
  let left = MOST_BLOCK_TEXT - 2;
  for (const line of lines) {
    if (line.length + 1 > left) return [...kept, "…"].join("\n");
    kept.push(line);
    left -= line.length + 1;
  }
  return kept.join("\n");
}

/** Escapes untrusted text, so that it creates no mentions, links or styles: `<!channel>`, `@here`, `*bold*`. */
function slackText(text: string): string {
  return plainLine(text)
    .replaceAll("&", "&amp;")
    .replaceAll("<", "&lt;")
    .replaceAll(">", "&gt;")
    .replace(/[@*_~`]/g, (mark) => `${mark}\u200b`);
}

const slackLink = (address: string) => `<${address.replaceAll("&", "&amp;")}>`;
