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

// Named, so that a schema tells it once, wherever it stands.
const condition = z
  .strictObject({
    column: z.string().min(1).max(300),
    op: z.enum(OPERATORS),
    value,
  })
  .meta({ id: "condition" });

export type Condition = z.infer<typeof condition>;

export const where = z.array(condition).min(1).max(10).describe("All must hold.");

export const anyOf = z.array(condition).min(2).max(10).optional().describe("At least one must hold.");

const LONGEST_FILTER = 7_000;

/**
 * One logical expression of PostgREST. Columns stand inside it in quotes and not as names of parameters: there, `order`,
 * `columns` or `limit` would be taken for PostgREST's own, and a delete with such a condition would have none.
 */
export function renderFilter(all: readonly Condition[], any: readonly Condition[] = []): string | undefined {
  const parts = all.map(renderCondition);
  if (any.length > 0) parts.push(`or(${any.map(renderCondition).join(",")})`);
  if (parts.length === 0) return undefined;
  const filter = `and(${parts.join(",")})`;
  if (new URLSearchParams({ or: filter }).toString().length > LONGEST_FILTER) {
    throw new NothingDone("The conditions are too long for one request: give fewer or shorter values at a time.");
  }
  return filter;
}

/** The columns that conditions look at, by name. */
export function columnsIn(conditions: readonly Condition[]): readonly string[] {
  return conditions.map(({ column }) => parseColumn(column).name);
}

/**
 * Refuses conditions that need not narrow anything: a comparison, a pattern or a null check can hold for every row. One
 * equality must be among them; a list with both truths is none, since it holds all of a boolean column.
 */
export function requireSelective(conditions: readonly Condition[]): void {
  if (conditions.some(isSelective)) return;
  throw new NothingDone(
    "Name the rows: at least one condition must be eq with a value, or in with a list of values that is not just " +
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
      if (!Array.isArray(value)) throw new NothingDone(`${op} wants a list of values.`);
      return `${op === "in" ? "in" : "not.in"}.(${value.map(quotedValue).join(",")})`;
    }
    case "is":
    case "is_not": {
      if (value !== null && typeof value !== "boolean") throw new NothingDone(`${op} wants null, true or false.`);
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
  throw new NothingDone(`${op} wants one value: ${hint}.`);
}

/** In quotes no character of PostgREST's grammar has a meaning but these two. */
function quotedValue(value: Scalar): string {
  return `"${String(value).replace(/["\\]/g, "\\$&")}"`;
}
