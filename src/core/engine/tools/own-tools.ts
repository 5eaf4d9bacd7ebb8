import { EXECUTOR } from "../../skill/skill.ts";
import { alike, exposedName } from "../../skill/tool-names.ts";
import { BLOB_TOOLS } from "./blob.ts";
import { BOARD_TOOLS } from "./board.ts";
import { READ_RESULT } from "./results.ts";
import { STATE_TOOLS } from "./state.ts";

/** The executor's own tools. Core describes them, and `src/app/calls/own-tools.ts` runs them. */

export const READ_SKILL = "read_skill";
export const RUN_SCRIPT = "run_script";

/** Names of built-in tools. No skill's tool may be offered under them. */
export const OWN_TOOLS: readonly string[] = [
  READ_SKILL,
  RUN_SCRIPT,
  READ_RESULT,
  ...BLOB_TOOLS.map((tool) => tool.exposed),
  ...STATE_TOOLS,
  ...BOARD_TOOLS.map((tool) => tool.exposed),
];

/** Short names that a skill's tool must not have. */
export const RESERVED_TOOLS: readonly string[] = [...OWN_TOOLS, "run_code", "define_tool", "remove_tool"];

/** Reports whether a skill's tool has the name of a built-in tool, by its short or exposed name. */
export function isReservedTool(skill: string, tool: string): boolean {
  return RESERVED_TOOLS.includes(alike(tool)) || OWN_TOOLS.includes(alike(exposedName(skill, tool)));
}

/** Explains why a skill is rejected for its id or the exposed names of its tools, if it is. */
export function reservedName(skill: string, exposed: readonly string[]): string | undefined {
  if (skill === EXECUTOR) return `the id ${EXECUTOR} is reserved for skillflow's own tools`;
  const taken = exposed.find((name) => OWN_TOOLS.includes(name));
  return taken && `its tool would be offered as ${taken}, which is the name of one of skillflow's own tools`;
}

/** Formats the message for a tool that is left out. */
export function describeReserved(tool: string): string {
  return `the tool ${tool} is left out: skillflow has its own tool with this name`;
}
