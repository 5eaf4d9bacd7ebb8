import type { Json } from "../../base/values.ts";
import type { Edge, WorkflowNode } from "../../document/workflow/node.ts";
import type { ValueRule } from "../../document/workflow/rule.ts";
import type { Workflow } from "../../document/workflow/workflow.ts";
import type { ToolDescriptor } from "../../skill/skill.ts";
import type { Prompt, Section } from "../event/prompt.ts";
import type { ChangedSkills, RunRecord, Settings, SkillRecord } from "../event/record.ts";
import type { Whole } from "./state.ts";

/** Workflow joined with the tool descriptions of its skills. With the run's past, it is all that decisions need. */
export interface Program {
  readonly record: RunRecord;
  readonly workflow: Workflow;
  node(id: string): WorkflowNode;
  edgesFrom(id: string): readonly NumberedEdge[];
  /** Returns the available skills of a node in order, without what a resumed run has lost. */
  skills(node: string, changed: readonly ChangedSkills[number][]): readonly SkillRecord[];
  /** Returns the tools offered at a node, in order and under unique names. */
  tools(node: string, now: Offering): ToolSet;
  /** Returns the prompt sections before the instruction: rules, context and the available skills. */
  preface(node: string, now: Offering): readonly Section[];
  /** Returns the resolved Source of a node's field, such as `instruction` or `approval.ask`. */
  source(node: string, field: string): string;
  /** Program of the enclosing run. Undefined for the run itself. */
  readonly parent: Program | undefined;
  /** Limits set by the node that runs it. Empty for the run itself, which has them in its settings. */
  readonly limits: InnerLimits;
  /** Strictest value of its document and the enclosing ones. */
  readonly writes: Settings["writes"];
  /** Returns the program of the workflow that a node runs. */
  inner(node: string): Program;
  /** Returns the program of the inner run at a place, or the run's own without a place. */
  inside(at: string | undefined): Program;
  /** Warnings that are reported once, when the run starts. */
  readonly warnings: readonly string[];
}

/** Limits of an inner run. Durations are in milliseconds. */
export type InnerLimits = Pick<Settings["limits"], "max_cost_usd" | "max_tokens" | "max_steps" | "timeout_ms">;

/** Edge with its index in the workflow's `edges`, which identifies it. */
export interface NumberedEdge extends Omit<Edge, "if"> {
  readonly index: number;
  /** Parsed `if`. The edge is live only if it holds. */
  readonly condition?: ValueRule;
}

/** Part of the run's state that decides, together with a node, which tools the node has. */
export interface Offering {
  readonly settings: Pick<Settings, "writes" | "context_mode">;
  readonly made: Whole["made"];
  readonly holdsBlobs: boolean;
  /** Skills, or parts of them, that a resumed run has lost. */
  readonly changed: readonly ChangedSkills[number][];
}

export interface ToolSet {
  /** All tools, including those that the node hides. */
  readonly all: readonly ToolDescriptor[];
  readonly offered: readonly ToolDescriptor[];
  /** Offered tools, as described to the model. */
  readonly told: () => Prompt["tools"];
  /** Returns an offered tool by name. With `input`, returns it as a call with this input uses it. */
  find(name: string, input?: Json): ToolDescriptor | undefined;
  /** Checks whether a name in a filter or evaluator means the called tool. */
  same(written: string, called: string): boolean;
}
