import { countWhile, isObject, isTexts, type Json, type JsonObject, parseJson } from "../../base/values.ts";
import { Codes, type Folded } from "./folded.ts";

/**
 * Divides a result into records: a line of a text or of a map of lines, a hunk of a diff, an element of a list whose
 * elements are objects or lists, or else the whole value. A text within JSON, and JSON within the lines of a text, are divided in turn.
 */

/** A result, normalized for the search of quotes. */
export interface Form {
  readonly codes: Folded;
  /** Positions between records that no quote may cross, ascending. */
  readonly hard: readonly number[];
  /** Positions between lines that only a quote without an ellipsis may cross, ascending. */
  readonly soft: readonly number[];
  /** Returns the smallest record that contains the codes from `start` to `end`. */
  readonly recordAt: (start: number, end: number) => EvidenceRecord;
}

export interface EvidenceRecord {
  /** Lines as written, or JSON. */
  readonly text: string;
  readonly value?: Json;
  /** The text around a record of lines, and the offset of the record in it. */
  readonly within?: { readonly text: string; readonly at: number };
  /** Names of the record's columns, if it is a row of a table. */
  readonly columns?: readonly string[];
}

/** How strings within JSON are written: as in JSON, without escapes, or without escapes and with their own JSON parsed. */
const STYLES = ["escaped", "plain", "deep"] as const;
type Style = (typeof STYLES)[number];

/** Yields the result in each style that makes a difference. */
export function* formsOf(text: string): Generator<Form> {
  for (const style of STYLES) {
    const writer = new FormWriter(style);
    writer.result(text);
    yield writer.form(text);
    const isLast = style === "plain" && !writer.hasInnerJson;
    if (isLast || !writer.hasJson || !text.includes("\\")) return;
  }
}

