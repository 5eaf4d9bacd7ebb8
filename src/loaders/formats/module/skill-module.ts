import { createRequire } from "node:module";
import { pathToFileURL } from "node:url";
import { toJSONSchema, type ZodType } from "zod";
import type { ZodSchema } from "zod/v3";
import { attempt, messageOf, SkillflowError } from "../../../core/base/errors.ts";
import { defined, isObject, type JsonSchema } from "../../../core/base/values.ts";
import { checkSkillDefinition, isZod } from "../../../core/skill/formats/skill-definition.ts";
import type { AnyToolDefinition, Skill, SkillDefinition, Tool } from "../../../core/skill/skill.ts";
import { importDefault, type Verify } from "./module-import.ts";

/** Imports a built-in skill: a module whose default export is a skill definition. */
export async function loadSkillModule(file: string): Promise<Skill> {
  return buildSkill(await importBuiltin(file), file);
}

/** Imports the definition of a built-in skill. With require if it is built: import() loads slow parts of Node first. */
export async function importBuiltin(file: string): Promise<SkillDefinition> {
  const module = file.endsWith(".js") ? createRequire(file)(file) : await import(pathToFileURL(file).href);
  return module.default ?? module;
}

/** Runs a plug-in's module. The skill that it defines must have the id that was announced before it ran. */
export async function importSkill(file: string, announced: string, verify?: Verify): Promise<Skill> {
  const skill = await checkedSkill(await defaultOf(file, verify), file);
  if (skill.id === announced) return skill;
  throw new SkillflowError(
    "skill.invalid",
    `${file} defines the skill "${skill.id}", but is known as "${announced}": write its id as plain text in the file, or name the file, folder or package after it`,
  );
}

/** Checks a skill definition by any author, without running it. `where` is the prefix of error messages. */
export async function checkedSkill(value: unknown, where: string): Promise<Skill> {
  const skill = await buildSkill(value, where);
  const { faultOfSchema } = await import("../../../core/base/schema/schema.ts");
  for (const tool of skill.tools) {
    for (const key of ["input_schema", "output_schema"] as const) {
      const fault = tool[key] && faultOfSchema(tool[key]);
      if (fault === undefined) continue;
      const what = `the ${key} of tool ${tool.name} is not a JSON Schema`;
      throw new SkillflowError("skill.invalid", `${where}: ${what}: ${fault}`);
    }
  }
  return skill;
}

async function defaultOf(file: string, verify?: Verify): Promise<unknown> {
  try {
    return await importDefault(file, verify);
  } catch (error) {
    throw new SkillflowError("skill.invalid", `${file} cannot be loaded: ${messageOf(error).trim()}`, { cause: error });
  }
}

/** Builds a skill from a definition: validates it, converts schemas, sets effects, and copies mutable values. */
async function buildSkill(value: unknown, file: string): Promise<Skill> {
  if (!isObject(value)) {
    throw new SkillflowError("skill.invalid", `${file} does not export a skill by default`, {
      hint: "export default defineSkill({ id, name, description, category, config, tools })",
    });
  }
  const checked = checkSkillDefinition(value);
  if ("problems" in checked) throw new SkillflowError("skill.invalid", `${file}: ${checked.problems.join("; ")}`);
  const { definition } = checked;
  const config = Object.entries(definition.config).map(([key, field]) => [key, { ...field }] as const);
  return {
    ...definition,
    config: Object.fromEntries(config),
    ...(definition.mcp ? { mcp: structuredClone(definition.mcp) } : {}),
    tools: await Promise.all(definition.tools.map((tool) => buildTool(tool, definition, file))),
  };
}

async function buildTool(tool: AnyToolDefinition, skill: SkillDefinition, file: string): Promise<Tool> {
  const effect = tool.effect ?? "write";
  const { input_schema: schema, handler: carry, audience } = tool;
  // The handler may be a method on a class prototype, which spreading does not copy.
  const handler: AnyToolDefinition["handler"] = (input, context) => carry.call(tool, input, context);
  const told = typeof audience === "function" ? audience.bind(tool) : audience;
  const built = { ...tool, ...defined("audience", told), effect };
  if (!isZod(schema)) {
    const given = schema as JsonSchema;
    // A schema that is not JSON stays as it is: compiling it reports the error.
    return { ...built, input_schema: attempt(() => structuredClone(given)) ?? given, handler };
  }
  try {
    const zodSchema = schema as AnyZod;
    const input_schema = await toJsonSchema(zodSchema);
    if (input_schema.type !== undefined && input_schema.type !== "object") throw new Error("it is not an object");
    return { ...built, input_schema, handler: parsedFirst(handler, zodSchema) };
  } catch (error) {
    const problem = `the input_schema of tool ${tool.name} cannot be written as JSON Schema: ${messageOf(error)}`;
    throw new SkillflowError("skill.invalid", `${file}: skill ${skill.id}: ${problem}`);
  }
}

/** Schema of zod 4 or zod 3. */
type AnyZod = ZodType | ZodSchema;

/** Converts a schema to the JSON Schema of its input. */
async function toJsonSchema(schema: AnyZod): Promise<JsonSchema> {
  if ("_zod" in schema) {
    const { $schema: _, ...rest } = toJSONSchema(schema, { io: "input" });
    return rest as JsonSchema;
  }
  const { zodToJsonSchema, ignoreOverride } = await import("zod-to-json-schema");
  const converted = zodToJsonSchema(schema, {
    target: "jsonSchema7",
    override(def) {
      const { typeName, coerce } = def as { readonly typeName?: string; readonly coerce?: boolean };
      if (typeName && UNTOLD.has(typeName) && !coerce) throw new Error(`${typeName.slice(3)} is not JSON`);
      return ignoreOverride;
    },
  });
  return { ...converted, $schema: "http://json-schema.org/draft-07/schema#" } as JsonSchema;
}

/** Types of zod 3 that no JSON value matches, although their converter accepts them. */
const UNTOLD: ReadonlySet<string> = new Set(
  ["Date", "BigInt", "Map", "Set", "Function", "Promise", "Symbol", "NaN", "Undefined", "Void"].map(
    (type) => `Zod${type}`,
  ),
);

/** Passes the parsed input to the handler, with the schema's defaults and conversions applied. */
function parsedFirst(handler: AnyToolDefinition["handler"], schema: AnyZod): Tool["handler"] {
  return async (input, context) => {
    const parsed = await schema.safeParseAsync(input);
    if (parsed.success) return handler(parsed.data, context);
    const problems = parsed.error.issues.map(({ path, message }) => `${path.join(".") || "the input"}: ${message}`);
    throw new SkillflowError("input.invalid", `invalid input: ${problems.join("; ")}`);
  };
}
