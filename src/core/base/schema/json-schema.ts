import { type Diagnostic, errorAt } from "../diagnostic.ts";
import { didYouMean, isObject, isTexts } from "../values.ts";
import { faultOfPattern } from "./time-bound.ts";

const TYPES = ["string", "number", "integer", "boolean", "object", "array", "null"];
const SCHEMA_MAPS = ["properties", "patternProperties", "$defs", "definitions", "dependentSchemas"];
const SCHEMA_LISTS = ["allOf", "anyOf", "oneOf", "prefixItems"];
const SCHEMAS = ["additionalProperties", "items", "contains", "not", "if", "then", "else", "propertyNames"];
const COUNTS = ["minLength", "maxLength", "minItems", "maxItems", "minProperties", "maxProperties"];
const NUMBERS = ["minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf"];

type Path = Diagnostic["path"];

/** Finds common mistakes in an author's JSON Schema, each with its path. Compiling the schema finds the rest. */
export function checkJsonSchema(schema: unknown, path: Path): Diagnostic[] {
  if (typeof schema === "boolean") return [];
  if (!isObject(schema)) return [finding(path, "must be a JSON Schema")];
  const each = (keys: readonly string[], check: (value: unknown, path: Path) => Diagnostic[]) =>
    keys.filter((key) => Object.hasOwn(schema, key)).flatMap((key) => check(schema[key], [...path, key]));
  return [
    ...each(["type"], checkType),
    ...each(["required"], checkRequired),
    ...each(["enum"], checkThat(isFilledList, "must be a non-empty list")),
    ...each(["pattern"], checkPattern),
    ...each(COUNTS, checkThat(isCount, "must be a whole number, at least 0")),
    ...each(NUMBERS, checkThat(isNumber, "must be a number")),
    ...each(SCHEMAS, checkOneOrList),
    ...each(SCHEMA_LISTS, checkList),
    ...each(SCHEMA_MAPS, checkMap),
  ];
}

function checkThat(fits: (value: unknown) => boolean, wanted: string) {
  return (value: unknown, path: Path) => (fits(value) ? [] : [finding(path, wanted)]);
}

function finding(path: Path, message: string, hint?: string): Diagnostic {
  return errorAt("INVALID_OUTPUT_SCHEMA", path, `${path.join(".")} ${message}`, hint);
}

function checkType(type: unknown, path: Path): Diagnostic[] {
  const types: readonly unknown[] = Array.isArray(type) ? type : [type];
  return types.flatMap((name) => {
    if (typeof name === "string" && TYPES.includes(name)) return [];
    const hint = typeof name === "string" ? didYouMean(name, TYPES, '"') : undefined;
    return [finding(path, `must be one of ${TYPES.join(", ")}`, hint)];
  });
}

function checkRequired(required: unknown, path: Path): Diagnostic[] {
  if (!isTexts(required)) return [finding(path, "must be a list of property names")];
  return new Set(required).size === required.length ? [] : [finding(path, "must not name a property twice")];
}

function isFilledList(value: unknown): boolean {
  return Array.isArray(value) && value.length > 0;
}

function isNumber(value: unknown): value is number {
  return typeof value === "number";
}

function isCount(value: unknown): boolean {
  return isNumber(value) && Number.isInteger(value) && value >= 0;
}

function checkPattern(pattern: unknown, path: Path): Diagnostic[] {
  if (typeof pattern !== "string") return [finding(path, "must be a regular expression")];
  const fault = faultOfPattern(pattern, "u");
  return fault === undefined ? [] : [finding(path, `is not a regular expression: ${fault}`)];
}

/** Accepts a list under `items` too: in draft-07 it holds one schema per position. */
function checkOneOrList(schema: unknown, path: Path): Diagnostic[] {
  return Array.isArray(schema) && path.at(-1) === "items" ? checkList(schema, path) : checkJsonSchema(schema, path);
}

function checkList(list: unknown, path: Path): Diagnostic[] {
  if (!isFilledList(list)) return [finding(path, "must be a list of schemas")];
  return (list as unknown[]).flatMap((schema, index) => checkJsonSchema(schema, [...path, index]));
}

function checkMap(map: unknown, path: Path): Diagnostic[] {
  if (!isObject(map)) return [finding(path, "must be a map of schemas")];
  return Object.entries(map).flatMap(([name, schema]) => checkJsonSchema(schema, [...path, name]));
}
