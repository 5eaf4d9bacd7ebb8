import { alike, EXECUTOR, exposedName } from "../../skill/skill.ts";
import { BLOB_TOOLS } from "./blob.ts";
import { READ_RESULT } from "./results.ts";
import { STATE_TOOLS } from "./state.ts";

/** The executor's own tools: core describes them, `src/app/calls/own-tools.ts` carries them out. */

export const READ_SKILL = "read_skill";
export const RUN_SCRIPT = "run_script";

/** Offered under these very names, under which no skill's tool may be offered. */
export const OWN_TOOLS: readonly string[] = [
  READ_SKILL,
  RUN_SCRIPT,
  READ_RESULT,
  ...BLOB_TOOLS.map((tool) => tool.exposed),
  ...STATE_TOOLS,
];

/** The bare names that no skill's tool may have (skill-formats 7.2). */
export const RESERVED_TOOLS: readonly string[] = [...OWN_TOOLS, "run_code", "define_tool", "remove_tool"];

/** Whether a tool would stand in for one of skillflow itself, by its own name or by that under which it is offered. */
export function isReservedTool(skill: string, tool: string): boolean {
  return RESERVED_TOOLS.includes(alike(tool)) || OWN_TOOLS.includes(alike(exposedName(skill, tool)));
}

/** Why a skill is refused for its names; undefined where it is not. `exposed` are the names of its tools as offered. */
export function reservedName(skill: string, exposed: readonly string[]): string | undefined {
  if (skill === EXECUTOR) return `the id ${EXECUTOR} is reserved for the tools of skillflow itself`;
  const taken = exposed.find((name) => OWN_TOOLS.includes(name));
  return taken && `its tool would be offered as ${taken}, which is the name of a tool of skillflow itself`;
}

/** What becomes of one. */
export function describeReserved(tool: string): string {
  return `the tool ${tool} is left out: skillflow itself has one of that name`;
}
