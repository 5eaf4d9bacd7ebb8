import { plainLine, plainText } from "../../core/base/inert.ts";
import type { Block, Item, Span, Tone, Words } from "../../reports/model/tree/tree.ts";
import { type Format, oneLine, type Paint } from "./terminal.ts";
import { wrapLines } from "./wrap.ts";

export interface Screen {
  readonly paint: Paint;
  /** The program's name as the user calls it. */
  readonly program: string;
  /** Columns of the terminal. Undefined if lines must not be wrapped. */
  readonly width?: number | undefined;
}

/** Maximum length of a text on the screen, and maximum number of items of a list. */
const MOST_TEXT = 600;
const MOST_ITEMS = 12;

const COLOURS: Readonly<Record<Tone, Format>> = {
  success: "green",
  degraded: "yellow",
  failed: "red",
  waiting: "yellow",
  skipped: "yellow",
  active: "yellow",
  info: "dim",
};

/** Marks of list items. Others have a triangle. */
const MARKS: Partial<Record<Tone, string>> = { success: "✔", failed: "✗" };

/** Writes what a report says for a terminal, without tables and code. Removes control characters from untrusted text. */
export function describeBlocks(blocks: readonly Block[], screen: Screen, indent = 2): string[] {
  return blocks.flatMap((block) => describeBlock(block, screen, indent));
}

function describeBlock(block: Block, screen: Screen, indent: number): string[] {
  const { paint } = screen;
  switch (block.kind) {
    case "text": {
      const mark = block.tone === undefined ? "" : `${paint(COLOURS[block.tone], "!")} `;
      return [placed(block.words, screen, indent, mark)];
    }
    case "facts":
      return block.rows.map(([term, words]) => {
        const before = `${term.charAt(0).toLowerCase()}${term.slice(1)}: `;
        return placed(words, screen, indent, before);
      });
    case "list": {
      const shown = block.items.slice(0, MOST_ITEMS).flatMap((item) => describeItem(item, screen, indent));
      const more = block.items.length - MOST_ITEMS;
      const rest = more > 0 ? [`${" ".repeat(indent)}${paint("dim", `(${more} more)`)}`] : [];
      const title = block.title === undefined ? [] : [paint("yellow", `${block.title}:`)];
      return [...title, ...shown, ...rest];
    }
    case "section":
      return [placed(block.title, screen, indent), ...describeBlocks(block.parts, screen, indent)];
    case "table":
    case "code":
      return [];
  }
}

function describeItem({ words, why, tone, parts = [] }: Item, screen: Screen, indent: number): string[] {
  const mark = tone === undefined ? "" : `${screen.paint(COLOURS[tone], MARKS[tone] ?? "▲")} `;
  const reason: Words = why === undefined ? [] : [{ style: "own", text: " — " }, ...why];
  return [placed([...words, ...reason], screen, indent, mark), ...describeBlocks(parts, screen, indent + 2)];
}

/** Returns a line, or several. Lines with commands are never wrapped, because people copy them. */
function placed(words: Words, { width, ...screen }: Screen, indent: number, before = ""): string {
  const margin = " ".repeat(indent);
  const line =
    margin +
    before +
    words
      .map((span, index) => describeSpan(index > 0 ? inBrackets(span) : span, screen))
      .join("")
      .replaceAll("\n", `\n${margin}`);
  return words.some(({ style }) => style === "command") ? line : wrapLines(line, width);
}

/** Sets a badge after a text apart from it, as its colour does where there are colours. */
function inBrackets(span: Span): Span {
  return span.style === "badge" ? { ...span, text: `(${span.text})` } : span;
}

function describeSpan({ style, text, tone = "info" }: Span, { paint, program }: Screen): string {
  switch (style) {
    case "own":
      return text;
    case "verse":
      return plainText(text);
    case "strong":
      return paint("bold", oneLine(text, MOST_TEXT));
    case "dim":
    case "struck":
      return paint("dim", oneLine(text, MOST_TEXT));
    case "badge":
      return paint(COLOURS[tone], plainLine(text));
    case "quote":
      return `“${oneLine(text, MOST_TEXT)}”`;
    case "command":
      return `${program} ${plainLine(text)}`;
    default:
      return oneLine(text, MOST_TEXT);
  }
}
