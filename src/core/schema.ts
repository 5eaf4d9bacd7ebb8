import { Ajv, type ErrorObject, type ValidateFunction } from "ajv";
import { Ajv2020 } from "ajv/dist/2020.js";
import formats from "ajv-formats";
import { fieldPath } from "./errors.ts";
import { type Json, type JsonSchema, nearest } from "./values.ts";

/** The problems of a value, in words; none when it fits. */
export type SchemaCheck = (value: unknown) => readonly string[];

const OPTIONS = { strict: false, allErrors: true, verbose: true, logger: false } as const;
const MOST_PROBLEMS = 20;

const byIdentity = new WeakMap<JsonSchema, SchemaCheck>();
const byText = new Map<string, SchemaCheck>();
const filling = new WeakMap<JsonSchema, ValidateFunction>();
const instances = new Map<string, Ajv | Ajv2020>();

/**
 * Compiles a JSON Schema, once per schema: 2020-12, or draft-07 where `$schema` says so (workflow-format D28).
 * Throws an Error that says what is wrong with the schema itself.
 */
export function compileSchema(schema: JsonSchema): SchemaCheck {
  const known = byIdentity.get(schema);
  if (known) return known;
  const text = JSON.stringify(schema);
  const check = byText.get(text) ?? compile(schema);
  byIdentity.set(schema, check);
  byText.set(text, check);
  return check;
}

function compile(schema: JsonSchema): SchemaCheck {
  const validate = compileAlone(ajvFor(schema, { fills: false }), schema);
  return (value) => (validate(value) ? [] : describeErrors(validate.errors ?? []));
}

/** What is wrong with a value, and where: `filters[0].name`, empty for the value itself. */
export interface SchemaProblem {
  readonly message: string;
  readonly path: string;
}

/** What is wrong with a value by places, as `compileSchema` tells it in words. */
export function schemaProblems(schema: JsonSchema, value: Json): readonly SchemaProblem[] {
  const validate = compileAlone(ajvFor(schema, { fills: false }), schema);
  return validate(value) ? [] : describeProblems(validate);
}

/** A copy of a value with the schema's defaults where it lacks properties, checked against the whole schema. */
export function fillValue(
  schema: JsonSchema,
  given: Json,
): { readonly value: Json; readonly problems: readonly SchemaProblem[] } {
  const validate = filling.get(schema) ?? compileAlone(ajvFor(schema, { fills: true }), schema);
  filling.set(schema, validate);
  const value = structuredClone(given) as Json;
  return { value, problems: validate(value) ? [] : describeProblems(validate) };
}

function describeProblems({ errors }: ValidateFunction): SchemaProblem[] {
  const found = new Map((errors ?? []).map(problemOf).map((problem) => [problem.message, problem]));
  return [...found.values()].slice(0, MOST_PROBLEMS);
}

function problemOf(error: ErrorObject): SchemaProblem {
  const { missingProperty, additionalProperty, unevaluatedProperty } = error.params as Readonly<
    Record<string, unknown>
  >;
  const deeper = missingProperty ?? additionalProperty ?? unevaluatedProperty;
  const keys = error.instancePath.slice(1).split("/").filter(Boolean).map(readPointerKey);
  const path = [...keys, ...(typeof deeper === "string" ? [deeper] : [])];
  return { message: describeError(error), path: fieldPath(path) };
}

function readPointerKey(key: string): string | number {
  return /^\d+$/.test(key) ? Number(key) : key.replaceAll("~1", "/").replaceAll("~0", "~");
}

/** The schema may refer to itself, and leaves nothing behind for others to refer to. */
function compileAlone(ajv: Ajv | Ajv2020, schema: JsonSchema): ValidateFunction {
  const { $schema: _, ...own } = schema;
  if (typeof own.$id === "string" && ajv.getSchema(own.$id)) throw new Error(`the $id ${own.$id} is taken`);
  try {
    return ajv.compile(own);
  } finally {
    ajv.removeSchema(own);
  }
}

function ajvFor(schema: JsonSchema, { fills }: { readonly fills: boolean }): Ajv | Ajv2020 {
  const isDraft7 = /draft-0[67]/.test(String(schema.$schema ?? ""));
  const key = `${isDraft7 ? "7" : "2020"}${fills ? " fills" : ""}`;
  const options = { ...OPTIONS, useDefaults: fills };
  const ajv = instances.get(key) ?? withFormats(isDraft7 ? new Ajv(options) : new Ajv2020(options));
  instances.set(key, ajv);
  return ajv;
}

function withFormats<Instance extends Ajv | Ajv2020>(ajv: Instance): Instance {
  (formats as unknown as (ajv: Instance) => void)(ajv);
  return ajv;
}

function describeErrors(errors: readonly ErrorObject[]): string[] {
  const lines = [...new Set(errors.map(describeError))];
  const more = lines.length - MOST_PROBLEMS;
  return more > 0 ? [...lines.slice(0, MOST_PROBLEMS), `and ${more} more`] : lines;
}

function describeError(error: ErrorObject): string {
  const place = error.instancePath.slice(1).replaceAll("/", ".") || "the value";
  if (error.keyword === "additionalProperties" || error.keyword === "unevaluatedProperties") {
    const name = String(error.params.additionalProperty ?? error.params.unevaluatedProperty);
    const near = nearest(name, Object.keys((error.parentSchema?.properties as object | undefined) ?? {}));
    return `${place} has an unknown key "${name}"${near ? ` (did you mean "${near}"?)` : ""}`;
  }
  if (error.keyword === "enum") return `${place} must be one of ${JSON.stringify(error.params.allowedValues)}`;
  if (error.keyword === "const") return `${place} must be ${JSON.stringify(error.params.allowedValue)}`;
  return `${place} ${error.message ?? "does not fit"}`;
}
