import { defined, type JsonObject } from "../../base/values.ts";
import type { WorkflowNode } from "../../document/workflow/node.ts";
import type { EventBody, EventOf } from "../event/event.ts";
import type { NodeResult } from "../event/node-result.ts";
import { dataLeft } from "../evidence/weigh.ts";
import { shortfallsOf } from "../fold/degraded.ts";
import type { SingleStep } from "../fold/step.ts";
import { type AgentFailure, itemsData, stepsData, toolCallOf, type Visit } from "../fold/visit.ts";
import { deniedSteps, missedSkills } from "./inner/step-calls.ts";
import { readAnswer } from "./route.ts";
import type { Scene } from "./scene.ts";

/** Ends a visit after a failure. With `fail_soft` it succeeds. A model's error and a failed step leave it open to resume. */
export function leaveFailed(scene: Scene, failure: AgentFailure): SingleStep {
  const { visit, node } = scene;
  const data = { ...partialData(visit, node), error: failure.message };
  const toolCalls = [...visit.calls, ...visit.pending.map(toolCallOf)];
  if (node.fail_soft) return leave(scene, { status: "success", data: { ...data, fail_soft: true }, toolCalls });
  const unfinished = failure.code === undefined && !node.steps ? {} : { unfinished: true as const };
  return leave(scene, { status: "failed", data, toolCalls }, { ...unfinished, ...defined("cause", failure.cause) });
}

export function leaveUnfinished(scene: Scene): SingleStep {
  const { state, visit, node } = scene;
  const data = { ...partialData(visit, node), error: state.halt?.reason ?? "the run stopped" };
  const toolCalls = [...visit.calls, ...visit.pending.map(toolCallOf)];
  // An inner run is only ever stopped by its own limits.
  const cause = state.inside ? { cause: "limits" as const } : {};
  const stopped = state.halt?.status === "failed" ? {} : { stopped: true as const, ...cause };
  const step = leave(scene, { status: "failed", data, toolCalls }, { unfinished: true, ...stopped });
  return { ...step, key: `${step.key}/halt` };
}

type Manner = Pick<EventOf<"node:exit">, "unfinished" | "repeats_from" | "stopped" | "cause">;

export function leave(scene: Scene, result: NodeResult, manner: Manner = {}): SingleStep {
  const { program, state, visit, node } = scene;
  const asked = node.steps ? { ...node, skills: [...missedSkills(scene)] } : node;
  const degraded = shortfallsOf(program.record.skills, { node: asked, result, changed: state.run.changed });
  const shortfalls = degraded.length > 0 ? { degraded } : {};
  const skipped = result.status === "success" ? deniedSteps(scene) : [];
  const denied = skipped.length > 0 ? { denied: skipped } : {};
  const body: EventBody = { type: "node:exit", node: visit.node, result, ...shortfalls, ...denied, ...manner };
  return { kind: "decide", key: `${visit.key}/exit/${visit.attempt}/${visit.replies}`, bodies: [body] };
}

/** Returns the data of the answer or, if there is none, the model's last text. */
function partialData(visit: Visit, node: WorkflowNode): JsonObject {
  if (node.steps) return stepsData(visit);
  if (node.map || node.call !== undefined) return itemsData(visit, node);
  const answer = visit.answer?.text.trim() ? { ...visit.answer, examined: visit.examined } : visit.recheck;
  if (answer) return dataLeft(readAnswer(node, answer.text).data, node.eval ?? [], answer.examined);
  const texts = visit.turns.flatMap((turn) => (turn.role === "assistant" ? turn.parts : []));
  const last = texts.findLast((part) => part.type === "text" && part.text.trim() !== "");
  return last?.type === "text" ? { summary: last.text } : {};
}
