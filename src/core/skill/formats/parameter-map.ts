import type { Diagnostic } from "../../base/diagnostic.ts";
import { checkJsonSchema } from "../../base/schema/json-schema.ts";
import { isObject, type Json, type JsonObject, type JsonSchema } from "../../base/values.ts";

/** Parameters as the Skill Tools document writes them: name -> `{type, description, enum?, optional?}`. */

/** The JSON Schema that a parameter map means, or what is wrong with the map: here nothing doubtful passes. */
export function parameterSchema(map: Json): JsonSchema | string {
  const { schema, diagnostics } = translateParameters(map);
  const wrong = diagnostics
    .filter(({ path }) => path.at(-1) !== "description")
    .map(({ message }) => message.replace("tool skipped: ", ""));
  return schema && wrong.length === 0 ? schema : wrong.join("; ");
}

/** What a map of parameters comes to as the JSON Schema of a tool's input; without one where it cannot be understood. */
export function translateParameters(parameters: unknown): {
  readonly schema: JsonSchema | undefined;
  readonly diagnostics: readonly Diagnostic[];
} {
  if (!isObject(parameters)) {
    return { schema: undefined, diagnostics: [skippedTool([], "the parameters must be a map of parameters")] };
  }
  // A parameter called `type` has a map here (skill-formats 6.1).
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
  /** What the document knows. */
  readonly own: JsonSchema;
  /** What else it says of the value, which the document's successors and JSON Schema know. */
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

/** What every handler gets beside its parameters. */
const WORK_DIR = "__workDir";

function translateParameter(
  name: string,
  definition: unknown,
): { readonly parameter?: Parameter; readonly diagnostics: readonly Diagnostic[] } {
  const refuse = (path: Diagnostic["path"], message: string) => ({ diagnostics: [skippedTool(path, message)] });
  // Providers refuse a whole request for one other name.
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
    // Some providers take no array without it.
    ...(type === "array" ? { items: {} } : {}),
  };
  const more = Object.fromEntries(Object.entries(rest).filter(([key, value]) => isPartOfSchema(key, value)));
  const left = Object.keys(rest).filter((key) => !Object.hasOwn(more, key));
  const parameter = { name, optional: optional === true, own, more };
  return { parameter, diagnostics: doubts(name, { type, description, values, optional, left }) };
}

const TYPES = ["string", "number", "boolean", "object", "array"];
/** JSON Schema has two more, which do no harm. */
const KNOWN_TYPES = [...TYPES, "integer", "null"];

function isFilledList(values: Json | undefined): values is readonly Json[] {
  return Array.isArray(values) && values.length > 0;
}

/** References would lead out of the parameter, or nowhere; an `id` is one of them in older drafts. */
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

/** One tool is left out. */
export function skippedTool(path: Diagnostic["path"], message: string): Diagnostic {
  return { severity: "error", code: "TOOL_SKIPPED", path, message: `tool skipped: ${message}` };
}

/** The tool stays. */
export function doubtful(path: Diagnostic["path"], message: string): Diagnostic {
  return { severity: "warning", code: "TOOL_DOUBTFUL", path, message };
}

export function below(key: string | number, found: Diagnostic): Diagnostic {
  return { ...found, path: [key, ...found.path] };
}

export function isText(value: unknown): value is string {
  return typeof value === "string" && value.trim() !== "";
}
