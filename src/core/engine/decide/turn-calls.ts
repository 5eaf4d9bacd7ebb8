import { checkedAs, deepEqual, defined, type Json, mapped } from "../../base/values.ts";
import { type Failure, type Outcome, refusedCall, type ToolDescriptor } from "../../skill/skill.ts";
import type { Call, RecordedCall } from "../event/call.ts";
import type { EventBody, EventOf } from "../event/event.ts";
import type { ToolSet } from "../fold/program.ts";
import type { SingleStep } from "../fold/step.ts";
import type { AnnouncedCall, PendingCall } from "../fold/visit.ts";
import { answerFromAbove, instructionRead } from "../tools/disclosure.ts";
import { isReadResult, isReadSkill, plainRef, READ_RESULT, type ReadResult } from "../tools/own-tools.ts";
import { isStateTool, recall } from "../tools/state.ts";
import { madeFor, makingEvents } from "../tools/tool-maker.ts";
import { nodePaths } from "../tools/workspace.ts";
import { type Admission, admit } from "./admit.ts";
import { isMadeBy } from "./inner/reading.ts";
import { evaluateFirst } from "./judging/judgement.ts";
import { leaveFailed } from "./leave.ts";
import { memoryOf, planCall } from "./planning.ts";
import { mostTurns, type Scene, toolsHere } from "./scene.ts";

const IN_DOUBT: Failure = {
  error:
    "in doubt: the run was interrupted during this call, so it may have been carried out. It was not repeated. Check before you repeat it.",
  code: "call.in_doubt",
  acted: "unknown",
};

/** Carries out parallel reads or one write, unless the turn limit is reached. */
export function carryOut(scene: Scene): SingleStep {
  const { visit } = scene;
  const tools = toolsHere(scene);
  const most = mostTurns(scene);
  const isCorrection = visit.replies === (visit.recheck?.replies ?? -1) + 1;
  if (visit.replies >= most && !isCorrection && visit.pending.every((call) => call.announced === undefined)) {
    const message = `the limit of ${most} turns was reached`;
    if (visit.replies > most) return evaluateFirst(scene) ?? leaveFailed(scene, { message, cause: "max_turns" });
    const failure = refusedCall(`${message}: this call did not run`, "limit.reached");
    const key = `${visit.key}/${visit.attempt}/${visit.replies}/last`;
    return { kind: "decide", key, bodies: visit.pending.map((call) => resultOf(visit.node, call, failure)) };
  }
  return perform(scene, nextGroup(visit.pending, tools.find), tools);
}

/** Carries out calls that may run together, after announcing them in one record. */
export function perform(scene: Scene, group: readonly PendingCall[], tools = toolsHere(scene)): SingleStep {
  const { program, state, visit } = scene;
  const unannounced = group.filter((call) => call.announced === undefined && !readAgain(scene, call, tools));
  const [first] = unannounced;
  const admission = first && admit(scene, first, tools);
  if (first && (admission?.kind === "audience" || admission?.kind === "change")) {
    const { kind, tool } = admission;
    const call = { key: first.key, tool, input: first.input };
    const asks = kind === "change" ? { asks: kind } : {};
    return { kind: "reach", key: `${first.key}/${kind}`, node: visit.node, call, ...asks };
  }
  if (admission) return announce(scene, unannounced, [tools, admission]);
  const done = visit.pending.filter((call) => call.outcome).length;
  const key = `${visit.key}/${visit.attempt}/${visit.replies}/calls/${done}`;
  // A process that is gone announced these, and repeating them is unsafe.
  const doubtful = group.filter(({ announced, tool, input }) => {
    return announced !== state.run.epoch && !tools.find(tool, input)?.idempotent;
  });
  // The key is the same in both cases, so that a later process finds what was recorded here.
  if (doubtful.length > 0) {
    return { kind: "decide", key, bodies: doubtful.map((call) => resultOf(visit.node, call, IN_DOUBT)), isDoubt: true };
  }
  const skills = program.skills(visit.node, state.run.changed);
  const calls: Call[] = [];
  for (const call of group) {
    const { key, ref, input } = call;
    const tool = tools.find(call.tool, input);
    if (!tool) continue;
    const own = {
      ...defined("made", madeFor(tool, input, state.run.made)),
      ...defined("again", readAgain(scene, call, tools)),
      ...defined("reading", instructionRead({ tool, input }, skills, tools)),
      ...defined("paths", tool.contained ? pathsHere(scene) : undefined),
      ...defined("recalled", isStateTool(tool) ? recall(tool, input, memoryOf(scene)) : undefined),
    };
    calls.push({ key, ...defined("ref", ref), ...defined("step", call.step), tool, input, ...own });
  }
  return { kind: "call", key, node: visit.node, calls };
}

function pathsHere({ state, node: { workspace = {} } }: Scene) {
  const { keep = [] } = workspace;
  const own = state.inside?.at;
  const calls = keep.length === 0 ? [] : [...state.run.calls.values()];
  const kept = calls.filter((call) => keep.some((id) => isMadeBy(call, own, id)));
  return nodePaths(workspace, { kept, input: state.context.input });
}

/** Returns the events of a finished call: its result, and its changes to the run's own tools. */
export function callEvents(node: string, call: Call, outcome: Outcome): EventBody[] {
  const result = resultOf(node, { ...call, tool: call.tool.exposed }, outcome);
  return "error" in outcome ? [result] : [result, ...makingEvents(node, call)];
}

