import * as z from "zod";
import { type Fitting, lazy } from "../base/values.ts";

/** One model, or several in order: the next is asked if one is overloaded, unavailable or out of quota. */
export const modelChoice = lazy(() =>
  z.union([
    z.string().min(1),
    z
      .array(z.string().min(1))
      .refine(({ length }) => length > 0, "must name a model, as in [anthropic:claude-sonnet-4-5, openai:gpt-5]")
      .refine(isUnique, "names a model twice")
      .meta({ minItems: 1, uniqueItems: true }),
  ]),
);

export type ModelChoice = Fitting<typeof modelChoice>;

export function isUnique(names: readonly string[]): boolean {
  return new Set(names).size === names.length;
}

export function modelsOf(choice: ModelChoice): readonly string[] {
  return typeof choice === "string" ? [choice] : choice;
}

/** Writes models as `--model` takes them. */
export function modelText(choice: ModelChoice): string {
  return modelsOf(choice).join(",");
}
