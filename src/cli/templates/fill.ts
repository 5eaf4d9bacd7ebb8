import { readdirSync, readFileSync } from "node:fs";
import { join, relative } from "node:path";
import { ownPath } from "../../files/own-files.ts";

/** What placeholders stand for, by their names. */
export type Values = Readonly<Record<string, string>>;

/** The files of a folder of templates, filled in, by their paths in the folder. */
export function fillTemplates(folder: string, values: Values): (readonly [path: string, text: string])[] {
  const place = placeOf(folder);
  const files = readdirSync(place, { recursive: true, withFileTypes: true }).filter((entry) => entry.isFile());
  const paths = files.map((file) => relative(place, join(file.parentPath, file.name))).sort();
  return paths.map((path) => [path, fillTemplate(join(folder, path), values)]);
}

/** Puts in values for `{{name}}`. The value of one that is alone on its line consists of whole lines, or of none. */
export function fillTemplate(file: string, values: Values): string {
  return readFileSync(placeOf(file), "utf8").replace(PLACEHOLDER, (whole, block?: string, inner?: string) => {
    return values[block ?? inner ?? ""] ?? whole;
  });
}

const PLACEHOLDER = /^\{\{(\w+)\}\}\n|\{\{(\w+)\}\}/gm;

const placeOf = (template: string) => ownPath(join("templates", template), join("src/cli/templates", template));

/** `word-count` as a title: `Word count`. */
export function titleOf(name: string): string {
  const words = name.replace(/[-.]/g, " ");
  return words.charAt(0).toUpperCase() + words.slice(1);
}
