import { TERMINAL_SEQUENCE } from "./redact/unseen.ts";
import { lazy } from "./values.ts";

/**
 * Escapes untrusted text for the format it is written to. Every function takes linear time and keeps the visible text.
 * Do not apply a function twice.
 */

/** Cleans text for a terminal or plain file: removes escape sequences, and what hides or reorders text. */
export function plainText(text: string): string {
  if (PLAIN.test(text)) return text;
  return text
    .replace(SEQUENCE, "")
    .replace(/\r\n?|[\u2028\u2029]/g, "\n")
    .replace(/[^\P{Cc}\n\t]/gu, "")
    .replace(HIDDEN, "")
    .replace(/\p{Cs}|\p{Noncharacter_Code_Point}/gu, "\ufffd");
}

/** Prepares text for review: shows invisible and reordering characters as `⟨U+202E⟩` instead of removing them. */
export function revealText(text: string): string {
  if (PLAIN.test(text)) return text;
  return text
    .replace(/\r\n/g, "\n")
    .replace(unseen(), (mark) => `⟨U+${mark.codePointAt(0)?.toString(16).toUpperCase().padStart(4, "0")}⟩`);
}

/** Fast path: most strings are printable ASCII. */
const PLAIN = /^[\x20-\x7e\n\t]*$/;
const PLAIN_LINE = /^(?:[\x21-\x7e]+(?: [\x21-\x7e]+)*)?$/;

/** Works like `plainText` but keeps our own styles. All terminal output passes through here once more. */
export function terminalText(text: string): string {
  return text
    .split(OUR_STYLES)
    .map((part, index) => (index % 2 === 1 ? part : plainText(part)))
    .join("");
}

/** Works like `plainText`, and puts the result on one line. */
export function plainLine(text: string): string {
  if (PLAIN_LINE.test(text)) return text;
  return plainText(text).replace(/\s+/g, " ").trim();
}

/** Escapes HTML content between tags, where quotation marks need no escaping. */
export function htmlContent(text: string): string {
  return plainText(text).replace(/[&<>]/g, (mark) => `&#${mark.charCodeAt(0)};`);
}

