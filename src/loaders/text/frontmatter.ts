import { isObject } from "../../core/base/values.ts";
import { type Place, parseYaml, type YamlProblem } from "./yaml-text.ts";

/** Markdown document with YAML frontmatter, as in Agent Skills. */
export interface Frontmatter {
  readonly fields: { readonly [key: string]: unknown };
  readonly body: string;
  /** Line of the document on which the body begins. */
  readonly bodyLine: number;
  /** YAML error that was repaired by quoting values with a colon. */
  readonly repaired: YamlProblem | undefined;
  position(path: readonly (string | number)[]): Place;
}

/** Reason why a document has no frontmatter that can be used, with its place. */
export interface NoFrontmatter extends YamlProblem {
  readonly lacks: "markers" | "yaml" | "mapping";
  /** Text after the frontmatter, or the whole text if it has none. */
  readonly body: string;
}

/** Maps to strings in Agent Skills: the version 1.10 must not become 1.1. */
const METADATA = "metadata";

/** Returns the parts of a document, or the error that makes it unreadable, with its place. */
export function parseFrontmatter(text: string): Frontmatter | NoFrontmatter {
  const parts = splitFrontmatter(text);
  const start = { line: 1, column: 1 };
  if (!parts) return { message: missingFrontmatter(text), ...start, lacks: "markers", body: text };
  const { frontmatter, body } = parts;
  const first = parseYaml(frontmatter, METADATA);
  const [problem] = first.problems;
  const yaml = problem ? parseYaml(quoteColons(frontmatter), METADATA) : first;
  if (problem && yaml.problems.length > 0) return { ...below(problem), lacks: "yaml", body };
  if (!isObject(yaml.value)) {
    return { message: "the frontmatter must be a YAML mapping", ...start, lacks: "mapping", body };
  }
  return {
    fields: yaml.value,
    body,
    bodyLine: text.slice(0, text.length - body.length).split("\n").length,
    repaired: problem && below(problem),
    position: (path) => below(yaml.position(path)),
  };
}

/** Splits a text into frontmatter and body. Returns undefined if it does not begin with frontmatter. */
export function splitFrontmatter(text: string): { readonly frontmatter: string; readonly body: string } | undefined {
  const match = /^\uFEFF?---[ \t]*\r?\n([\s\S]*?)(?<=\n)---[ \t]*(?:\r?\n|$)/.exec(text);
  if (!match) return undefined;
  return { frontmatter: (match[1] ?? "").replace(/\r?\n$/, ""), body: text.slice(match[0].length) };
}

/** Converts a place in the frontmatter to one in the document, where the line `---` comes first. */
function below<Where extends Place>(place: Where): Where {
  return place.line === undefined ? place : { ...place, line: place.line + 1 };
}

/** Some parsers execute frontmatter in other languages. Here `---js` is not frontmatter. */
function missingFrontmatter(text: string): string {
  const language = /^\uFEFF?---[ \t]*([A-Za-z]\w*)/.exec(text)?.[1];
  if (language) return `its frontmatter is ${language}; only YAML between --- lines is read`;
  if (/^\uFEFF?---[ \t]*\r?\n/.test(text)) return "its frontmatter has no closing --- line";
  return "it does not begin with frontmatter between --- lines";
}

/** Quotes plain one-line values with a colon, which YAML would read as maps (Agent Skills, client guide). */
function quoteColons(yaml: string): string {
  return yaml
    .split("\n")
    .map((line) => {
      const [, key = "", value = "", end = ""] = /^([ \t]*[\w.-]+:[ \t]+)(.*?)([ \t]*\r?)$/.exec(line) ?? [];
      const isPlain = value !== "" && !/^["'[{|>&*!#%@`]/.test(value);
      return isPlain && /:(?:[ \t]|$)/.test(value) ? `${key}'${value.replaceAll("'", "''")}'${end}` : line;
    })
    .join("\n");
}
