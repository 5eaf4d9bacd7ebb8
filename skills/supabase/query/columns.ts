import { type Json, type JsonObject, NothingDone } from "skillflow";
import { jsonSize } from "skillflow/internal";
import * as z from "zod";
/**
 * Column of a model's list such as `id, when:created_at, payload->error->>code, "odd name", total::text`. Columns are
 * parsed strictly and rewritten with quoted names, so that none can refer to another table. PostgREST's embeds
 * (`other(*)`, `alias:other!hint(*)`, `...other(*)`), aggregates and dotted paths do not parse.
 */

export interface Column {
  readonly name: string;
  /** Steps into a JSON value. */
  readonly path: readonly Step[];
}

interface Step {
  readonly arrow: "->" | "->>";
  readonly key: string | number;
}

export type Selected =
  | { readonly all: true }
  | { readonly all: false; readonly column: Column; readonly alias?: string; readonly cast?: string };

const MOST_COLUMNS = 60;
const CASTS = ["text", "integer", "bigint", "numeric", "boolean", "date", "timestamptz", "jsonb"];

export function parseSelect(text: string): readonly Selected[] {
  const items = splitAtCommas(tokensOf(text));
  if (items.length > MOST_COLUMNS) throw new NothingDone(`Select at most ${MOST_COLUMNS} columns; * means all.`);
  return items.map((tokens) => itemOf(tokens, text));
}

export function renderSelect(items: readonly Selected[]): string {
  const render = (item: Selected) => {
    if (item.all) return "*";
    const alias = item.alias === undefined ? "" : `${quoted(item.alias)}:`;
    return `${alias}${renderColumn(item.column)}${item.cast === undefined ? "" : `::${item.cast}`}`;
  };
  return items.map(render).join(",");
}

/** Parses one column with an optional path into its JSON value. */
export function parseColumn(text: string): Column {
  return columnOf(tokensOf(text), text);
}

/** Parses a column's name without a path, as required for writes. */
export function parseName(text: string): string {
  const { name, path } = parseColumn(text);
  if (path.length > 0) throw new NothingDone(`"${text}" is a path into a column. Give the name of the column.`);
  return name;
}

export function renderColumn({ name, path }: Column): string {
  const steps = path.map(({ arrow, key }) => `${arrow}${typeof key === "number" ? key : quoted(key)}`);
  return `${quoted(name)}${steps.join("")}`;
}

/** Quotes a name for PostgREST. Parsed names contain no quotes or backslashes. */
export function quoted(name: string): string {
  return `"${name}"`;
}

type Token = { readonly kind: "name" | "arrow" | "number" | "sign"; readonly text: string };

const TOKEN =
  /\s*(?:(?<name>[A-Za-z_][A-Za-z0-9_$]*)|"(?<quoted>[^"\\\p{Cc}]+)"|(?<arrow>->>?)|(?<number>-?\d{1,9}(?![\w$]))|(?<sign>::|[,:*]))\s*/uy;
const LONGEST_NAME = 63;

function tokensOf(text: string): readonly Token[] {
  const tokens: Token[] = [];
  const pattern = new RegExp(TOKEN);
  while (pattern.lastIndex < text.length) {
    const at = pattern.lastIndex;
    const groups = pattern.exec(text)?.groups;
    if (!groups) throw unreadable(text, at);
    const name = groups["name"] ?? groups["quoted"];
    if (name !== undefined && (name.length > LONGEST_NAME || name === "*")) throw unreadable(text, at);
    if (name !== undefined) tokens.push({ kind: "name", text: name });
    else if (groups["arrow"]) tokens.push({ kind: "arrow", text: groups["arrow"] });
    else if (groups["number"]) tokens.push({ kind: "number", text: groups["number"] });
    else tokens.push({ kind: "sign", text: groups["sign"] ?? "" });
  }
  return tokens;
}

function splitAtCommas(tokens: readonly Token[]): readonly (readonly Token[])[] {
  const items: Token[][] = [[]];
  for (const token of tokens) {
    if (isSign(token, ",")) items.push([]);
    else items.at(-1)?.push(token);
  }
  return items;
}

function itemOf(tokens: readonly Token[], text: string): Selected {
  if (tokens.length === 1 && isSign(tokens[0], "*")) return { all: true };
  const [first] = tokens;
  const isAliased = first?.kind === "name" && isSign(tokens[1], ":");
  const rest = isAliased ? tokens.slice(2) : tokens;
  const isCast = isSign(rest.at(-2), "::");
  const cast = rest.at(-1)?.text ?? "";
  if (isCast && !CASTS.includes(cast))
    throw new NothingDone(`"${cast}" is not a supported cast. Use ${CASTS.join(", ")}.`);
  return {
    all: false,
    column: columnOf(isCast ? rest.slice(0, -2) : rest, text),
    ...(isAliased ? { alias: first.text } : {}),
    ...(isCast ? { cast } : {}),
  };
}

function columnOf([first, ...rest]: readonly Token[], text: string): Column {
  if (first?.kind !== "name") throw unreadable(text);
  const path: Step[] = [];
  for (let index = 0; index < rest.length; index += 2) {
    const [arrow, key] = [rest[index], rest[index + 1]];
    if (arrow?.kind !== "arrow" || !key || (key.kind !== "name" && key.kind !== "number")) throw unreadable(text);
    path.push({ arrow: arrow.text === "->" ? "->" : "->>", key: key.kind === "number" ? Number(key.text) : key.text });
  }
  return { name: first.text, path };
}

function isSign(token: Token | undefined, text: string): boolean {
  return token?.kind === "sign" && token.text === text;
}

function unreadable(text: string, at?: number): Error {
  const place = at === undefined ? "" : ` at "${text.slice(at, at + 20)}"`;
  const embed = /[(!]|\.\.\./.test(text)
    ? " Other tables cannot be read through this one. Query them separately, by the key that refers to them."
    : "";
  return new Error(
    `"${text.slice(0, 200)}" does not name columns${place}: write name, alias:name, name->key->>key or name::text, ` +
      `separated by commas; put a name with characters other than letters, digits, _ and $ in double quotes.${embed}`,
  );
}

/** Cells by column name: string, number, boolean or null, and lists and objects for array and json columns. */
export const row = z.record(z.string().min(1).max(100), z.unknown());

export const args = row.optional().describe("By name.");

/** Returns the row to write. Its keys must be plain column names. */
export function rowOf(given: z.infer<typeof row>): JsonObject {
  const cells = Object.entries(given).map(([name, value]) => [parseName(name), value as Json] as const);
  const names = cells.map(([name]) => name);
  const twice = names.find((name, index) => names.indexOf(name) !== index);
  if (twice !== undefined) throw new NothingDone(`"${twice}" is given twice.`);
  if (cells.length > MOST_CELLS) throw new NothingDone(`A row may have at most ${MOST_CELLS} cells.`);
  return Object.fromEntries(cells);
}

const MOST_CELLS = 60;
const LARGEST_BODY = 200_000;

/** Throws if a body is too large for one request. */
export function bounded<Body extends Json>(body: Body): Body {
  if (jsonSize(body) <= LARGEST_BODY) return body;
  throw new NothingDone(`This is more than ${LARGEST_BODY} bytes. Write less at a time. Nothing was changed.`);
}
