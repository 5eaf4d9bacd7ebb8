/** Converts a table to rows, one JSON object per line. If the first record looks like names, they become the keys. */
export function convertCsv(name: string): Convert {
  let rest = "";
  let delimiter: string | undefined;
  let columns: readonly string[] | undefined;
  function* read(ended: boolean): Generator<string> {
    if (delimiter === undefined) {
      const told = /^sep=(.)\r?\n/.exec(rest);
      if (!ended && !/[^\n]\n/.test(rest) && rest.length < MOST_RECORD) return;
      delimiter = told?.[1] ?? sniffDelimiter(name, rest);
      rest = rest.slice(told?.[0].length);
    }
    let at = 0;
    for (let next = recordAt(rest, at, delimiter, ended); next; next = recordAt(rest, at, delimiter, ended)) {
      at = next.end;
      const { cells } = next;
      if (cells.length === 1 && (cells[0] === "" || (!columns && cells[0]?.startsWith("#")))) continue;
      if (columns) yield rowOf(columns, cells);
      else if (isHeader(cells)) columns = distinct(cells);
      else {
        columns = [];
        yield rowOf(columns, cells);
      }
    }
    rest = rest.slice(at);
  }
  return {
    *push(text) {
      rest += text;
      // Waits for a line break, so that a long line is not scanned again for each piece.
      if (text.includes("\n") || rest.length >= MOST_LINE) yield* read(false);
    },
    *end() {
      yield* read(true);
    },
  };
}

/** Maximum length of a quoted cell. Beyond it, the quote is taken literally. */
const MOST_RECORD = 1024 * 1024;
/** Longer lines, and lines with more cells, are split. */
const MOST_LINE = 24 * MOST_RECORD;
const MOST_CELLS = 200_000;

interface CsvRecord {
  readonly cells: readonly string[];
  readonly end: number;
}

/** Parses the record at a position. Returns undefined if it is incomplete. */
function recordAt(text: string, from: number, delimiter: string, ended: boolean): CsvRecord | undefined {
  const cells: string[] = [];
  let at = from;
  let lineEnd = -1;
  while (at < text.length || (ended && cells.length > 0 && text[at - 1] === delimiter)) {
    if (text[at] === '"') {
      const close = closingQuote(text, at + 1);
      const after = text[close + 1];
      const isWhole = close >= 0 && (after === undefined ? ended : after === delimiter || /[\r\n]/.test(after));
      if (isWhole) {
        cells.push(text.slice(at + 1, close).replaceAll('""', '"'));
        at = close + 1;
        if (text[at] === "\r" && text[at + 1] === "\n") at++;
        if (at >= text.length || text[at] !== delimiter) return { cells, end: at + 1 };
        at++;
        continue;
      }
      const mayCome = !ended && text.length - from < MOST_RECORD;
      if (mayCome && (close < 0 || after === undefined)) return undefined;
    }
    if (cells.length === MOST_CELLS) return { cells, end: at };
    if (lineEnd < at) {
      lineEnd = text.indexOf("\n", at);
      if (lineEnd < 0) {
        if (!ended && text.length - from < MOST_LINE) return undefined;
        lineEnd = text.length;
      }
    }
    const rest = text.slice(at, lineEnd);
    const length = rest.indexOf(delimiter);
    if (length < 0) {
      cells.push(rest.replace(/\r$/, ""));
      return { cells, end: lineEnd + 1 };
    }
    cells.push(rest.slice(0, length));
    at += length + 1;
  }
  return ended && cells.length > 0 ? { cells, end: at } : undefined;
}

function closingQuote(text: string, from: number): number {
  for (let at = text.indexOf('"', from); at >= 0; at = text.indexOf('"', at + 2)) {
    if (text[at + 1] !== '"') return at;
  }
  return -1;
}

function sniffDelimiter(name: string, text: string): string {
  if (/\.tsv\b/i.test(name)) return "\t";
  const line = (text.split("\n").find((each) => /\S/.test(each) && !each.startsWith("#")) ?? "").replace(
    /"(?:[^"]|"")*"/g,
    "",
  );
  const count = (delimiter: string) => line.split(delimiter).length;
  return [",", ";", "\t", "|"].reduce((best, next) => (count(next) > count(best) ? next : best));
}

function isHeader(cells: readonly string[]): boolean {
  return cells.every((cell) => cell.trim() !== "" && !/^[\d\s.,:+/TZ-]+$/.test(cell) && cell.length <= 200);
}

function distinct(names: readonly string[]): readonly string[] {
  const seen = new Set<string>();
  return names.map((name, index) => {
    const clean = name.trim();
    if (seen.has(clean)) return `${clean}#${index + 1}`;
    seen.add(clean);
    return clean;
  });
}

function rowOf(columns: readonly string[], cells: readonly string[]): string {
  const filled = cells.flatMap((cell, index) =>
    cell === "" ? [] : [[columns[index] ?? `c${index + 1}`, cellValue(cell)]],
  );
  return JSON.stringify(Object.fromEntries(filled));
}

/** Converts a cell to a number if that is lossless. */
function cellValue(cell: string): string | number {
  const number = Number(cell);
  return cell.length <= 15 && String(number) === cell && Number.isFinite(number) ? number : cell;
}

/** Converter of text, which comes in pieces, to rows without line breaks. */
export interface Convert {
  push(text: string): Generator<string>;
  end(): Generator<string>;
}
