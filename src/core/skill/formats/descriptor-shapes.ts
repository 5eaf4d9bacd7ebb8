import * as z from "zod";
import { checkJsonSchema } from "../../base/schema/json-schema.ts";
import { faultOfPattern } from "../../base/schema/time-bound.ts";
import { type Fitting, isObject, type JsonSchema, lazy } from "../../base/values.ts";
import { lazyStrictObject, strings, text, toolEffect, toolFacts, toolReach } from "../field.ts";

/** Format version. `seed` is the original document, `current` is version 0.5.0 of the program that reads such files. */
export type DescriptorProfile = "current" | "seed";

/** Marks issues about unsupported keys, in their `params`. */
export const UNSUPPORTED = { unsupported: true } as const;

const helper = lazyStrictObject(() => ({
  script: z.string().optional(),
  binary: z.string().optional(),
  subcommand: z.string().optional(),
  args: strings().default([]),
}));
const postProcess = lazy(() => z.strictObject({ ...helper().shape, emptyIsResult: z.boolean().optional() }));
/** Script of the skill, or allowlisted command, that converts a text. */
export type Helper = Fitting<typeof helper>;

const flag = lazy(() => z.string().refine((name) => name.replace(/^-+/, "") !== "", "is not a flag name"));
const seedArgument = lazyStrictObject(() => ({
  param: z.string(),
  kind: z.enum(["positional", "flag", "flagifboolean"]).default("positional"),
  flag: flag().optional(),
  flagIfTrue: z.string().optional(),
  flagIfFalse: z.string().optional(),
  normalizeNewlines: z.boolean().optional(),
  resolveCommand: helper().optional(),
}));

const argument = lazy(() =>
  z
    .strictObject({
      ...seedArgument().shape,
      param: z.string().default(""),
      kind: z
        .enum(["positional", "flag", "flagifboolean", "stdin", "workingdir", "tempfile", "literal"])
        .default("positional"),
      value: z.string().optional(),
      optional: z.boolean().optional(),
      split: z.boolean().optional(),
      absentDefault: z.union([z.string(), z.number(), z.boolean()]).optional(),
      subcommandOverride: z.string().optional(),
      denyPattern: z
        .string()
        .refine((text) => faultOfPattern(text, "u") === undefined, "is not a regular expression")
        .optional(),
      readPath: z.boolean().optional(),
      writePath: z.boolean().optional(),
      unsafePath: z.boolean().optional(),
      denyResolveCommand: z.unknown().optional(),
      denyAlwaysResolve: z.unknown().optional(),
      disambiguateAfterSkippedPositionals: z.boolean().optional(),
    })
    .refine(({ kind, param }) => kind === "literal" || param !== "", { path: ["param"], message: "is required" })
    .refine(({ kind, value }) => kind !== "literal" || value !== undefined, { path: ["value"], message: "is required" })
    .refine(({ kind, split }) => !split || kind === "positional", { path: ["split"], message: "needs a positional" })
    .refine(({ kind, subcommandOverride }) => subcommandOverride === undefined || kind === "flagifboolean", {
      path: ["subcommandOverride"],
      message: "needs a flagifboolean",
    })
    .superRefine(({ denyPattern, ...mapping }, { addIssue }) => {
      // Resolved values are not compared with the pattern, so it would not deny them.
      if (denyPattern === undefined) return;
      const found = RESOLVED_DENIALS.find((key) => mapping[key] !== undefined && mapping[key] !== false);
      if (found) addIssue({ code: "custom", path: [found], message: "is not supported", params: UNSUPPORTED });
    }),
);
export type Argument = Fitting<typeof argument>;

const seedExecution = lazyStrictObject(() => ({
  tool: z.string(),
  binary: text(),
  subcommand: z.string(),
  args: z.array(seedArgument()).default([]),
}));

const names = lazy(() => z.union([strings(), z.string().transform((name) => [name])]).default([]));
/** Keys that compare resolved values with `denyPattern`. Without a pattern they have no effect. */
export const RESOLVED_DENIALS = ["denyResolveCommand", "denyAlwaysResolve"] as const;

const hintCondition = lazyStrictObject(() => ({
  match: z.string().optional(),
  exitCode: z.union([z.literal("nonzero"), z.int()]).optional(),
  notEmpty: z.boolean().optional(),
  whenArg: z.record(z.string(), z.json()).optional(),
  hint: z.string(),
}));
/** Line that is added to a call's output if all its conditions hold. */
export type HintCondition = Fitting<typeof hintCondition>;

const sideRead = lazyStrictObject(() => ({
  pathParam: z.string(),
  filename: z.string().regex(/^(?!.*\.\.)[^/\\\0]+$/, "must be a file name without folders"),
  label: z.string().optional(),
  oncePerSession: z.boolean().optional(),
}));
/** File whose text is added to the output. A parameter names its folder. */
export type SideRead = Fitting<typeof sideRead>;

const execution = lazyStrictObject(() => ({
  ...seedExecution().shape,
  args: z
    .array(argument())
    .default([])
    .refine(
      (args) => ["stdin", "workingdir"].every((kind) => args.filter((each) => each.kind === kind).length < 2),
      "has two arguments for the standard input, or two working directories",
    ),
  binaryWrapper: z.tuple([text()], z.string()).optional(),
  condition: z.strictObject({ binGroup: z.int().min(0) }).optional(),
  paramCondition: z.strictObject({ present: names(), absent: names() }).optional(),
  successExitCodes: z.array(z.int()).optional(),
  postProcess: postProcess().optional(),
  maxOutputLines: z.int().min(0).optional(),
  truncationHint: z.string().optional(),
  hintConditions: z.array(hintCondition()).optional(),
  sideRead: sideRead().optional(),
}));
export type Execution = Fitting<typeof execution>;

const parameters = lazy(() =>
  z.custom<JsonSchema>(isObject, "must be a JSON Schema").superRefine((schema, { addIssue }) => {
    if (!isObject(schema)) return;
    const { type = "object" } = schema;
    if (type !== "object") addIssue({ code: "custom", path: ["type"], message: "must be object" });
    for (const { path, message } of checkJsonSchema(schema, [])) {
      addIssue({ code: "custom", path: [...path], message: message.slice(path.join(".").length).trim() });
    }
  }),
);

const seedTool = lazy(() =>
  z.strictObject({ name: z.string().min(1), description: z.string().default(""), parameters: parameters() }),
);
const tool = lazy(() => z.strictObject({ ...seedTool().shape, ...toolReach(), ...toolFacts(), effect: toolEffect() }));
/** Tool as the model sees it, with its effect and reach. */
export type ToolEntry = Fitting<typeof tool>;

export const schemasOf = (profile: DescriptorProfile) => ({
  tool: (profile === "seed" ? seedTool() : tool()) as z.ZodType<ToolEntry>,
  execution: (profile === "seed" ? seedExecution() : execution()) as z.ZodType<Execution>,
});
