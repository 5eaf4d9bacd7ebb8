import type { Json } from "../../base/values.ts";
import type { Edge, WorkflowNode } from "../../document/workflow/node.ts";
import type { ValueRule } from "../../document/workflow/rule.ts";
import type { Workflow } from "../../document/workflow/workflow.ts";
import type { ToolDescriptor } from "../../skill/skill.ts";
import type { Prompt, Section } from "../event/prompt.ts";
import type { ChangedSkills, RunRecord, SkillRecord } from "../event/record.ts";
import type { Settings } from "../event/settings.ts";
import type { Whole } from "./state.ts";

/** A workflow joined with the tool descriptions of its skills: all that deciding needs, beside the run's past. */
export interface Program {
  readonly record: RunRecord;
  readonly workflow: Workflow;
  node(id: string): WorkflowNode;
  edgesFrom(id: string): readonly NumberedEdge[];
  /** The available skills of a node, in its order, without what a resumed run has lost. */
  skills(node: string, changed: readonly ChangedSkills[number][]): readonly SkillRecord[];
  /** The tools offered at a node, in order, under names that are unique there. */
  tools(node: string, now: Offering): ToolSet;
  /** Prompt sections before the instruction (N4): rules, context, then what is said of each available skill. */
  preface(node: string, now: Offering): readonly Section[];
  instruction(node: string): string;
  /** The resolved Source of one of a node's fields: `approval.ask`. */
  source(node: string, field: string): string;
  /** Of an inner run: the program of the run that it is inside of. */
  readonly parent: Program | undefined;
  /** What its node lets it spend; nothing of the run itself, whose settings say so. */
  readonly limits: InnerLimits;
  /** The stricter of its document's and those around it. */
  readonly writes: Settings["writes"];
  /** The program of the workflow that a node runs. */
  inner(node: string): Program;
  /** The program of what takes place there; the run's own where nothing is named. */
  inside(at: string | undefined): Program;
  /** Said once, when the run starts. */
  readonly warnings: readonly string[];
}

/** What an inner run may spend. Durations in milliseconds. */
export interface InnerLimits {
  readonly max_cost_usd?: number | undefined;
  readonly max_tokens?: number | undefined;
  readonly max_steps?: number | undefined;
  readonly timeout_ms?: number | undefined;
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
  /** What a resumed run has lost of its skills. */
  readonly changed: readonly ChangedSkills[number][];
}

export interface ToolSet {
  /** Also those that the node keeps away. */
  readonly all: readonly ToolDescriptor[];
  readonly offered: readonly ToolDescriptor[];
  /** Those that are offered, as the model is told of them. */
  readonly told: Prompt["tools"];
  /** With `input`, the tool as a call with this input uses it. */
  find(name: string, input?: Json): ToolDescriptor | undefined;
  /** Whether a name in a filter or evaluator means the called one (D52). */
  same(written: string, called: string): boolean;
}
