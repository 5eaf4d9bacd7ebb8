import { fieldOf, parseJson, parseRecord } from "./line/record.ts";
import { LINE_SHOWN, shortened, shown } from "./line/text.ts";
import { briefTime } from "./line/timestamp.ts";
import { type Line, timeOfLine } from "./selector.ts";

/** Line in displayed form, kept beyond the life of its block. */
export interface KeptLine {
  readonly file: string;
  readonly offset: number;
  /** JSON object, text, or values of a table's columns. */
  readonly content: unknown;
  readonly time: number | undefined;
}

/** Converts lines for display, either whole or as table rows. */
export type View = (from: Origin, line: Line) => KeptLine;

interface Origin {
  readonly file: string;
  /** Last modification time in Unix milliseconds. */
  readonly modified: number;
}

export function createView(columns: readonly string[] | undefined): View {
  return ({ file, modified }, line) => ({
    file,
    offset: line.offset,
    content: columns ? rowOf(line, columns, modified) : contentOf(line),
    time: line.time,
  });
}

export type Aliases = ReturnType<typeof createAliases>;

/** Gives short names to the files of one result. */
export function createAliases() {
  const names = new Map<string, string>();
  return {
    of(file: string): string {
      const alias = names.get(file) ?? `f${names.size + 1}`;
      names.set(file, alias);
      return alias;
    },
    all: () => (names.size > 0 ? { files: Object.fromEntries([...names].map(([file, alias]) => [alias, file])) } : {}),
  };
}

/** Returns lines by location, in the form `alias@offset` that `around` accepts. */
export function present(lines: readonly KeptLine[], aliases: Aliases, columns: readonly string[] | undefined) {
  const placed = lines.map(({ file, offset, content }) => [`${aliases.of(file)}@${offset}`, content] as const);
  if (!columns) return { lines: Object.fromEntries(placed) };
  const rows = placed.map(([at, row]) => [at, ...(row as readonly unknown[])]);
  return withoutEmpty(["at", ...columns], rows);
}

/** Leaves out the columns without any value, and names them. */
export function withoutEmpty(columns: readonly string[], rows: readonly (readonly unknown[])[]) {
  const has = columns.map((_, index) => rows.length === 0 || rows.some((row) => row[index] !== null));
  const kept = <Item>(items: readonly Item[]) => items.filter((_, index) => has[index]);
  const empty = columns.filter((_, index) => !has[index]);
  return { columns: kept(columns), rows: rows.map(kept), ...(empty.length > 0 ? { empty } : {}) };
}

const VALUE_SHOWN = 400;
/** Numbers with more digits than JavaScript can represent. */
const UNSAFE = /[:[,]\s*-?\d[\d.]{15,}/;

/** Returns a JSON line as JSON, unless it is too long, would change, or could be mistaken for a blob reference. */
function contentOf({ text, length }: Line): unknown {
  if (text.length > LINE_SHOWN || !text.startsWith("{") || UNSAFE.test(text)) return shown(text, length);
  const value = parseJson(text);
  return value === undefined || JSON.stringify(value).includes('"blob_id"') ? shown(text, length) : value;
}

function rowOf(line: Line, columns: readonly string[], latest: number): readonly unknown[] {
  const { fields } = parseRecord(line.text);
  return columns.map((column) => {
    const value = fieldOf(fields, column);
    if (value !== undefined) return valueShown(value);
    if (column === "line") return shortened(shown(line.text, line.length), VALUE_SHOWN);
    const time = column === "time" ? (line.time ?? timeOfLine(line.text, latest)) : undefined;
    return time === undefined ? null : briefTime(time);
  });
}

function valueShown(value: unknown): unknown {
  if (typeof value === "number" || typeof value === "boolean" || value === null) return value;
  const text = typeof value === "string" ? value : JSON.stringify(value);
  const clean = shown(text, text.length);
  return shortened(clean, VALUE_SHOWN);
}
