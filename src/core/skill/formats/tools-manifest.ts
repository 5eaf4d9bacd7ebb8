import * as z from "zod";
import { optional, toolEffect, toolFacts, toolReach } from "../field.ts";

/** Published schema of a skill folder's tools.json, for authors. It is stricter than the loaders. */

const text = z.string().min(1);

const parameterSchema = z.looseObject({
  type: z.enum(["string", "number", "boolean", "object", "array"]).describe("Type of the value"),
  description: z.string().describe("Description for the model"),
  enum: optional(z.array(z.json()).min(1), "Allowed values"),
  optional: optional(z.boolean(), "true: the parameter is optional"),
});

const scriptToolsSchema = z
  .array(
    z.looseObject({
      name: z
        .string()
        .regex(/^[a-z][a-z0-9_]*$/)
        .describe("Name, unique in the skill"),
      description: text.describe("Description for the model"),
      script: optional(text, "Handler script, relative to the skill's folder"),
      effect: toolEffect(),
      ...toolReach(),
      ...toolFacts(),
      parameters: optional(z.record(z.string(), parameterSchema), "Parameters, by name"),
    }),
  )
  .describe("Skill Tools: a list of tools with a script each");

const describedToolSchema = z.looseObject({
  name: text.describe("Name, unique in the skill"),
  description: optional(z.string(), "Description for the model"),
  parameters: z
    .looseObject({ type: z.literal("object").describe("Arguments are named") })
    .describe("JSON Schema of the parameters"),
  effect: toolEffect(),
  ...toolReach(),
  ...toolFacts(),
});

const helperSchema = z.looseObject({
  script: optional(z.string().regex(/^(?!.*\.\.)[^/\\]+$/), "File in scripts/"),
  binary: optional(text, "Program in the allowlist"),
  subcommand: optional(z.string(), "First argument"),
  args: optional(z.array(z.string()), "Further arguments"),
});

const argumentSchema = z.looseObject({
  param: optional(z.string(), "Parameter that provides the value"),
  kind: optional(text, "Kind of argument: positional (default), flag, flagifboolean, …"),
  flag: optional(text, "Flag before the value"),
  flagIfTrue: optional(z.string(), "Flag if the value is true"),
  flagIfFalse: optional(z.string(), "Flag if the value is false"),
  normalizeNewlines: optional(z.boolean(), "true: convert line ends of the value to \\n"),
  resolveCommand: optional(helperSchema, "Command whose output is the value"),
});

const descriptorSchema = z
  .looseObject({
    tools: optional(z.array(describedToolSchema), "Tools offered to the model"),
    allowlist: optional(z.record(z.string(), z.array(z.string())), "Allowed subcommands, by program"),
    execution: optional(
      z.array(
        z.looseObject({
          tool: text.describe("Name of the tool to execute"),
          binary: text.describe("Program name"),
          subcommand: z.string().describe("First argument"),
          args: optional(z.array(argumentSchema), "Arguments in order, made from the parameters"),
        }),
      ),
      "Command line of each tool",
    ),
  })
  .describe("Descriptor: tools that are command lines of allowlisted programs");

export const toolsManifestSchema = z.union([
  scriptToolsSchema,
  descriptorSchema,
  z.array(describedToolSchema).describe("Tools of a descriptor with separate allowlist.json and execution.json"),
]);
