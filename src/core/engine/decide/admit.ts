import type { Redactor } from "../../base/redact/redact.ts";
import type { Json, JsonSchema } from "../../base/values.ts";
import {
  type Audience,
  EXECUTOR,
  type Failure,
  readsPrivate,
  refusedCall,
  type ToolDescriptor,
} from "../../skill/skill.ts";
import type { ToolSet } from "../fold/program.ts";
import type { PlannedOperation } from "../fold/state.ts";
import type { PendingCall } from "../fold/visit.ts";
import { inertResult } from "../plan/proposal.ts";
import { publicResult } from "../plan/public-text.ts";
import { admitReferences, fillReferences, referencesIn } from "../plan/reference.ts";
import { readingProblem } from "../tools/disclosure.ts";
import { isProposal } from "../tools/proposal.ts";
import { puttingProblem } from "../tools/state.ts";
import { misfitOf } from "../tools/tool-input.ts";
import { makingProblem } from "../tools/tool-maker.ts";
import { leavesOf, readingsOf } from "./inner/reading.ts";
import { settingsAt, toolsAt } from "./offer.ts";
import type { Scene } from "./scene.ts";

/** Decides which calls are sent: those of a model, and the operations of an approved plan. */

/** Decision about a call. `audience`, `change`: first ask who would read the write, or what it would change. */
export type Admission =
  | { readonly kind: "refuse"; readonly failure: Failure }
  | { readonly kind: "audience" | "change" | "plan" | "run"; readonly tool: ToolDescriptor };

const MOST_CALLS = 64;

const BEYOND_MOST = refusedCall(
  `a turn can make at most ${MOST_CALLS} calls, so this one did not run`,
  "limit.reached",
);

/** Decides whether a model's call runs, is planned, or first needs its audience. */
export function admit(scene: Scene, call: PendingCall, tools: ToolSet): Admission {
  const tool = tools.find(call.tool, call.input);
  if (call.problem !== undefined) return { kind: "refuse", failure: refusedCall(call.problem, "input.invalid") };
  if (call.index >= MOST_CALLS) return { kind: "refuse", failure: BEYOND_MOST };
  if (!tool) return { kind: "refuse", failure: unknownTool(call, tools) };
  const isPlanned = !call.broken && isHeld(scene, call, tool);
  const failure = isPlanned
    ? (planProblem(scene, call, tool) ?? problemOf(asPlanned(call), withReferences(tool, asPlanned(call).input), tools))
    : problemOf(call, tool, tools);
  if (failure) return { kind: "refuse", failure };
  if (!call.audience && needsAudience(scene, tool)) return { kind: "audience", tool };
  if (isProposal(tool)) {
    if (!call.change) return { kind: "change", tool };
    if ("error" in call.change) return { kind: "refuse", failure: call.change };
  }
  return { kind: isPlanned ? "plan" : "run", tool };
}

function writesHere({ program, state }: Scene) {
  return settingsAt(program, state.run.settings).writes;
}

/** Checks whether a call is planned: all writes are, or this one would send private text to a public place. */
function isHeld(scene: Scene, call: PendingCall, tool: ToolDescriptor): boolean {
  if (tool.effect !== "write") return call.refers === true;
  if (isProposal(tool)) return true;
  return writesHere(scene) === "plan" || call.refers === true || takesPrivateText(scene, call, tool);
}

function asPlanned(call: PendingCall): PendingCall {
  return { ...call, input: call.plannedInput ?? call.input };
}

/** Checks whether the actual audience of a write matters. Only a tool that declares a public audience needs the check. */
function needsAudience(scene: Scene, tool: ToolDescriptor): boolean {
  if (tool.effect !== "write" || tool.audience !== "public") return false;
  return writesHere(scene) === "plan" || (!scene.state.run.settings.allow_public && isPrivate(scene));
}

/** Checks whether a write would send text from a private source to a public place. */
export function takesPrivateText(scene: Scene, call: PendingCall, tool: ToolDescriptor): boolean {
  if (scene.state.run.settings.allow_public || audienceOf(call, tool) !== "public") return false;
  return isPrivate(scene);
}

export function audienceOf({ audience }: PendingCall, tool: ToolDescriptor): Audience {
  return audience ?? tool.audience ?? "team";
}

/** Checks whether a tool that reads a private source was offered to the node, or to one whose result it received. */
function isPrivate(scene: Scene): boolean {
  const { state } = scene;
  const leaves = readingsOf(scene).flatMap(leavesOf);
  return leaves.some(({ program, id }) => toolsAt(program, state, id).offered.some(readsPrivate));
}

