import { isObject } from "../../core/base/values.ts";
import { parsePlainYaml } from "./plain-yaml.ts";
import { type Place, parseYaml, type YamlProblem, type YamlText } from "./yaml-text.ts";

/** A Markdown document with YAML before it, as Agent Skills write it. */
export interface Frontmatter {
  readonly fields: { readonly [key: string]: unknown };
  /** What follows the frontmatter, as it is. */
  readonly body: string;
  /** The document's line on which the body begins. */
  readonly bodyLine: number;
  /** What was wrong with the YAML, where it could be read only after values with a colon in them were quoted. */
  readonly repaired: YamlProblem | undefined;
  /** Where a field stands in the document. */
  position(path: readonly (string | number)[]): Place;
}

/** A map of texts (Agent Skills): a version 1.10 is no 1.1. */
const METADATA = "metadata";

/** The document's parts, or the problem that keeps it from being read, with its place in the document. */
export function parseFrontmatter(text: string): Frontmatter | YamlProblem {
  const parts = splitFrontmatter(text);
  if (!parts) return { message: missingFrontmatter(text), line: 1, column: 1 };
  const plain = parsePlainYaml(parts.frontmatter);
  if (plain) {
    // Positions cost a second reading, which only a finding is worth.
    let read: YamlText | undefined;
    return document(text, parts.body, plain, (path) => {
      read ??= parseYaml(parts.frontmatter);
      return below(read.position(path));
    });
  }
  const first = parseYaml(parts.frontmatter, METADATA);
  const [problem] = first.problems;
  const yaml = problem ? parseYaml(quoteColons(parts.frontmatter), METADATA) : first;
  if (problem && yaml.problems.length > 0) return below(problem);
  if (!isObject(yaml.value)) return { message: "its frontmatter is no map of keys", line: 1, column: 1 };
  const repaired = problem && below(problem);
  return { ...document(text, parts.body, yaml.value, (path) => below(yaml.position(path))), repaired };
}

function document(text: string, body: string, fields: Frontmatter["fields"], position: Frontmatter["position"]) {
  const bodyLine = text.slice(0, text.length - body.length).split("\n").length;
  return { fields, body, bodyLine, repaired: undefined, position };
}

/** Frontmatter and body; undefined when the text does not begin with a frontmatter block. */
export function splitFrontmatter(text: string): { readonly frontmatter: string; readonly body: string } | undefined {
  const match = /^\uFEFF?---[ \t]*\r?\n([\s\S]*?)(?<=\n)---[ \t]*(?:\r?\n|$)/.exec(text);
  if (!match) return undefined;
  return { frontmatter: (match[1] ?? "").replace(/\r?\n$/, ""), body: text.slice(match[0].length) };
}

/** Lines of the document before the first of its frontmatter. */
const FIRST_LINE = 1;

function below<Where extends Place>(place: Where): Where {
  return place.line === undefined ? place : { ...place, line: place.line + FIRST_LINE };
}

/** Some parsers run frontmatter in other languages: `---js` is no frontmatter here. */
function missingFrontmatter(text: string): string {
  const language = /^\uFEFF?---[ \t]*([A-Za-z]\w*)/.exec(text)?.[1];
  if (language) return `its frontmatter is ${language}; only YAML between --- lines is read`;
  if (/^\uFEFF?---[ \t]*\r?\n/.test(text)) return "its frontmatter has no closing --- line";
  return "it does not begin with frontmatter between --- lines";
}

/** Plain values of one line with a colon in them, which YAML takes for maps, as text (Agent Skills, client guide). */
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
