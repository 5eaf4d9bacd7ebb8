import * as z from "zod";
import { type Fitting, lazy } from "../../base/values.ts";
import { anyRequired, atLeastOne, flag, pathSchema, positive, text } from "../../skill/field.ts";
import { valueRule } from "./rule.ts";

export const tools = lazy(() => z.array(text()).min(1).optional());
const functionNames = ["any_tool_called", "all_tools_called", "no_tool_called"];

const functionRule = lazy(() =>
  z
    .strictObject({
      any_tool_called: tools().describe("one of these was called with success"),
      all_tools_called: tools().describe("each of these was called with success"),
      no_tool_called: tools().describe("none of these was called"),
    })
    .refine(...atLeastOne(functionNames))
    .meta({ anyOf: anyRequired(functionNames) }),
);
export type FunctionRule = Fitting<typeof functionRule>;

const evidenceRule = lazy(() =>
  z.strictObject({
    claims: pathSchema().describe("the claims in the result data, such as claims[*]"),
    cites: pathSchema().optional().describe("what a claim cites, from the claim; default evidence[*]"),
    ref: pathSchema().optional().describe("a cite's reference, from the cite; default ref"),
    quote: pathSchema().optional().describe("its quote of that result; default quote"),
    independent: flag().optional().describe("a claim wants a cite of a tool whose origin is team"),
    min_supported: z.int().min(0).optional().describe("default 1"),
  }),
);
export type EvidenceRule = Fitting<typeof evidenceRule>;

const evaluatorName = lazy(() => text().describe("unique at the node; paths see its result by it"));

export const evaluator = lazy(() =>
  z.discriminatedUnion("kind", [
    z.strictObject({
      name: evaluatorName(),
      kind: z.literal("value").describe("the result data hold what the rule says"),
      rule: valueRule().describe("paths begin in the node's own data"),
    }),
    z.strictObject({
      name: evaluatorName(),
      kind: z.literal("function").describe("which tools were called"),
      rule: functionRule().describe("names as the model sees them, or as their skill has them"),
    }),
    z.strictObject({
      name: evaluatorName(),
      kind: z.literal("evidence").describe("every claim cites results of this run, and code has looked there"),
      rule: evidenceRule().describe("where claims, cites, references and quotes stand"),
      on_unsupported: z
        .enum(["fail", "drop", "mark"])
        .optional()
        .describe("claims that no result supports: fail the evaluation (default), are taken out, or are marked"),
    }),
    z.strictObject({
      name: evaluatorName(),
      kind: z.literal("judge").describe("a model says whether the answer holds, without tools"),
      rubric: text().describe("what is asked about the answer"),
      pass_when: z
        .string()
        .regex(/^\S+$/, "is one word without white space")
        .optional()
        .describe("the judge's word that passes; default yes"),
      model: text().optional().describe("which judges; default the node's judge_model"),
    }),
  ]),
);
export type Evaluator = Fitting<typeof evaluator>;

export type EvidenceEvaluator = Extract<Evaluator, { kind: "evidence" }>;

export const retry = lazy(() =>
  z.strictObject({
    max: positive().describe("further attempts after a failed evaluation"),
    instruction: z
      .union([
        text(),
        z.strictObject({ auto: z.literal(true).describe("a model says what to do otherwise") }),
        z.strictObject({ reflect: text().describe("the same, asked in these words") }),
      ])
      .optional()
      .describe("said to the next attempt beside what failed"),
  }),
);
export type Retry = Fitting<typeof retry>;