/**
 * Returns why a call cannot be planned. The service's refusal fails a call that would be held for review, but if all
 * writes are planned it is ignored, because the plan may be applied with another key.
 */
function planProblem(scene: Scene, call: PendingCall, { effect }: ToolDescriptor): Failure | undefined {
  const { refusal } = call;
  const { input } = asPlanned(call);
  if (effect === "read") return refusedCall("it needs the result of a write that is only planned", "input.invalid");
  const planned = scene.state.run.operations.filter(({ withdrawn }) => !withdrawn).map(({ operation }) => operation.id);
  const unknown = referencesIn(input).find((id) => !planned.includes(id));
  if (unknown === undefined) return writesHere(scene) === "plan" ? undefined : refusal;
  const known = planned.length === 0 ? "nothing is planned yet" : `planned so far: ${planned.join(", ")}`;
  return refusedCall(`\${${unknown}} is not an earlier operation of this run: ${known}`, "input.invalid");
}

const admitting = new WeakMap<JsonSchema, JsonSchema>();

/** Lets the input of a planned call refer to the results of earlier operations. */
export function withReferences(tool: ToolDescriptor, input: Json): ToolDescriptor {
  if (referencesIn(input).length === 0) return tool;
  const { input_schema } = tool;
  const schema = admitting.get(input_schema) ?? admitReferences(input_schema);
  admitting.set(input_schema, schema);
  return { ...tool, input_schema: schema };
}

function unknownTool({ tool }: PendingCall, { offered }: ToolSet): Failure {
  const names = offered.map((other) => other.exposed).join(", ");
  const others = names ? `the available tools are ${names}` : "no tools are available";
  return refusedCall(`no tool is named ${tool}; ${others}`, "tool.unknown");
}

function problemOf({ broken, input }: PendingCall, tool: ToolDescriptor, { all }: ToolSet): Failure | undefined {
  const error = broken
    ? "the arguments are not valid JSON"
    : (readingProblem(tool, input) ??
      misfitOf(tool, input) ??
      makingProblem(tool, input, all) ??
      puttingProblem(tool, input));
  return error === undefined ? undefined : refusedCall(error, "input.invalid");
}

/** Decision about an approved operation: its input as it is sent, or why it is not. */
type OperationAdmission =
  | { readonly kind: "run"; readonly tool: ToolDescriptor; readonly input: Json }
  | { readonly kind: "skipped" | "refused"; readonly error: string }
  | { readonly kind: "in_doubt" };

interface Applying {
  readonly planned: readonly PlannedOperation[];
  /** The tool as it is now. Its current schema must accept the planned input. */
  readonly tool: ToolDescriptor | undefined;
  /** Reason why the tool is missing, if it is known. */
  readonly lack?: string | undefined;
  readonly redactor: Redactor;
}

/** Decides whether an approved operation is sent, after those that it refers to. */
export function admitOperation(
  { operation, application }: PlannedOperation,
  { planned, tool, lack, redactor }: Applying,
): OperationAdmission {
  const refused = (error: string) => ({ kind: "refused", error }) as const;
  const { refers, skill, input, held, kind } = operation;
  const applied = new Map(planned.filter(isApplied).map((one) => [one.operation.id, one.application.output] as const));
  const waiting = refers.find((id) => !applied.has(id));
  if (waiting !== undefined) return { kind: "skipped", error: `it refers to ${waiting}, which was not applied` };
  if (!tool) return refused(lack ?? `${skill} no longer has the tool ${operation.tool}`);
  if (tool.effect !== "write" && tool.skill !== EXECUTOR)
    return refused(`${operation.tool} of ${skill} no longer writes`);
  const isShown = held === undefined && kind !== "patch";
  const shown = (output: Json = null) => (isShown ? output : publicResult(output, tool.host));
  const insert = kind === "patch" ? inertResult : undefined;
  const filled = fillReferences(input, (id) => shown(applied.get(id)), insert);
  if ("missing" in filled) return refused(`${filled.missing.join(", ")}: the result has no such value`);
  const misfit = misfitOf(tool, filled.input);
  if (misfit !== undefined) return refused(misfit);
  // The run did not know this secret, so it is in the approved input. Redacting it would change what was approved.
  if (redactor.value(filled.input) !== filled.input) return refused("its input contains a secret, so it was not sent");
  if (application.standing === "in_doubt" && !tool.idempotent) return { kind: "in_doubt" };
  return { kind: "run", tool, input: filled.input };
}

export function isApplied({ application }: PlannedOperation): boolean {
  return application.standing === "applied";
}

export function isOpen({ application }: PlannedOperation): boolean {
  return application.standing !== "applied" && application.standing !== "denied";
}
