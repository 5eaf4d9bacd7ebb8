import { defined, type JsonObject, type JsonSchema } from "../base/values.ts";
import type { InputField } from "./workflow/input.ts";
import type { Workflow } from "./workflow/workflow.ts";

/** Describes a workflow's inputs as JSON Schema. Like the input check, it accepts undeclared keys. */
export function describeInputs({ inputs = {} }: Workflow): JsonSchema {
  const fields = Object.entries(inputs);
  const required = fields.filter(([, field]) => field.required && field.unless === undefined).map(([name]) => name);
  return {
    type: "object",
    properties: Object.fromEntries(fields.map(([name, field]) => [name, describeField(field)])),
    ...(required.length > 0 ? { required } : {}),
    additionalProperties: true,
  };
}

/** Input fields that the program uses itself, whatever the workflow declares. */
export const RUN_FIELDS = ["dryRun", "rules", "context", "run"];

function describeField(field: InputField): JsonObject {
  return {
    ...(field.type === "string[]" ? { type: "array", items: { type: "string" } } : { type: field.type }),
    ...defined("enum", field.enum),
    ...defined("description", field.description),
    ...defined("default", field.default),
  };
}

/**
 * Checks whether a run's input can contain text from untrusted authors. It cannot if every declared field is a number,
 * a boolean or an enum, and no other field is given. An earlier run at `run` always counts, even if it is declared.
 */
export function bringsText(inputs: Workflow["inputs"], input: JsonObject = {}): boolean {
  if (inputs === undefined || Object.hasOwn(inputs, "run") || input.run !== undefined) return true;
  const isBound = ({ type, enum: allowed }: InputField) =>
    type === "number" || type === "boolean" || allowed !== undefined;
  return !Object.values(inputs).every(isBound) || Object.keys(input).some((name) => !Object.hasOwn(inputs, name));
}

/** Checks whether a run stops at the first routing decision. */
export function isDryRun(input: JsonObject): boolean {
  return input.dryRun === true;
}
