import { shortText } from "../../base/preview.ts";
import { isObject, type Json, type JsonObject, percentDecoded } from "../../base/values.ts";

/** Conversion of an API description's schemas, limited to what a tool's input needs. */

const DEEPEST = 6;
const MOST_LEVELS = 3;
const MOST_CHOICES = 60;
const MOST_MEMBERS = 40;
const MOST_SAID = 200;

/** Follows references within the document (`#/…`). Returns undefined if one is external, circular or broken. */
export function follow(document: unknown, value: unknown): { readonly [key: string]: unknown } | undefined {
  let found = value;
  for (let steps = 0; steps < DEEPEST; steps++) {
    if (!isObject(found)) return undefined;
    if (typeof found.$ref !== "string") return found;
    found = found.$ref.startsWith("#/") ? pointedAt(document, found.$ref.slice(2)) : undefined;
  }
  return undefined;
}

export function pointedAt(document: unknown, pointer: string): unknown {
  return pointer.split("/").reduce<unknown>((value, part) => {
    const key = percentDecoded(part).replaceAll("~1", "/").replaceAll("~0", "~");
    if (Array.isArray(value)) return value[Number(key)];
    return isObject(value) && Object.hasOwn(value, key) ? value[key] : undefined;
  }, document);
}

/** Strips tags and line breaks from a text and shortens it. */
export function said(text: unknown, most = MOST_SAID): string {
  return typeof text === "string"
    ? shortText(
        text
          .replace(/<[^<>]*>/g, " ")
          .replace(/\s+/g, " ")
          .trim(),
        most,
      )
    : "";
}

const NUMBERS = ["minimum", "maximum", "minLength", "maxLength", "minItems", "maxItems"] as const;
const TYPES = new Set(["string", "number", "integer", "boolean", "array", "object"]);

/**
 * Builds the JSON Schema of a parameter: types, choices and bounds. Omits patterns and formats, because descriptions
 * often get them wrong. Unsupported parts accept any value.
 */
export function plainSchema(document: unknown, value: unknown, level = 0): JsonObject {
  const schema = follow(document, value);
  if (!schema || level > MOST_LEVELS) return {};
  const whole =
    Array.isArray(schema.allOf) && schema.allOf.length === 1 ? follow(document, schema.allOf[0]) : undefined;
  if (whole) return { ...plainSchema(document, whole, level), ...describing(schema) };
  const type = typeOf(schema);
  const choices = Array.isArray(schema.enum) ? schema.enum.filter(isPlain) : [];
  return {
    ...(type === undefined ? {} : { type }),
    ...describing(schema),
    ...(choices.length > 0 && choices.length <= MOST_CHOICES ? { enum: choices } : {}),
    ...Object.fromEntries(NUMBERS.flatMap((key) => (typeof schema[key] === "number" ? [[key, schema[key]]] : []))),
    ...(type === "array" ? { items: plainSchema(document, schema.items, level + 1) } : {}),
    ...(type === "object" ? members(document, schema, level) : {}),
  };
}

function describing(schema: { readonly [key: string]: unknown }): JsonObject {
  const usual =
    isPlain(schema.default) && schema.default !== null && schema.default !== "" ? schema.default : undefined;
  const words = [said(schema.description), usual === undefined ? "" : `Default ${said(String(usual), 60)}.`].filter(
    Boolean,
  );
  return words.length === 0 ? {} : { description: words.join(" ") };
}

/** Returns the only known type. OpenAPI 3.1 allows several. */
function typeOf({ type }: { readonly [key: string]: unknown }): string | undefined {
  const named = (Array.isArray(type) ? type : [type]).filter((one): one is string => TYPES.has(String(one)));
  return named.length === 1 ? named[0] : undefined;
}

function isPlain(value: unknown): value is Json {
  return value === null || ["string", "number", "boolean"].includes(typeof value);
}

function members(document: unknown, schema: { readonly [key: string]: unknown }, level: number): JsonObject {
  if (!isObject(schema.properties)) return {};
  const properties = Object.entries(schema.properties).slice(0, MOST_MEMBERS);
  return {
    properties: Object.fromEntries(properties.map(([key, one]) => [key, plainSchema(document, one, level + 1)])),
  };
}
