import { isObject, type Json, type JsonSchema } from "../values.ts";

/** Bounds that inputs are checked against before a call, and that models gain nothing from reading. */
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
/** Keywords that hold a schema, a list of schemas, or schemas by name. */
const INNER: ReadonlySet<string> = new Set([
  "items",
  "not",
  "additionalProperties",
  "anyOf",
  "oneOf",
  "allOf",
  "prefixItems",
]);
const NAMED: ReadonlySet<string> = new Set(["properties", "patternProperties", "$defs", "definitions"]);

/**
 * A tool's input schema as a model is told it: what it means, without the parameters that are settled and the bounds that
 * are checked anyway.
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

/** What a model would not go beyond anyway: fields nobody named, counts below zero or one, numbers beyond reach. */
function isPlain(key: string, value: Json): boolean {
  if (key === "additionalProperties") return value === false;
  if (key === "minimum") return value === 0 || value === 1;
  return key === "maximum" && typeof value === "number" && value >= 10_000;
}

function inner(key: string, value: Json): Json {
  if (INNER.has(key)) return shortened(value);
  if (!NAMED.has(key) || !isObject(value)) return value;
  return Object.fromEntries(Object.entries(value).map(([name, schema]) => [name, shortened(schema as Json)]));
}
