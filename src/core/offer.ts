import { BLOB_TOOLS } from "./blob.ts";
import type { Program, ToolSet } from "./program.ts";
import type { ToolDescriptor } from "./skill.ts";
import type { State } from "./state.ts";

/** The tools that a node has now: those of its skills, and such as the run itself brought about. */
export function toolsAt(program: Program, state: State, node: string): ToolSet {
  const set = program.tools(node, state.settings.writes);
  if (!state.holdsBlobs || !program.hasSkills(node)) return set;
  const denied = program.node(node).tools?.deny ?? [];
  return withMore(
    set,
    BLOB_TOOLS.filter((tool) => !denied.includes(tool.name)),
  );
}

/** `allow` does not hide them: they only read on in what an allowed tool answered. */
function withMore(set: ToolSet, more: readonly ToolDescriptor[]): ToolSet {
  return {
    offered: [...set.offered, ...more],
    find: (name) => set.find(name) ?? more.find((tool) => tool.exposed === name),
    same: set.same,
  };
}
