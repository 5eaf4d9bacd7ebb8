/** Token of SQL as Postgres splits it, as far as the gate needs it. */

export interface Token {
  readonly kind: "name" | "text" | "number" | "sign";
  /** For names, the form that Postgres looks up. Otherwise the text as written. */
  readonly text: string;
  readonly isQuoted?: boolean;
  readonly start: number;
  readonly end: number;
}

/** Space and line comments as Postgres knows them: other spaces of Unicode begin names. */
const SPACE = /(?:[ \t\n\r\f\v]|--[^\n\r]*)+/y;
const QUOTED = /"(?:[^"]|"")*"/y;
const ESCAPED = /[eE]'(?:[^'\\]|\\[\s\S]|'')*'/y;
const TEXT = /(?:[bBxXnN])?'(?:[^']|'')*'/y;
const DOLLAR = /\$(?:[A-Za-z_\u0080-\uffff][\w\u0080-\uffff]*)?\$/y;
const NUMBER = /(?:0[xXoObB][\w]+|\d[\d_]*\.?\d*(?:[eE][+-]?\d+)?|\.\d+)/y;
const NAME = /[A-Za-z_\u0080-\uffff][\w$\u0080-\uffff]*/y;

/** Throws if a text cannot be split reliably. `standard_conforming_strings` must be on. */
export function tokensOf(sql: string): readonly Token[] {
  const tokens: Token[] = [];
  for (let at = 0; at < sql.length; ) {
    const end = pastSpace(sql, at);
    if (end > at) {
      at = end;
      continue;
    }
    const token = tokenAt(sql, at);
    // Postgres reads a string that continues on another line as it began: with escapes, which the pattern has not.
    if (token.text.startsWith("'") && /^[eE]'/.test(tokens.at(-1)?.text ?? "") && tokens.at(-1)?.kind === "text")
      throw new Error("Write a string with escapes in one piece.");
    tokens.push(token);
    at = token.end;
  }
  return tokens;
}

function tokenAt(sql: string, start: number): Token {
  if (/^[uU]&['"]/.test(sql.slice(start, start + 3))) throw new Error("Names and strings with U& are not supported.");
  const found = (pattern: RegExp) => matchAt(pattern, sql, start);
  const text = found(ESCAPED) ?? found(TEXT) ?? dollarQuoted(sql, start);
  if (text !== undefined) return { kind: "text", text, start, end: start + text.length };
  const quoted = found(QUOTED);
  if (quoted !== undefined) {
    const name = quoted.slice(1, -1).replaceAll('""', '"');
    return { kind: "name", text: name, isQuoted: true, start, end: start + quoted.length };
  }
  const name = found(NAME);
  if (name !== undefined) return { kind: "name", text: inLowerCase(name), start, end: start + name.length };
  const number = found(NUMBER);
  if (number !== undefined) return { kind: "number", text: number, start, end: start + number.length };
  const sign = sql.charAt(start);
  if (sign === "'" || sign === '"') throw new Error("A quote is not closed.");
  return { kind: "sign", text: sign, start, end: start + 1 };
}

/** Converts a name as Postgres does in UTF-8 databases, which leaves letters such as Ü as they are. */
function inLowerCase(name: string): string {
  return name.replace(/[A-Z]+/g, (letters) => letters.toLowerCase());
}

function dollarQuoted(sql: string, start: number): string | undefined {
  const tag = matchAt(DOLLAR, sql, start);
  if (tag === undefined) return undefined;
  const end = sql.indexOf(tag, start + tag.length);
  if (end < 0) throw new Error("A dollar-quoted string is not closed.");
  return sql.slice(start, end + tag.length);
}

/** Skips space and comments, which may be nested. */
function pastSpace(sql: string, start: number): number {
  const end = start + (matchAt(SPACE, sql, start)?.length ?? 0);
  if (end > start) return end;
  if (!sql.startsWith("/*", start)) return start;
  let depth = 0;
  for (let at = start; at < sql.length; at++) {
    if (sql.startsWith("/*", at)) {
      depth++;
      at++;
    } else if (sql.startsWith("*/", at)) {
      depth--;
      at++;
      if (depth === 0) return at + 1;
    }
  }
  throw new Error("A comment is not closed.");
}

function matchAt(pattern: RegExp, sql: string, at: number): string | undefined {
  pattern.lastIndex = at;
  return pattern.exec(sql)?.[0];
}

/** Removes the values from other users' statements, because they may be private. */
export function withoutValues(sql: string): string {
  try {
    const parts = tokensOf(sql).map(({ kind, text, isQuoted }) => {
      if (kind === "text" || kind === "number") return "?";
      return isQuoted ? `"${text}"` : text;
    });
    const line = parts
      .join(" ")
      .replace(/ ?\. ?/g, ".")
      .replace(/ ([,;)\]])|([([]) /g, "$1$2")
      .replaceAll(" : : ", "::");
    return line.replace(/\(\?(, \?)+\)/g, "(?, …)");
  } catch {
    // Postgres truncates long statements, sometimes inside a string.
    return `${sql.slice(0, sql.search(/['"$\d]|--|\/\*/) >>> 0).slice(0, 200)}…`;
  }
}
