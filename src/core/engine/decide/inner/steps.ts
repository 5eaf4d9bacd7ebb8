import type { SingleStep } from "../../fold/step.ts";
import { evaluate } from "../judging/judgement.ts";
import { leave, leaveFailed } from "../leave.ts";
import { unmetRequirement } from "../requirement.ts";
import type { Scene } from "../scene.ts";
import { perform } from "../turn-calls.ts";
import { stepsData } from "./outcome.ts";
import { turnOf } from "./step-calls.ts";

/** Tool calls of a `steps` node. They follow from the document and the results of earlier steps. */

export function takeSteps(scene: Scene): SingleStep {
  const { visit } = scene;
  if (visit.failure) return leaveFailed(scene, visit.failure);
  const open = visit.pending.filter(({ outcome }) => !outcome);
  if (open.length > 0) return perform(scene, open);
  const unmet = visit.replies === 0 ? unmetRequirement(scene) : undefined;
  if (unmet) return leave(scene, unmet);
  const failed = visit.calls.find(({ step, error }) => error !== undefined && !isOptional(scene, step));
  if (failed) return leaveFailed(scene, { message: `step ${failed.step}: ${failed.error}` });
  return nextStep(scene) ?? evaluate(scene, stepsData(visit));
}

function isOptional({ node }: Scene, id: string | undefined): boolean {
  return node.steps?.find((step) => step.id === id)?.on_error === "skip";
}

/** Takes the next step that is not skipped. Steps before the last call have had their turn. */
function nextStep(scene: Scene): SingleStep | undefined {
  const { state, visit, node } = scene;
  const steps = node.steps ?? [];
  const last = visit.calls.at(-1)?.step;
  for (const step of steps.slice(steps.findIndex(({ id }) => id === last) + 1)) {
    const turn = turnOf(scene, step);
    if (turn.kind === "call") return perform(scene, [turn.call]);
    const message = `node ${visit.node}: the step ${step.id} was skipped, because writes are denied`;
    if (turn.why !== "denied" || state.run.warned.has(message)) continue;
    const key = `${visit.key}/${visit.attempt}/denied/${step.id}`;
    return { kind: "decide", key, bodies: [{ type: "warning", message, node: visit.node }] };
  }
  return undefined;
}
