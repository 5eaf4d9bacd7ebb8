import * as z from "zod";
import { type Fitting, lazy } from "../../base/values.ts";
import {
  flag,
  lazyAnyOf,
  lazyStrictObject,
  matching,
  optional,
  pathSchema,
  positive,
  text,
} from "../../skill/field.ts";
import { valueRule } from "./rule.ts";

export const tools = lazy(() => z.array(text()).min(1).optional());

const functionRule = lazyAnyOf(["any_tool_called", "all_tools_called", "no_tool_called"], () => ({
  any_tool_called: tools().describe("At least one of these tools was called successfully"),
  all_tools_called: tools().describe("Each of these tools was called successfully"),
  no_tool_called: tools().describe("None of these tools was called"),
}));
export type FunctionRule = Fitting<typeof functionRule>;

const evidenceRule = lazyStrictObject(() => ({
  claims: pathSchema().describe("Path of the claims in the result data, such as claims[*]"),
  cites: optional(pathSchema(), "Path of the cites in a claim (default evidence[*])"),
  ref: optional(pathSchema(), "Path of the result reference in a cite (default ref)"),
  quote: optional(pathSchema(), "Path of the quote in a cite (default quote)"),
  independent: optional(flag(), "true: a claim needs a cite of a tool whose origin is team (default false)"),
  texts: optional(
    z.array(pathSchema()).min(1),
    "Paths of further fields, whose facts must be in records that claims of this run quote, or in the input",
  ),
  refutes: optional(
    pathSchema(),
    "Path of refuted claims of earlier nodes, {claim, evidence}, such as refuted[*]. Their cites have the same paths.",
  ),
  min_supported: optional(z.int().min(0), "Minimum number of supported claims (default 1)"),
}));
export type EvidenceRule = Fitting<typeof evidenceRule>;

const evaluatorName = lazy(() => text().describe("Name, unique at the node. Paths refer to the result by it."));

export const evaluator = lazy(() =>
  z.discriminatedUnion("kind", [
    z.strictObject({
      name: evaluatorName(),
      kind: z.literal("value").describe("The result data must match the rule"),
      rule: valueRule().describe("Rule for the node's data. Paths start there."),
    }),
    z.strictObject({
      name: evaluatorName(),
      kind: z.literal("function").describe("Checks which tools were called"),
      rule: functionRule().describe("Rule for tool calls. Tool names are those the model sees, or those in the skill."),
    }),
    z.strictObject({
      name: evaluatorName(),
      kind: z.literal("evidence").describe("Code checks that the claims cite results of this run"),
      rule: evidenceRule().describe("Paths of claims, cites, references and quotes"),
      on_unsupported: optional(
        z.enum(["fail", "drop", "mark"]),
        "Unsupported claims fail the evaluation (default), are removed (drop), or are marked (mark)",
      ),
      on_unbound: optional(
        z.enum(["drop", "mark"]),
        "Claims with facts that no quoted record contains are marked (default) or removed (drop)",
      ),
    }),
    z.strictObject({
      name: evaluatorName(),
      kind: z.literal("judge").describe("A model without tools judges the answer"),
      rubric: text().describe("Question about the answer"),
      pass_when: optional(
        matching(/^\S+$/, "must be one word without white space"),
        "Verdict of the judge that passes, one word (default yes)",
      ),
      model: optional(text(), "Model for this judge (default: the node's judge_model)"),
    }),
  ]),
);
export type Evaluator = Fitting<typeof evaluator>;

export type EvidenceEvaluator = Extract<Evaluator, { kind: "evidence" }>;

export const retry = lazyStrictObject(() => ({
  max: positive().describe("Maximum number of retries after a failed evaluation"),
  instruction: optional(
    z.union([
      text(),
      z.strictObject({ auto: z.literal(true).describe("A model writes advice for the retry") }),
      z.strictObject({ reflect: text().describe("A model writes advice for the retry, with this prompt") }),
    ]),
    "Instruction for the retry, in addition to the failures",
  ),
}));
export type Retry = Fitting<typeof retry>;
