import { type Diagnostic, errorAt } from "../../base/diagnostic.ts";
import { faultOfSchema } from "../../base/schema/schema.ts";
import { defined } from "../../base/values.ts";
import type { Workflow } from "../workflow/workflow.ts";

/** Checks that each node's `output` is a valid JSON Schema before any model is called. */
export function checkOutputSchemas(workflow: Workflow, file?: string): Diagnostic[] {
  return Object.entries(workflow.nodes).flatMap(([id, { output }]): Diagnostic[] => {
    const fault = output && faultOfSchema(output);
    if (fault === undefined) return [];
    const message = `the output of node "${id}" is not a JSON Schema: ${fault}`;
    return [{ ...errorAt("INVALID_OUTPUT_SCHEMA", ["nodes", id, "output"], message), ...defined("file", file) }];
  });
}
