import type { SchemaProblem } from "../../base/schema/schema.ts";
import { isObject, type Json, type JsonSchema } from "../../base/values.ts";
import type { Effect } from "../skill.ts";
import { readReach } from "./tool-reach.ts";

/** Parts of a declarative contract that define how its tool is offered and called. */

/** Reads the metadata. Only an explicit `false` means no side effects, only an explicit `true` means repeatable. */
export function readHints(metadata: unknown) {
  const said = isObject(metadata) ? metadata : {};
  const effect: Effect = said.side_effects === false ? "read" : "write";
  return { effect, idempotent: said.idempotent === true, ...readReach(said).reach };
}

/** Describes schema problems for the model: a sentence, then the problems as JSON. */
export function describeMisfit(type: "invalid_input" | "invalid_output", problems: readonly SchemaProblem[]): string {
  const what = type === "invalid_input" ? "invalid input" : "the result does not fit the output schema";
  const errors = problems.map(({ message, path }) => ({ type, message, path }));
  return `${what}: ${problems.map(({ message }) => message).join("; ")}\n${JSON.stringify({ errors })}`;
}

/** Keywords that may start to pass when any property is added. */
const TURNED_BY_ANY = ["minProperties", "const", "enum", "unevaluatedProperties", "unevaluatedItems"];
/** Keywords that may start to pass when a property that they mention is added. */
const TURNED_BY_NAMED = [
  "anyOf",
  "oneOf",
  "not",
  "if",
  "dependentRequired",
  "dependentSchemas",
  "dependencies",
  "contains",
];
/** Keywords that can apply a property's schema in several places. */
const SPREADING = ["allOf", "$ref", "$dynamicRef", "patternProperties"];
const SCHEMA_MAPS = ["properties", "patternProperties", "$defs", "definitions"];
const SCHEMA_LISTS = ["allOf", "prefixItems", "items"];
const SCHEMAS = ["additionalProperties", "items"];

/**
 * Relaxes a schema for the model: it accepts every value that fits the full schema once defaults are applied.
 * Properties with a default become optional. Conditions that defaults could change are removed.
 */
export function relaxDefaults(schema: JsonSchema): JsonSchema {
  const names = new Set(schemasIn(schema).flatMap(ownDefaults));
  if (names.size === 0) return schema;
  const isSpread = schemasIn(schema).some((part) => SPREADING.some((key) => Object.hasOwn(part, key)));
  return relax(schema, names, isSpread ? names : new Set());
}

/** Returns the schema and every object in it, because each may be a schema. */
function schemasIn(schema: Json): JsonSchema[] {
  if (Array.isArray(schema)) return schema.flatMap((part: Json) => schemasIn(part));
  if (!isObject(schema)) return [];
  return [schema as JsonSchema, ...Object.values(schema as JsonSchema).flatMap(schemasIn)];
}

function ownDefaults({ properties }: JsonSchema): string[] {
  const entries = isObject(properties) ? Object.entries(properties) : [];
  return entries.flatMap(([name, part]) => (isObject(part) && Object.hasOwn(part, "default") ? [name] : []));
}

/** Relaxes one schema. `names` have a default somewhere, `everywhere` may have one at any place. */
function relax(schema: Json, names: ReadonlySet<string>, everywhere: ReadonlySet<string>): Json & JsonSchema {
  if (!isObject(schema)) return schema as Json & JsonSchema;
  const deeper = (part: Json) => relax(part, names, everywhere);
  const dropped = conditionsOf(schema as JsonSchema, names);
  const optional = new Set([...everywhere, ...ownDefaults(schema as JsonSchema)]);
  const relaxed = (key: string, part: Json): Json => {
    if (key === "required" && Array.isArray(part)) return part.filter((name) => !optional.has(String(name)));
    if (SCHEMA_LISTS.includes(key) && Array.isArray(part)) return part.map(deeper);
    if (SCHEMAS.includes(key)) return deeper(part);
    if (!SCHEMA_MAPS.includes(key) || !isObject(part)) return part;
    return Object.fromEntries(Object.entries(part as JsonSchema).map(([name, value]) => [name, deeper(value)]));
  };
  const kept = Object.entries(schema as JsonSchema).filter(([key]) => !dropped.has(key));
  return Object.fromEntries(kept.map(([key, part]) => [key, relaxed(key, part)]));
}

/** Returns the conditions of a schema that a default could change. */
function conditionsOf(schema: JsonSchema, names: ReadonlySet<string>): ReadonlySet<string> {
  const isScalarChoice = (key: string) =>
    (key === "const" || key === "enum") && [schema[key]].flat().every((value) => typeof value !== "object" || !value);
  const any = TURNED_BY_ANY.filter((key) => Object.hasOwn(schema, key) && !isScalarChoice(key));
  const named = TURNED_BY_NAMED.filter((key) => Object.hasOwn(schema, key) && isTurned(schema[key] ?? null, names));
  const isConditional = ["if", "then", "else"].some((key) => isTurned(schema[key] ?? null, names));
  return new Set([...any, ...named, ...(isConditional ? ["if", "then", "else"] : [])]);
}

/** Checks whether a condition mentions one of the names, or properties in general. */
function isTurned(condition: Json, names: ReadonlySet<string>): boolean {
  if (typeof condition === "string") return names.has(condition);
  if (Array.isArray(condition)) return condition.some((part: Json) => isTurned(part, names));
  if (!isObject(condition)) return false;
  return Object.entries(condition as JsonSchema).some(
    ([key, part]) => names.has(key) || SPEAKS_OF_ALL.includes(key) || isTurned(part, names),
  );
}

const SPEAKS_OF_ALL = [
  "$ref",
  "$dynamicRef",
  "minProperties",
  "maxProperties",
  "additionalProperties",
  "unevaluatedProperties",
  "patternProperties",
  "propertyNames",
  "const",
  "enum",
];
