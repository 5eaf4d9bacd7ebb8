import type { ToolContext } from "skillflow";
import { isCallable, placeOf, type Token, tokenise } from "./functions.ts";

/**
 * Checks a model's query and returns the SQL to send, with Better Stack's names for the given tables. Accepts one
 * SELECT (or WITH … SELECT) that reads those tables only. Throws on everything that the grammar below does not know.
 *
 * Names that a query defines (`WITH recent AS …`) are sent with a prefix. If ClickHouse takes one for a table's name,
 * there is no such table.
 */
export function gate(sql: string, tables: Tables): string {
  return new Gate(sql.trim().replace(/;$/, ""), tables).pass();
}

const OWN = "skillflow_";
const DEEPEST = 24;

const CLAUSES = ["WHERE", "PREWHERE", "GROUP", "HAVING", "ORDER", "LIMIT", "OFFSET"];
const JOINS = ["JOIN", "INNER", "LEFT", "RIGHT", "FULL", "OUTER", "CROSS", "ASOF", "ANY", "ALL", "SEMI", "ANTI"];
const OPERATORS = words("AND OR NOT LIKE ILIKE REGEXP BETWEEN CASE WHEN THEN ELSE DISTINCT EXISTS DIV MOD");
const OTHERS = words("IS NULL END BY ASC DESC NULLS OVER PARTITION ROWS ON USING AS IN INTERVAL UNION SELECT FROM");
/** Keywords for parts of the language that a query does not need, or that would bypass this gate. */
const REFUSED = words(
  "INTO OUTFILE INFILE FORMAT SETTINGS WITH RECURSIVE APPLY COLUMNS EXCEPT INTERSECT ARRAY FINAL GLOBAL PASTE SAMPLE " +
    "WINDOW QUALIFY VALUES EXPLAIN PARALLEL FILTER INTERPOLATE",
);
const RESERVED = new Set([...CLAUSES, ...JOINS, ...OPERATORS, ...OTHERS, ...REFUSED]);
/** Words that may precede a parenthesis without being a function call. */
const BEFORE_GROUP = new Set([...OPERATORS, ...words("BY OVER ON IN LIMIT OFFSET WHERE PREWHERE HAVING SELECT")]);

const NO_COMMA = "write JOIN … ON, not a comma between tables";
const ONLY_VALUES = "after IN write values in parentheses, or a query";

type Names = ReadonlySet<string>;

class Gate {
  readonly #tokens: readonly Token[];
  #at = 0;
  #depth = 0;
  readonly #changes: { readonly start: number; readonly end: number; readonly text: string }[] = [];

  constructor(
    readonly sql: string,
    readonly tables: Tables,
  ) {
    this.#tokens = tokenise(sql);
  }

