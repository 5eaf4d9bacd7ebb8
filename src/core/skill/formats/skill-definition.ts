import * as z from "zod";
import { fieldPath } from "../../base/diagnostic.ts";
import { checkJsonSchema } from "../../base/schema/json-schema.ts";
import { isObject, lazy, PARSED_ONCE } from "../../base/values.ts";
import { CONFIG_FORMATS } from "../availability/config-form.ts";
import { toolEffect, toolReach } from "../field.ts";
import { mcpServerSchema } from "../mcp-server.ts";
import { AUDIENCES, CATEGORIES, type SkillDefinition } from "../skill.ts";

/** Schema of a skill that code or another program defines, for validation and publication. */

const text = lazy(() => z.string().min(1));
const isAudience = (value: unknown) => typeof value === "function" || AUDIENCES.some((known) => known === value);
const isSchema = (value: unknown) => isObject(value);

const configFieldSchema = lazy(() =>
  z.looseObject({
    description: z.string().describe("what it is, for doctor and .env.example"),
    required: z.boolean().optional().describe("unresolved: the skill is unavailable; default false"),
    unless: text().optional().describe("the key of a field that does in place of this one"),
    env: text().optional().describe("the environment variable to read"),
    secret: z.boolean().optional().describe("false: its value may be seen; default true"),
    format: z
      .enum(CONFIG_FORMATS)
      .optional()
      .describe("form of the value; a value of another form makes the skill unavailable"),
    schemes: z.array(text()).optional().describe("for format url: accepted URL schemes; default http and https"),
  }),
);

const toolSchema = lazy(() =>
  z.looseObject({
    name: text().describe("unique in its skill"),
    description: z.string().describe("what the model reads: when to use it, and what it costs"),
    input_schema: z
      .unknown()
      .refine(isSchema, "must be a JSON Schema or a zod schema")
      .meta({ type: "object" })
      .describe("JSON Schema, or in code a zod 4 or zod 3 schema"),
    output_schema: z
      .unknown()
      .refine(isSchema, "must be a JSON Schema")
      .meta({ type: "object" })
      .optional()
      .describe("JSON Schema; a result that does not fit it is a failed call"),
    effect: toolEffect(),
    idempotent: z.boolean().optional().describe("may be repeated after an unclear failure"),
    ...toolReach(),
    audience: z
      .unknown()
      .refine(isAudience, 'Invalid option: expected one of "team"|"public"')
      .meta({ enum: AUDIENCES })
      .optional()
      .describe("who reads what it writes, or in code a function that tells it of one call; default the team"),
    live: z.boolean().optional().describe("the same call again is carried out again, not answered by the first"),
    needs: z.array(text()).optional().describe("config fields without which this one tool is left out"),
    settled_by: z
      .record(z.string(), text())
      .optional()
      .describe("optional parameter -> config field: while that is set, the model is not told of the parameter"),
  }),
);

/** Handlers are not data, so `checkSkillDefinition` checks them. */
export const skillDefinitionSchema = lazy(() =>
  z.looseObject({
    id: z
      .string()
      .regex(/^[A-Za-z0-9][A-Za-z0-9._-]*$/, "must be letters, digits, dots, hyphens and underscores")
      .max(64)
      .describe("by which nodes list it; begins the names of its tools"),
    name: text().describe("what people call it"),
    description: z.string().describe("what it does, and when to use it"),
    category: z.enum(CATEGORIES).describe("what it is for; decides the default of reads"),
    config: z.record(z.string(), configFieldSchema()).describe("its settings, by key"),
    tools: z.array(toolSchema()).describe("may be empty where there is an instruction or a server"),
    instruction: z.string().optional().describe("what the model is told about it"),
    mcp: mcpServerSchema().optional().describe("a server whose tools it has"),
    version: text().optional().describe("by semver; nodes may ask for a range of it"),
  }),
);

/** Checks a value. Returns the definition or all its problems. */
export function checkSkillDefinition(
  value: unknown,
): { readonly definition: SkillDefinition } | { readonly problems: readonly string[] } {
  const problems = definitionFaults(value).map(({ message }) => message);
  return problems.length > 0 ? { problems } : { definition: value as SkillDefinition };
}

/** Problem in a definition, with its path. */
export interface DefinitionFault {
  readonly path: readonly PropertyKey[];
  readonly message: string;
}

export function definitionFaults(value: unknown): readonly DefinitionFault[] {
  const checked = skillDefinitionSchema().safeParse(value, PARSED_ONCE);
  const faults: DefinitionFault[] = checked.success
    ? []
    : checked.error.issues.map((issue) => ({ path: issue.path, message: describeIssue(issue) }));
  const tools = isObject(value) && Array.isArray(value.tools) ? (value.tools as unknown[]) : [];
  faults.push(...tools.flatMap(checkTool), ...checkNames(tools));
  for (const key of ["probe", "lacks"]) {
    const hook = isObject(value) ? value[key] : undefined;
    if (hook !== undefined && typeof hook !== "function")
      faults.push({ path: [key], message: `${key} is not a function` });
  }
  return faults;
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

function checkTool(tool: unknown, index: number): DefinitionFault[] {
  if (!isObject(tool)) return [];
  const place = `tools[${index}]`;
  const fault = (key: string, message: string) => [
    { path: ["tools", index, key], message: `${place}.${key} ${message}` },
  ];
  const { input_schema: input, output_schema: output } = tool;
  return [
    ...(typeof tool.handler === "function" ? [] : fault("handler", "is not a function")),
    ...(isObject(input) && !isZod(input) ? checkInputSchema(input, ["tools", index, "input_schema"]) : []),
    ...(isZod(output) ? fault("output_schema", "must be a JSON Schema") : []),
  ];
}

/** Checks that the input schema is valid and of type object, because tools are called with named arguments. */
function checkInputSchema(
  schema: { readonly [key: string]: unknown },
  path: readonly [string, number, string],
): DefinitionFault[] {
  const place = fieldPath(path);
  const faults = checkJsonSchema(schema, [place]).map(({ path: [, ...inner], message }) => ({
    path: [...path, ...inner],
    message,
  }));
  const isOther = schema.type !== undefined && schema.type !== "object";
  return isOther ? [...faults, { path: [...path, "type"], message: `${place} must be of type object` }] : faults;
}

/** Checks for a zod schema, version 4 or 3. */
export function isZod(value: unknown): boolean {
  return isObject(value) && ("_zod" in value || "_def" in value);
}

function checkNames(tools: readonly unknown[]): DefinitionFault[] {
  const names = tools.map((tool) => (isObject(tool) && typeof tool.name === "string" ? tool.name : undefined));
  const again = names.flatMap((name, index) => (name !== undefined && names.indexOf(name) < index ? [index] : []));
  const twice = new Map(again.map((index) => [names[index], index]));
  return [...twice].map(([name, index]) => ({
    path: ["tools", index, "name"],
    message: `two tools are named ${name}`,
  }));
}
