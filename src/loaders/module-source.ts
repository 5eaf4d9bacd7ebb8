/** What the text of a module tells without running it. */

/**
 * The id of the skill that a module defines: the `id` of the first object literal that is given to `defineSkill`, or
 * exported by default. Undefined where the text does not say it plainly.
 */
export function readModuleId(source: string): string | undefined {
  const tokens = tokenize(source);
  const starts = tokens.flatMap((_, index) => {
    const at = definitionAt(tokens, index);
    return at === undefined ? [] : [at];
  });
  return starts[0] === undefined ? undefined : idOf(tokens, starts[0]);
}

interface Token {
  /** `text` is a string literal without its quotes; `opaque` is a value that only running would tell. */
  readonly kind: "word" | "text" | "opaque" | "mark";
  readonly text: string;
}

const PATTERNS: readonly (readonly [kind: Token["kind"] | "space", pattern: RegExp])[] = [
  ["space", /(?:\s+|\/\/[^\n]*|\/\*[\s\S]*?\*\/|^#![^\n]*)/y],
  ["word", /[A-Za-z_$][\w$]*/y],
  ["text", /"((?:[^"\\\n]|\\.)*)"|'((?:[^'\\\n]|\\.)*)'|`((?:[^`\\$]|\\.|\$(?!\{))*)`/y],
  ["opaque", /\d[\w.]*/y],
];
const REGULAR_EXPRESSION = /\/(?![*/])(?:[^/\\[\n]|\\.|\[(?:[^\]\\\n]|\\.)*\])+\/[a-z]*/y;
/** Words after which a `/` begins a regular expression. */
const BEFORE_VALUE = new Set([
  "return",
  "typeof",
  "case",
  "in",
  "of",
  "do",
  "else",
  "void",
  "delete",
  "await",
  "yield",
]);

function tokenize(source: string): Token[] {
  const tokens: Token[] = [];
  for (let at = 0; at < source.length; ) {
    const [kind, text, length] = tokenAt(source, at, tokens.at(-1));
    if (kind !== "space") tokens.push({ kind, text });
    at += length;
  }
  return tokens;
}

type Matched = readonly [kind: Token["kind"] | "space", text: string, length: number];

function tokenAt(source: string, at: number, before: Token | undefined): Matched {
  for (const [kind, pattern] of PATTERNS) {
    pattern.lastIndex = at;
    const match = pattern.exec(source);
    if (match) return [kind, kind === "text" ? plainText(match) : match[0], match[0].length];
  }
  if (source[at] === "`") return ["opaque", "`", templateLength(source, at)];
  if (source[at] === "/" && beginsValue(before)) {
    REGULAR_EXPRESSION.lastIndex = at;
    const match = REGULAR_EXPRESSION.exec(source);
    if (match) return ["opaque", match[0], match[0].length];
  }
  return ["mark", source[at] ?? "", 1];
}

function plainText(match: RegExpExecArray): string {
  return (match[1] ?? match[2] ?? match[3] ?? "").replace(/\\(.)/gs, "$1");
}

function beginsValue(before: Token | undefined): boolean {
  if (!before) return true;
  if (before.kind === "word") return BEFORE_VALUE.has(before.text);
  return before.kind === "mark" && !")]}".includes(before.text);
}

/** A template with parts that are computed, nested ones included. */
function templateLength(source: string, start: number): number {
  let depth = 0;
  for (let at = start + 1; at < source.length; at++) {
    const letter = source[at];
    if (letter === "\\") at++;
    else if (letter === "$" && source[at + 1] === "{") depth++;
    else if (letter === "}" && depth > 0) depth--;
    else if (letter === "`" && depth === 0) return at + 1 - start;
    else if (letter === "`") at += templateLength(source, at) - 1;
  }
  return source.length - start;
}

/** Where the object literal begins that a definition at this token is given; undefined where there is none. */
function definitionAt(tokens: readonly Token[], index: number): number | undefined {
  const is = (offset: number, text: string) => {
    const token = tokens[index + offset];
    return token?.text === text && token.kind !== "text";
  };
  if (is(0, "defineSkill") && is(1, "(") && is(2, "{")) return index + 2;
  if (is(0, "export") && is(1, "default") && is(2, "{")) return index + 2;
  if (is(0, "module") && is(1, ".") && is(2, "exports") && is(3, "=") && is(4, "{")) return index + 4;
  return undefined;
}

/** The text of the key `id` of the object that begins here, not of objects within it. */
function idOf(tokens: readonly Token[], start: number): string | undefined {
  let depth = 0;
  for (let at = start; at < tokens.length; at++) {
    const token = tokens[at];
    if (token?.kind === "mark" && "{[(".includes(token.text)) depth++;
    if (token?.kind === "mark" && "}])".includes(token.text)) depth--;
    if (depth === 0) return undefined;
    const beginsKey = depth === 1 && [",", "{"].includes(tokens[at - 1]?.text ?? "") && token?.text === "id";
    if (beginsKey && tokens[at + 1]?.text === ":") return literalAt(tokens, at + 2);
  }
  return undefined;
}

/** A value that is one string and nothing more, so no `"a" + b`. */
function literalAt(tokens: readonly Token[], at: number): string | undefined {
  const value = tokens[at];
  const after = tokens[at + 1]?.text ?? "";
  return value?.kind === "text" && [",", "}", "as"].includes(after) ? value.text : undefined;
}