/** Returns the calls that may run together: leading reads, or one call that runs alone. Rejected calls count as reads. */
function nextGroup(pending: readonly PendingCall[], find: ToolSet["find"]): PendingCall[] {
  const open = pending.slice(pending.findIndex((call) => !call.outcome));
  const firstAlone = open.findIndex((call) => !call.outcome && runsAlone(find(call.tool, call.input)));
  const group = firstAlone === -1 ? open : open.slice(0, Math.max(1, firstAlone));
  return group.filter((call) => !call.outcome);
}

/** Checks whether a call must run alone: it writes, or uses the run's own copy of something. */
export function runsAlone(tool: ToolDescriptor | undefined): boolean {
  return tool?.effect === "write" || tool?.contained === true;
}

/** Announces calls. Rejected calls are announced and answered without a handler. Repeated calls are only answered. */
function announce(
  scene: Scene,
  calls: readonly PendingCall[],
  [tools, first]: readonly [ToolSet, Admission],
): SingleStep {
  const { state, visit } = scene;
  const { node } = visit;
  const answer = (call: Answered, outcome: Outcome) => results.push(resultOf(node, call, outcome));
  const announced: AnnouncedCall[] = [];
  const results: EventBody[] = [];
  const sound: PendingCall[] = [];
  for (const [index, pending] of calls.entries()) {
    const { tool: name, input } = pending;
    const admission = index === 0 ? first : admit(scene, pending, tools);
    const tool = tools.find(name, input);
    if (tool && isReadResult(tool)) {
      answer(pending, admission.kind === "refuse" ? admission.failure : unknownRef(scene, input));
      continue;
    }
    const isChosen = admission.kind === "run" && pending.step === undefined;
    const same = isChosen ? sameAs(scene, { call: pending, tool: admission.tool, sound }, tools) : undefined;
    if (same !== undefined) {
      answer(pending, { output: `same as ${same}` });
      continue;
    }
    const call = { ...pending, ref: `r${state.run.calls.size + announced.length + 1}` };
    announced.push(call);
    if (admission.kind === "refuse") answer(call, admission.failure);
    else if (admission.kind === "run") {
      const known = seenAbove(scene, { call, tool: admission.tool, sound });
      sound.push(call);
      if (known !== undefined) answer(call, { output: known });
    } else results.push(...planCall(scene, call, admission.tool));
  }
  const bodies = mapped(announced, ({ key: id, ref, tool, input, step }): EventBody => {
    return { type: "tool:call", node, tool, input, ref, id, ...defined("step", step) };
  });
  const isRepeatable = !sound.some((call) => tools.find(call.tool, call.input)?.effect === "write");
  return { kind: "decide", key: `${calls[0]?.key}/announce`, bodies: [...bodies, ...results], isRepeatable };
}

/** Returns the call whose result a valid `read_result` call reads. The latter is not announced. */
function readAgain(scene: Scene, call: PendingCall, tools: ToolSet): RecordedCall | undefined {
  const tool = tools.find(call.tool, call.input);
  if (!tool || !isReadResult(tool) || admit(scene, call, tools).kind !== "run") return undefined;
  return scene.state.run.calls.get(plainRef(checkedAs<ReadResult>(call.input).ref));
}

function unknownRef({ state }: Scene, input: Json): Failure {
  const { ref } = checkedAs<ReadResult>(input);
  const { size } = state.run.calls;
  const known = size === 0 ? "No call was made yet" : `The results are ${size === 1 ? "" : "r1 to "}r${size}`;
  return refusedCall(`there is no result ${ref}. ${known}`, "input.invalid");
}

interface Asked {
  readonly call: PendingCall;
  readonly tool: ToolDescriptor;
  /** Calls of the same turn that run. */
  readonly sound: readonly PendingCall[];
}

/** Returns the reference of an identical earlier call in the visit, unless a write came after it. */
export function sameAs({ visit }: Scene, { call: asked, tool, sound }: Asked, tools: ToolSet): string | undefined {
  if (tool.effect !== "read" || tool.live || isReadSkill(tool)) return undefined;
  const isSame = (call: Pick<PendingCall, "tool" | "input">) => {
    return call.tool === asked.tool && deepEqual(call.input, asked.input);
  };
  const beside = sound.find(isSame)?.ref;
  if (beside !== undefined) return beside;
  const canShow = (ref: string) =>
    visit.calls.some((call) => call.ref === ref) || tools.find(READ_RESULT) !== undefined;
  for (const call of visit.recorded.toReversed()) {
    if (tools.all.find(({ exposed }) => exposed === call.tool)?.effect === "write") return undefined;
    const isAnswered = call.outcome !== undefined && !("error" in call.outcome);
    if (isAnswered && isSame(call)) return canShow(call.ref) ? call.ref : undefined;
  }
  return undefined;
}

/** Returns an answer without a handler if the model already has what a call would read. */
function seenAbove({ program, state, visit }: Scene, { call, tool, sound }: Asked): string | undefined {
  const calls = [...visit.calls.filter((earlier) => earlier.error === undefined), ...sound];
  const skills = program.skills(visit.node, state.run.changed);
  return answerFromAbove(tool, call.input, { mode: state.run.settings.context_mode, skills, calls });
}

interface Answered extends Pick<Call, "key" | "step"> {
  readonly ref?: string | undefined;
  readonly tool: string;
}

export function resultOf(node: string, { tool, key, ref, step }: Answered, outcome: Outcome): EventOf<"tool:result"> {
  return { type: "tool:result", node, tool, ...outcome, ...defined("ref", ref), id: key, ...defined("step", step) };
}
