import type { JsonObject } from "../../base/values.ts";
import { EXECUTOR, type ToolDescriptor } from "../../skill/skill.ts";

/** The board tools: they join what other steps read, and summarize what a map judged. Only steps call them. */

export const BOARD_READ = "board_read";
export const BOARD_DIGEST = "board_digest";

const text = { type: "string" };
const texts = { type: "array", items: text };
const count = { type: "integer", minimum: 0 };

function tool(name: string, description: string, [input, output]: readonly [JsonObject, JsonObject]): ToolDescriptor {
  const closed = { additionalProperties: false, type: "object" };
  return {
    ...{ skill: EXECUTOR, name, exposed: name, description, effect: "read", idempotent: true },
    input_schema: { ...closed, properties: input, required: Object.keys(input).slice(0, 1) },
    output_schema: { ...closed, properties: output, required: Object.keys(output) },
  };
}

export const BOARD_TOOLS: readonly ToolDescriptor[] = [
  tool(
    BOARD_READ,
    "Joins the lists of the trackers into one board, by exception, frame, service and release. Fails if none was read.",
    [
      { lists: { type: "object", description: "Results by step, such as sentry and sentry_2" }, trackers: texts },
      { source: text, issues: { type: "array", items: { type: "object" } }, left: count, gaps: texts },
    ],
  ),
  tool(BOARD_DIGEST, "Summarizes the judged items of a map over a board, and counts the others.", [
    { items: { type: "array", items: { type: "object" } }, left: count, board: { type: "object" } },
    { verdict: text, headline: text, lines: texts, first_step: { type: ["string", "null"] }, text },
  ]),
];

export function isBoardTool({ skill, name }: Pick<ToolDescriptor, "skill" | "name">): boolean {
  return skill === EXECUTOR && (name === BOARD_READ || name === BOARD_DIGEST);
}