  pass(): string {
    this.#query(new Set());
    if (this.#token) this.#refuse("the query should end here");
    const changes = [...this.#changes].sort((a, b) => b.start - a.start);
    return changes.reduce((sql, { start, end, text }) => sql.slice(0, start) + text + sql.slice(end), this.sql);
  }

  /** Parses [WITH name AS (query), …] select [UNION ALL select]… */
  #query(outer: Names): void {
    const names = new Set(outer);
    if (this.#take("WITH")) {
      do this.#part(names);
      while (this.#take(","));
    }
    do this.#select(names);
    while (this.#takeUnion());
  }

  #part(names: Set<string>): void {
    const name = this.#name("a name");
    if (this.tables.has(name.text))
      this.#refuse(`${name.text} is the name of a table: give this part another name`, name);
    this.#expect("AS");
    this.#expect("(");
    this.#nested(() => this.#query(names));
    this.#replace(name, OWN + name.text);
    names.add(name.text);
  }

  #takeUnion(): boolean {
    if (!this.#take("UNION")) return false;
    if (!this.#take("ALL") && !this.#take("DISTINCT")) this.#refuse("write UNION ALL or UNION DISTINCT");
    return true;
  }

  #select(names: Names): void {
    this.#expect("SELECT");
    this.#expression(names, "list");
    if (this.#take("FROM")) this.#from(names);
    while (CLAUSES.some((clause) => this.#is(clause))) {
      const clause = this.#next();
      if (["GROUP", "ORDER"].includes(clause.text.toUpperCase())) this.#expect("BY");
      this.#expression(names, "list");
    }
  }

  #from(names: Names): void {
    this.#table(names);
    while (JOINS.some((join) => this.#is(join))) {
      while (!this.#is("JOIN") && JOINS.some((join) => this.#is(join))) this.#next();
      this.#expect("JOIN");
      this.#table(names);
      if (this.#take("ON")) this.#expression(names, "condition");
      else if (this.#take("USING")) this.#columns();
    }
    if (this.#is(",")) this.#refuse(NO_COMMA);
    if (this.#is("ARRAY")) this.#refuse("write arrayJoin(…) in the list, not ARRAY JOIN");
  }

  #table(names: Names): void {
    if (this.#take("(")) {
      this.#nested(() => this.#query(names));
      this.#alias();
      return;
    }
    const name = this.#name("a table");
    if (this.#is("(")) this.#refuse(`table functions such as ${name.text}() are not allowed; ${this.#choice()}`, name);
    const place = this.tables.get(name.text) ?? (names.has(name.text) ? OWN + name.text : undefined);
    if (place === undefined || this.#is(".")) this.#refuse(`${name.text} cannot be queried; ${this.#choice()}`, name);
    this.#replace(name, this.#alias() ? place : `${place} AS ${name.text}`);
  }

  #choice(): string {
    return `read FROM ${[...this.tables.keys()].filter((name) => !name.includes("_")).join(", ")}`;
  }

  #alias(): boolean {
    if (this.#take("AS")) {
      this.#name("a name", true);
      return true;
    }
    const { kind, text } = this.#token ?? {};
    if (kind !== "word" || text === undefined || RESERVED.has(text.toUpperCase())) return false;
    this.#next();
    return true;
  }

  #columns(): void {
    this.#expect("(");
    do this.#name("a column", true);
    while (this.#take(","));
    this.#expect(")");
  }

  /** Parses up to a clause, a closing bracket or the end. In a condition, a comma would add another table. */
  #expression(names: Names, kind: "list" | "condition" | "group"): void {
    for (let token = this.#token; token && !this.#isEnd(kind); token = this.#token) {
      if (kind === "condition" && token.text === ",") this.#refuse(NO_COMMA);
      this.#operand(names, this.#next());
    }
  }

  #isEnd(kind: "list" | "condition" | "group"): boolean {
    if (this.#is(")") || this.#is("]")) return true;
    if (kind === "group") return false;
    if (["FROM", "UNION", ...CLAUSES].some((word) => this.#is(word))) return true;
    return kind === "condition" && !this.#isCall() && JOINS.some((join) => this.#is(join));
  }

  #operand(names: Names, token: Token): void {
    if (token.text === "(") this.#group(names, ")");
    else if (token.text === "[") this.#group(names, "]");
    else if (token.text === ".") this.#member();
    else if (token.kind === "quoted" && this.#is("(")) this.#refuse("a function's name must not be quoted", token);
    else if (token.kind === "word") this.#word(names, token);
  }

  #word(names: Names, token: Token): void {
    const word = token.text.toUpperCase();
    if (word === "AS") this.#namedAs();
    else if (word === "IN") this.#set(names);
    else if (this.#is("(") && !BEFORE_GROUP.has(word)) this.#call(token);
    else if (REFUSED.includes(word) || ["SELECT", "FROM", "UNION", "JOIN", "USING"].includes(word)) {
      this.#refuse(`${word} is not allowed here; write a column of this name as "${token.text}"`, token);
    }
  }

  /** Parses a name or, in a cast, a type with optional arguments. */
  #namedAs(): void {
    const name = this.#name("a name", true);
    if (this.#is("(")) this.#call(name);
  }

  #call(token: Token): void {
    if (token.kind === "quoted" || !isCallable(token.text))
      this.#refuse(`the function ${token.text} is not allowed`, token);
  }

  /** Parses the name after a dot. ClickHouse might parse a keyword there differently. */
  #member(): void {
    const token = this.#next();
    const isName = token.kind === "word" && !RESERVED.has(token.text.toUpperCase());
    if (!isName && token.kind !== "quoted" && token.kind !== "number" && token.text !== "*") {
      this.#refuse("a name is missing after the dot, or needs quotes", token);
    }
    if (this.#is("(")) this.#refuse("a function's name must not contain a dot", token);
  }

  #group(names: Names, close: ")" | "]"): void {
    this.#nested(() => {
      if (close === ")" && (this.#is("SELECT") || this.#is("WITH"))) this.#query(names);
      else this.#expression(names, "group");
    }, close);
  }

  /** Parses the right side of IN. ClickHouse takes a bare name there for a table, so only values and queries pass. */
  #set(names: Names): void {
    if (!this.#take("(")) this.#refuse(ONLY_VALUES);
    this.#nested(() => {
      if (this.#is("SELECT") || this.#is("WITH")) this.#query(names);
      else this.#values();
    });
  }

  #values(): void {
    while (this.#token && !this.#is(")")) {
      const token = this.#next();
      if (token.text === "(") this.#nested(() => this.#values());
      const isNamed = /^(?:null|true|false)$/i.test(token.text) && !this.#is("(");
      const isValue = isNamed || token.kind === "text" || token.kind === "number" || /^[,(+-]$/.test(token.text);
      if (!isValue) this.#refuse(ONLY_VALUES, token);
    }
  }

  #nested(work: () => void, close: ")" | "]" = ")"): void {
    if (++this.#depth > DEEPEST) this.#refuse("parentheses are nested too deeply");
    work();
    this.#expect(close);
    this.#depth--;
  }

  #name(what: string, mayBeQuoted = false): Token {
    const token = this.#next(what);
    const isName = token.kind === "word" && !RESERVED.has(token.text.toUpperCase());
    if (isName || (mayBeQuoted && token.kind === "quoted")) return token;
    return this.#refuse(`${what} was expected`, token);
  }

  get #token(): Token | undefined {
    return this.#tokens[this.#at];
  }

  /** Returns true if the next token is this symbol or unquoted word. */
  #is(text: string): boolean {
    const token = this.#token;
    return token !== undefined && token.kind !== "quoted" && token.kind !== "text" && token.text.toUpperCase() === text;
  }

  #isCall(): boolean {
    return this.#tokens[this.#at + 1]?.text === "(";
  }

  #take(text: string): boolean {
    if (!this.#is(text)) return false;
    this.#at++;
    return true;
  }

  #next(what = "more"): Token {
    const token = this.#token;
    if (!token) return this.#refuse(`${what} was expected`);
    this.#at++;
    return token;
  }

  #expect(text: string): void {
    if (!this.#take(text)) this.#refuse(`${text} was expected`);
  }

  #replace({ start, text: old }: Token, text: string): void {
    this.#changes.push({ start, end: start + old.length, text });
  }

