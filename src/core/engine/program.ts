import type { RunRecord, Settings, SkillRecord } from "../event.ts";
import type { Prompt, Section } from "../prompt.ts";
import type { ToolDescriptor } from "../skill.ts";
import type { Edge, ValueRule, Workflow, WorkflowNode } from "../workflow.ts";
import type { Whole } from "./state.ts";

/** A workflow joined with the tool descriptions of its skills: all that deciding needs, beside the run's past. */
export interface Program {
  readonly record: RunRecord;
  readonly workflow: Workflow;
  node(id: string): WorkflowNode;
  edgesFrom(id: string): readonly NumberedEdge[];
  /** The available skills of a node, in its order. */
  skills(node: string): readonly SkillRecord[];
  /** The tools offered at a node, in order, under names that are unique there. */
  tools(node: string, now: Offering): ToolSet;
  /** Prompt sections before the instruction (N4): rules, context, then what is said of each available skill. */
  preface(node: string, now: Offering): readonly Section[];
  instruction(node: string): string;
  /** Said once, when the run starts. */
  readonly warnings: readonly string[];
}

/** An edge and its index in the workflow's `edges`, which identifies it (D9). */
export interface NumberedEdge extends Omit<Edge, "if"> {
  readonly index: number;
  /** Its `if`: without it holding, the edge is not live (G2). */
  readonly condition?: ValueRule;
}

/** What decides, beside the node itself, which tools it has: a state does. */
export interface Offering {
  readonly settings: Pick<Settings, "writes" | "context_mode">;
  readonly made: Whole["made"];
  readonly holdsBlobs: boolean;
  /** Whether a call of the run was answered. */
  readonly hasResults: boolean;
}

export interface ToolSet {
  /** Also those that the node keeps away. */
  readonly all: readonly ToolDescriptor[];
  readonly offered: readonly ToolDescriptor[];
  /** Those that are offered, as the model is told of them. */
  readonly told: Prompt["tools"];
  find(name: string): ToolDescriptor | undefined;
  /** Whether a name in a filter or evaluator means the called one (D52). */
  same(written: string, called: string): boolean;
}
