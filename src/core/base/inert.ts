import { TERMINAL_SEQUENCE } from "./redact/unseen.ts";

/**
 * Text from models, tools and documents, made inert for the place it is written to (trust 13). Every function is linear
 * in its text and keeps what a person would read; none of them is meant to be applied twice.
 */

/** For a terminal and for plain files: no escape sequences, no control characters, nothing that reorders or hides text. */
export function plainText(text: string): string {
  if (PLAIN.test(text)) return text;
  return text
    .replace(SEQUENCE, "")
    .replace(/\r\n?|[\u2028\u2029]/g, "\n")
    .replace(/[^\P{Cc}\n\t]/gu, "")
    .replace(HIDDEN, "")
    .replace(/\p{Cs}|\p{Noncharacter_Code_Point}/gu, "\ufffd");
}

/** For review: what `plainText` takes out, and what hides or reorders, is named in its place: `⟨U+202E⟩`. */
export function revealText(text: string): string {
  if (PLAIN.test(text)) return text;
  return text
    .replace(/\r\n/g, "\n")
    .replace(UNSEEN, (mark) => `⟨U+${mark.codePointAt(0)?.toString(16).toUpperCase().padStart(4, "0")}⟩`);
}

/** As most texts are, which hold nothing to take out. */
const PLAIN = /^[\x20-\x7e\n\t]*$/;
const PLAIN_LINE = /^(?:[\x21-\x7e]+(?: [\x21-\x7e]+)*)?$/;

/** As `plainText`, but for the styles that we give text ourselves: everything for people passes here once more. */
export function terminalText(text: string): string {
  return text
    .split(OUR_STYLES)
    .map((part, index) => (index % 2 === 1 ? part : plainText(part)))
    .join("");
}

/** As `plainText`, on one line. */
export function plainLine(text: string): string {
  if (PLAIN_LINE.test(text)) return text;
  return plainText(text).replace(/\s+/g, " ").trim();
}

/** For HTML, as content: between tags, where quotation marks are text. */
export function htmlContent(text: string): string {
  return plainText(text).replace(/[&<>]/g, (mark) => `&#${mark.charCodeAt(0)};`);
}

