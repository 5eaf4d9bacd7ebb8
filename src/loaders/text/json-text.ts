import { type Json, lazy } from "../../core/base/values.ts";
import { createPlaces, type Place, parseYaml } from "./yaml-text.ts";

const MOST_DEPTH = 100;

/** Parses untrusted JSON strictly: no comments, no trailing commas, limited nesting. */
export function parseJsonText(text: string) {
  const json = text.startsWith("\uFEFF") ? text.slice(1) : text;
  const fault = findFault(json);
  if (fault) {
    const problem = { message: fault.message, ...createPlaces(json)(fault.offset) };
    return { value: undefined, problem, position: (): Place => ({}) };
  }
  // Positions need a second parse, so it runs only when a finding asks for one.
  const parsed = lazy(() => parseYaml(json));
  /** Returns the place of the deepest existing part of a path. For a member, this is its key. */
  const position = (path: readonly (string | number)[]): Place => {
    const yaml = parsed();
    // Duplicate keys and `__proto__` are valid JSON but errors in YAML. Then the error's place is the best guess.
    const { line, column } = yaml.problems[0] ?? yaml.position(path);
    return { line, column };
  };
  return { value: JSON.parse(json) as Json, problem: undefined, position };
}

/** Finds the first syntax error. V8's own parser does not always report the position. */
function findFault(text: string): { readonly message: string; readonly offset: number } | undefined {
  const closers: Closer[] = [];
  let expected: Expected = "a value";
  for (let offset = 0; ; ) {
    const start = endOf(SPACE, text, offset);
    if (start === text.length && expected === "the end") return undefined;
    const end = endOf(TOKEN, text, start);
    const after: Expected | undefined = end === start ? undefined : follow(expected, text.slice(start, end), closers);
    if (after === undefined) return { message: `${expected} is expected ${describeRest(text, start)}`, offset: start };
    if (closers.length > MOST_DEPTH) return { message: `nested more than ${MOST_DEPTH} levels deep`, offset: start };
    expected = after;
    offset = end;
  }
}

type Closer = "}" | "]";
type Expected = "a value" | "a value or ]" | "a key" | "a key or }" | ":" | ", or ]" | ", or }" | "the end";

const SPACE = /[ \t\r\n]*/y;
const TOKEN =
  /[{}[\]:,]|"[ !#-[\]-\u{10ffff}]*(?:\\(?:["\\/bfnrt]|u[0-9a-fA-F]{4})[ !#-[\]-\u{10ffff}]*)*"|-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?|true|false|null/uy;

function endOf(pattern: RegExp, text: string, offset: number): number {
  pattern.lastIndex = offset;
  return pattern.test(text) ? pattern.lastIndex : offset;
}

/** Returns what must follow a token, or undefined if the token is unexpected. */
function follow(expected: Expected, token: string, closers: Closer[]): Expected | undefined {
  if (/ or [}\]]$/.test(expected) && token === closers.at(-1)) {
    closers.pop();
    return afterValue(closers);
  }
  if (expected.startsWith("a value")) {
    if (token !== "{" && token !== "[") return /^[}\]:,]/.test(token) ? undefined : afterValue(closers);
    closers.push(token === "{" ? "}" : "]");
    return token === "{" ? "a key or }" : "a value or ]";
  }
  if (expected.startsWith("a key")) return token.startsWith('"') ? ":" : undefined;
  if (expected === ":") return token === ":" ? "a value" : undefined;
  if (token !== "," || expected === "the end") return undefined;
  return expected === ", or }" ? "a key" : "a value";
}

function afterValue(closers: readonly Closer[]): Expected {
  const closer = closers.at(-1);
  return closer === undefined ? "the end" : `, or ${closer}`;
}

function describeRest(text: string, offset: number): string {
  const rest = text.slice(offset).split("\n")[0]?.trim() ?? "";
  if (offset >= text.length) return "where the text ends";
  return `before ${rest.length > 20 ? `${rest.slice(0, 20)}…` : rest}`;
}
