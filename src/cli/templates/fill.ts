import { readdirSync, readFileSync } from "node:fs";
import { join, relative } from "node:path";
import { ownPath } from "../../files/own-files.ts";
export type Values = Readonly<Record<string, string>>;

/** Fills in all templates in a folder. Returns them with their relative paths. */
export function fillTemplates(folder: string, values: Values): (readonly [path: string, text: string])[] {
  const place = placeOf(folder);
  const files = readdirSync(place, { recursive: true, withFileTypes: true }).filter((entry) => entry.isFile());
  const paths = files.map((file) => relative(place, join(file.parentPath, file.name))).sort();
  return paths.map((path) => [path, fillTemplate(join(folder, path), values)]);
}

/** Replaces `{{name}}` with its value. A placeholder alone on its line also loses its newline: its value is complete lines. */
export function fillTemplate(file: string, values: Values): string {
  return readFileSync(placeOf(file), "utf8").replace(PLACEHOLDER, (whole, block?: string, inner?: string) => {
    return values[block ?? inner ?? ""] ?? whole;
  });
}

const PLACEHOLDER = /^\{\{(\w+)\}\}\n|\{\{(\w+)\}\}/gm;

const placeOf = (template: string) => ownPath(join("templates", template), join("src/cli/templates", template));

/** Converts any text to an id: `Pet Store (v2)` to `pet-store-v2`. */
export function slugOf(text: string, most: number): string {
  const slug = text.toLowerCase().replace(/[^a-z0-9]+/g, "-");
  return slug.replace(/^-|-$/g, "").slice(0, most);
}

/** Converts an id to a title: `word-count` to `Word count`. */
export function titleOf(name: string): string {
  const words = name.replace(/[-.]/g, " ");
  return words.charAt(0).toUpperCase() + words.slice(1);
}