/** For HTML, as content and in quoted attributes. */
export function htmlText(text: string): string {
  return plainText(text).replace(/[&<>"'`]/g, (mark) => `&#${mark.charCodeAt(0)};`);
}

/** For XML 1.0, as content and in quoted attributes; line breaks survive in both. */
export function xmlText(text: string): string {
  return plainText(text).replace(/[&<>"'\n\t]/g, (mark) => `&#${mark.charCodeAt(0)};`);
}

/**
 * For Markdown, on one line: in a paragraph, a list item, a heading or a table cell. Addresses, mentions, references,
 * identifiers and formulas become code, which no renderer links; other marks are escaped.
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

/** As `markdownLine`, with its line breaks. */
export function markdownText(text: string): string {
  return plainText(text).trim().split(/\n+/).map(markdownLine).join("<br>");
}

/** The whole text as one code span, on one line. */
export function markdownCode(text: string): string {
  const line = withoutOldCommands(plainLine(text));
  const pieces = line.split(/([`|]+)/).filter((piece) => piece !== "");
  return pieces.map((piece) => (/[`|]/.test(piece) ? entities(piece) : codeSpan(piece))).join("");
}

/** A block of code, verbatim: no run of backticks in the text ends it. */
export function markdownBlock(text: string, language = ""): string {
  const longest = Math.max(2, ...[...text.matchAll(/`+/g)].map(([run]) => run.length));
  const fence = "`".repeat(longest + 1);
  return `${fence}${language}\n${text}\n${fence}`;
}

/** The data of a workflow command (`::error::DATA`), which stays on its line. */
export function commandData(text: string): string {
  return escapeCommand(plainText(text), /[%\n]/g);
}

/** A property of a workflow command (`::error file=PROPERTY::`). */
export function commandProperty(text: string): string {
  return escapeCommand(plainText(text), /[%\n:,]/g);
}

/** For a log that is read for workflow commands: none begins in it, indented or not. Colours stay. */
export function logText(text: string): string {
  return withoutOldCommands(text).replace(/^([^\S\n\r\u2028\u2029]*):(?=:)/gm, "$1: ");
}

/** For JSON that is printed: the same value, without what looks like a command, steers a terminal or hides text. */
export function logJson(json: string): string {
  return json
    .replaceAll("##[", "\\u0023#[")
    .replace(/[\x7f-\x9f\u2028\u2029]/g, escapeUnits)
    .replace(HIDDEN, escapeUnits);
}

function escapeUnits(mark: string): string {
  return [...Array(mark.length).keys()].map((at) => `\\u${mark.charCodeAt(at).toString(16).padStart(4, "0")}`).join("");
}

/** The message of a SARIF result, where `[text](1)` and `[text](https://…)` would be links. */
export function sarifText(text: string): string {
  return plainText(text).replace(/\](?=\()/g, "] ");
}

/** A quoted Mermaid label: whatever is more than a letter, a digit or quiet punctuation is a character code. */
export function mermaidLabel(text: string): string {
  const label = plainLine(text).replace(/[^\p{L}\p{N}\p{M} .,×·…-]/gu, (mark) => `#${mark.codePointAt(0)};`);
  return label === "" ? "#8203;" : label;
}

/** A quoted DOT label, where backslashes and HTML entities would count. */
export function dotLabel(text: string): string {
  return plainLine(text).replace(/&/g, "&amp;").replace(/\\/g, "\\\\").replace(/"/g, '\\"');
}

const ESCAPE = String.fromCharCode(0x1b);

/** Bold, dim and the plain colours, and their ends. */
const OUR_STYLES = new RegExp(`(${ESCAPE}\\[(?:1|2|22|3[1-6]|39)m)`);

const SEQUENCE = new RegExp(TERMINAL_SEQUENCE, "g");

/** Direction overrides and isolates, zero-width characters that hide text, tag characters, interlinear marks. */
const HIDDEN = /[\u061c\u180e\u200b\u200e\u200f\u202a-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb\u{e0000}-\u{e0fff}]/gu;

const UNSEEN = new RegExp(
  `(?![\\n\\t])\\p{Cc}|[\\u2028\\u2029]|${HIDDEN.source}|\\p{Cs}|\\p{Noncharacter_Code_Point}`,
  "gu",
);

/** What some renderer turns into a link, a mention, a reference or a formula; and identifiers, which read well as code. */
const CODE_WORD = new RegExp(
  [
    String.raw`[@#$~^_{}\[\]]`,
    String.raw`:\/\/|\/\/|^::|^:\w+:`,
    String.raw`www\.|(?:mailto|xmpp|javascript):`,
    String.raw`[\p{L}\p{N}-]\.\p{L}{2,}`,
    String.raw`gh-\d|[!&%]\w`,
    String.raw`\b[0-9a-f]{7,40}\b`,
  ].join("|"),
  "iu",
);

/** `##[error]` counts anywhere in a line of a log, and summaries are printed to logs. */
function withoutOldCommands(text: string): string {
  return text.replace(/##(?=\[)/g, "## ");
}

function markdownPiece(piece: string): string {
  if (/^[`|]/.test(piece)) return entities(piece);
  return CODE_WORD.test(piece) ? codeWord(piece) : escapeMarks(piece);
}

function escapeMarks(text: string): string {
  return text.replace(/[&<>\\]/g, entities).replace(/[*!]/g, "\\$&");
}

/** The sentence's own punctuation stays outside the code. */
function codeWord(piece: string): string {
  let start = 0;
  let end = piece.length;
  while (start < end && OPENING.includes(piece.charAt(start))) start += 1;
  while (end > start && CLOSING.includes(piece.charAt(end - 1))) end -= 1;
  if (start === end) return codeSpan(piece);
  return piece.slice(0, start) + codeSpan(piece.slice(start, end)) + escapeMarks(piece.slice(end));
}

const OPENING = "(\"'“";
const CLOSING = ")\"'”.,;:!?";

function entities(text: string): string {
  return [...text].map((mark) => `&#${mark.codePointAt(0)};`).join("");
}

/** `piece` holds no backtick and no line break. A span that would be blank, or lose its outer spaces, is padded. */
function codeSpan(piece: string): string {
  return `\`${piece.replace(/^ | $/g, "\u00a0")}\``;
}

/** What would begin a list, a heading, a rule or an underline. */
function guardStart(word: string): string {
  return word.replace(/^[-+=:]/, "\\$&").replace(/^(\d+)([.)])$/, "$1\\$2");
}

function escapeCommand(text: string, marks: RegExp): string {
  return text.replace(marks, (mark) => `%${mark.charCodeAt(0).toString(16).toUpperCase().padStart(2, "0")}`);
}
