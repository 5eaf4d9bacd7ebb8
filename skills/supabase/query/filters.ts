import { NothingDone } from "skillflow";
import * as z from "zod";
import { parseColumn, renderColumn } from "./columns.ts";

const OPERATORS = [
  "eq",
  "neq",
  "gt",
  "gte",
  "lt",
  "lte",
  "like",
  "ilike",
  "in",
  "not_in",
  "is",
  "is_not",
  "contains",
  "search",
] as const;

const value = z.union([
  z.string().max(500),
  z.number(),
  z.boolean(),
  z.null(),
  z
    .array(z.union([z.string().max(500), z.number()]))
    .min(1)
    .max(100),
]);

// The id makes schemas define it only once.
const condition = z
  .strictObject({ column: z.string().min(1).max(300), op: z.enum(OPERATORS), value })
  .meta({ id: "condition" });

export type Condition = z.infer<typeof condition>;

export const where = z.array(condition).min(1).max(10).describe("All must hold.");

export const anyOf = z.array(condition).min(2).max(10).optional().describe("At least one must hold.");

const LONGEST_FILTER = 7_000;

/**
 * Renders one logical expression. Column names are quoted inside it instead of being parameter names. Otherwise
 * PostgREST would take `order`, `columns` or `limit` for its own, and a delete would lose that condition.
 */
export function renderFilter(all: readonly Condition[], any: readonly Condition[] = []): string | undefined {
  const parts = all.map(renderCondition);
  if (any.length > 0) parts.push(`or(${any.map(renderCondition).join(",")})`);
  if (parts.length === 0) return undefined;
  const filter = `and(${parts.join(",")})`;
  if (new URLSearchParams({ or: filter }).toString().length > LONGEST_FILTER) {
    throw new NothingDone("The conditions are too long for one request. Give fewer or shorter values at a time.");
  }
  return filter;
}

export function columnsIn(conditions: readonly Condition[]): readonly string[] {
  return conditions.map(({ column }) => parseColumn(column).name);
}

/**
 * Throws unless at least one condition is an equality. Comparisons, patterns and null checks can match every row, and
 * so can a list with both true and false.
 */
export function requireSelective(conditions: readonly Condition[]): void {
  if (conditions.some(isSelective)) return;
  throw new NothingDone(
    "Select the rows: at least one condition must be eq with a value, or in with a list of values that is not just " +
      "both true and false. Conditions such as gte, like or is_not may only narrow further. Nothing was changed.",
  );
}

const TRUE = /^\s*(t(r(ue?)?)?|y(es?)?|on|1)\s*$/i;
const FALSE = /^\s*(f(a(l(se?)?)?)?|no?|off?|0)\s*$/i;

function isSelective({ op, value }: Condition): boolean {
  if (op === "eq") return isScalar(value);
  if (op !== "in" || !Array.isArray(value)) return false;
  const texts = value.map(String);
  return !(texts.some((text) => TRUE.test(text)) && texts.some((text) => FALSE.test(text)));
}

function renderCondition({ column, op, value }: Condition): string {
  return `${renderColumn(parseColumn(column))}.${comparison(op, value)}`;
}

function comparison(op: Condition["op"], value: Condition["value"]): string {
  switch (op) {
    case "in":
    case "not_in": {
      if (!Array.isArray(value)) throw new NothingDone(`${op} needs a list of values.`);
      return `${op === "in" ? "in" : "not.in"}.(${value.map(quotedValue).join(",")})`;
    }
    case "is":
    case "is_not": {
      if (value !== null && typeof value !== "boolean") throw new NothingDone(`${op} needs null, true or false.`);
      return `${op === "is" ? "is" : "not.is"}.${value}`;
    }
    case "contains":
      if (Array.isArray(value)) return `cs.${quotedValue(`{${value.map(quotedValue).join(",")}}`)}`;
      return `cs.${quotedValue(scalar(op, value))}`;
    case "search":
      return `wfts.${quotedValue(scalar(op, value))}`;
    default:
      return `${op}.${quotedValue(scalar(op, value))}`;
  }
}

type Scalar = string | number | boolean;

function isScalar(value: Condition["value"]): value is Scalar {
  return value !== null && !Array.isArray(value);
}

function scalar(op: string, value: Condition["value"]): Scalar {
  if (isScalar(value)) return value;
  const hint = value === null ? 'for null use "is" or "is_not"' : 'for a list use "in" or "not_in"';
  throw new NothingDone(`${op} needs one value: ${hint}.`);
}

/** Escapes the only two characters with a meaning inside PostgREST's quotes. */
function quotedValue(value: Scalar): string {
  return `"${String(value).replace(/["\\]/g, "\\$&")}"`;
}
