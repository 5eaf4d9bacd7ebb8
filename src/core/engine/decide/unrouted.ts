import { isDryRun } from "../../document/inputs.ts";
import { checkValues } from "../../document/value-rule.ts";
import type { Unrouted } from "../event/end.ts";
import type { Program } from "../fold/program.ts";
import type { State } from "../fold/state.ts";
import { contextFor, skillsAt } from "./route.ts";

/** Returns why none of a node's edges applies. A node without edges, a denial and a dry run end a run by themselves. */
export function describeUnrouted(program: Program, state: State, node: string): Unrouted | undefined {
  const leading = program.edgesFrom(node);
  const isDenied = program.node(node).approval && state.results.get(node)?.data.approved === false;
  const isCut = isDryRun(program.record.input) && leading.some(({ when }) => when !== undefined);
  if (leading.length === 0 || isDenied || isCut) return undefined;
  const edges = leading.flatMap(({ to, when, condition = {}, max_iterations, index }) => {
    const [complaint] = checkValues(condition, contextFor(condition, state, skillsAt(program, state, node)));
    const follows = state.follows.get(index) ?? 0;
    const isSpent = max_iterations !== undefined && follows >= max_iterations;
    const reason = complaint ?? (isSpent ? `it was followed ${follows} times` : `the model did not choose it: ${when}`);
    return { to, reason };
  });
  return { node, edges };
}
