import { isObject } from "skillflow/internal";
import { fieldValues } from "./record.ts";
import { parseInstant } from "./timestamp.ts";

export type Scalar = string | number | boolean;
type OneOrMore = Scalar | readonly Scalar[];

/** Allowed values of a field, including comparisons, or values to exclude. */
export type Wanted = OneOrMore | { readonly not: OneOrMore };

/** Condition on one field from a `where`. */
export interface Condition {
  readonly field: string;
  readonly wanted: Wanted;
  /** Returns true if a line's fields meet the condition. */
  holds(fields: Readonly<Record<string, unknown>>): boolean;
  /** True if a line without the field cannot meet the condition. */
  readonly needsField: boolean;
  /** The only value that the field may have, if there is just one. */
  readonly exactly: string | undefined;
}

/** Compiles a `where`, possibly nested like the line. Throws an Error that explains how to write conditions. */
export function compileConditions(where: unknown): readonly Condition[] {
  return conditionsIn("", where ?? {});
}

function conditionsIn(prefix: string, where: object): readonly Condition[] {
  return Object.entries(where as Readonly<Record<string, unknown>>).flatMap(([key, wanted]) => {
    const isNested = isObject(wanted) && !isDenial(wanted);
    const field = `${prefix}${key}`;
    return isNested ? conditionsIn(`${field}.`, wanted) : [compileCondition(field, wanted as Wanted)];
  });
}

function compileCondition(field: string, wanted: Wanted): Condition {
  const denied = isDenial(wanted);
  const values = [denied ? wanted.not : wanted].flat();
  if (values.length === 0 || !values.every(isScalar)) {
    throw new Error(
      `where.${field} must be a value, a list of values or {not: …}; a value may be a comparison such as ">1000" or "500..599"`,
    );
  }
  const tests = values.map((value) => compileTest(String(value)));
  const meets = (fields: Readonly<Record<string, unknown>>) =>
    fieldValues(fields, field).some((value) => tests.some(({ test }) => test(value)));
  return {
    field,
    wanted,
    holds: denied ? (fields) => !meets(fields) : meets,
    needsField: !denied,
    exactly: denied || tests.length > 1 ? undefined : tests[0]?.exactly,
  };
}

/** Returns true if a text is a comparison instead of a literal value. */
export function isComparison(text: string): boolean {
  return compileTest(text).exactly === undefined;
}

interface Test {
  readonly test: (value: string) => boolean;
  readonly exactly?: string;
}

/** Compiles a value. An operator needs a number or a time after it, so `<none>` is a literal value. */
function compileTest(text: string): Test {
  const range = /^(.+?)\.\.(.+)$/s.exec(text);
  const low = orderOf(range?.[1]);
  const high = orderOf(range?.[2]);
  if (low && high) return { test: (value) => compare(value, low) >= 0 && compare(value, high) <= 0 };
  const [, operator = "", operand] = /^(>=|<=|>|<)(.+)$/.exec(text) ?? [];
  const bound = orderOf(operand);
  const test = OPERATORS[operator];
  if (bound && test) return { test: (value) => test(compare(value, bound)) };
  return { test: (value) => value === text, exactly: text };
}

const OPERATORS: Readonly<Record<string, (order: number) => boolean>> = {
  ">": (order) => order > 0,
  ">=": (order) => order >= 0,
  "<": (order) => order < 0,
  "<=": (order) => order <= 0,
};

interface Order {
  readonly amount: number;
  /** Unit of a number, such as `ms`. Times have none. */
  readonly unit: string;
  readonly isTime: boolean;
}

function orderOf(text: string | undefined): Order | undefined {
  if (text === undefined) return undefined;
  const number = /^\s*([+-]?(?:\d+(?:\.\d*)?|\.\d+)(?:e[+-]?\d+)?) ?([a-zµ%]{0,3})\s*$/i.exec(text);
  if (number) return { amount: Number(number[1]), unit: number[2] ?? "", isTime: false };
  const time = parseInstant(text.trim());
  return time === undefined ? undefined : { amount: time, unit: "", isTime: true };
}

/** Compares two values. Returns NaN if they cannot be compared. */
function compare(value: string, bound: Order): number {
  const own = orderOf(value);
  if (!own) return Number.NaN;
  if (own.isTime !== bound.isTime) {
    const time = bound.isTime ? parseInstant(value.trim()) : undefined;
    return time === undefined ? Number.NaN : time - bound.amount;
  }
  const isOtherUnit = own.unit !== bound.unit && own.unit !== "" && bound.unit !== "";
  return isOtherUnit ? Number.NaN : own.amount - bound.amount;
}

function isDenial(wanted: unknown): wanted is { readonly not: OneOrMore } {
  return typeof wanted === "object" && wanted !== null && "not" in wanted && Object.keys(wanted).length === 1;
}

function isScalar(value: unknown): value is Scalar {
  return ["string", "number", "boolean"].includes(typeof value);
}
