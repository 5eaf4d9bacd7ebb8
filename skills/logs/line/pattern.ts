import { createContext, Script } from "node:vm";

/** Number of characters of a line that a regular expression is tried on. */
const PATTERN_SEES = 8192;
const PATTERN_BUDGET_MS = 1000;
/** Maximum length of a pattern. */
const LONGEST_PATTERN = 10_000;

/** Untrusted regular expression that runs under a time limit. */
export interface Pattern {
  /** Returns the first group, or else the whole match, for each text. Throws when matching takes too long. */
  run(texts: readonly string[]): readonly (string | undefined)[];
}

/** Compiles a pattern. Throws an Error that explains what is wrong with it. */
export function compilePattern(source: string, ignoreCase: boolean): Pattern {
  checkPattern(source);
  // Only the time limit of a script in a vm context can interrupt a running expression.
  const sandbox: { source: string; flags: string; texts: readonly string[] } = {
    source,
    flags: ignoreCase ? "i" : "",
    texts: [],
  };
  const context = createContext(sandbox);
  const script = new Script(
    "texts.map((text) => { const match = new RegExp(source, flags).exec(text); return match ? match[1] ?? match[0] : undefined; })",
  );
  return {
    run(texts) {
      sandbox.texts = texts.map((text) => text.slice(0, PATTERN_SEES));
      try {
        return script.runInContext(context, { timeout: PATTERN_BUDGET_MS });
      } catch (error) {
        if (!isTimeout(error)) throw error;
        throw new Error(`the pattern ${source} takes too long on these lines; use \`contains\` or fewer wildcards`);
      } finally {
        sandbox.texts = [];
      }
    },
  };
}

/** Returns the longest string that every match must contain, or "" if none is easy to determine. */
export function requiredLiteral(source: string): string {
  if (source.length > LONGEST_PATTERN) return "";
  const runs = [""];
  const add = (text: string) => runs.push((runs.pop() ?? "") + text);
  let at = 0;
  while (at < source.length) {
    const part = partAt(source, at);
    at += part.length;
    const quantifier = /^(?:[*+?]|\{\d*(?:,\d*)?\})\??/.exec(source.slice(at))?.[0] ?? "";
    at += quantifier.length;
    const literal = literalOf(part);
    if (part === "|") return "";
    if (literal === undefined) runs.push("");
    else if (quantifier === "") add(literal);
    else if (quantifier.startsWith("+")) {
      add(literal);
      runs.push("");
    } else runs.push("");
  }
  return runs.reduce((best, run) => (run.length > best.length ? run : best), "");
}

function checkPattern(source: string): void {
  if (source.length > LONGEST_PATTERN) {
    throw new Error(`a pattern may have at most ${LONGEST_PATTERN} characters; this one has ${source.length}`);
  }
  try {
    new RegExp(source);
  } catch (error) {
    throw new Error(`the pattern ${source} is not a regular expression: ${String(error)}`);
  }
  if (hasNestedQuantifier(source)) {
    throw new Error(`the pattern ${source} has nested repetition, which can take forever; write it without`);
  }
}

/** Finds unbounded repetition of a group that starts with one, such as `(a+)+`. The time limit covers the rest. */
function hasNestedQuantifier(source: string): boolean {
  const groups: { readonly start: number; readonly body: number; repeats: boolean }[] = [];
  let at = 0;
  while (at < source.length) {
    let start = at;
    at += partAt(source, at, false).length;
    if (source[start] === "(") {
      at += /^\?(?:[:=!]|<[=!]|<\w+>)/.exec(source.slice(at))?.[0].length ?? 0;
      groups.push({ start, body: at, repeats: false });
      continue;
    }
    const repeated = /^(?:[*+]|\{\d+,\})/.test(source.slice(at));
    const closed = source[start] === ")" ? groups.pop() : undefined;
    if (closed?.repeats && repeated) return true;
    start = closed?.start ?? start;
    const group = groups.at(-1);
    if (group && group.body === start && (repeated || closed?.repeats)) group.repeats = true;
  }
  return false;
}

/** Returns one atom: an escape, a class, one character, or a group unless `wholeGroups` is false. */
function partAt(source: string, at: number, wholeGroups = true): string {
  const rest = source.slice(at);
  const pattern =
    /^(?:\\(?:u\{[^}]*\}|u[0-9a-fA-F]{4}|x[0-9a-fA-F]{2}|c[A-Za-z]|k<[^>]*>|\d+|[\s\S])|\[(?:\\[\s\S]|[^\]\\])*\])/;
  const found = pattern.exec(rest)?.[0];
  if (found) return found;
  return wholeGroups && rest.startsWith("(") ? groupAt(source, at) : rest.slice(0, 1);
}

function groupAt(source: string, from: number): string {
  let depth = 0;
  let at = from;
  while (at < source.length) {
    const part = source[at] === "(" ? "(" : partAt(source, at, false);
    at += part.length;
    if (part === "(") depth++;
    if (part === ")") depth--;
    if (depth === 0) break;
  }
  return source.slice(from, at);
}

function literalOf(part: string): string | undefined {
  if (/^\\[!-/:-@[-`{-~]$/.test(part)) return part.slice(1);
  // ASCII only: half a surrogate pair or an invalid UTF-8 byte cannot be found as it is written.
  return /^[ -~]$/.test(part) && !/[.^$*+?()[\]{}|\\]/.test(part) ? part : undefined;
}

function isTimeout(error: unknown): boolean {
  return (
    typeof error === "object" && error !== null && "code" in error && error.code === "ERR_SCRIPT_EXECUTION_TIMEOUT"
  );
}
