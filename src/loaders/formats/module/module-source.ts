import { isObject } from "../../../core/base/values.ts";

/** Placeholder for a value that only running the module would show. */
export const UNTOLD = Symbol("untold");

/** Value as far as the text shows it: JSON, with `UNTOLD` for the rest. */
export type Told =
  | typeof UNTOLD
  | string
  | number
  | boolean
  | null
  | readonly Told[]
  | { readonly [key: string]: Told };

export interface ToldDefinition {
  readonly value: Told;
  /** Lists and objects that spreads or computed keys may extend. */
  readonly open: ReadonlySet<unknown>;
  /** False if the text ends before the definition does. */
  readonly isClosed: boolean;
}

/** Reads the first object literal that is passed to `defineSkill` or exported by default, if there is one. */
export function readDefinition(source: string): ToldDefinition | undefined {
  const tokens = tokenize(source);
  const start = tokens.map((_, index) => definitionAt(tokens, index)).find((at) => at !== undefined);
  if (start === undefined) return undefined;
  const within: Within = { open: new Set(), depth: 0 };
  const { value, next } = valueAt(tokens, start, within);
  return { value, open: within.open, isClosed: next <= tokens.length };
}

export function readModuleId(source: string): string | undefined {
  const { value } = readDefinition(source) ?? {};
  const id = isObject(value) && Object.hasOwn(value, "id") ? value.id : undefined;
  return typeof id === "string" ? id : undefined;
}

interface Token {
  /** `text` is a string literal without its quotes. `opaque` is a value that only running the code would show. */
  readonly kind: "word" | "text" | "opaque" | "mark";
  readonly text: string;
}

// Unclosed literals extend to the end of the line or the text, so that no text is scanned twice.
const PATTERNS: readonly (readonly [kind: Token["kind"] | "space", pattern: RegExp])[] = [
  ["space", /(?:\s+|\/\/[^\n]*|\/\*[\s\S]*?(?:\*\/|$)|^#![^\n]*)/y],
  ["word", /[A-Za-z_$][\w$]*/y],
  ["text", /"((?:[^"\\\n]|\\.)*)"?|'((?:[^'\\\n]|\\.)*)'?|`((?:[^`\\$]|\\.|\$(?!\{))*)`/y],
  ["opaque", /\d[\w.]*/y],
];
const REGULAR_EXPRESSION = /\/(?![*/])(?:[^/\\[\n]|\\.|\[(?:[^\]\\\n]|\\.)*\]?)+\/?[a-z]*/y;
/** Words before a `/` that begins a regular expression. */
const BEFORE_VALUE = /^(?:return|typeof|case|in|of|do|else|void|delete|await|yield)$/;

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
  if (before.kind === "word") return BEFORE_VALUE.test(before.text);
  return before.kind === "mark" && !")]}".includes(before.text);
}

/** Returns the length of a template with computed parts, which may contain templates. */
function templateLength(source: string, start: number): number {
  /** Number of unclosed computed parts, for each open template. */
  const open = [0];
  for (let at = start + 1; at < source.length; at++) {
    const letter = source[at];
    const depth = open.pop() ?? 0;
    if (letter === "\\") at++;
    if (letter === "$" && source[at + 1] === "{") open.push(depth + 1);
    else if (letter === "}" && depth > 0) open.push(depth - 1);
    else if (letter !== "`") open.push(depth);
    else if (depth > 0) open.push(depth, 0);
    else if (open.length === 0) return at + 1 - start;
  }
  return source.length - start;
}

/** Returns the index of the object literal if a skill's definition starts at this token. */
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

interface Read {
  readonly value: Told;
  /** Index of the token after the value. */
  readonly next: number;
}

interface Within {
  readonly open: Set<unknown>;
  readonly depth: number;
}

/** Limit of nesting. Deeper values are `UNTOLD`. */
const DEEPEST = 100;

