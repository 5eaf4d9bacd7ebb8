import { isObject } from "skillflow/internal";
import { shortened } from "./text.ts";
import { isTimeName } from "./timestamp.ts";

type LineFormat = "json" | "logfmt" | "access" | "text";

export type Fields = Readonly<Record<string, unknown>>;

export interface LineRecord {
  readonly format: LineFormat;
  readonly fields: Fields;
}

/**
 * Parses the fields of a line: a JSON object, possibly after a prefix such as syslog's, a line of an access log in the
 * common or combined format, or else `key=value` pairs. A line that begins with two pairs is logfmt.
 */
export function parseRecord(text: string): LineRecord {
  if (text !== last?.text) last = { text, record: parseJsonLine(text) ?? parseAccess(text) ?? parsePairs(text) };
  return last.record;
}

/** The last line, because several parts of a survey look at a line in turn. */
let last: { readonly text: string; readonly record: LineRecord } | undefined;

/** Fields of a line in the common or combined format. The line does not contain their names. */
export const ACCESS_FIELDS = ["remote", "method", "path", "status", "bytes", "referer", "agent"];
const ACCESS =
  /^(\S{1,200}) \S{1,200} \S{1,200} \[[^\]]{1,40}\] "([A-Z]{1,20}) ([^\s"]{1,4096})(?: [^"]{0,20})?" (\d{3}) (\d{1,20}|-)(?: "([^"]*)" "([^"]*)")?/;

function parseAccess(text: string): LineRecord | undefined {
  const values = ACCESS.exec(text)?.slice(1);
  if (!values) return undefined;
  const given = ACCESS_FIELDS.flatMap((name, index) => (values[index] === undefined ? [] : [[name, values[index]]]));
  return { format: "access", fields: Object.fromEntries(given) };
}

/** Returns the method and the route of a request, with ids masked and without the query. */
export function routeOf(fields: Fields): string | undefined {
  const route = firstOf(fields, ROUTES);
  const method = firstOf(fields, METHODS);
  if (typeof route !== "string" || !route.includes("/")) return undefined;
  const path = route
    .slice(0, 200)
    .replace(/[?#].*/s, "")
    .replace(VARIABLE, "/:id");
  return typeof method === "string" && !path.includes(" ") ? `${method} ${path}` : path;
}

/** Returns the first value that is not empty. */
function firstOf(fields: Fields, names: readonly string[]): unknown {
  for (const name of names) {
    const value = fieldOf(fields, name);
    if (value) return value;
  }
  return undefined;
}

const ROUTES = ["route", "http.route", "path", "url.path", "uri", "url"];
/** Segment of a path that differs from request to request, unlike a version. */
const VARIABLE = /\/(?:[:{][^/\s]*|(?!v\d{1,2}(?:\/|$))[^/\s]*\d[^/\s]*)/g;
const METHODS = ["method", "http.method", "http.request.method"];

/** Returns a field's values, by literal key or else by dotted path. A path applies to each element of an array. */
export function fieldValues(fields: Fields, path: string): readonly string[] {
  return scalars(fieldOf(fields, path));
}

/** Returns a field's raw value, or undefined if it is missing. */
export function fieldOf(fields: Fields, path: string): unknown {
  if (Object.hasOwn(fields, path)) return fields[path];
  for (const { front, rest } of splitsOf(path)) {
    const found = Object.hasOwn(fields, front) ? follow(fields[front], rest) : undefined;
    if (found !== undefined) return found;
  }
  return undefined;
}

interface Cut {
  readonly front: string;
  readonly rest: readonly string[];
}

const cuts = new Map<string, readonly Cut[]>();
const MOST_CUTS = 2000;

/** Returns each division of a dotted path into a key and the path behind it, the longest key first. */
function splitsOf(path: string): readonly Cut[] {
  const known = cuts.get(path);
  if (known) return known;
  const parts = path.split(".");
  const all = parts.slice(1).map((_, index) => {
    const length = parts.length - 1 - index;
    return { front: parts.slice(0, length).join("."), rest: parts.slice(length) };
  });
  if (cuts.size < MOST_CUTS) cuts.set(path, all);
  return all;
}

/** Returns a record's field names, dotted, down to two levels. */
export function fieldNames(fields: Fields): readonly string[] {
  return Object.entries(fields).flatMap(([key, value]) => {
    const inner = isObject(value) ? value : nested(value);
    return isObject(inner) ? Object.keys(inner).map((name) => `${key}.${name}`) : [key];
  });
}

/**
 * Masks the variable parts of a line, so that similar lines look the same. Keeps status codes and error names.
 * Structured lines start with level, error, status and message.
 */
export function shapeOf(text: string): string {
  const { format, fields }: LineRecord = STRUCTURED.test(text) ? parseRecord(text) : { format: "text", fields: {} };
  if (format === "text") {
    const seen = text.slice(0, LINE_SEEN).replace(USER_AGENT, "$1").replace(REQUEST_ID_IN_TEXT, "$1$2<id>");
    return withErrors(masked(seen));
  }
  const leaves = leavesOf(fields);
  let shape = "";
  for (let place = 0; place <= RANKS.length; place++) {
    for (const { name, value } of leaves) {
      const { rank, isStatus, isId } = natureOf(name);
      if (rank !== place) continue;
      shape += `${shape === "" ? "" : " "}${name}=${isId ? "<id>" : maskedValue(value, isStatus)}`;
    }
  }
  return withErrors(shape);
}

const STRUCTURED = /^\s*(?:\{|[A-Za-z_@][\w.@/-]*=)|\}\s*$/;
const LINE_SEEN = 4096;
const SHAPE_SHOWN = 300;
const MOST_LEAVES = 60;
const VALUE_SHOWN = 160;

interface Leaf {
  readonly name: string;
  readonly value: unknown;
}

/** Returns the fields that are neither objects nor arrays, at most three levels deep. */
function leavesOf(fields: Fields, prefix = "", depth = 3, leaves: Leaf[] = []): readonly Leaf[] {
  for (const key of Object.keys(fields)) {
    if (leaves.length === MOST_LEAVES) break;
    const value = fields[key];
    const inner = typeof value === "string" ? nested(value) : value;
    if (isObject(inner)) {
      if (depth > 1) leavesOf(inner, `${prefix}${key}.`, depth - 1, leaves);
    } else if (value !== null && !Array.isArray(value)) leaves.push({ name: `${prefix}${key}`, value });
  }
  return leaves;
}

interface Nature {
  /** Position of a field in a shape, or undefined if the field is left out. */
  readonly rank: number | undefined;
  readonly isStatus: boolean;
  /** True for an id that differs from request to request, however it is written. */
  readonly isId: boolean;
}

const natures = new Map<string, Nature>();
const MOST_NATURES = 2000;

function natureOf(name: string): Nature {
  const known = natures.get(name);
  if (known) return known;
  const rank = RANKS.findIndex((pattern) => pattern.test(name));
  const isLeftOut = isTimeName(name) || /stack_?(?:trace)?$/i.test(name);
  const place = rank < 0 ? RANKS.length : rank;
  const isStatus = STATUS_NAME.test(name);
  const nature = { rank: isLeftOut ? undefined : place, isStatus, isId: REQUEST_ID.test(name) };
  if (natures.size < MOST_NATURES) natures.set(name, nature);
  return nature;
}

const RANKS: readonly RegExp[] = [
  /(?:^|[._])(?:level|lvl|severity|severity_?text)$/i,
  /(?:^|[._])(?:err|error|exception)[._]?(?:name|type|class|kind|code)?$/i,
  /status|(?:^|[._])code$/i,
  /(?:^|[._])(?:msg|message|event|body|line|log)$/i,
  /(?:err|error|exception)[._]message$|(?:^|[._])(?:reason|cause)$/i,
  /(?:^|[._])(?:route|path|url|uri|endpoint|operation|method)$/i,
];

const OF_REQUEST = "(?:request|req|trace|span|correlation|session|transaction|conn|connection)[._-]?(?:id|uuid)";
const REQUEST_ID = new RegExp(`(?:^|[._-])${OF_REQUEST}$`, "i");
const REQUEST_ID_IN_TEXT = new RegExp(`(?<![a-z])(${OF_REQUEST})(["']?[=:] ?["']?)[\\w-]{4,}`, "gi");
/** The client's name at the end of a line of an access log. */
const USER_AGENT = /(" \d{3} (?:\d+|-) "[^"]*") "[^"]*"/;

function maskedValue(value: unknown, isStatus: boolean): string {
  if (typeof value === "number") return isStatus ? String(value) : "<n>";
  const text = String(value);
  if (isStatus && /^\d{1,5}$/.test(text)) return text;
  return shortened(masked(text.slice(0, LINE_SEEN)), VALUE_SHOWN);
}

const STATUS_NAME = /status|(?:^|[._-])code$/i;

function masked(text: string): string {
  if (!/\d/.test(text)) return text;
  // A comma before one or two digits is a decimal point.
  if (/^[\d.,:-]+$/.test(text)) return /^[\d.]+,\d\d?$/.test(text) ? "<n>,<n>" : "<n>";
  return (SQL.test(text) ? text.replace(/(?:'[^']{0,200}')+/g, "<text>") : text)
    .replace(/\b[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}\b/gi, "<uuid>")
    .replace(/\b(?=[a-f]*\d)[0-9a-f]{8,}\b/gi, "<hex>")
    .replace(/\d+(?:[.,:T/-]\d+)*Z?/g, (number, at: number, whole: string) => {
      const isStatus = number.length <= 5 && STATUS_BEFORE.test(whole.slice(Math.max(0, at - 24), at));
      return isStatus && /^\d+(?![\w.])/.test(whole.slice(at, at + 6)) ? number : "<n>";
    });
}

const SQL = /\b(?:SELECT|INSERT INTO|UPDATE|DELETE FROM|WHERE)\b/;

/** Words before a number that is a status or error code and must not be masked. */
const STATUS_BEFORE =
  /(?:status|code|errno|HTTP(?:\/[\d.]{1,3})?"?|exit(?:ed)?|returned|responded|answered)(?: with)?(?: code| status)?["']?[:= ] ?["']?$/i;

/** Shortens a shape for display and appends error names that would be lost. */
function withErrors(shape: string): string {
  if (shape.length <= SHAPE_SHOWN) return shape;
  const shown = shape.slice(0, SHAPE_SHOWN);
  const names = new Set(shape.slice(SHAPE_SHOWN).match(/\b[A-Z]\w*(?:Error|Exception|Failure|Timeout|Fault)\b/g) ?? []);
  const missing = [...names].filter((name) => !shown.includes(name)).slice(0, 3);
  return missing.length > 0 ? `${shown}… ${missing.join(" ")}` : `${shown}…`;
}

const PAIRS_KEPT = 8192;
const PAIR = /(?<![\w.@/-])([A-Za-z_@][\w.@/-]*)=(?:"((?:[^"\\]|\\.)*)"|([^\s"]*))/g;

/** Prefix that may precede the JSON in a line. */
const PREFIX = /^[^{]{0,256}[\s:|]\{"/;

function parseJsonLine(text: string): LineRecord | undefined {
  const isWhole = /^\s*\{/.test(text);
  const behind = isWhole || !text.trimEnd().endsWith("}") ? null : PREFIX.exec(text);
  if (!isWhole && !behind) return undefined;
  const value = parseJson(behind ? text.slice(behind[0].length - 2) : text);
  return isObject(value) ? { format: "json", fields: value } : undefined;
}

function parsePairs(text: string): LineRecord {
  const fields: Record<string, string> = Object.create(null);
  let head = 0;
  let count = 0;
  if (!text.includes("=")) return { format: "text", fields };
  const seen = text.slice(0, PAIRS_KEPT);
  PAIR.lastIndex = 0;
  for (let match = PAIR.exec(seen); match; match = PAIR.exec(seen)) {
    const [whole, key = "", quoted, bare] = match;
    fields[key] = quoted === undefined ? (bare ?? "") : quoted.replace(/\\(.)/g, "$1");
    if (match.index <= head + 1) head = match.index + whole.length;
    count++;
  }
  return { format: count >= 2 && head > 0 ? "logfmt" : "text", fields };
}

/** Follows a path. Keys may contain dots themselves, so the longest matching key wins. */
function follow(value: unknown, path: readonly string[]): unknown {
  const [key] = path;
  if (key === undefined) return value;
  if (Array.isArray(value) && !/^\d+$/.test(key)) {
    const found = value.map((item) => follow(item, path)).filter((item) => item !== undefined);
    return found.length > 0 ? found : undefined;
  }
  const inner = typeof value === "string" ? nested(value) : value;
  if (typeof inner !== "object" || inner === null) return undefined;
  for (let length = path.length; length > 0; length--) {
    const name = path.slice(0, length).join(".");
    if (!Object.hasOwn(inner, name)) continue;
    const found = follow((inner as Fields)[name], path.slice(length));
    if (found !== undefined) return found;
  }
  return undefined;
}

/** Returns the JSON object inside a string, as in container logs. */
function nested(value: unknown): unknown {
  return typeof value === "string" && /^\s*\{"/.test(value) ? parseJson(value) : undefined;
}

/** Parses JSON. Returns undefined if it is invalid or too deep to be serialized again. */
export function parseJson(text: string): unknown {
  if (text.length >= 2 * MOST_DEPTH && isTooDeep(text)) return undefined;
  try {
    return JSON.parse(text);
  } catch (error) {
    if (error instanceof SyntaxError) return undefined;
    throw error;
  }
}

const MOST_DEPTH = 1000;

function isTooDeep(text: string): boolean {
  let depth = 0;
  let inString = false;
  for (let at = 0; at < text.length; at++) {
    const code = text.charCodeAt(at);
    if (inString) {
      if (code === 92) at++;
      else if (code === 34) inString = false;
    } else if (code === 34) inString = true;
    else if (code === 123 || code === 91) {
      if (++depth > MOST_DEPTH) return true;
    } else if (code === 125 || code === 93) depth--;
  }
  return false;
}

function scalars(value: unknown): readonly string[] {
  if (Array.isArray(value)) return value.flatMap(scalars);
  if (value === undefined) return [];
  return [typeof value === "object" && value !== null ? JSON.stringify(value) : String(value)];
}