/** Escapes HTML content and quoted attributes. */
export function htmlText(text: string): string {
  return plainText(text).replace(/[&<>"'`]/g, (mark) => `&#${mark.charCodeAt(0)};`);
}

/** Escapes XML 1.0 content and quoted attributes. Line breaks survive in both. */
export function xmlText(text: string): string {
  return plainText(text).replace(/[&<>"'\n\t]/g, (mark) => `&#${mark.charCodeAt(0)};`);
}

/**
 * Escapes one line of Markdown: a paragraph, list item, heading or table cell. URLs, mentions, references, identifiers
 * and formulas become code, which no renderer links. Other marks are escaped.
 */
export function markdownLine(text: string): string {
  return withoutOldCommands(plainLine(text))
    .split(" ")
    .map((word) =>
      word
        .split(/([`|]+)/)
        .map(markdownPiece)
        .join(""),
    )
    .map((word, index) => (index === 0 ? guardStart(word) : word))
    .join(" ");
}

/** Works like `markdownLine`, and keeps line breaks. */
export function markdownText(text: string): string {
  return plainText(text).trim().split(/\n+/).map(markdownLine).join("<br>");
}

/** Formats the text as inline code on one line. Backticks and pipes become entities. */
export function markdownCode(text: string): string {
  const line = withoutOldCommands(plainLine(text));
  const pieces = line.split(/([`|]+)/).filter((piece) => piece !== "");
  return pieces.map((piece) => (/[`|]/.test(piece) ? entities(piece) : codeSpan(piece))).join("");
}

/**
 * Escapes prose in Markdown without formatting any of it as code. Line breaks stay. Invisible characters keep mentions,
 * references and addresses from becoming links.
 */
export function markdownProse(text: string): string {
  const lines = withoutOldCommands(plainText(text).trim()).split(/\s*\n\s*/);
  return lines.map(proseLine).join("  \n");
}

function proseLine(line: string): string {
  return line
    .replace(/[\\`*<>[\]|&]|(?<![\p{L}\p{N}])_|_(?![\p{L}\p{N}])/gu, "\\$&")
    .replace(/(?:[@#]|(?<![\p{L}\p{N}])[!%~$]|\bgh-)(?=[\p{L}\p{N}])/giu, "$&&#8203;")
    .replace(/:(?=\/\/)|\b(?:www|mailto|xmpp)(?=[.:])/gi, "$&&#8203;")
    .replace(/^(?:[-+=#:]|~~~|\d+(?=[.)](?:\s|$)))/, (mark) => (/\d/.test(mark) ? `${mark}\\` : `\\${mark}`));
}

/** Escapes text in Slack's markup, so that it creates no mentions, links or styles: `<!channel>`, `@here`, `*bold*`. */
export function slackText(text: string): string {
  return slackLiteral(linklessLine(text)).replace(/[@*_~`]/g, (mark) => `${mark}\u200b`);
}

/** Puts a text on one line. An invisible character keeps its addresses from becoming links. */
export function linklessLine(text: string): string {
  return plainLine(text).replace(/:(?=\/\/)/g, "$&\u200b");
}

/** Escapes what is special even within a code block of Slack's markup. */
export function slackLiteral(text: string): string {
  return text.replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll(">", "&gt;");
}

/** Accepts only URLs without a user name and without characters that end a link in Slack's markup, Markdown or HTML. */
export function isAddress(text: string | undefined): text is string {
  return (
    text !== undefined &&
    text.length <= 500 &&
    /^https?:\/\/[A-Za-z0-9.-]+(?::\d+)?(?:[/?#][\w\-./?#=&%~:+,;]*)?$/.test(text)
  );
}

/** Formats a fenced code block. The fence is longer than any run of backticks in the text. */
export function markdownBlock(text: string, language = ""): string {
  const longest = Math.max(2, ...[...text.matchAll(/`+/g)].map(([run]) => run.length));
  const fence = "`".repeat(longest + 1);
  return `${fence}${language}\n${text}\n${fence}`;
}

/** Escapes the data of a workflow command (`::error::DATA`), so that it stays on its line. */
export function commandData(text: string): string {
  return escapeCommand(plainText(text), /[%\n]/g);
}

/** Escapes a property of a workflow command (`::error file=PROPERTY::`). */
export function commandProperty(text: string): string {
  return escapeCommand(plainText(text), /[%\n:,]/g);
}

/** Prevents commands of a CI system in a log line, indented or not. Keeps colors. */
export function logText(text: string): string {
  return withoutOldCommands(text).replace(/^([^\S\n\r\u2028\u2029]*):(?=:)/gm, "$1: ");
}

/** Escapes workflow commands, control characters and hidden characters in JSON. Its value stays the same. */
export function logJson(json: string): string {
  return json
    .replace(LOG_COMMAND, "\\u0023#")
    .replace(/[\x7f-\x9f\u2028\u2029]/g, escapeUnits)
    .replace(HIDDEN, escapeUnits);
}

function escapeUnits(mark: string): string {
  return [...Array(mark.length).keys()].map((at) => `\\u${mark.charCodeAt(at).toString(16).padStart(4, "0")}`).join("");
}

/** Escapes the message of a SARIF result, where `[text](1)` and `[text](https://…)` would be links. */
export function sarifText(text: string): string {
  return plainText(text).replace(/\](?=\()/g, "] ");
}

/** Escapes a quoted Mermaid label. Everything except letters, digits and safe punctuation becomes a character code. */
export function mermaidLabel(text: string): string {
  const label = plainLine(text).replace(/[^\p{L}\p{N}\p{M} .,×·…-]/gu, (mark) => `#${mark.codePointAt(0)};`);
  return label === "" ? "#8203;" : label;
}

/** Escapes a quoted DOT label, where backslashes and HTML entities are interpreted. */
export function dotLabel(text: string): string {
  return plainLine(text).replace(/&/g, "&amp;").replace(/\\/g, "\\\\").replace(/"/g, '\\"');
}

const ESCAPE = String.fromCharCode(0x1b);

/** Bold, dim, the basic colors, and their resets. */
const OUR_STYLES = new RegExp(`(${ESCAPE}\\[(?:1|2|22|3[1-6]|39)m)`);

const SEQUENCE = new RegExp(TERMINAL_SEQUENCE, "g");

/** Direction overrides and isolates, zero-width characters that hide text, tag characters, interlinear marks. */
const HIDDEN = /[\u061c\u180e\u200b\u200e\u200f\u202a-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb\u{e0000}-\u{e0fff}]/gu;

/** Blank letters, and characters without width, except those that form emoji. Code can hide in them. */
const BLANK = String.raw`[\u00ad\u034f\u115f\u1160\u17b4\u17b5\u180b-\u180f\u3164\uffa0\ufe00-\ufe0e]|(?<![\p{ExtPict}\d#*])\ufe0f|(?<!\p{Script=Arabic})\u200c|(?<![\p{ExtPict}\p{EMod}\ufe0f])\u200d`;

/** Built on first use, because it takes long and few commands need it. */
const unseen = lazy(
  () =>
    new RegExp(
      `(?![\\n\\t])\\p{Cc}|[\\u2028\\u2029]|${HIDDEN.source}|${BLANK}|\\p{Cs}|\\p{Noncharacter_Code_Point}`,
      "gu",
    ),
);

/** Text that renderers turn into links, mentions or formulas, and identifiers, which read well as code. */
const isCodeWord = (piece: string) =>
  /[@#$~^_{}[\]]|:\/\/|\/\/|^::|^:\w+:|www\.|(?:mailto|xmpp|javascript):|[\p{L}\p{N}-]\.\p{L}{2,}|gh-\d|[!&%]\w|\b[0-9a-f]{7,40}\b/iu.test(
    piece,
  );

/** Breaks up `##[error]` and the like, which are commands anywhere in a log line. Summaries are printed to logs too. */
function withoutOldCommands(text: string): string {
  return text.replace(LOG_COMMAND, "## ");
}

/** Commands of GitHub Actions (`##[error]`), Azure Pipelines (`##vso[task.setvariable …]`) and TeamCity. */
const LOG_COMMAND = /##(?=(?:vso|teamcity)?\[)/gi;

function markdownPiece(piece: string): string {
  if (/^[`|]/.test(piece)) return entities(piece);
  if (!isCodeWord(piece)) return escapeMarks(piece);
  const [start, end] = innerOf(piece, OPENING + BRACKETS, CLOSING + BRACKETS);
  const around = (from: number, to?: number) => piece.slice(from, to).replace(/[[\]{}]/g, "");
  const bare = around(0, start) + piece.slice(start, end) + around(end);
  return isCodeWord(bare) || piece.includes("](") ? codeWord(piece) : escapeMarks(piece).replace(/[[\]{}]/g, "\\$&");
}

function escapeMarks(text: string): string {
  return text.replace(/[&<>\\]/g, entities).replace(/[*!]/g, "\\$&");
}

/** Formats a word as code, without the punctuation of the sentence around it. */
function codeWord(piece: string): string {
  const [start, last] = innerOf(piece, OPENING, CLOSING);
  if (start === last) return codeSpan(piece);
  const inner = piece.slice(start, last);
  // The parenthesis that ends a call, such as `pool.release(connection)`, belongs to the word.
  const end = inner.lastIndexOf("(") > inner.lastIndexOf(")") && piece[last] === ")" ? last + 1 : last;
  return piece.slice(0, start) + codeSpan(piece.slice(start, end)) + escapeMarks(piece.slice(end));
}

/** Returns the range of a word without these characters around it. */
function innerOf(piece: string, opening: string, closing: string): [start: number, end: number] {
  let start = 0;
  let end = piece.length;
  while (start < end && opening.includes(piece.charAt(start))) start += 1;
  while (end > start && closing.includes(piece.charAt(end - 1))) end -= 1;
  return [start, end];
}

const BRACKETS = "[]{}";
const OPENING = "(\"'“";
const CLOSING = ")\"'”.,;:!?";

function entities(text: string): string {
  return [...text].map((mark) => `&#${mark.codePointAt(0)};`).join("");
}

/** Formats text without backticks as inline code. Markdown strips outer spaces, so they become non-breaking. */
function codeSpan(piece: string): string {
  return `\`${piece.replace(/^ | $/g, "\u00a0")}\``;
}

/** Escapes a first word that would start a list, a heading, a rule or an underline. */
function guardStart(word: string): string {
  return word.replace(/^[-+=:]/, "\\$&").replace(/^(\d+)([.)])$/, "$1\\$2");
}

function escapeCommand(text: string, marks: RegExp): string {
  return text.replace(marks, (mark) => `%${mark.charCodeAt(0).toString(16).toUpperCase().padStart(2, "0")}`);
}
