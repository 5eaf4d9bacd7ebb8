import { defined, parseDuration } from "../../../base/values.ts";
import type { EventBody } from "../../event/event.ts";
import { planDigest } from "../../event/operation.ts";
import { isWaiting, type State } from "../../fold/state.ts";
import type { SingleStep } from "../../fold/step.ts";
import { leave, leaveFailed } from "../leave.ts";
import { planOf } from "../planning.ts";
import type { Scene } from "../scene.ts";

/** Lists the approvals that a run and its inner runs wait for. `node` is the path as `signal` takes it. */
export function waitsOf(state: State) {
  return [state, ...state.run.inner.values()].flatMap((each) => {
    const { visit, inside } = each;
    if (!visit?.asked || !isWaiting(visit)) return [];
    const node = inside === undefined ? visit.node : `${inside.at}/${visit.node}`;
    return [{ node, state: each, visit, asked: visit.asked }];
  });
}

/** Asks for approval, and leaves the node after the answer. A denial is an answer too. */
export function askWord(scene: Scene): SingleStep {
  const { visit, node } = scene;
  const { word } = visit.asked ?? {};
  if (!word) return asking(scene);
  if (word.late && node.approval?.on_timeout !== "deny") {
    return leaveFailed(scene, { message: `no answer in time: ${visit.asked?.ask}` });
  }
  const data = { approved: word.approved, by: word.by, note: word.note ?? null };
  return leave(scene, { status: "success", data, toolCalls: [] });
}

function asking({ program, state, visit, node }: Scene): SingleStep {
  const body: EventBody = {
    type: "approval:asked",
    node: visit.node,
    ask: program.source(visit.node, "approval.ask"),
    ...defined("timeout_ms", parseDuration(node.approval?.timeout)),
    ...(node.approval?.of === "plan" ? { digest: planDigest(planOf(state)) } : {}),
  };
  // Both planning and withdrawing an operation change the plan.
  const { operations } = state.run;
  const changes = operations.length + operations.filter(({ withdrawn }) => withdrawn).length;
  return { kind: "decide", key: `${visit.key}/ask/${changes}`, bodies: [body] };
}
