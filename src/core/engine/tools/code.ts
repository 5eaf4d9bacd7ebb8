import type { Tool } from "../../skill/skill.ts";

/** The `run_code` tool: Python that a model writes for one calculation. Its parameters are fixed by the protocol. */

export const CODE = "code";

/**
 * Counts as a read: the code runs in a sandbox without network, and its files are deleted afterwards. It may be
 * repeated for the same reason, although code that uses random numbers returns another result.
 */
export const CODE_TOOL: Omit<Tool, "handler" | "audience"> = {
  name: "run_code",
  description:
    "Runs your Python code once, in isolation: without network and secrets, with /workspace as its own empty folder. The result is the return value of the function `main`, so return what you want to see. Printed output is shown only if the code fails.",
  effect: "read",
  idempotent: true,
  input_schema: {
    type: "object",
    properties: {
      language: { type: "string", enum: ["python"] },
      code: { type: "string", description: "Source code that defines the function" },
      entrypoint: { type: "string", default: "main", description: "The function to call" },
      args: { type: "object", description: "Arguments of the function, as a dict" },
      mount_skills: {
        type: "array",
        items: { type: "string" },
        description:
          "Names of skills whose Python code you import: `from skills.a.b import main`, `from skills.word_count import handler`",
      },
      input_blobs: {
        type: "array",
        items: { type: "string" },
        description: "blob_ids of earlier results: runtime.blobs.read_text(blob_id), or the file /blobs/<blob_id>",
      },
      limits: {
        type: "object",
        properties: { timeout_ms: { type: "integer", minimum: 1, description: "default 60000" } },
      },
    },
    required: ["language", "code"],
  },
};
