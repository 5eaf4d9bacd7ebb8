import { isObject, type Json, type JsonObject, type JsonSchema } from "./values.ts";

/** Parameters as the Skill Tools document writes them: name -> `{type, description, enum?, optional?}`. */

const TYPES = ["string", "number", "boolean", "object", "array"];

/** The JSON Schema that a parameter map means, or what is wrong with the map. */
export function parameterSchema(map: Json): JsonSchema | string {
  if (!isObject(map)) return "the parameters are no map of name to {type, description}";
  if (map.type === "object") {
    return "the parameters are a JSON Schema; write a map of name to {type, description, optional?}";
  }
  const entries = Object.entries(map as JsonObject);
  const wrong = entries.flatMap(([name, parameter]) => parameterProblem(name, parameter) ?? []);
  if (wrong.length > 0) return wrong.join("; ");
  const required = entries.flatMap(([name, parameter]) => (isOptional(parameter) ? [] : [name]));
  return {
    type: "object",
    properties: Object.fromEntries(entries.map(([name, parameter]) => [name, propertyOf(parameter as JsonObject)])),
    ...(required.length > 0 ? { required } : {}),
  };
}

/** Providers refuse a whole request for one other name. */
const NAME = /^(?!__)[A-Za-z0-9_.-]{1,64}$/;

function parameterProblem(name: string, parameter: Json): string | undefined {
  if (!NAME.test(name)) return `"${name}" is no parameter name: letters, digits, _, . and -, 64 at most`;
  if (!isObject(parameter)) return `the parameter ${name} is no object with a type`;
  if (!TYPES.includes(String(parameter.type))) return `the parameter ${name} needs a type: ${TYPES.join(", ")}`;
  if (parameter.enum !== undefined && !(Array.isArray(parameter.enum) && parameter.enum.length > 0)) {
    return `the enum of the parameter ${name} is no list of values`;
  }
  return undefined;
}

function isOptional(parameter: Json): boolean {
  return isObject(parameter) && parameter.optional === true;
}

/** Providers demand that a list says what it holds. */
function propertyOf({ optional: _, ...parameter }: JsonObject): JsonObject {
  return parameter.type === "array" && parameter.items === undefined ? { ...parameter, items: {} } : parameter;
}