/** Returns the object or list that a text is, if it is one. */
export function containerOf(text: string): Json | undefined {
  if (!/^\s*[[{]/.test(text)) return undefined;
  const value = parseJson(text);
  return isObject(value) || Array.isArray(value) ? (value as Json) : undefined;
}

/** Checks whether the elements of a list are records of their own. A row of a table also has cells without parts. */
export function isDivided(items: readonly Json[]): boolean {
  const isSingle = (item: Json) => typeof item === "object" && item !== null;
  return items.some(isSingle) && items.every((item) => item === null || isSingle(item));
}

/** An element of a list, or a text. */
interface Region {
  readonly start: number;
  end: number;
  /** The region around it. */
  readonly parent: Region | undefined;
  /** Returns the record within the region with the codes from `start` to `end`. */
  readonly recordAt: (start: number, end: number) => EvidenceRecord;
}

class FormWriter {
  hasJson = false;
  /** True if a string in the JSON is JSON itself. */
  hasInnerJson = false;
  readonly #style: Style;
  readonly #out = new Codes(1024);
  readonly #hard: number[] = [];
  readonly #soft: number[] = [];
  readonly #regions: Region[] = [];
  #open: Region | undefined;

  constructor(style: Style) {
    this.#style = style;
  }

  form(text: string): Form {
    const regions = this.#regions;
    return {
      codes: this.#out.taken(),
      hard: this.#hard,
      soft: this.#soft,
      recordAt(start, end) {
        let region = regions[countWhile(regions, (each) => each.start <= start) - 1];
        while (region && region.end < end) region = region.parent;
        return region?.recordAt(start, end) ?? { text };
      },
    };
  }

  /** Writes a result: JSON, or a text. */
  result(text: string): void {
    const value = containerOf(text);
    if (value === undefined) this.#text(text, false);
    else this.#json(value, false);
  }

  #json(value: Json, isInner: boolean): void {
    this.hasJson = true;
    if (typeof value === "string") this.#string(value, isInner);
    else if (Array.isArray(value)) this.#list(value as readonly Json[], undefined, isInner);
    else if (isObject(value)) this.#object(value as JsonObject, isInner);
    else this.#out.text(String(value));
  }

  #object(object: JsonObject, isInner: boolean): void {
    const columns = columnsOf(object);
    this.#out.push(BRACE);
    for (const [index, [key, member]] of Object.entries(object).entries()) {
      if (index > 0) this.#out.push(COMMA);
      this.#key(key);
      if (key === "rows" && columns && Array.isArray(member)) this.#list(member as readonly Json[], columns, isInner);
      else if (key === "lines" && areLines(member)) this.#lines(member, isInner);
      else this.#json(member as Json, isInner);
    }
    this.#out.push(BRACE_END);
  }

  #key(key: string): void {
    this.#out.push(QUOTE);
    this.#out.text(key);
    this.#out.push(QUOTE);
    this.#out.push(COLON);
  }

  /** Writes log lines by their keys. Each is a record. */
  #lines(lines: Readonly<Record<string, string>>, isInner: boolean): void {
    this.#out.push(BRACE);
    for (const [index, [key, line]] of Object.entries(lines).entries()) {
      if (index > 0) {
        this.#hard.push(this.#out.length);
        this.#out.push(COMMA);
      }
      this.#region(
        () => ({ text: line, within: { text: line, at: 0 } }),
        () => {
          this.#key(key);
          this.#string(line, isInner);
        },
      );
    }
    this.#out.push(BRACE_END);
  }

  #list(items: readonly Json[], columns: readonly string[] | undefined, isInner: boolean): void {
    const divides = isDivided(items);
    this.#out.push(BRACKET);
    for (const [index, item] of items.entries()) {
      if (index > 0) {
        if (divides) this.#hard.push(this.#out.length);
        this.#out.push(COMMA);
      }
      if (divides) this.#element(item, columns, isInner);
      else this.#json(item, isInner);
    }
    this.#out.push(BRACKET_END);
  }

  #element(value: Json, columns: readonly string[] | undefined, isInner: boolean): void {
    const record = () => ({ text: JSON.stringify(value), value, ...(columns ? { columns } : {}) });
    this.#region(record, () => this.#json(value, isInner));
  }

  #region(recordAt: Region["recordAt"], write: () => void): void {
    const region: Region = { start: this.#out.length, end: 0, parent: this.#open, recordAt };
    this.#regions.push(region);
    this.#open = region;
    write();
    this.#open = region.parent;
    region.end = this.#out.length;
  }

  #string(value: string, isInner: boolean): void {
    const inner = isInner ? undefined : containerOf(value);
    if (inner !== undefined) this.hasInnerJson = true;
    if (inner !== undefined && this.#style === "deep") {
      this.#json(inner, true);
      return;
    }
    this.#out.push(QUOTE);
    if (value.includes("\n")) this.#text(value, true);
    else this.#out.text(this.#style === "escaped" ? escaped(value) : value);
    this.#out.push(QUOTE);
  }

  /** Writes a text of several lines. */
  #text(text: string, isInJson: boolean): void {
    const isDiff = DIFF.test(text);
    /** Positions of the records, and their offsets in the text. */
    const starts: number[] = [];
    const offsets: number[] = [];
    const write = () => {
      for (const [offset, line] of linesOf(text)) {
        const begins = offset === 0 || !isDiff || HUNK.test(line);
        if (begins) {
          const at = offset > 0 ? this.#out.boundary() : this.#out.length;
          if (offset > 0) (isDiff ? this.#hard : this.#soft).push(at);
          starts.push(at);
          offsets.push(offset);
        }
        if (offset > 0) this.#lineEnd(isInJson);
        this.#line(line, isInJson);
      }
    };
    /** Returns the lines or the hunk with the codes from `start` to `end`. */
    const recordAt = (start: number, end: number) => {
      const from = offsets[countWhile(starts, (at) => at <= start) - 1] ?? 0;
      const next = offsets[countWhile(starts, (at) => at < end)] ?? text.length + 1;
      return { text: text.slice(from, next - 1), within: { text, at: from } };
    };
    this.#region(recordAt, write);
  }

  #line(line: string, isInJson: boolean): void {
    const value = isInJson ? undefined : containerOf(line);
    if (value !== undefined) this.#json(value, false);
    else this.#out.text(isInJson && this.#style === "escaped" ? escaped(line) : line);
  }

  #lineEnd(isInJson: boolean): void {
    if (isInJson && this.#style === "escaped") this.#out.text("\\n");
    else this.#out.push(SPACE);
  }
}

/** A line that begins a record of a diff: a hunk, or the head of a file. */
const HUNK = /^(?:@@ -\d|diff --git )/;
const DIFF = new RegExp(HUNK.source, "m");

const SPACE = 0x20;
const QUOTE = 0x22;
const COMMA = 0x2c;
const COLON = 0x3a;
const BRACKET = 0x5b;
const BRACKET_END = 0x5d;
const BRACE = 0x7b;
const BRACE_END = 0x7d;

function escaped(text: string): string {
  return JSON.stringify(text).slice(1, -1);
}

/** Returns the column names of a table: `{columns, rows}`. */
export function columnsOf({ columns, rows }: JsonObject): readonly string[] | undefined {
  return isTexts(columns) && Array.isArray(rows) ? columns : undefined;
}

/** Checks whether a value is a map of keys to lines, as searches of logs return them. */
function areLines(value: unknown): value is Readonly<Record<string, string>> {
  return isObject(value) && Object.values(value).every((line) => typeof line === "string");
}

function* linesOf(text: string): Generator<[offset: number, line: string]> {
  for (let start = 0; start <= text.length; ) {
    const end = text.indexOf("\n", start);
    const until = end < 0 ? text.length : end;
    yield [start, text.slice(start, until)];
    start = until + 1;
  }
}