  #refuse(why: string, token = this.#token): never {
    throw new Error(`The query is refused at ${placeOf(this.sql, token?.start ?? this.sql.length)}: ${why}.`);
  }
}

function words(text: string): readonly string[] {
  return text.split(" ");
}

/** Table names that a query may use, mapped to Better Stack's names for them. */
export type Tables = ReadonlyMap<string, string>;

const SOURCE = /^[A-Za-z][A-Za-z0-9_]{0,99}$/;

/** Returns the sources that the operator opened to queries. */
export function declaredSources(config: ToolContext["config"]): readonly string[] {
  const names = (config["BETTERSTACK_SOURCE"] ?? "").split(",").map((name) => name.trim());
  const sources = names.filter((name) => name !== "");
  const odd = sources.find((name) => !SOURCE.test(name));
  if (odd === undefined) return sources;
  throw new Error(`BETTERSTACK_SOURCE: "${odd.slice(0, 100)}" is not a source. Write it like t123456_my_app.`);
}

/** Returns the tables of one source: recent logs and spans, metrics, and long-term storage. */
export function tablesOf(source: string): Tables {
  const recent = ["logs", "spans", "metrics"].flatMap((kind) => {
    const place = `remote(${source}_${kind})`;
    return [[kind, place] as const, [`${source}_${kind}`, place] as const];
  });
  const history = `s3Cluster(primary, ${source}_s3)`;
  return new Map([...recent, ["history", history], [`${source}_s3`, history]]);
}
