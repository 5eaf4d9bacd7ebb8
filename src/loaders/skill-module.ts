import { pathToFileURL } from "node:url";
import { toJSONSchema } from "zod";
import { SkillflowError } from "../core/errors.ts";
import type { AnyToolDefinition, Skill, SkillDefinition, Tool } from "../core/skill.ts";
import { isObject, type JsonSchema } from "../core/values.ts";

/** Imports a skill written as code: a module whose default export is a skill definition. */
export async function loadSkillModule(file: string): Promise<Skill> {
  const module: unknown = await import(pathToFileURL(file).href);
  const definition = isObject(module) ? module.default : undefined;
  if (!isObject(definition) || typeof definition.id !== "string") {
    throw new SkillflowError("skill.invalid", `${file} does not export a skill by default`, {
      hint: "export default defineSkill({ id, name, description, category, config, tools })",
    });
  }
  return buildSkill(definition as unknown as SkillDefinition);
}

/** A skill definition as the core knows it: schemas converted, effects told. */
export async function buildSkill(definition: SkillDefinition): Promise<Skill> {
  const tools = await Promise.all(definition.tools.map(buildTool));
  const names = tools.map((tool) => tool.name);
  const twice = names.find((name, index) => names.indexOf(name) !== index);
  if (twice) throw new SkillflowError("skill.invalid", `skill ${definition.id} has two tools named ${twice}`);
  return { ...definition, tools };
}

async function buildTool(definition: AnyToolDefinition): Promise<Tool> {
  const input_schema = await toJsonSchema(definition.input_schema);
  return { ...definition, input_schema, effect: definition.effect ?? "write" };
}

/** JSON Schema as it is; zod 4 and zod 3 schemas converted, each by the converter that understands it. */
async function toJsonSchema(schema: unknown): Promise<JsonSchema> {
  if (isObject(schema) && "_zod" in schema) {
    const { $schema: _, ...rest } = toJSONSchema(schema as never, { io: "input" });
    return rest as JsonSchema;
  }
  if (isObject(schema) && "_def" in schema) {
    const { zodToJsonSchema } = await import("zod-to-json-schema");
    const { $schema: _, ...rest } = zodToJsonSchema(schema as never, { target: "jsonSchema7" }) as Record<
      string,
      unknown
    >;
    return { ...rest, $schema: "http://json-schema.org/draft-07/schema#" } as JsonSchema;
  }
  return (schema ?? { type: "object" }) as JsonSchema;
}
