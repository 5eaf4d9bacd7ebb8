import * as z from "zod";
import { usageError } from "../base/errors.ts";
import { type Fitting, lazy } from "../base/values.ts";

/** One model, or several in order: the next is asked if one is overloaded, unavailable or out of quota. */
export const modelChoice = lazy(() =>
  z.union([
    z.string().min(1),
    z.array(z.string().min(1)).min(1).refine(isUnique, "names a model twice").meta({ uniqueItems: true }),
  ]),
);

export type ModelChoice = Fitting<typeof modelChoice>;

function isUnique(names: readonly string[]): boolean {
  return new Set(names).size === names.length;
}

export function modelsOf(choice: ModelChoice): readonly string[] {
  return typeof choice === "string" ? [choice] : choice;
}

/** Writes models as `--model` takes them. */
export function modelText(choice: ModelChoice): string {
  return modelsOf(choice).join(",");
}

/** Parses the value of `--model`: `A`, or `A,B`. A file of answers serves a whole run, so its path keeps its commas. */
export function parseModels(text: string): ModelChoice {
  if (!text.includes(",") || isFile(text)) return text;
  return checkedModels(text.split(",").map((name) => name.trim()));
}

/** Checks a list of models from outside a document. */
export function checkedModels(names: readonly string[]): string[] {
  const wrong = problemOf(names);
  if (wrong) throw usageError(`the list of models ${wrong}`, "write different models, as in A,B");
  return [...names];
}

function problemOf(names: readonly string[]): string | undefined {
  if (names.length === 0) return "is empty";
  if (names.includes("")) return "has an empty name";
  if (!isUnique(names)) return "names a model twice";
  const file = names.find(isFile);
  return file && names.length > 1 ? `contains ${file}, which answers a whole run` : undefined;
}

function isFile(name: string): boolean {
  return /^(?:replay|script):/.test(name);
}
