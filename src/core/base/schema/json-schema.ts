import { type Diagnostic, errorAt } from "../diagnostic.ts";
import { didYouMean, isObject } from "../values.ts";

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
  const at = (key: string) => [...path, key];
  const has = (keys: readonly string[]) => keys.filter((key) => Object.hasOwn(schema, key));
  return [
    ...has(["type"]).flatMap(() => checkType(schema.type, at("type"))),
    ...has(["required"]).flatMap(() => checkRequired(schema.required, at("required"))),
    ...has(["enum"]).flatMap(() =>
      isFilledList(schema.enum) ? [] : [finding(at("enum"), "must be a non-empty list")],
    ),
    ...has(["pattern"]).flatMap(() => checkPattern(schema.pattern, at("pattern"))),
    ...has(COUNTS).flatMap((key) =>
      isCount(schema[key]) ? [] : [finding(at(key), "must be a whole number, at least 0")],
    ),
    ...has(NUMBERS).flatMap((key) => (typeof schema[key] === "number" ? [] : [finding(at(key), "must be a number")])),
    ...has(SCHEMAS).flatMap((key) => checkOneOrList(schema[key], at(key))),
    ...has(SCHEMA_LISTS).flatMap((key) => checkList(schema[key], at(key))),
    ...has(SCHEMA_MAPS).flatMap((key) => checkMap(schema[key], at(key))),
  ];
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
  const sound = Array.isArray(required) && required.every((name) => typeof name === "string");
  if (!sound) return [finding(path, "must be a list of property names")];
  return new Set(required).size === required.length ? [] : [finding(path, "must not name a property twice")];
}

function isFilledList(value: unknown): boolean {
  return Array.isArray(value) && value.length > 0;
}

function isCount(value: unknown): boolean {
  return Number.isInteger(value) && (value as number) >= 0;
}

function checkPattern(pattern: unknown, path: Path): Diagnostic[] {
  if (typeof pattern !== "string") return [finding(path, "must be a regular expression")];
  try {
    new RegExp(pattern, "u");
    return [];
  } catch (error) {
    return [finding(path, `is not a regular expression: ${(error as SyntaxError).message}`)];
  }
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
