export type LineFormat = "json" | "logfmt" | "text";

export interface LineRecord {
  readonly format: LineFormat;
  readonly fields: Readonly<Record<string, unknown>>;
}

/** The fields of one line: a JSON object's members, else its `key=value` pairs. A line that begins with two pairs is logfmt. */
export function parseRecord(text: string): LineRecord {
  return parseJsonLine(text) ?? parsePairs(text);
}

/** The values of a field: the key as it stands, else as a dotted path; through arrays to each element's. */
export function fieldValues(fields: Readonly<Record<string, unknown>>, path: string): readonly string[] {
  return scalars(Object.hasOwn(fields, path) ? fields[path] : follow(fields, path.split(".")));
}

/** A record's dotted field names, down to two levels. */
export function fieldNames(fields: Readonly<Record<string, unknown>>): readonly string[] {
  return Object.entries(fields).flatMap(([key, value]) =>
    isObject(value) ? Object.keys(value).map((inner) => `${key}.${inner}`) : [key],
  );
}

/** The line with what varies masked, so that lines of one kind look alike. */
export function shapeOf(text: string): string {
  return text
    .slice(0, 400)
    .replace(/\b[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}\b/gi, "<uuid>")
    .replace(/\b(?=[a-f]*\d)[0-9a-f]{8,}\b/gi, "<hex>")
    .replace(/\d+(?:[.,:T/-]\d+)*Z?/g, "<n>");
}

const PAIRS_KEPT = 8192;
const PAIR = /(?<![\w.@/-])([A-Za-z_@][\w.@/-]*)=(?:"((?:[^"\\]|\\.)*)"|([^\s"]*))/g;

function parseJsonLine(text: string): LineRecord | undefined {
  if (!/^\s*\{/.test(text)) return undefined;
  try {
    const value: unknown = JSON.parse(text);
    return isObject(value) ? { format: "json", fields: value } : undefined;
  } catch (error) {
    if (error instanceof SyntaxError) return undefined;
    throw error;
  }
}

function parsePairs(text: string): LineRecord {
  const fields: Record<string, string> = Object.create(null);
  let head = 0;
  let count = 0;
  for (const match of text.slice(0, PAIRS_KEPT).matchAll(PAIR)) {
    const [whole, key = "", quoted, bare] = match;
    fields[key] = quoted === undefined ? (bare ?? "") : quoted.replace(/\\(.)/g, "$1");
    if (match.index <= head + 1) head = match.index + whole.length;
    count++;
  }
  return { format: count >= 2 && head > 0 ? "logfmt" : "text", fields };
}

function follow(value: unknown, path: readonly string[]): unknown {
  const [key, ...rest] = path;
  if (key === undefined) return value;
  if (Array.isArray(value) && !/^\d+$/.test(key)) return value.map((item) => follow(item, path));
  if (typeof value !== "object" || value === null || !Object.hasOwn(value, key)) return undefined;
  return follow((value as Readonly<Record<string, unknown>>)[key], rest);
}

function scalars(value: unknown): readonly string[] {
  if (Array.isArray(value)) return value.flatMap(scalars);
  if (value === undefined) return [];
  return [typeof value === "object" && value !== null ? JSON.stringify(value) : String(value)];
}

function isObject(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
