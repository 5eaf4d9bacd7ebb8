import type { JsonObject, JsonSchema } from "../base/values.ts";
import { defined } from "../base/values.ts";
import type { InputField } from "./workflow/input.ts";
import type { Workflow } from "./workflow/workflow.ts";

/** A workflow's inputs as JSON Schema: what fits it passes the input check, undeclared keys included (W26). */
export function describeInputs({ inputs = {} }: Workflow): JsonSchema {
  const fields = Object.entries(inputs);
  const required = fields.filter(([, field]) => field.required).map(([name]) => name);
  return {
    type: "object",
    properties: Object.fromEntries(fields.map(([name, field]) => [name, describeField(field)])),
    ...(required.length > 0 ? { required } : {}),
    additionalProperties: true,
  };
}

/** Fields of a run's input that belong to the program, whatever the workflow declares. */
export const RUN_FIELDS = ["dryRun", "rules", "context"];

function describeField(field: InputField): JsonObject {
  return {
    ...(field.type === "string[]" ? { type: "array", items: { type: "string" } } : { type: field.type }),
    ...defined("enum", field.enum),
    ...defined("description", field.description),
    ...defined("default", field.default),
  };
}

/**
 * Whether a run's input brings text that anybody may have written (fine-print T21): unless every declared field is a number,
 * a boolean or one of a list, and a run has no others.
 */
export function bringsText(inputs: Workflow["inputs"], input: JsonObject = {}): boolean {
  if (inputs === undefined) return true;
  const isBound = ({ type, enum: allowed }: InputField) =>
    type === "number" || type === "boolean" || allowed !== undefined;
  return !Object.values(inputs).every(isBound) || Object.keys(input).some((name) => !Object.hasOwn(inputs, name));
}

/** Whether a run stops at the first decision (workflow-format X12). */
export function isDryRun(input: JsonObject): boolean {
  return input.dryRun === true;
}
