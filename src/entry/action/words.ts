import { usageError } from "../../core/base/errors.ts";

/** Splits text into words like a shell, with quotes and backslashes but no expansion. */
export function splitWords(text: string): string[] {
  const words: string[] = [];
  let word: string | undefined;
  for (const [piece, , single, double, escaped] of text.matchAll(PIECE)) {
    if (escaped === "\n") continue; // a line continuation
    if (/^\s/.test(piece)) {
      if (word !== undefined) words.push(word);
      word = undefined;
    } else if (piece === "'" || piece === '"' || piece === "\\") {
      throw usageError(`args: ${piece} is not closed in ${JSON.stringify(text)}`);
    } else {
      word = (word ?? "") + (single ?? double?.replace(/\\(["\\$`\n])/g, unescaped) ?? escaped ?? piece);
    }
  }
  return word === undefined ? words : [...words, word];
}

/** White space, 'text', "text", an escaped character, plain text, or an unmatched quote. */
const PIECE = /(\s+)|'([^']*)'|"((?:[^"\\]|\\[\s\S])*)"|\\([\s\S])|[^\s'"\\]+|['"\\]/g;

function unescaped(_: string, mark: string): string {
  return mark === "\n" ? "" : mark;
}
