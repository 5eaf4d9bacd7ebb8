import { EXECUTOR, type ToolDescriptor } from "../../skill/skill.ts";

/** The `read_result` tool, which re-reads a result of the run. */

export const READ_RESULT = "read_result";

export interface ReadResult {
  readonly ref: string;
  readonly offset?: number;
  readonly search?: string;
}

export const READ_RESULT_TOOL: ToolDescriptor = {
  skill: EXECUTOR,
  name: READ_RESULT,
  exposed: READ_RESULT,
  description:
    "Reads the whole result of an earlier call of this run, from any node, without calling the service again.",
  input_schema: {
    type: "object",
    properties: {
      ref: { type: "string", pattern: "^\\[?r[1-9][0-9]*\\]?$", description: "The result's reference, such as r7" },
      offset: { type: "integer", minimum: 0, description: "Start at this byte. Default 0" },
      search: { type: "string", minLength: 1, maxLength: 500, description: "Only the lines that contain this text" },
    },
    required: ["ref"],
    additionalProperties: false,
  },
  effect: "read",
  idempotent: true,
};

export function isReadResult({ skill, name }: ToolDescriptor): boolean {
  return skill === EXECUTOR && name === READ_RESULT;
}

/** Converts `[r7]` to `r7`. */
export function plainRef(ref: string): string {
  return ref.replace(/^\[|\]$/g, "");
}
