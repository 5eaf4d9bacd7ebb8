import * as z from "zod";
import { type Fitting, lazy } from "../../base/values.ts";
import { flag, optional, strings } from "../../skill/field.ts";

const common = { description: optional(z.string(), "Meaning of the field, shown to people and in errors") };

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
      type: z.literal(type).describe("Type of the value"),
      ...common,
      required: optional(flag(), "true: a run needs a value to start"),
      unless: optional(z.string().min(1), "Other field of the input that makes this one optional, such as run"),
      default: optional(value, "Value if none is given"),
      enum: optional(z.array(allowed).min(1), "Allowed values"),
    })
    .refine((field) => !(field.required && field.default !== undefined), "required excludes default")
    .meta({ not: { properties: { required: { const: true } }, required: ["required", "default"] } });
}
