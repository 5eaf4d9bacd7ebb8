import { withoutEnd } from "../../core/base/preview.ts";

/**
 * Fast parser for the YAML that most documents consist of: block maps and lists, scalars on one line, block scalars, and
 * flow collections on one line or as the whole document, such as JSON. Everything else is left to the YAML parser, whose
 * start alone takes longer than many a command: tags, duplicate keys, all errors, and everything that is rare.
 */

/** A value with the offset at which it begins and, below it, those of its keys and parts. */
export interface Spot {
  readonly value: unknown;
  readonly offset: number;
  readonly members?: ReadonlyMap<string, { readonly key: number; readonly spot: Spot }>;
  readonly items?: readonly Spot[];
}

/** Returns the same value and offsets as the YAML parser, or undefined for anything that this parser does not know. */
export function parseQuickYaml(text: string): Spot | undefined {
  if (UNUSUAL.test(text)) return undefined;
  try {
    return new Reader(text).document();
  } catch (error) {
    if (error === UNKNOWN) return undefined;
    throw error;
  }
}

/** Tabs, other control and invisible characters, unpaired surrogates, and marks of documents. */
const UNUSUAL =
  /[^\n\x20-\x7e\xa0-\u2027\u202a-\ud7ff\ue000-\ufefe\uff00-\ufffd\u{10000}-\u{10ffff}]|(?:^|\n)(?:---|\.\.\.|%)/u;
/** Thrown where the text is left to the YAML parser. */
const UNKNOWN = Symbol("unknown");
const MOST_DEPTH = 50;
/** Longest key, in characters. The YAML parser has a limit, too. */
const MOST_KEY = 200;

/** Most aliases. A value with an anchor may have none, so that values cannot multiply. */
const MOST_ALIASES = 20;