/** Reads the value at a token. It must end before a comma, a closing bracket or an `as`. */
function valueAt(tokens: readonly Token[], at: number, within: Within): Read {
  const read = plainValue(tokens, at, { ...within, depth: within.depth + 1 });
  const after = tokens[read.next]?.text ?? "";
  if (["as", "satisfies"].includes(after)) return { ...read, next: skipValue(tokens, read.next) };
  const isWhole = read.next > at && ["", ",", "}", "]", ")", ";"].includes(after);
  return isWhole ? read : { value: UNTOLD, next: skipValue(tokens, at) };
}

const WORDS: Readonly<Record<string, Told>> = { true: true, false: false, null: null };

function plainValue(tokens: readonly Token[], at: number, within: Within): Read {
  const { kind, text } = tokens[at] ?? { kind: "mark", text: "" };
  if (within.depth > DEEPEST) return { value: UNTOLD, next: at };
  if (kind === "text") return { value: text, next: at + 1 };
  if (kind === "opaque" && /^\d/.test(text) && Number.isFinite(Number(text)))
    return { value: Number(text), next: at + 1 };
  if (kind === "word" && Object.hasOwn(WORDS, text)) return { value: WORDS[text] ?? null, next: at + 1 };
  if (kind === "mark" && text === "[") return listAt(tokens, at, within);
  if (kind === "mark" && text === "{") return objectAt(tokens, at, within);
  if (kind === "word" && text === "defineTool" && tokens[at + 1]?.text === "(") {
    const inner = valueAt(tokens, at + 2, within);
    return { ...inner, next: inner.next + 1 };
  }
  return { value: UNTOLD, next: at };
}

function listAt(tokens: readonly Token[], start: number, within: Within): Read {
  const items: Told[] = [];
  let at = start + 1;
  while (at < tokens.length && !closes(tokens[at])) {
    if (tokens[at]?.text === ".") within.open.add(items);
    else if (tokens[at]?.text !== ",") {
      const item = valueAt(tokens, at, within);
      items.push(item.value);
      at = item.next;
      continue;
    }
    at = tokens[at]?.text === "," ? at + 1 : skipValue(tokens, at);
  }
  return { value: items, next: at + 1 };
}

function objectAt(tokens: readonly Token[], start: number, within: Within): Read {
  const entries: [string, Told][] = [];
  const value: { [key: string]: Told } = {};
  let at = start + 1;
  while (at < tokens.length && !closes(tokens[at])) {
    const key = tokens[at];
    const after = tokens[at + 1]?.text;
    const isNamed = key?.kind === "word" || key?.kind === "text";
    if (isNamed && after === ":") {
      const read = valueAt(tokens, at + 2, within);
      entries.push([key.text, read.value]);
      at = read.next;
    } else if (key?.text === "," && key.kind === "mark") at++;
    else {
      if (isNamed && ["(", ",", "}"].includes(after ?? "")) entries.push([key.text, UNTOLD]);
      else if (isNamed && key.text === "async") entries.push([after ?? "", UNTOLD]);
      else within.open.add(value);
      at = skipValue(tokens, at);
    }
  }
  for (const [name, told] of entries) if (name !== "__proto__") value[name] = told;
  return { value, next: at + 1 };
}

/** Accepts any closing bracket, because in invalid code it may not match the opening one. */
function closes(token: Token | undefined): boolean {
  return token?.kind === "mark" && "}])".includes(token.text);
}

/** Returns the index of the comma or bracket that ends the value. */
function skipValue(tokens: readonly Token[], start: number): number {
  let depth = 0;
  for (let at = start; at < tokens.length; at++) {
    const { kind, text } = tokens[at] ?? { kind: "mark", text: "" };
    if (kind !== "mark") continue;
    if (depth === 0 && ",}])".includes(text)) return at;
    if ("{[(".includes(text)) depth++;
    if ("}])".includes(text)) depth--;
  }
  return tokens.length;
}
