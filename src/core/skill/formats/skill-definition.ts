import * as z from "zod";
import { fieldPath } from "../../base/diagnostic.ts";
import { checkJsonSchema } from "../../base/schema/json-schema.ts";
import { isObject, lazy, PARSED_ONCE } from "../../base/values.ts";
import { CONFIG_FORMATS } from "../availability/config-form.ts";
import { optional, text, toolEffect, toolFacts, toolReach } from "../field.ts";
import { mcpServerSchema } from "../mcp-server.ts";
import { AUDIENCES, CATEGORIES, type SkillDefinition } from "../skill.ts";

/** Schema of a skill that code or another program defines, for validation and publication. */

const isAudience = (value: unknown) => typeof value === "function" || AUDIENCES.some((known) => known === value);

const configFieldSchema = lazy(() =>
  z.looseObject({
    description: z.string().describe("Description for doctor and .env.example"),
    required: optional(z.boolean(), "true: the skill is unavailable without a value (default false)"),
    unless: optional(text(), "Key of another field whose value makes this one optional"),
    env: optional(text(), "Environment variable to read"),
    secret: optional(z.boolean(), "false: the value can be shown (default true)"),
    format: optional(z.enum(CONFIG_FORMATS), "Format of the value. A malformed value makes the skill unavailable."),
    schemes: optional(z.array(text()), "For format url: accepted URL schemes (default http and https)"),
  }),
);

const toolSchema = lazy(() =>
  z.looseObject({
    name: text().describe("Name, unique in the skill"),
    description: z.string().describe("Description for the model: when to use the tool, and what it costs"),
    input_schema: z
      .unknown()
      .refine(isObject, "must be a JSON Schema or a zod schema")
      .meta({ type: "object" })
      .describe("JSON Schema of the input, or in code a zod 4 or zod 3 schema"),
    output_schema: optional(
      z.unknown().refine(isObject, "must be a JSON Schema").meta({ type: "object" }),
      "JSON Schema of the result. A call with an invalid result fails.",
    ),
    effect: toolEffect(),
    idempotent: optional(z.boolean(), "true: a call can be repeated if it is unknown whether it succeeded"),
    ...toolReach(),
    ...toolFacts(),
    audience: optional(
      z.unknown().refine(isAudience, 'Invalid option: expected one of "team"|"public"').meta({ enum: AUDIENCES }),
      "Who can read the writes, or in code a function that returns it for a call (default team)",
    ),
    live: optional(z.boolean(), "true: repeated calls are executed again, not answered with the first result"),
    needs: optional(z.array(text()), "Config fields that this tool needs. It is left out without them."),
    settled_by: optional(
      z.record(z.string(), text()),
      "Config fields by optional parameter. If the field is set, the model does not see the parameter.",
    ),
  }),
);

/** Handlers are not data, so `checkSkillDefinition` checks them. */
export const skillDefinitionSchema = lazy(() =>
  z.looseObject({
    id: z
      .string()
      .regex(/^[A-Za-z0-9][A-Za-z0-9._-]*$/, "must be letters, digits, dots, hyphens and underscores")
      .max(64)
      .describe("Id that nodes list. It is the prefix of the tool names."),
    name: text().describe("Display name"),
    description: z.string().describe("What the skill does, and when to use it"),
    category: z.enum(CATEGORIES).describe("Category. Decides the default of reads."),
    config: z.record(z.string(), configFieldSchema()).describe("Config fields, by key"),
    tools: z.array(toolSchema()).describe("Tools. Can be empty if there is an instruction or a server."),
    instruction: optional(z.string(), "Instruction for the model"),
    mcp: optional(mcpServerSchema(), "MCP server that provides further tools"),
    version: optional(text(), "Semantic version. Nodes can require a range of it."),
  }),
);

export function checkSkillDefinition(
  value: unknown,
): { readonly definition: SkillDefinition } | { readonly problems: readonly string[] } {
  const problems = definitionFaults(value).map(({ message }) => message);
  return problems.length > 0 ? { problems } : { definition: value as SkillDefinition };
}

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
  const options = [...message.matchAll(/"([^"]+)"/g)].map(([, option]) => option);
  if (message.startsWith("Invalid option")) return `${place} must be one of ${options.join(", ")}`;
  return `${place}: ${message}`;
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
