import * as z from "zod";
import { type Fitting, lazy } from "../../base/values.ts";
import { anyRequired, atLeastOne, pathSchema } from "../../skill/field.ts";

const COMPARISONS = ["equals", "in", "matches", "at_least", "at_most"] as const;

const outputMatch = lazy(() =>
  z
    .strictObject({
      path: pathSchema().describe("what is compared"),
      equals: z.json().optional().describe("the value, deeply"),
      in: z.array(z.json()).optional().describe("one of these values"),
      matches: z.string().optional().describe("a pattern (ECMAScript), which has one second"),
      at_least: z.number().optional().describe("a number that is not smaller"),
      at_most: z.number().optional().describe("a number that is not larger"),
      not: z
        .literal(true)
        .optional()
        .describe("turns the comparison round; a path that leads nowhere fails either way"),
    })
    .refine(
      (match) => COMPARISONS.filter((test) => match[test] !== undefined).length === 1,
      "needs exactly one of equals, in, matches, at_least and at_most",
    )
    .meta({ oneOf: anyRequired(COMPARISONS) }),
);
export type OutputMatch = Fitting<typeof outputMatch>;

const checks = lazy(() => ({
  output_required: z.array(pathSchema()).min(1).optional().describe("paths at which something other than null stands"),
  output_matches: z.array(outputMatch()).min(1).optional().describe("comparisons, all of which hold"),
}));

const checkNames = ["output_required", "output_matches"];

export const requires = lazy(() =>
  z
    .strictObject({
      ...checks(),
      on_fail: z.enum(["fail", "skip"]).optional().describe("what becomes of the node; default fail"),
    })
    .refine(...atLeastOne(checkNames))
    .meta({ anyOf: anyRequired(checkNames) }),
);
export type Requires = Fitting<typeof requires>;

export const valueRule = lazy(() =>
  z
    .strictObject(checks())
    .refine(...atLeastOne(checkNames))
    .meta({ anyOf: anyRequired(checkNames) }),
);
export type ValueRule = Fitting<typeof valueRule>;

export const conditionSchema = lazy(() =>
  z
    .union([z.string().regex(/\S/, "is empty: write PATH = VALUE"), valueRule()])
    .describe("a value rule, or PATH = VALUE, !=, >=, <=, PATH in [A, B], PATH exists"),
);
export type Condition = Fitting<typeof conditionSchema>;
