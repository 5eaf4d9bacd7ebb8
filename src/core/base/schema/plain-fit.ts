import { deepEqual, isObject } from "../values.ts";

/**
 * Reports whether a value surely fits a schema of plain keywords, without compiling it, which costs far more than one
 * check. False says nothing: other keywords, and values that do not fit, are left to the compiled schema.
 */
export function plainlyFits(schema: unknown, value: unknown): boolean {
  if (!isObject(schema)) return false;
  return Object.entries(schema).every(([keyword, rule]) => {
    const fits = Object.hasOwn(FITS, keyword) ? FITS[keyword] : undefined;
    return fits?.(rule, value, schema) ?? false;
  });
}

type Fits = (rule: unknown, value: unknown, schema: Readonly<Record<string, unknown>>) => boolean;

const annotation: Fits = () => true;

/** Applies a limit to values of one kind. Others fit. */
const limit =
  <Kind>(is: (value: unknown) => value is Kind, holds: (value: Kind, most: number) => boolean): Fits =>
  (rule, value) =>
    typeof rule === "number" && (!is(value) || holds(value, rule));

const isNumber = (value: unknown): value is number => typeof value === "number";
const isText = (value: unknown): value is string => typeof value === "string";
const isList = (value: unknown): value is readonly unknown[] => Array.isArray(value);

const TYPES: Readonly<Record<string, (value: unknown) => boolean>> = {
  string: isText,
  number: Number.isFinite,
  integer: Number.isInteger,
  boolean: (value) => typeof value === "boolean",
  null: (value) => value === null,
  array: isList,
  object: isObject,
};

const FITS: Readonly<Record<string, Fits>> = {
  title: annotation,
  description: annotation,
  default: annotation,
  examples: annotation,
  type: (rule, value) =>
    (isList(rule) ? rule : [rule]).some((name) => isText(name) && Object.hasOwn(TYPES, name) && TYPES[name]?.(value)),
  enum: (rule, value) => isList(rule) && rule.some((each) => deepEqual(each, value)),
  const: (rule, value) => deepEqual(rule, value),
  minimum: limit(isNumber, (value, least) => value >= least),
  maximum: limit(isNumber, (value, most) => value <= most),
  // In characters, of which a string has at most as many as code units, and at least half.
  minLength: limit(isText, (value, least) => value.length >= 2 * least),
  maxLength: limit(isText, (value, most) => value.length <= most),
  minItems: limit(isList, (value, least) => value.length >= least),
  maxItems: limit(isList, (value, most) => value.length <= most),
  items: (rule, value) => !isList(value) || value.every((item) => plainlyFits(rule, item)),
  properties: (rule, value) =>
    isObject(rule) &&
    (!isObject(value) ||
      Object.entries(value).every(([key, inner]) => !Object.hasOwn(rule, key) || plainlyFits(rule[key], inner))),
  required: (rule, value) =>
    isList(rule) && (!isObject(value) || rule.every((key) => isText(key) && Object.hasOwn(value, key))),
  additionalProperties: (rule, value, { properties = {} }) =>
    rule === true ||
    (rule === false &&
      (!isObject(value) ||
        (isObject(properties) && Object.keys(value).every((key) => Object.hasOwn(properties, key))))),
};
