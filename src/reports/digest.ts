import { logJson, plainLine, slackText } from "../core/base/inert.ts";
import { plural, shortText } from "../core/base/preview.ts";
import { defined } from "../core/base/values.ts";
import { html } from "./html/markup/markup.ts";
import { pageHtml } from "./html/markup/page.ts";
import { blocksHtml } from "./html/markup/tree.ts";
import { markdownOf } from "./markdown-writer.ts";
import { type Digest, type DigestItem, digestOf } from "./model/digest.ts";
import type { Report } from "./model/report.ts";
import {
  code,
  type Item,
  joinWords,
  list,
  type Section,
  section,
  span,
  strong,
  text,
  words,
} from "./model/tree/tree.ts";

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
function restOf({ unchanged, skipped, left, beyond, untold, items }: Digest, shown: number): string[] {
  const counts = {
    "more judged in this run: see its report": untold + items.length - shown,
    "unchanged since they were judged": unchanged,
    skipped,
    "left for the next run": left,
    "not listed": beyond,
  };
  return Object.entries(counts).flatMap(([words, count]) => (count === 0 ? [] : [`${count} ${words}`]));
}

function sendingOf({ send, why }: Digest): string {
  return `${send ? "To be sent" : "Not to be sent"}: ${why}`;
}

const wordsOf = (name: string) => name.replaceAll("_", " ");

function digestBlocks(digest: Digest, shown: readonly DigestItem[]): Section[] {
  const { failed, gaps } = digest;
  const lines = failed.slice(0, MOST_SHOWN).map(({ title, error }) => ({ words: words`${title}: ${error}` }));
  const rest = restOf(digest, shown.length).map((line) => ({ words: words`${line}` }));
  const sections = [
    section(words`Judged in this run`, shown.map(itemSection)),
    section(words`Failed`, list(lines)),
    section(words`Gaps`, list(gaps.map((gap) => ({ words: words`${gap}` })))),
    section(words`Not shown`, list(rest)),
  ];
  return sections.filter(({ parts }) => parts.length > 0);
}

function itemSection(item: DigestItem): Section {
  const { title, key, link, evidence, writes } = item;
  const items: Item[] = [
    { words: link === undefined ? [code(key)] : [span("link", link)] },
    ...factsOf(item).map(([name, value]) => ({ words: words`${strong(`${name}:`)} ${value}` })),
    ...evidence.map(({ claim, cites }): Item => {
      const quotes = cites.map(({ ref, quote }) => words`${span("ref", ref)} ${span("quote", quote)}`);
      return { words: words`${claim}`, ...(quotes.length === 0 ? {} : { why: joinWords(quotes, "; ") }) };
    }),
    ...writes.map(({ id, standing, text: write, link: at }) => ({
      words: words`${strong(standing)} ${code(id)}: ${write}${at === undefined ? [] : words` ${span("link", at)}`}`,
    })),
  ];
  return section(words`${wordsOf(item.class)}: ${title}`, list(items));
}

function factsOf({ why, cause, confidence, commit, next_step, duplicate }: DigestItem): [string, string][] {
  const facts = {
    ...defined("Why", why),
    ...defined("Cause", confidence === undefined ? cause : cause && `${cause} (confidence: ${confidence})`),
    ...defined("Commit", commit),
    ...defined("Duplicate of", duplicate),
    ...defined("Next step", next_step),
  };
  return Object.entries(facts);
}

function digestMarkdown(digest: Digest): string {
  const { workflow, headline, run, verdict } = digest;
  const found = verdict === undefined ? [] : words` · verdict ${code(verdict)}`;
  const end = text(words`${sendingOf(digest)} · run ${code(run)}${found}`);
  const parts = [...digestBlocks(digest, digest.items.slice(0, MOST_SHOWN)), end];
  return `${markdownOf([section(words`${workflow}: ${headline}`, parts)], 2)}\n`;
}

function digestHtml(digest: Digest): string {
  const { workflow, headline, run } = digest;
  const title = `${shortText(workflow, 120)}: ${headline}`;
  const sections = digestBlocks(digest, digest.items.slice(0, MOST_SHOWN)).map((each) => {
    const name = each.title.map((piece) => piece.text).join("");
    return { id: name.toLowerCase().replaceAll(" ", "-"), title: name, body: blocksHtml(each.parts) };
  });
  const head = html`<header class="head"><p class="kicker">run ${shortText(run, 120)}</p><h1>${title}</h1><p class="lead">${sendingOf(digest)}</p></header>`;
  return pageHtml({ title, head, sections, colophon: `Written by skillflow from run ${shortText(run, 120)}.` });
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

const slackLink = (address: string) => `<${address.replaceAll("&", "&amp;")}>`;
