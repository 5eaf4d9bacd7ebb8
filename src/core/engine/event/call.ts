import type { Fitting, Json } from "../../base/values.ts";
import type { ToolDescriptor } from "../../skill/skill.ts";
import type { EventOf, StepKey } from "./event.ts";
import type { callSchema } from "./record.ts";

/**
 * A call and its result so far. `at` is the path of the inner run that made it, `step` the step of a `steps` node.
 * `facts` are about the tool, if another run made the call. `planned`: it became an operation of the plan.
 */
export type RecordedCall = Fitting<typeof callSchema> & { readonly step?: string };

/** Returns the output of a call that succeeded. */
export function outputOf({ outcome }: Pick<RecordedCall, "outcome">): Json | undefined {
  return outcome && "output" in outcome ? outcome.output : undefined;
}

/** Facts about a tool that the check of evidence relies on. */
export type ToolFacts = Pick<ToolDescriptor, "skill" | "effect" | "origin" | "echoes">;

/** A tool that the run itself defined, with the source of its handler. */
export type MadeTool = Pick<EventOf<"tool:defined">, "tool" | "parameters" | "code" | "persistent">;

/** A call to carry out. Its input matches the tool's schema. */
export interface Call {
  readonly key: StepKey;
  /** The id that the handler receives. Derived from the run and the key by default. */
  readonly id?: string;
  readonly ref?: string;
  /** The step of a `steps` node that makes the call. */
  readonly step?: string;
  readonly tool: ToolDescriptor;
  readonly input: Json;
  /** The tool that the call runs or removes, if the run itself defined it. */
  readonly made?: MadeTool;
  /** The call whose result this call re-reads. */
  readonly again?: RecordedCall;
  /** The instruction that the call reads, with the node's tool names. */
  readonly reading?: string;
  /** For a tool of `workspace`: what the node may change. */
  readonly paths?: NodePaths;
  /** The result, if it comes from the run's own memory. */
  readonly recalled?: Json;
}

/** Limits on a node's changes of the working copy: globs, and files of other nodes that stay as they are. */
export interface NodePaths {
  /** Undefined if all files may change. */
  readonly allow: readonly string[] | undefined;
  readonly deny: readonly string[];
  readonly keep: readonly string[];
}
