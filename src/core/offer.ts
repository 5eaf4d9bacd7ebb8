import type { Program, ToolSet } from "./program.ts";
import type { State } from "./state.ts";

/** The tools that a node has now: those of its skills, and such as the run itself brought about. */
export function toolsAt(program: Program, state: State, node: string): ToolSet {
  return program.tools(node, state.settings.writes);
}
