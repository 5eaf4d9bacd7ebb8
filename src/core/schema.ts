import { Ajv, type ErrorObject, type ValidateFunction } from "ajv";
import { Ajv2020 } from "ajv/dist/2020.js";
import formats from "ajv-formats";
import { type JsonSchema, nearest } from "./values.ts";

/** The problems of a value, in words; none when it fits. */
export type SchemaCheck = (value: unknown) => readonly string[];

const OPTIONS = { strict: false, allErrors: true, verbose: true, logger: false } as const;
const MOST_PROBLEMS = 20;

const byIdentity = new WeakMap<JsonSchema, SchemaCheck>();
const byText = new Map<string, SchemaCheck>();
let draft7: Ajv | undefined;
let draft2020: Ajv2020 | undefined;

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
  const validate = compileAlone(ajvFor(schema), schema);
  return (value) => (validate(value) ? [] : describeErrors(validate.errors ?? []));
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

function ajvFor(schema: JsonSchema): Ajv | Ajv2020 {
  if (/draft-0[67]/.test(String(schema.$schema ?? ""))) {
    draft7 ??= withFormats(new Ajv(OPTIONS));
    return draft7;
  }
  draft2020 ??= withFormats(new Ajv2020(OPTIONS));
  return draft2020;
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
