import { deepEqual } from "../../../base/values.ts";
import { nodePath } from "../../../document/inner/place.ts";
import type { NodeStep } from "../../../document/workflow/step.ts";
import type { SingleStep } from "../../fold/step.ts";
import { type PendingCall, stepsData } from "../../fold/visit.ts";
import { admit } from "../admit.ts";
import { evaluate } from "../judging/judgement.ts";
import { leaveFailed } from "../leave.ts";
import { type Scene, toolsHere } from "../scene.ts";
import { perform, resultOf, runsAlone, sameAs } from "../turn-calls.ts";
import { pathsOfStep, turnOf } from "./step-calls.ts";

/** Tool calls of a `steps` node. They follow from the document and the results of earlier steps. */

export function takeSteps(scene: Scene): SingleStep {
  const { visit } = scene;
  const open = visit.pending.filter(({ outcome }) => !outcome);
  if (open.length > 0) return perform(scene, open);
  const failed = visit.calls.find(({ step, error }) => error !== undefined && !isOptional(scene, step));
  if (failed) {
    const doubt = visit.isDoubtful ? " (it may have been carried out, so a resume does not repeat it)" : "";
    const cause = visit.isDoubtful ? ({ cause: "in_doubt" } as const) : {};
    return leaveFailed(scene, { message: `step ${failed.step}: ${failed.error}${doubt}`, ...cause });
  }
  return nextStep(scene) ?? evaluate(scene, stepsData(visit));
}

function isOptional({ node }: Scene, id: string | undefined): boolean {
  return node.steps?.find((step) => step.id === id)?.on_error === "skip";
}

const MOST_TOGETHER = 8;

/** Takes the next steps that are not skipped. Steps before the last call have had their turn. */
function nextStep(scene: Scene): SingleStep | undefined {
  const { state, visit, node } = scene;
  const steps = node.steps ?? [];
  const last = visit.calls.at(-1)?.step;
  const group: PendingCall[] = [];
  for (const step of steps.slice(steps.findIndex(({ id }) => id === last) + 1)) {
    if (group.length === MOST_TOGETHER || group.some((call) => refersTo(step, call.step))) break;
    const turn = turnOf(scene, step, group.length);
    if (typeof turn !== "string") {
      if (group.length > 0 && !joins(scene, group, turn)) break;
      group.push(turn);
      if (!mayContinue(scene, turn)) break;
      continue;
    }
    const message = `node ${nodePath(state.inside?.at, visit.node)}: the step ${step.id} was skipped, because writes are denied`;
    if (turn !== "denied" || state.run.warned.has(message)) continue;
    if (group.length > 0) break;
    const key = `${visit.key}/${visit.attempt}/denied/${step.id}`;
    return { kind: "decide", key, bodies: [{ type: "warning", message, node: visit.node }] };
  }
  const [first] = group;
  return first && (repeated(scene, first) ?? perform(scene, group));
}

function refersTo(step: NodeStep, id: string | undefined): boolean {
  return pathsOfStep(step).some((path) => {
    const [root, name] = path.replace(/^(?:all|any):/, "").split(/[.[]/);
    return root === "steps" && (name === undefined || name === id);
  });
}

/** Checks whether a call only reads, and reads something else than the calls that run with it. */
function joins(scene: Scene, group: readonly PendingCall[], call: PendingCall): boolean {
  const isEqual = group.some(({ tool, input }) => tool === call.tool && deepEqual(input, call.input));
  return isRead(scene, call) && !isEqual && repetition(scene, call) === undefined;
}

/** Checks whether further reads may run with a call: it reads, is not answered already, and does not fail the node. */
function mayContinue(scene: Scene, call: PendingCall): boolean {
  const isRefused = admit(scene, call, toolsHere(scene)).kind === "refuse";
  if (isRefused) return isOptional(scene, call.step);
  return isRead(scene, call) && repetition(scene, call) === undefined;
}

function isRead(scene: Scene, { tool, input }: PendingCall): boolean {
  return !runsAlone(toolsHere(scene).find(tool, input));
}

/** Returns the reference of an equal read before a call. */
function repetition(scene: Scene, call: PendingCall): string | undefined {
  const tools = toolsHere(scene);
  const tool = tools.find(call.tool, call.input);
  if (!tool || admit(scene, call, tools).kind !== "run") return undefined;
  return sameAs(scene, { call, tool, sound: [] }, tools);
}

function repeated(scene: Scene, call: PendingCall): SingleStep | undefined {
  const same = repetition(scene, call);
  if (same === undefined) return undefined;
  const body = { ...resultOf(scene.visit.node, call, { output: `same as ${same}` }), same };
  return { kind: "decide", key: `${call.key}/same`, bodies: [body] };
}
