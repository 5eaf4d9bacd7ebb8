import type Anthropic from "@anthropic-ai/sdk";
import { isObject, type JsonSchema } from "../core/base/values.ts";
import { type Fields, fieldsOf, listOf } from "./wire.ts";

/** JSON Schemas that Anthropic's API can enforce, and their conversion. */

export async function formatOf(output: JsonSchema): Promise<Anthropic.JSONOutputFormat> {
  const { jsonSchemaOutputFormat } = await import("@anthropic-ai/sdk/helpers/json-schema");
  const { type, schema } = jsonSchemaOutputFormat(explicit(output) as { readonly type: "object" });
  return { type, schema };
}

/**
 * Checks whether the SDK's transform keeps a schema's meaning. The transform closes every object, so maps and combined
 * objects would accept nothing. It does not support boolean schemas.
 */
export function isExpressible(output: JsonSchema): boolean {
  return output["type"] === "object" && !("definitions" in output) && isClosable(output);
}

function isClosable(schema: unknown): boolean {
  if (!isObject(schema) || "allOf" in schema || "patternProperties" in schema) return false;
  if (!SHAPES.some((key) => key in schema)) return false;
  const { properties, required = [], additionalProperties } = schema;
  const names = Object.keys(fieldsOf(properties));
  const open = additionalProperties ?? (names.length === 0 && [schema["type"]].flat().includes("object"));
  const known = Array.isArray(required) && required.every((name) => names.includes(String(name)));
  return open === false && known && innerSchemas(schema).every(isClosable);
}

/** Keywords of which the transform needs at least one. */
const SHAPES = ["type", "anyOf", "oneOf", "enum", "const", "$ref"];

function innerSchemas(schema: Fields): readonly unknown[] {
  const maps = [schema["properties"], schema["$defs"]].flatMap((map) => Object.values(fieldsOf(map)));
  const lists = [schema["anyOf"], schema["oneOf"], schema["items"]].flat();
  return [...maps, ...lists.filter((inner) => inner !== undefined)];
}

/** Rewrites `["string", "null"]` as a choice, because the transform supports only single types. */
function explicit(schema: Fields): Fields {
  const inner = withInner(schema);
  if (!Array.isArray(inner["type"]) || "enum" in inner || "const" in inner) return inner;
  return { anyOf: inner["type"].map((type: unknown) => ofType(inner, type)) };
}

function withInner(schema: Fields): Fields {
  const each = (value: unknown) => explicit(fieldsOf(value));
  const entries = Object.entries(schema).map(([key, value]) => {
    if (key === "properties" || key === "$defs") {
      return [key, Object.fromEntries(Object.entries(fieldsOf(value)).map(([name, inner]) => [name, each(inner)]))];
    }
    if (key === "anyOf" || key === "oneOf") return [key, listOf(value).map(each)];
    return [key, key === "items" ? each(value) : value];
  });
  return Object.fromEntries(entries) as Fields;
}

const KEYS_OF_TYPE: Fields = {
  properties: "object",
  required: "object",
  additionalProperties: "object",
  items: "array",
};

function ofType(schema: Fields, type: unknown): Fields {
  const entries = Object.entries(schema).filter(([key]) => (KEYS_OF_TYPE[key] ?? type) === type);
  return { ...Object.fromEntries(entries), type };
}
