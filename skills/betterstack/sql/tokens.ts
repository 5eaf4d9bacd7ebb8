export interface Token {
  readonly kind: "word" | "quoted" | "text" | "number" | "symbol";
  readonly text: string;
  readonly start: number;
}

/** Complete list of token patterns. Any other character is refused where it occurs. */
const PATTERNS: readonly (readonly [Token["kind"] | "space", RegExp])[] = [
  ["space", /[ \t\r\n]+/y],
  ["word", /[A-Za-z_][A-Za-z0-9_]*/y],
  ["number", /(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?(?![A-Za-z0-9_.])/y],
  ["text", /'(?:[^'\\\p{Cc}]|\\[^\p{Cc}]|''|[\t\r\n])*'/uy],
  ["quoted", /"[A-Za-z0-9_.@: -]+"|`[A-Za-z0-9_.@: -]+`/y],
  ["symbol", /::|->|<=|>=|!=|<>|==|\|\||[()[\],.+\-*/%<>=]/y],
];

const REFUSALS: readonly (readonly [RegExp, string])[] = [
  [/--|\/\*|#/y, "remove comments"],
  [/;/y, "write one statement, without a semicolon"],
  [/[{}@$\\?:]/y, "parameters, variables and ?: are not allowed; write if(…, …, …)"],
  [/["`]/y, "a quoted name may contain only letters, digits, spaces and _ . @ : -"],
  [/'/y, "a string is not closed, or contains a control character"],
];

/** Splits a query into tokens. Throws on anything that a plain query does not have. */
export function tokenise(sql: string): readonly Token[] {
  const tokens: Token[] = [];
  for (let at = 0; at < sql.length; ) {
    refuseAt(sql, at);
    const found = matchAt(sql, at);
    if (!found) throw new Error(`The query is refused at ${placeOf(sql, at)}: unexpected character.`);
    if (found.kind !== "space") tokens.push({ kind: found.kind, text: found.text, start: at });
    at += found.text.length;
    // ClickHouse would read two quotes in a row as part of the name.
    if (found.kind === "quoted" && sql[at] === found.text[0]) {
      throw new Error(`The query is refused at ${placeOf(sql, at)}: a quoted name must not contain a quote.`);
    }
  }
  return tokens;
}

/** Describes a place in a query for messages. */
export function placeOf(sql: string, at: number): string {
  const near = sql
    .slice(at, at + 30)
    .replace(/\s+/g, " ")
    .trim();
  return `character ${at + 1}${near === "" ? ", its end" : ` (${near})`}`;
}

function refuseAt(sql: string, at: number): void {
  for (const [pattern, advice] of REFUSALS) {
    const isOpening = /['"`:]/.test(sql[at] ?? "") && matchAt(sql, at) !== undefined;
    if (!isOpening && isAt(pattern, sql, at)) {
      throw new Error(`The query is refused at ${placeOf(sql, at)}: ${advice}.`);
    }
  }
}

function matchAt(sql: string, at: number) {
  for (const [kind, pattern] of PATTERNS) {
    pattern.lastIndex = at;
    const text = pattern.exec(sql)?.[0];
    if (text !== undefined) return { kind, text };
  }
  return undefined;
}

function isAt(pattern: RegExp, sql: string, at: number): boolean {
  pattern.lastIndex = at;
  return pattern.test(sql);
}
