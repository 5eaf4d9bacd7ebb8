import { defined } from "./settings.ts";
import type { Json, JsonObject, JsonSchema } from "./values.ts";
import type { InputField, Workflow } from "./workflow.ts";

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

function describeField(field: InputField): JsonObject {
  return {
    ...(field.type === "string[]" ? describeList(field.enum) : { type: field.type, ...defined("enum", field.enum) }),
    ...defined("description", field.description),
    ...defined("default", field.default),
  };
}

/** A list that is allowed as a whole, or a list of allowed strings (W24). */
function describeList(allowed: readonly (string | readonly string[])[] | undefined): JsonObject {
  if (!allowed) return { type: "array", items: { type: "string" } };
  const lists: readonly Json[] = allowed.filter((item) => typeof item !== "string");
  const words = allowed.filter((item) => typeof item === "string");
  const ofWords = { type: "array", items: { type: "string", enum: words } };
  if (lists.length === 0) return ofWords;
  return { type: "array", items: { type: "string" }, anyOf: [{ enum: lists }, ...(words.length > 0 ? [ofWords] : [])] };
}

/** Whether a run stops at the first decision (workflow-format X12). */
export function isDryRun(input: JsonObject): boolean {
  return input.dryRun === true;
}
