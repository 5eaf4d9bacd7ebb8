import type { Diagnostic, DiagnosticCode } from "../../base/diagnostic.ts";
import { checkJsonSchema } from "../../base/schema/json-schema.ts";
import { isObject, type Json, type JsonObject, type JsonSchema } from "../../base/values.ts";

/** Parameters in the Skill Tools format: name -> `{type, description, enum?, optional?}`. */

/** Converts a parameter map to JSON Schema strictly. Returns the problems as a string if there are any. */
export function parameterSchema(map: Json): JsonSchema | string {
  const { schema, diagnostics } = translateParameters(map);
  const wrong = diagnostics.filter(({ path }) => path.at(-1) !== "description").map(({ message }) => message);
  return schema && wrong.length === 0 ? schema : wrong.join("; ");
}

/** Converts a parameter map to a tool's input schema. The schema is undefined if the map cannot be understood. */
export function translateParameters(parameters: unknown): {
  readonly schema: JsonSchema | undefined;
  readonly diagnostics: readonly ToolFinding[];
} {
  const refuse = (message: string) => ({
    schema: undefined,
    diagnostics: [skippedTool([], message, "TOOL_PARAMETERS")],
  });
  if (!isObject(parameters)) return refuse("the parameters must be a map of parameters");
  // A map with a string `type` is a JSON Schema: a parameter called `type` would have a map here.
  if (typeof parameters.type === "string") {
    return refuse("the parameters are a JSON Schema; write a map of name to {type, description, optional?}");
  }
  const entries = Object.entries(parameters).filter(([name]) => name !== WORK_DIR);
  const translated = entries.map(([name, definition]) => ({ name, ...translateParameter(name, definition) }));
  const diagnostics = translated.flatMap(({ name, diagnostics }) => diagnostics.map((found) => below(name, found)));
  if (Object.hasOwn(parameters, WORK_DIR)) {
    diagnostics.push(doubtful([WORK_DIR], "is set by the program, not by the model", "TOOL_PARAMETERS"));
  }
  const sound = translated.flatMap(({ parameter }) => parameter ?? []);
  if (sound.length < entries.length) return { schema: undefined, diagnostics };
  const whole = schemaOf(sound, (parameter) => ({ ...parameter.own, ...parameter.more }));
  const isPlain = sound.every(({ more }) => Object.keys(more).length === 0);
  if (isPlain || checkJsonSchema(whole, []).length === 0) return { schema: whole, diagnostics };
  const left = doubtful(
    [],
    "all keys except type, description and enum are ignored: together they are not a JSON Schema",
  );
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

/** Parameter that every handler receives from the program. */
const WORK_DIR = "__workDir";

function translateParameter(
  name: string,
  definition: unknown,
): { readonly parameter?: Parameter; readonly diagnostics: readonly ToolFinding[] } {
  const refuse = (...about: Parameters<typeof skippedTool>) => ({ diagnostics: [skippedTool(...about)] });
  // Providers reject a whole request if one name is invalid.
  if (!/^[A-Za-z0-9_.-]{1,64}$/.test(name) || name === "__proto__") {
    return refuse([], `"${name}" is not a parameter name: use at most 64 letters, digits, _, . and -`);
  }
  if (!isObject(definition)) {
    return refuse([], `the parameter "${name}" must be an object with a type`, "TOOL_PARAMETERS");
  }
  const { type, description, enum: values, optional, ...rest } = definition as JsonObject;
  if (typeof type !== "string") {
    return refuse(["type"], `the parameter "${name}" must have a type: ${TYPES.join(", ")}`, "PARAMETER_TYPE");
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
  return { parameter, diagnostics: doubts(name, definition as JsonObject, left) };
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

function doubts(name: string, definition: JsonObject, left: readonly string[]): ToolFinding[] {
  const { type, description, enum: values, optional } = definition;
  const found: ToolFinding[] = [];
  if (!TYPES.includes(String(type))) {
    const message = `"${name}" has the type "${type}", which is not one of ${TYPES.join(", ")}`;
    found.push(doubtful(["type"], message, "PARAMETER_TYPE"));
  }
  if (!isText(description)) {
    found.push(doubtful(["description"], `the parameter "${name}" has no description`, "PARAMETER_DESCRIPTION"));
  }
  if (values !== undefined && !isFilledList(values)) {
    found.push(doubtful(["enum"], `the enum of "${name}" must be an array of values`, "PARAMETER_ENUM"));
  }
  if (optional !== undefined && typeof optional !== "boolean") {
    found.push(doubtful(["optional"], `"${name}" is required: only true makes it optional`, "PARAMETER_OPTIONAL"));
  }
  if (left.length > 0)
    found.push(doubtful([], `"${name}" has keys that are not JSON Schema and are ignored: ${left.join(", ")}`));
  return found;
}

// ---- findings

/** Finding about a tool: as a run reports it, by its effect on the tool, and as the lint does, by the violated rule. */
export interface ToolFinding extends Diagnostic {
  /** Code in the lint. Undefined if it is the same. */
  readonly rule?: DiagnosticCode | undefined;
  /** Severity in the lint, if it differs. */
  readonly strict?: "error";
}

/** Creates an error that skips one tool. */
export function skippedTool(path: Diagnostic["path"], message: string, rule?: DiagnosticCode): ToolFinding {
  return { severity: "error", code: "TOOL_SKIPPED", path, message, rule };
}

/** Creates a warning that keeps the tool. */
export function doubtful(path: Diagnostic["path"], message: string, rule?: DiagnosticCode): ToolFinding {
  return { severity: "warning", code: "TOOL_DOUBTFUL", path, message, rule };
}

export function below(key: string | number, found: ToolFinding): ToolFinding {
  return { ...found, path: [key, ...found.path] };
}

export function isText(value: unknown): value is string {
  return typeof value === "string" && value.trim() !== "";
}
