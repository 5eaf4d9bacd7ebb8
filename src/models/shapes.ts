import { isObject, type Json } from "../core/base/values.ts";

/** Returns a prompt text that asks for an output schema, for APIs that cannot enforce it. */
export function shapeText(schema: Json): string {
  return `Give your final answer as one JSON value that fits this JSON Schema, without any other text:\n\n${JSON.stringify(schema)}`;
}

/** Checks whether OpenAI's strict mode accepts a schema: all objects closed and all properties required. */
export function isStrictShape(schema: unknown): boolean {
  return isObject(schema) && schema["type"] === "object" && !("anyOf" in schema) && isStrict(schema);
}

const STRICT_KEYS = new Set(
  (
    "type properties required additionalProperties items anyOf enum const $ref $defs title description pattern format " +
    "multipleOf minimum maximum exclusiveMinimum exclusiveMaximum minItems maxItems"
  ).split(" "),
);

function isStrict(schema: unknown): boolean {
  if (!isObject(schema) || !Object.keys(schema).every((key) => STRICT_KEYS.has(key))) return false;
  const { type, properties, required, additionalProperties, items, anyOf, $defs } = schema;
  const names = isObject(properties) ? Object.keys(properties) : [];
  const isMap = [type].flat().includes("object") || properties !== undefined;
  if (isMap && (additionalProperties !== false || !names.every((name) => [required].flat().includes(name))))
    return false;
  const maps = [properties, $defs].filter(isObject).flatMap(Object.values);
  return [...maps, ...[items, anyOf].flat().filter((inner) => inner !== undefined)].every(isStrict);
}
