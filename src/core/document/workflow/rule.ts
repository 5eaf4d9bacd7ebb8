import * as z from "zod";
import { type Fitting, lazy } from "../../base/values.ts";
import { lazyAnyOf, lazyOneOf, matching, optional, pathSchema } from "../../skill/field.ts";

const outputMatch = lazyOneOf(["equals", "in", "matches", "at_least", "at_most"], () => ({
  path: pathSchema().describe("Path of the value to compare"),
  equals: optional(z.json(), "Expected value, compared deeply"),
  in: optional(() => z.union([z.array(z.json()), pathSchema()]), "List of accepted values, or a path to them"),
  matches: optional(z.string(), "Regular expression (ECMAScript), with a time limit of one second"),
  at_least: optional(z.number(), "Minimum number"),
  at_most: optional(z.number(), "Maximum number"),
  not: optional(z.literal(true), "Inverts the comparison. A path that does not resolve fails in both cases."),
}));
export type OutputMatch = Fitting<typeof outputMatch>;

const checks = lazy(() => ({
  output_required: optional(() => z.array(pathSchema()).min(1), "Paths that must resolve to a value other than null"),
  output_matches: optional(() => z.array(outputMatch()).min(1), "Comparisons that must all hold"),
}));

const CHECKS = ["output_required", "output_matches"];

export const requires = lazyAnyOf(CHECKS, () => ({
  ...checks(),
  on_fail: optional(z.enum(["fail", "skip"]), "Result of the node if the check fails (default fail)"),
}));
export type Requires = Fitting<typeof requires>;

export const valueRule = lazyAnyOf(CHECKS, checks);
export type ValueRule = Fitting<typeof valueRule>;

export const conditionSchema = lazy(() =>
  z
    .union([matching(/\S/, "is empty: write PATH = VALUE"), valueRule()])
    .describe("Value rule, or PATH = VALUE, !=, >=, <=, PATH in [A, B], PATH exists"),
);
export type Condition = Fitting<typeof conditionSchema>;
