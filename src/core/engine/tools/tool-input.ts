import { compileSchema } from "../../base/schema/schema.ts";
import { isObject, type Json, type JsonObject, type JsonSchema, memberAt, typeOf } from "../../base/values.ts";
import type { InputDialect, ToolDescriptor } from "../../skill/skill.ts";

/** Explains why a call's input is invalid, in the wording of the tool's format. Returns undefined if it is valid. */
export function misfitOf(
  { name, input_schema, dialect }: Pick<ToolDescriptor, "name" | "input_schema" | "dialect">,
  input: Json,
): string | undefined {
  if (!isObject(input)) return "arguments must be an object";
  const given = input as JsonObject;
  const misfit = dialect && DIALECTS[dialect](name, input_schema, given);
  if (misfit !== undefined) return misfit;
  const problems = problemsOf(...(dialect ? withoutNulls(input_schema, given) : ([input_schema, given] as const)));
  return problems.length === 0 ? undefined : `invalid input: ${problems.join("; ")}`;
}

function problemsOf(schema: JsonSchema, input: JsonObject): readonly string[] {
  try {
    return compileSchema(schema)(input);
  } catch (error) {
    return [`the tool's own input schema is invalid: ${(error as Error).message}`];
  }
}

type Check = (tool: string, schema: JsonSchema, input: JsonObject) => string | undefined;

/** Messages of tools.json descriptors. Null counts as absent there. */
const DIALECTS: Readonly<Record<InputDialect, Check>> = {
  "descriptor-current"(tool, schema, input) {
    const declared = propertiesOf(schema);
    for (const [name, value] of Object.entries(input)) {
      if (!Object.hasOwn(declared, name)) return `tool ${tool}: undeclared parameter '${name}' (not in schema)`;
      const types = typesOf(declared[name]);
      if (value !== null && types.length > 0 && !fitsType(types, value)) {
        return `tool ${tool}: parameter '${name}' type mismatch: expected ${types.join(" or ")}, got ${typeOf(value)}`;
      }
    }
    const missing = requiredOf(schema).find((name) => (memberAt(input, name) ?? null) === null);
    return missing === undefined ? undefined : `tool ${tool}: missing required parameter '${missing}'`;
  },
  "descriptor-seed"(_, schema, input) {
    const missing = requiredOf(schema).find((name) => memberAt(input, name) === undefined);
    if (missing !== undefined) return `missing parameter: ${missing}`;
    const declared = propertiesOf(schema);
    const misfit = Object.entries(input).find(([name, value]) => {
      const types = typesOf(memberAt(declared, name));
      return value !== null && typeof value === "object" && types.length > 0 && !fitsType(types, value);
    });
    return misfit && `parameter ${misfit[0]} must be a string, number, or boolean`;
  },
};

/** Drops nulls from the input and from the required keys. The tool decides whether it can work without them. */
function withoutNulls(schema: JsonSchema, input: JsonObject): readonly [JsonSchema, JsonObject] {
  const given = Object.entries(input).filter(([, value]) => value !== null);
  if (given.length === Object.keys(input).length) return [schema, input];
  const required = requiredOf(schema).filter((name) => input[name] !== null);
  return [{ ...schema, required }, Object.fromEntries(given)];
}

function propertiesOf({ properties }: JsonSchema): JsonObject {
  return isObject(properties) ? (properties as JsonObject) : {};
}

function requiredOf({ required }: JsonSchema): string[] {
  return Array.isArray(required) ? required.map(String) : [];
}

function typesOf(schema: unknown): string[] {
  return isObject(schema) ? [(schema as JsonObject).type ?? []].flat().map(String) : [];
}

function fitsType(types: readonly string[], value: Json): boolean {
  return types.includes(typeOf(value)) || (types.includes("integer") && Number.isInteger(value));
}
