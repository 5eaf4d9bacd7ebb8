import * as z from "zod";
import { toolEffect, toolReach } from "../field.ts";

/** Published schema of a skill folder's tools.json, for authors. It is stricter than the loaders. */

const text = z.string().min(1);

const parameterSchema = z.looseObject({
  type: z.enum(["string", "number", "boolean", "object", "array"]).describe("Type of the value"),
  description: z.string().describe("Description for the model"),
  enum: z.array(z.json()).min(1).optional().describe("Allowed values"),
  optional: z.boolean().optional().describe("true: the parameter is optional"),
});

const scriptToolsSchema = z
  .array(
    z.looseObject({
      name: z
        .string()
        .regex(/^[a-z][a-z0-9_]*$/)
        .describe("Name, unique in the skill"),
      description: text.describe("Description for the model"),
      script: text.optional().describe("Handler script, relative to the skill's folder"),
      effect: toolEffect(),
      ...toolReach(),
      parameters: z.record(z.string(), parameterSchema).optional().describe("Parameters, by name"),
    }),
  )
  .describe("Skill Tools: a list of tools with a script each");

const describedToolSchema = z.looseObject({
  name: text.describe("Name, unique in the skill"),
  description: z.string().optional().describe("Description for the model"),
  parameters: z
    .looseObject({ type: z.literal("object").describe("Arguments are named") })
    .describe("JSON Schema of the parameters"),
  effect: toolEffect(),
  ...toolReach(),
});

const helperSchema = z.looseObject({
  script: z
    .string()
    .regex(/^(?!.*\.\.)[^/\\]+$/)
    .optional()
    .describe("File in scripts/"),
  binary: text.optional().describe("Program in the allowlist"),
  subcommand: z.string().optional().describe("First argument"),
  args: z.array(z.string()).optional().describe("Further arguments"),
});

const argumentSchema = z.looseObject({
  param: z.string().optional().describe("Parameter that provides the value"),
  kind: text.optional().describe("Kind of argument: positional (default), flag, flagifboolean, …"),
  flag: text.optional().describe("Flag before the value"),
  flagIfTrue: z.string().optional().describe("Flag if the value is true"),
  flagIfFalse: z.string().optional().describe("Flag if the value is false"),
  normalizeNewlines: z.boolean().optional().describe("true: convert line ends of the value to \\n"),
  resolveCommand: helperSchema.optional().describe("Command whose output is the value"),
});

const descriptorSchema = z
  .looseObject({
    tools: z.array(describedToolSchema).optional().describe("Tools offered to the model"),
    allowlist: z.record(z.string(), z.array(z.string())).optional().describe("Allowed subcommands, by program"),
    execution: z
      .array(
        z.looseObject({
          tool: text.describe("Name of the tool to execute"),
          binary: text.describe("Program name"),
          subcommand: z.string().describe("First argument"),
          args: z.array(argumentSchema).optional().describe("Arguments in order, made from the parameters"),
        }),
      )
      .optional()
      .describe("Command line of each tool"),
  })
  .describe("Descriptor: tools that are command lines of allowlisted programs");

export const toolsManifestSchema = z.union([
  scriptToolsSchema,
  descriptorSchema,
  z.array(describedToolSchema).describe("Tools of a descriptor with separate allowlist.json and execution.json"),
]);
