import type { ModelChoice } from "../../document/model-list.ts";
import type { WorkflowNode } from "../../document/workflow/node.ts";
import type { Program, ToolSet } from "../fold/program.ts";
import type { State } from "../fold/state.ts";
import type { Visit } from "../fold/visit.ts";
import { offeringOf } from "./offer.ts";

/** Visit in progress, with everything that its decisions depend on. */
export interface Scene {
  readonly program: Program;
  readonly state: State;
  readonly visit: Visit;
  readonly node: WorkflowNode;
}

export function sceneOf(program: Program, state: State, visit: Visit): Scene {
  return { program, state, visit, node: program.node(visit.node) };
}

export function toolsHere({ program, state, visit }: Scene): ToolSet {
  return program.tools(visit.node, offeringOf(program, state));
}

/** Returns the models for the node's work, its routing and its diagnoses. */
export function modelsFor(program: Program, state: State, node: string): ModelChoice {
  return program.node(node).model ?? program.workflow.model ?? state.run.settings.model;
}

/** Returns the node's turn limit. The correction of claims may be one turn beyond it. */
export function mostTurns({ state, visit, node }: Scene): number {
  const most = node.max_turns ?? state.run.settings.max_turns;
  return visit.recheck ? Math.max(most, visit.recheck.replies + 1) : most;
}
