import * as z from "zod";
import { toolEffect, toolReach } from "../field.ts";

/** Published schema of a skill folder's tools.json, for authors. It is stricter than the loaders. */

const text = z.string().min(1);

const parameterSchema = z.looseObject({
  type: z.enum(["string", "number", "boolean", "object", "array"]).describe("what its value is"),
  description: z.string().describe("what it is, for the model"),
  enum: z.array(z.json()).min(1).optional().describe("the values that it may have"),
  optional: z.boolean().optional().describe("true: a call may leave it out"),
});

const scriptToolsSchema = z
  .array(
    z.looseObject({
      name: z
        .string()
        .regex(/^[a-z][a-z0-9_]*$/)
        .describe("unique in its skill"),
      description: text.describe("what the model reads"),
      script: text.optional().describe("its handler, relative to the skill's folder"),
      effect: toolEffect(),
      ...toolReach(),
      parameters: z.record(z.string(), parameterSchema).optional().describe("by name"),
    }),
  )
  .describe("Skill Tools: tools with a script each");

const describedToolSchema = z.looseObject({
  name: text.describe("unique in its skill"),
  description: z.string().optional().describe("what the model reads"),
  parameters: z
    .looseObject({ type: z.literal("object").describe("arguments go by their names") })
    .describe("JSON Schema"),
  effect: toolEffect(),
  ...toolReach(),
});

const helperSchema = z.looseObject({
  script: z
    .string()
    .regex(/^(?!.*\.\.)[^/\\]+$/)
    .optional()
    .describe("a file of scripts/"),
  binary: text.optional().describe("a program of the allowlist"),
  subcommand: z.string().optional().describe("its first argument"),
  args: z.array(z.string()).optional().describe("further arguments"),
});

const argumentSchema = z.looseObject({
  param: z.string().optional().describe("the parameter that it carries"),
  kind: text.optional().describe("positional (default), flag, flagifboolean, …"),
  flag: text.optional().describe("the flag before the value"),
  flagIfTrue: z.string().optional().describe("the flag where the value is true"),
  flagIfFalse: z.string().optional().describe("the flag where it is false"),
  normalizeNewlines: z.boolean().optional().describe("true: line ends of the value become \\n"),
  resolveCommand: helperSchema.optional().describe("a command whose output is the value"),
});

const descriptorSchema = z
  .looseObject({
    tools: z.array(describedToolSchema).optional().describe("what the model is offered"),
    allowlist: z.record(z.string(), z.array(z.string())).optional().describe("program -> subcommands that may run"),
    execution: z
      .array(
        z.looseObject({
          tool: text.describe("the name of the tool that it carries out"),
          binary: text.describe("the program, by name"),
          subcommand: z.string().describe("its first argument"),
          args: z.array(argumentSchema).optional().describe("how parameters become arguments, in their order"),
        }),
      )
      .optional()
      .describe("how each tool becomes a command line"),
  })
  .describe("a descriptor: tools that are command lines of allowlisted programs");

export const toolsManifestSchema = z.union([
  scriptToolsSchema,
  descriptorSchema,
  z.array(describedToolSchema).describe("a descriptor's tools, beside allowlist.json and execution.json"),
]);
