import * as z from "zod";
import { fieldPath } from "./errors.ts";
import { checkJsonSchema } from "./json-schema.ts";
import { CATEGORIES, type SkillDefinition } from "./skill.ts";
import { isObject } from "./values.ts";
import { mcpServerSchema, PARSED_ONCE } from "./workflow.ts";

/** A skill as code or another program writes it, declared once: validator and published schema (Skills & Tools). */

const text = z.string().min(1);
const isSchema = (value: unknown) => isObject(value);

const configFieldSchema = z.looseObject({
  description: z.string(),
  required: z.boolean().optional().describe("unresolved: the skill is unavailable; default false"),
  env: text.optional().describe("the environment variable to read"),
  secret: z.boolean().optional().describe("false: its value may be seen; default true"),
});

const toolSchema = z.looseObject({
  name: text.describe("unique in its skill"),
  description: z.string(),
  input_schema: z.unknown().refine(isSchema, "must be a JSON Schema or a zod schema").meta({ type: "object" }),
  output_schema: z.unknown().refine(isSchema, "must be a JSON Schema").meta({ type: "object" }).optional(),
  effect: z.enum(["read", "write"]).optional().describe("unknown counts as write"),
  idempotent: z.boolean().optional().describe("may be repeated after an unclear failure"),
  needs: z.array(text).optional().describe("config fields without which this one tool is left out"),
});

/** Handlers are no data: `checkSkillDefinition` asks for them. */
export const skillDefinitionSchema = z.looseObject({
  id: z
    .string()
    .regex(/^[A-Za-z0-9][A-Za-z0-9._-]*$/, "must be letters, digits, dots, hyphens and underscores")
    .max(64),
  name: text,
  description: z.string(),
  category: z.enum(CATEGORIES),
  config: z.record(z.string(), configFieldSchema),
  tools: z.array(toolSchema),
  instruction: z.string().optional(),
  mcp: mcpServerSchema.optional(),
  version: text.optional(),
});

/** The definition, or everything that keeps a value from being one. */
export function checkSkillDefinition(
  value: unknown,
): { readonly definition: SkillDefinition } | { readonly problems: readonly string[] } {
  const checked = skillDefinitionSchema.safeParse(value, PARSED_ONCE);
  const problems = checked.success ? [] : checked.error.issues.map(describeIssue);
  const tools = isObject(value) && Array.isArray(value.tools) ? (value.tools as unknown[]) : [];
  problems.push(...tools.flatMap(checkTool), ...checkNames(tools));
  if (isObject(value) && value.probe !== undefined && typeof value.probe !== "function") {
    problems.push("probe is not a function");
  }
  return problems.length > 0 ? { problems } : { definition: value as unknown as SkillDefinition };
}

function describeIssue({ path, message }: z.core.$ZodIssue): string {
  const place = fieldPath(path as (string | number)[]) || "the skill";
  if (message.endsWith("received undefined")) return `${place} is missing`;
  if (message.startsWith("Invalid option")) return `${place} must be one of ${optionsOf(message)}`;
  return `${place}: ${message}`;
}

function optionsOf(message: string): string {
  return [...message.matchAll(/"([^"]+)"/g)].map(([, option]) => option).join(", ");
}

function checkTool(tool: unknown, index: number): string[] {
  if (!isObject(tool)) return [];
  const place = `tools[${index}]`;
  const handler = typeof tool.handler === "function" ? [] : [`${place}.handler is not a function`];
  const { input_schema: input, output_schema: output } = tool;
  return [
    ...handler,
    ...(isObject(input) && !isZod(input) ? checkInputSchema(input, `${place}.input_schema`) : []),
    ...(isZod(output) ? [`${place}.output_schema must be a JSON Schema`] : []),
  ];
}

/** Tools are called with named arguments. */
function checkInputSchema(schema: { readonly [key: string]: unknown }, place: string): string[] {
  const findings = checkJsonSchema(schema, [place]).map(({ message }) => message);
  const isOther = schema.type !== undefined && schema.type !== "object";
  return isOther ? [...findings, `${place} must be of type object`] : findings;
}

/** Whether a value is a schema of zod, of version 4 or 3. */
export function isZod(value: unknown): boolean {
  return isObject(value) && ("_zod" in value || "_def" in value);
}

function checkNames(tools: readonly unknown[]): string[] {
  const names = tools.flatMap((tool) => (isObject(tool) && typeof tool.name === "string" ? [tool.name] : []));
  const twice = new Set(names.filter((name, index) => names.indexOf(name) !== index));
  return [...twice].map((name) => `two tools are named ${name}`);
}
