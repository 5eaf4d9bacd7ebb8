import { readdirSync, readFileSync } from "node:fs";
import { join, relative } from "node:path";
import { ownPath } from "../../files/own-files.ts";

/** What placeholders stand for, by their names. */
export type Values = Readonly<Record<string, string>>;

/** The files of a template with its values, by their paths in its folder. */
export function fillTemplates(template: string, values: Values): (readonly [path: string, text: string])[] {
  const folder = ownPath(join("templates", template), join("src/cli/templates", template));
  const files = readdirSync(folder, { recursive: true, withFileTypes: true }).filter((entry) => entry.isFile());
  const paths = files.map((file) => join(file.parentPath, file.name)).sort();
  return paths.map((path) => [relative(folder, path), fill(readFileSync(path, "utf8"), values)]);
}

/** Puts in values for `{{name}}`. The value of one that is alone on its line consists of whole lines, or of none. */
export function fill(text: string, values: Values): string {
  return text.replace(/^\{\{(\w+)\}\}\n|\{\{(\w+)\}\}/gm, (whole, block: string, inner: string) => {
    return values[block ?? inner] ?? whole;
  });
}

/** `word-count` as a title: `Word count`. */
export function titleOf(name: string): string {
  const words = name.replace(/[-.]/g, " ");
  return words.charAt(0).toUpperCase() + words.slice(1);
}
