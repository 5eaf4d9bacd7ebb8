import type { Diagnostic } from "../../base/diagnostic.ts";
import { messageOf } from "../../base/errors.ts";
import { compileSchema } from "../../base/schema/schema.ts";
import type { Workflow } from "../workflow/workflow.ts";

/** Checks that each node's `output` is a valid JSON Schema before any model is called. */
export function checkOutputSchemas(workflow: Workflow, file?: string): Diagnostic[] {
  return Object.entries(workflow.nodes).flatMap(([id, { output }]): Diagnostic[] => {
    try {
      if (output) compileSchema(output);
      return [];
    } catch (error) {
      const message = `the output of node "${id}" is not a JSON Schema: ${messageOf(error)}`;
      return [
        {
          severity: "error",
          code: "INVALID_OUTPUT_SCHEMA",
          path: ["nodes", id, "output"],
          message,
          ...(file ? { file } : {}),
        },
      ];
    }
  });
}
