import type { Diagnostic } from "../../base/diagnostic.ts";
import { checkJsonSchema } from "../../base/schema/json-schema.ts";
import { isObject, type Json, type JsonObject, type JsonSchema } from "../../base/values.ts";

/** Parameters in the Skill Tools format: name -> `{type, description, enum?, optional?}`. */

/** Converts a parameter map to JSON Schema strictly. Returns the problems as a string if there are any. */
export function parameterSchema(map: Json): JsonSchema | string {
  const { schema, diagnostics } = translateParameters(map);
  const wrong = diagnostics
    .filter(({ path }) => path.at(-1) !== "description")
    .map(({ message }) => message.replace("tool skipped: ", ""));
  return schema && wrong.length === 0 ? schema : wrong.join("; ");
}

/** Converts a parameter map to a tool's input schema. The schema is undefined if the map cannot be understood. */
export function translateParameters(parameters: unknown): {
  readonly schema: JsonSchema | undefined;
  readonly diagnostics: readonly Diagnostic[];
} {
  if (!isObject(parameters)) {
    return { schema: undefined, diagnostics: [skippedTool([], "the parameters must be a map of parameters")] };
  }
  // A map with a string `type` is a JSON Schema: a parameter called `type` would have a map here.
  if (typeof parameters.type === "string") {
    const message = "the parameters are a JSON Schema; write a map of name to {type, description, optional?}";
    return { schema: undefined, diagnostics: [skippedTool([], message)] };
  }
  const entries = Object.entries(parameters).filter(([name]) => name !== WORK_DIR);
  const translated = entries.map(([name, definition]) => ({ name, ...translateParameter(name, definition) }));
  const diagnostics = translated.flatMap(({ name, diagnostics }) => diagnostics.map((found) => below(name, found)));
  if (Object.hasOwn(parameters, WORK_DIR)) {
    diagnostics.push(doubtful([WORK_DIR], "is given by the program, and not asked of the model"));
  }
  const sound = translated.flatMap(({ parameter }) => parameter ?? []);
  if (sound.length < entries.length) return { schema: undefined, diagnostics };
  const whole = schemaOf(sound, (parameter) => ({ ...parameter.own, ...parameter.more }));
  const isPlain = sound.every(({ more }) => Object.keys(more).length === 0);
  if (isPlain || isSchema(whole)) return { schema: whole, diagnostics };
  const left = doubtful([], "beside type, description and enum, all is left out: together it is no JSON Schema");
  return { schema: schemaOf(sound, ({ own }) => own), diagnostics: [...diagnostics, left] };
}

interface Parameter {
  readonly name: string;
  readonly optional: boolean;
  /** Schema keywords that the format defines. */
  readonly own: JsonSchema;
  /** Other schema keywords, which later versions of the format and JSON Schema define. */
  readonly more: JsonSchema;
}

function schemaOf(parameters: readonly Parameter[], propertyOf: (parameter: Parameter) => JsonSchema): JsonSchema {
  const required = parameters.filter(({ optional }) => !optional).map(({ name }) => name);
  return {
    type: "object",
    properties: Object.fromEntries(parameters.map((parameter) => [parameter.name, propertyOf(parameter)])),
    ...(required.length > 0 ? { required } : {}),
  };
}

function isSchema(schema: JsonSchema): boolean {
  return checkJsonSchema(schema, []).length === 0;
}

/** Parameter that every handler receives from the program. */
const WORK_DIR = "__workDir";

function translateParameter(
  name: string,
  definition: unknown,
): { readonly parameter?: Parameter; readonly diagnostics: readonly Diagnostic[] } {
  const refuse = (path: Diagnostic["path"], message: string) => ({ diagnostics: [skippedTool(path, message)] });
  // Providers reject a whole request if one name is invalid.
  if (!/^[A-Za-z0-9_.-]{1,64}$/.test(name) || name === "__proto__") {
    return refuse([], `"${name}" is no parameter name: letters, digits, _, . and -, 64 at most`);
  }
  if (!isObject(definition)) return refuse([], `the parameter "${name}" must be an object with a type`);
  const { type, description, enum: values, optional, ...rest } = definition as JsonObject;
  if (typeof type !== "string") {
    return refuse(["type"], `the parameter "${name}" must have a type: ${TYPES.join(", ")}`);
  }
  const own: JsonSchema = {
    ...(KNOWN_TYPES.includes(type) ? { type } : {}),
    ...(typeof description === "string" ? { description } : {}),
    ...(isFilledList(values) ? { enum: values } : {}),
    // Some providers reject arrays without it.
    ...(type === "array" ? { items: {} } : {}),
  };
  const more = Object.fromEntries(Object.entries(rest).filter(([key, value]) => isPartOfSchema(key, value)));
  const left = Object.keys(rest).filter((key) => !Object.hasOwn(more, key));
  const parameter = { name, optional: optional === true, own, more };
  return { parameter, diagnostics: doubts(name, { type, description, values, optional, left }) };
}

const TYPES = ["string", "number", "boolean", "object", "array"];
/** Also accepts two more types of JSON Schema. */
const KNOWN_TYPES = [...TYPES, "integer", "null"];

function isFilledList(values: Json | undefined): values is readonly Json[] {
  return Array.isArray(values) && values.length > 0;
}

/** Checks for a valid keyword. Excludes references, and `id`, which is a reference in older drafts. */
function isPartOfSchema(key: string, value: Json): boolean {
  return !key.startsWith("$") && key !== "id" && checkJsonSchema({ [key]: value }, []).length === 0;
}

interface Doubted {
  readonly type: string;
  readonly description: Json | undefined;
  readonly values: Json | undefined;
  readonly optional: Json | undefined;
  readonly left: readonly string[];
}

function doubts(name: string, { type, description, values, optional, left }: Doubted): Diagnostic[] {
  const found: Diagnostic[] = [];
  if (!TYPES.includes(type)) {
    found.push(doubtful(["type"], `"${name}" has the type "${type}", which is none of ${TYPES.join(", ")}`));
  }
  if (!isText(description)) found.push(doubtful(["description"], `the parameter "${name}" has no description`));
  if (values !== undefined && !isFilledList(values)) {
    found.push(doubtful(["enum"], `the enum of "${name}" must be an array of values`));
  }
  if (optional !== undefined && typeof optional !== "boolean") {
    found.push(doubtful(["optional"], `"${name}" is required: only true makes it optional`));
  }
  if (left.length > 0)
    found.push(doubtful([], `of "${name}", this is no JSON Schema and left out: ${left.join(", ")}`));
  return found;
}

// ---- findings

/** Creates an error that skips one tool. */
export function skippedTool(path: Diagnostic["path"], message: string): Diagnostic {
  return { severity: "error", code: "TOOL_SKIPPED", path, message: `tool skipped: ${message}` };
}

/** Creates a warning that keeps the tool. */
export function doubtful(path: Diagnostic["path"], message: string): Diagnostic {
  return { severity: "warning", code: "TOOL_DOUBTFUL", path, message };
}

export function below(key: string | number, found: Diagnostic): Diagnostic {
  return { ...found, path: [key, ...found.path] };
}

export function isText(value: unknown): value is string {
  return typeof value === "string" && value.trim() !== "";
}
