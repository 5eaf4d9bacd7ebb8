import { isAddress, logText, markdownBlock, markdownCode, markdownLine, markdownText } from "../core/base/inert.ts";
import { cutText, formatCount, shortText } from "../core/base/preview.ts";
import type { Block, Item, List, Section, Span, Words } from "./model/tree/tree.ts";

/** Writes what a report says as Markdown for job summaries, pull requests and issues, with all untrusted text inert. */
export function markdownOf(blocks: readonly Block[], level = 3): string {
  return joined(blocks.map((block) => blockMarkdown(block, level)));
}

const joined = (parts: readonly string[]) => parts.filter((part) => part !== "").join("\n\n");

/** Maximum lengths of a text in a paragraph, in a list and in a table. */
const MOST_TEXT = 1500;
const MOST_IN_ITEM = 600;
const MOST_IN_CELL = 240;
const MOST_ITEMS = 50;
const MOST_ROWS = 100;

function blockMarkdown(block: Block, level: number): string {
  switch (block.kind) {
    case "text":
      return `${block.tone === undefined ? "" : "⚠️ "}${lineMarkdown(block.words, MOST_TEXT)}`;
    case "facts":
      return block.rows.map(([term, words]) => `- **${term}:** ${lineMarkdown(words, MOST_TEXT)}`).join("\n");
    case "code": {
      const name = block.name === undefined ? "" : `${markdownCode(block.name)}:\n\n`;
      return `${name}${markdownBlock(logText(block.text), block.language)}`;
    }
    case "table":
      return tableMarkdown(block);
    case "list":
      return listMarkdown(block, "");
    case "section":
      return sectionMarkdown(block, level);
  }
}

function sectionMarkdown({ id, title, tone, parts }: Section, level: number): string {
  const line = lineMarkdown(title, MOST_IN_ITEM);
  const body = markdownOf(parts, level + 1);
  if (tone !== undefined) return joined([`**${line.replaceAll("**", "")}**`, body]);
  return joined([`${"#".repeat(level)} ${id === undefined ? "" : `${id}: `}${line}`, body]);
}

function tableMarkdown({ columns, rows }: Extract<Block, { kind: "table" }>): string {
  const shown = rows.slice(0, MOST_ROWS).map((row) => {
    return `| ${row.map((cell) => lineMarkdown(cell, MOST_IN_CELL)).join(" | ")} |`;
  });
  const rest =
    rows.length > shown.length ? [`\n…and ${formatCount(rows.length - shown.length)} more, see the report.`] : [];
  const names = columns.map((name) => (name === "#" ? name : markdownLine(shortText(name, MOST_IN_CELL))));
  return [`| ${names.join(" | ")} |`, `|${"---|".repeat(columns.length)}`, ...shown, ...rest].join("\n");
}

function listMarkdown({ title, look, items }: List, margin: string): string {
  const mark = `${margin}- ${look === "tasks" ? "[ ] " : ""}${title === undefined ? "" : `${title}: `}`;
  const shown = items.slice(0, MOST_ITEMS).map((item) => mark + itemMarkdown(item, margin));
  const more = items.length - shown.length;
  return [...shown, ...(more > 0 ? [`${margin}- …and ${formatCount(more)} more`] : [])].join("\n");
}

function itemMarkdown({ words, why, parts = [] }: Item, margin: string): string {
  const reason = why === undefined ? "" : ` — ${lineMarkdown(why, MOST_IN_ITEM)}`;
  const inner = parts.map((part) => {
    if (part.kind === "list") return `\n${listMarkdown(part, `${margin}  `)}`;
    return part.kind === "text" ? `\n${margin}  - ${lineMarkdown(part.words, MOST_TEXT)}` : "";
  });
  return `${lineMarkdown(words, MOST_IN_ITEM)}${reason}${inner.join("")}`;
}

export function lineMarkdown(words: Words, most: number): string {
  return words.map((span) => spanMarkdown(span, most)).join("");
}

function spanMarkdown({ style, text }: Span, most: number): string {
  switch (style) {
    case "own":
      return text;
    case "verse":
      return markdownText(cutText(text, most));
    case "strong":
    case "badge":
      return `**${markdownLine(shortText(text, most))}**`;
    case "struck":
      return `~~${markdownLine(shortText(text, most))}~~`;
    case "code":
    case "ref":
    case "quote":
      return markdownCode(shortText(text, MOST_IN_CELL));
    case "command":
      return markdownCode(`skillflow ${text}`);
    case "link":
      return isAddress(text) ? `<${text}>` : markdownCode(shortText(text, MOST_IN_CELL));
    default:
      return markdownLine(shortText(text, most));
  }
}
