import * as z from "zod";
import { type Fitting, lazy } from "../../base/values.ts";
import { flag, strings } from "../../skill/field.ts";

const common = { description: z.string().optional().describe("what it is, for people and errors") };

export const inputField = lazy(() =>
  z.discriminatedUnion("type", [
    inputOf("string", z.string(), z.string()),
    inputOf("number", z.number(), z.number()),
    inputOf("boolean", z.boolean(), z.boolean()),
    inputOf("string[]", strings(), strings()),
  ]),
);
export type InputField = Fitting<typeof inputField>;

function inputOf<Type extends string, Value extends z.ZodType, Allowed extends z.ZodType>(
  type: Type,
  value: Value,
  allowed: Allowed,
) {
  return z
    .strictObject({
      type: z.literal(type).describe("what its value is"),
      ...common,
      required: flag().optional().describe("true: a run without it does not begin"),
      default: value.optional().describe("its value where none is given"),
      enum: z.array(allowed).min(1).optional().describe("the values that it may have"),
    })
    .refine((field) => !(field.required && field.default !== undefined), "required excludes default")
    .meta({ not: { properties: { required: { const: true } }, required: ["required", "default"] } });
}
