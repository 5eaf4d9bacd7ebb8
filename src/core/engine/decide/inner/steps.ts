import type { Json, JsonObject } from "../../../base/values.ts";
import { parseCondition } from "../../../document/condition.ts";
import { fillStep } from "../../../document/fill.ts";
import { checkValues } from "../../../document/value-rule.ts";
import { callsOf, type NodeStep, type StepCall } from "../../../document/workflow/step.ts";
import type { SingleStep } from "../../fold/step.ts";
import { newCall, type PendingCall } from "../../fold/visit.ts";
import { evaluate } from "../judging/judgement.ts";
import { leave, leaveFailed } from "../leave.ts";
import { toolNamed } from "../offer.ts";
import { unmetRequirement } from "../requirement.ts";
import { contextFor, skillsAt } from "../route.ts";
import { type Scene, toolsHere } from "../scene.ts";
import { perform } from "../turn-calls.ts";
import { stepsData } from "./outcome.ts";

/** Tool calls of a `steps` node. They follow from the document and the results of earlier steps. */

export function takeSteps(scene: Scene): SingleStep {
  const { visit, node } = scene;
  if (visit.failure) return leaveFailed(scene, visit.failure);
  if (visit.pending.length > 0)
    return perform(
      scene,
      visit.pending.filter(({ outcome }) => !outcome),
    );
  const unmet = visit.replies === 0 ? unmetRequirement(scene) : undefined;
  if (unmet) return leave(scene, unmet);
  const failed = visit.calls.find(({ step, error }) => error !== undefined && !isOptional(scene, step));
  if (failed) return leaveFailed(scene, { message: `step ${failed.step}: ${failed.error}` });
  const call = nextCall(scene, node.steps ?? []);
  return call ? perform(scene, [call]) : evaluate(scene, stepsData(visit));
}

function isOptional({ node }: Scene, id: string | undefined): boolean {
  return node.steps?.find((step) => step.id === id)?.on_error === "skip";
}

/** Returns the call of the next step that is not skipped. Steps before the last call have had their turn. */
function nextCall(scene: Scene, steps: readonly NodeStep[]): PendingCall | undefined {
  const last = scene.visit.calls.at(-1)?.step;
  const begun = steps.findIndex(({ id }) => id === last) + 1;
  for (const step of steps.slice(begun)) {
    const root = rootsHere(scene);
    if (!isMet(step, root)) continue;
    const [call] = callsOf(step);
    if (call) return callOf(scene, { id: step.id, call, root });
  }
  return undefined;
}

/** Returns the values that a step's condition and templates can read. Nodes win over the roots of the same name. */
function rootsHere({ program, state, visit }: Scene): JsonObject {
  const roots = ["input", "skills", ...state.results.keys()];
  const outer = contextFor({ output_required: roots }, state, skillsAt(program, state, visit.node));
  return { run: { id: program.record.run }, steps: stepsData(visit), ...outer };
}

function isMet({ if: condition }: NodeStep, root: JsonObject): boolean {
  if (condition === undefined) return true;
  const rule = parseCondition(condition);
  return typeof rule !== "string" && checkValues(rule, root).length === 0;
}

interface Filling {
  readonly id: string;
  readonly call: StepCall;
  readonly root: JsonObject;
}

/** Creates a step's call. If its input cannot be filled in, the call has the problem and is refused. */
function callOf(scene: Scene, { id, call, root }: Filling): PendingCall {
  const { visit } = scene;
  const key = `${visit.key}/${visit.attempt}/${visit.replies}/0`;
  const tool = toolNamed(toolsHere(scene).all, call.tool)?.exposed ?? call.tool;
  const written = (call.with ?? {}) as JsonObject;
  const filled = fillStep(written, root);
  const parts = "problem" in filled ? { input: written as Json, problem: filled.problem } : { input: filled.values };
  return {
    ...newCall({ key, index: 0, id: key, tool, ...parts, broken: false, step: id }),
    ...visit.audiences.get(key),
  };
}
