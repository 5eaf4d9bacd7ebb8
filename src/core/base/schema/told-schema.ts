import { isObject, type Json, type JsonSchema } from "../values.ts";

/** Keywords that models do not need: the input is checked against them before every call. */
const CHECKED_ANYWAY: ReadonlySet<string> = new Set([
  "$schema",
  "minLength",
  "maxLength",
  "pattern",
  "minItems",
  "maxItems",
  "uniqueItems",
  "minProperties",
  "maxProperties",
]);
/** Keywords whose value is a schema or a list of schemas. */
const INNER = ["items", "not", "additionalProperties", "anyOf", "oneOf", "allOf", "prefixItems"];
const NAMED = ["properties", "patternProperties", "$defs", "definitions"];

/**
 * Shortens a tool's input schema for the model: removes parameters with fixed values, and bounds that every call is
 * checked against.
 */
export function schemaAsTold(schema: JsonSchema, settled: readonly string[] = []): JsonSchema {
  const told = withoutBounds(schema);
  if (settled.length === 0 || !isObject(told.properties)) return told;
  const kept = Object.entries(told.properties).filter(([name]) => !settled.includes(name));
  return { ...told, properties: Object.fromEntries(kept) };
}

function withoutBounds(schema: JsonSchema): JsonSchema {
  const known = told.get(schema);
  if (known) return known;
  const short = shortened(schema) as JsonSchema;
  told.set(schema, short);
  return short;
}

const told = new WeakMap<object, JsonSchema>();

function shortened(schema: Json): Json {
  if (Array.isArray(schema)) return schema.map(shortened);
  if (!isObject(schema)) return schema;
  const kept = Object.entries(schema).filter(
    ([key, value]) => !CHECKED_ANYWAY.has(key) && !isPlain(key, value as Json),
  );
  return Object.fromEntries(kept.map(([key, value]) => [key, inner(key, value as Json)]));
}

/** Detects limits that models keep anyway: no unknown keys, a minimum of 0 or 1, a very high maximum. */
function isPlain(key: string, value: Json): boolean {
  if (key === "additionalProperties") return value === false;
  if (key === "minimum") return value === 0 || value === 1;
  return key === "maximum" && typeof value === "number" && value >= 10_000;
}

function inner(key: string, value: Json): Json {
  if (INNER.includes(key)) return shortened(value);
  if (!NAMED.includes(key) || !isObject(value)) return value;
  return Object.fromEntries(Object.entries(value).map(([name, schema]) => [name, shortened(schema as Json)]));
}