const KEY = /(\.?[A-Za-z_][\w./-]*):(?= |\n|$)/y;
const ANCHOR = /&([A-Za-z][\w-]*)(?= |\n)/y;
const ALIAS = /\*([A-Za-z][\w-]*)(?=[ \n,\]}]|$)/y;
const QUOTED = /"(?:[^"\\\n]|\\[^\n])*"|'(?:[^'\n]|'')*'/y;
/** Text on one line. It begins with a character that has no meaning of its own. */
const PLAIN = /(?:[^\s\-?:,[\]{}#&*!|>'"%@`]|-(?=[^\s,[\]{}]))(?:[^\n:#]|:(?![ \n]|$)|(?<! )#)*/y;
/** Text on one line between brackets. */
const FLOW_PLAIN = /(?:[A-Za-z_\d]|-(?=\d))(?:[^\n:#,[\]{}]|:(?![\s,[\]{}]|$)|(?<! )#)*/y;
const TYPED = /^(?:true|false|null|True|False|Null|TRUE|FALSE|NULL|~)$/;
const WORDS = new Map<string, unknown>([
  ["true", true],
  ["false", false],
  ["null", null],
]);
const DECIMAL = /^-?(?:0|[1-9]\d{0,15})(?:\.\d{1,20})?$/;
const NUMBER =
  /^(?:0[ox][\da-fA-F]+|[-+]?(?:\.\d+|\d+(?:\.\d*)?)(?:[eE][-+]?\d+)?|[-+]?\.(?:inf|Inf|INF)|\.(?:nan|NaN|NAN))$/;

class Reader {
  readonly #text: string;
  /** Offset of the first character that is not read. */
  #at = 0;
  /** Column of that character. */
  #column = 0;
  #depth = 0;
  readonly #anchored = new Map<string, Spot>();
  #aliases = 0;

  constructor(text: string) {
    this.#text = text;
  }

  document(): Spot {
    this.#toContent();
    const isFlow = /[[{]/.test(this.#here());
    const root = isFlow ? this.#flow(true) : this.#block(-1);
    if (isFlow) this.#endLine();
    if (this.#at < this.#text.length) throw UNKNOWN;
    return root;
  }

  #here(): string {
    return this.#text[this.#at] ?? "";
  }

  /** Moves from the start of a line to the next content, past blank lines and comments. */
  #toContent(): void {
    for (;;) {
      const start = this.#at;
      this.#spaces();
      this.#column = this.#at - start;
      if (this.#here() === "#") this.#at = this.#lineEnd();
      if (this.#at >= this.#text.length) this.#column = -1;
      if (this.#here() !== "\n") return;
      this.#at++;
    }
  }

  #spaces(): void {
    while (this.#here() === " ") this.#at++;
  }

  #lineEnd(): number {
    const end = this.#text.indexOf("\n", this.#at);
    return end === -1 ? this.#text.length : end;
  }

  /** Reads the rest of a line, which may only have a comment, and moves to the next content. */
  #endLine(): void {
    const start = this.#at;
    this.#spaces();
    if (this.#here() === "#" && this.#at > start) this.#at = this.#lineEnd();
    if (this.#at < this.#text.length && this.#here() !== "\n") throw UNKNOWN;
    this.#at++;
    if (this.#at > this.#text.length) this.#at = this.#text.length;
    this.#toContent();
  }

  #match(pattern: RegExp): RegExpExecArray | null {
    pattern.lastIndex = this.#at;
    const found = pattern.exec(this.#text);
    if (found) this.#at = pattern.lastIndex;
    return found;
  }

  #isItem(): boolean {
    return this.#here() === "-" && /[ \n]/.test(this.#text[this.#at + 1] ?? "\n");
  }

  /** Reads the collection at this column, which is greater than that of its parent. */
  #block(parent: number): Spot {
    if (this.#column <= parent || ++this.#depth > MOST_DEPTH) throw UNKNOWN;
    const spot = this.#isItem() ? this.#list() : this.#map();
    this.#depth--;
    return spot;
  }

  #list(): Spot {
    const [column, offset] = [this.#column, this.#at];
    const items: Spot[] = [];
    while (this.#column === column && this.#isItem()) {
      const dash = this.#at++;
      this.#spaces();
      this.#column = column + this.#at - dash;
      if (/[#\n]|^$/.test(this.#here())) {
        this.#endLine();
        items.push(this.#block(column));
      } else items.push(this.#isItem() || this.#atKey() ? this.#block(column) : this.#value(column));
    }
    if (this.#column > column) throw UNKNOWN;
    return { value: items.map(({ value }) => value), offset, items };
  }

  #atKey(): boolean {
    const start = this.#at;
    const key = this.#key();
    this.#at = start;
    return key !== undefined;
  }

  #key(): string | undefined {
    const start = this.#at;
    const plain = this.#match(KEY)?.[1];
    if (plain !== undefined && (TYPED.test(plain) || NUMBER.test(plain))) throw UNKNOWN;
    if (plain !== undefined) return plain;
    const quoted = this.#match(QUOTED)?.[0];
    if (quoted !== undefined && /^:(?:[ \n]|$)/.test(this.#text.slice(this.#at, this.#at + 2))) {
      this.#at++;
      return unquoted(quoted);
    }
    this.#at = start;
    return undefined;
  }

  #map(): Spot {
    const [column, offset] = [this.#column, this.#at];
    const members: Members = new Map();
    while (this.#column === column) {
      const key = this.#at;
      const name = this.#key();
      if (name === undefined) throw UNKNOWN;
      addMember(members, name, { key, read: () => this.#member(column) });
    }
    if (this.#column > column) throw UNKNOWN;
    return mapOf(members, offset);
  }

  /** Reads what follows the colon of a key at this column. */
  #member(column: number): Spot {
    const start = this.#at;
    this.#spaces();
    const anchor = this.#match(ANCHOR)?.[1];
    const end = this.#at;
    this.#spaces();
    if (!/[#\n]|^$/.test(this.#here())) return this.#named(anchor, () => this.#value(column));
    this.#at = anchor === undefined ? start : end;
    this.#endLine();
    if (this.#column > column) return this.#named(anchor, () => this.#block(column));
    if (this.#column === column && this.#isItem()) return this.#named(anchor, () => this.#block(column - 1));
    if (anchor !== undefined) throw UNKNOWN;
    return { value: null, offset: start };
  }

  /** Reads a value and keeps it for the aliases of its anchor. */
  #named(anchor: string | undefined, read: () => Spot): Spot {
    if (anchor === undefined) return read();
    const before = this.#aliases;
    const spot = read();
    if (this.#aliases > before || this.#anchored.has(anchor)) throw UNKNOWN;
    this.#anchored.set(anchor, spot);
    return spot;
  }

  /** Reads a value that begins on the line of its key or dash, and the end of its last line. */
  #value(column: number): Spot {
    const offset = this.#at;
    if (/[|>]/.test(this.#here())) return { value: this.#blockScalar(column), offset };
    const spot = this.#inLine(PLAIN, false);
    this.#endLine();
    if (this.#column > column) throw UNKNOWN;
    return spot;
  }

  #scalar(plain: RegExp): Spot {
    const offset = this.#at;
    const alias = this.#match(ALIAS)?.[1];
    if (alias !== undefined) {
      const spot = this.#anchored.get(alias);
      if (!spot || ++this.#aliases > MOST_ALIASES) throw UNKNOWN;
      return { ...spot, offset };
    }
    const quoted = this.#match(QUOTED)?.[0];
    if (quoted !== undefined) return { value: unquoted(quoted), offset };
    const text = withoutEnd(this.#match(plain)?.[0] ?? "", " ");
    if (text === "") throw UNKNOWN;
    this.#at = offset + text.length;
    return { value: typed(text), offset };
  }

  #blockScalar(parent: number): string {
    const end = this.#lineEnd();
    const header = /^([|>])(-?)$/.exec(this.#text.slice(this.#at, Math.min(end, this.#at + 3)));
    if (!header || end === this.#text.length) throw UNKNOWN;
    const lines: string[] = [];
    let indent = -1;
    for (this.#at = end + 1; this.#at < this.#text.length; ) {
      const line = this.#text.slice(this.#at, this.#lineEnd());
      const spaces = line.search(/[^ ]/);
      if (spaces === -1 && line.length > Math.max(indent, 0) && (indent === -1 || header[1] === ">")) throw UNKNOWN;
      if (spaces !== -1 && (indent === -1 ? spaces <= parent : spaces < indent)) break;
      if (spaces !== -1 && indent === -1) indent = spaces;
      lines.push(line.slice(Math.max(indent, 0)));
      this.#at += line.length + 1;
    }
    if (indent === -1 || this.#at > this.#text.length) throw UNKNOWN;
    this.#toContent();
    if (this.#column > parent) throw UNKNOWN;
    const text = withoutEnd(lines.join("\n"), "\n");
    return (header[1] === "|" ? text : folded(text)) + (header[2] ? "" : "\n");
  }

  #flow(isWhole: boolean): Spot {
    if (++this.#depth > MOST_DEPTH) throw UNKNOWN;
    const offset = this.#at;
    const isMap = this.#text[this.#at++] === "{";
    const close = isMap ? "}" : "]";
    const items: Spot[] = [];
    const members: Members = new Map();
    this.#gap(isWhole);
    while (this.#here() !== close) {
      if (isMap) this.#flowMember(members, isWhole);
      else items.push(this.#flowValue(isWhole));
      this.#gap(isWhole);
      if (this.#here() === close) break;
      if (this.#here() !== ",") throw UNKNOWN;
      this.#at++;
      this.#gap(isWhole);
      if (this.#here() === close) throw UNKNOWN;
    }
    this.#at++;
    this.#depth--;
    if (isMap) return mapOf(members, offset);
    return { value: items.map(({ value }) => value), offset, items };
  }

  #flowMember(members: Members, isWhole: boolean): void {
    const key = this.#at;
    const quoted = this.#match(QUOTED)?.[0];
    const name = quoted === undefined ? this.#key() : unquoted(quoted);
    if (name === undefined || (quoted !== undefined && this.#text[this.#at++] !== ":")) throw UNKNOWN;
    this.#gap(false);
    addMember(members, name, { key, read: () => this.#flowValue(isWhole) });
  }

  #flowValue(isWhole: boolean): Spot {
    const anchor = this.#match(ANCHOR)?.[1];
    this.#spaces();
    return this.#named(anchor, () => this.#inLine(FLOW_PLAIN, isWhole));
  }

  #inLine(plain: RegExp, isWhole: boolean): Spot {
    return /[[{]/.test(this.#here()) ? this.#flow(isWhole) : this.#scalar(plain);
  }

  /** Moves past spaces and, in a document that is one flow collection, past line ends. */
  #gap(isWhole: boolean): void {
    while (this.#here() === " " || (isWhole && this.#here() === "\n")) this.#at++;
  }
}

type Members = Map<string, { readonly key: number; readonly spot: Spot }>;

function addMember(members: Members, name: string, { key, read }: { key: number; read: () => Spot }): void {
  const isOdd = name.length > MOST_KEY || name === "__proto__" || name === "<<";
  if (isOdd || members.has(name)) throw UNKNOWN;
  members.set(name, { key, spot: read() });
}

function mapOf(members: Members, offset: number): Spot {
  return { value: Object.fromEntries([...members].map(([name, { spot }]) => [name, spot.value])), offset, members };
}

function typed(text: string): unknown {
  if (DECIMAL.test(text) && text !== "-0") return Number(text);
  if (NUMBER.test(text)) throw UNKNOWN;
  if (!TYPED.test(text)) return text;
  if (!WORDS.has(text)) throw UNKNOWN;
  return WORDS.get(text);
}

function unquoted(quoted: string): string {
  if (quoted[0] === "'") return quoted.slice(1, -1).replaceAll("''", "'");
  if (!quoted.includes("\\")) return quoted.slice(1, -1);
  if (!/^(?:[^\\]|\\(?:["\\/bfnrt]|u[\da-fA-F]{4}))*$/.test(quoted)) throw UNKNOWN;
  return JSON.parse(quoted);
}

/** Joins the lines of a folded scalar. Lines that are indented further have their own rules. */
function folded(text: string): string {
  if (/(?:^|\n) /.test(text)) throw UNKNOWN;
  return text.replace(/\n+/g, (ends, at: number) => (at === 0 ? ends : ends.length === 1 ? " " : ends.slice(1)));
}
