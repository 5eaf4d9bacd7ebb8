import { stripVTControlCharacters } from "node:util";

/** Wraps long lines between words for a terminal. Continuation lines are indented two more spaces. */
export function wrapLines(text: string, columns: number | undefined): string {
  if (columns === undefined || text.length <= columns) return text;
  return text
    .split("\n")
    .map((line) => (widthOf(line) > columns ? wrapLine(line, columns) : line))
    .join("\n");
}

function wrapLine(line: string, columns: number): string {
  const [, indent = ""] = /^( *)/.exec(line) ?? [];
  const margin = " ".repeat(Math.min(indent.length + 2, Math.floor(columns / 2)));
  const lines = [""];
  let used = 0;
  for (const word of line.match(/(?<! ) *[^ ]+/g) ?? []) {
    const width = widthOf(word);
    const isFirst = used === 0 || lines.at(-1) === margin;
    if (used + width > columns && !isFirst) {
      const bare = word.trimStart();
      lines.push(margin + bare);
      used = margin.length + widthOf(bare);
    } else {
      lines[lines.length - 1] += word;
      used += width;
    }
  }
  return lines.join("\n");
}

/** Returns the number of rows that a text takes on a terminal. */
export function rowsOf(text: string, columns: number): number {
  const rows = text.split("\n").map((line) => Math.max(1, Math.ceil(widthOf(line) / columns)));
  return rows.reduce((sum, count) => sum + count, 0);
}

function widthOf(text: string): number {
  return stripVTControlCharacters(text).length;
}
