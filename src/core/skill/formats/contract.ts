import type { SchemaProblem } from "../../base/schema/schema.ts";
import { isObject, type Json, type JsonSchema } from "../../base/values.ts";
import type { Effect, ToolReach } from "../skill.ts";
import { readReach } from "./tool-reach.ts";

/** The parts of a declarative contract that decide how its tool is offered and called. */

/** What a contract's metadata says of its tool; unknown counts as the worse. */
export interface Hints extends ToolReach {
  readonly effect: Effect;
  readonly idempotent: boolean;
}

/** Only a plain `false` is free of side effects, only a plain `true` may be repeated. */
export function readHints(metadata: unknown): Hints {
  const said = isObject(metadata) ? metadata : {};
  const effect = said.side_effects === false ? "read" : "write";
  return { effect, idempotent: said.idempotent === true, ...readReach(said).reach };
}

/** Feedback that a model can act on: a sentence, then each problem as data. */
export function describeMisfit(type: "invalid_input" | "invalid_output", problems: readonly SchemaProblem[]): string {
  const what = type === "invalid_input" ? "invalid input" : "the result does not fit the output schema";
  const errors = problems.map(({ message, path }) => ({ type, message, path }));
  return `${what}: ${problems.map(({ message }) => message).join("; ")}\n${JSON.stringify({ errors })}`;
}

/** Keywords whose verdict may turn to the better when properties are added, whatever they are called. */
const TURNED_BY_ANY = ["minProperties", "const", "enum", "unevaluatedProperties", "unevaluatedItems"];
/** Keywords whose verdict may do so when they speak of such a property. */
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
/** With one of these a property's schema may stand in several places. */
const SPREADING = ["allOf", "$ref", "$dynamicRef", "patternProperties"];
const SCHEMA_MAPS = ["properties", "patternProperties", "$defs", "definitions"];
const SCHEMA_LISTS = ["allOf", "prefixItems", "items"];
const SCHEMAS = ["additionalProperties", "items"];

/**
 * The schema as it is to be offered: it takes every value that fits the whole schema once defaults are applied. What has
 * a default is no longer required, and a condition that defaults could change is left to the whole schema.
 */
export function relaxDefaults(schema: JsonSchema): JsonSchema {
  const names = new Set(schemasIn(schema).flatMap(ownDefaults));
  if (names.size === 0) return schema;
  const isSpread = schemasIn(schema).some((part) => SPREADING.some((key) => Object.hasOwn(part, key)));
  return relax(schema, names, isSpread ? names : new Set());
}

/** The schema and every object in it, which may be a schema. */
function schemasIn(schema: Json): JsonSchema[] {
  if (Array.isArray(schema)) return schema.flatMap((part: Json) => schemasIn(part));
  if (!isObject(schema)) return [];
  return [schema as JsonSchema, ...Object.values(schema as JsonSchema).flatMap(schemasIn)];
}

/** The properties that a schema gives a default. */
function ownDefaults({ properties }: JsonSchema): string[] {
  const entries = isObject(properties) ? Object.entries(properties) : [];
  return entries.flatMap(([name, part]) => (isObject(part) && Object.hasOwn(part, "default") ? [name] : []));
}

/** `names` have defaults somewhere, `everywhere` are those that may have them at any place. */
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

/** The conditions of this schema that a default could turn. */
function conditionsOf(schema: JsonSchema, names: ReadonlySet<string>): ReadonlySet<string> {
  const isScalarChoice = (key: string) =>
    (key === "const" || key === "enum") && [schema[key]].flat().every((value) => typeof value !== "object" || !value);
  const any = TURNED_BY_ANY.filter((key) => Object.hasOwn(schema, key) && !isScalarChoice(key));
  const named = TURNED_BY_NAMED.filter((key) => Object.hasOwn(schema, key) && isTurned(schema[key] ?? null, names));
  const isConditional = ["if", "then", "else"].some((key) => isTurned(schema[key] ?? null, names));
  return new Set([...any, ...named, ...(isConditional ? ["if", "then", "else"] : [])]);
}

/** Whether a condition speaks of one of the names, or of properties without naming them. */
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
