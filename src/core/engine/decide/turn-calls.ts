import { checkedAs, deepEqual, defined, type Json } from "../../base/values.ts";
import { type Failure, type Outcome, refusedCall, type ToolDescriptor } from "../../skill/skill.ts";
import type { Call, RecordedCall } from "../event/call.ts";
import type { EventBody } from "../event/event.ts";
import type { ToolSet } from "../fold/program.ts";
import type { SingleStep } from "../fold/step.ts";
import type { PendingCall, Visit } from "../fold/visit.ts";
import { answerFromAbove, instructionRead, isReadSkill, readingProblem } from "../tools/disclosure.ts";
import { isReadResult, plainRef, READ_RESULT, type ReadResult } from "../tools/results.ts";
import { isStateTool, puttingProblem, recall } from "../tools/state.ts";
import { misfitOf } from "../tools/tool-input.ts";
import { madeFor, makingEvents, makingProblem } from "../tools/tool-maker.ts";
import { leaveFailed } from "./leave.ts";
import {
  admitsReferences,
  holdOf,
  memoryOf,
  needsAudience,
  planCall,
  referenceProblem,
  refusalOf,
} from "./planning.ts";
import { mostTurns, type Scene, toolsHere } from "./scene.ts";

/** Tool calls of a turn. */

const IN_DOUBT: Failure = {
  error:
    "in doubt: the run was interrupted while this call was under way, so it may have been carried out. It was not repeated. Check before you do it again.",
  code: "call.in_doubt",
  acted: "unknown",
};

/** Maximum number of calls in one turn. */
const MOST_CALLS = 64;

/** Carries out parallel reads or one write, after announcing them in one record. */
export function carryOut(scene: Scene): SingleStep {
  const { program, state, visit } = scene;
  const tools = toolsHere(scene);
  const most = mostTurns(scene);
  if (visit.replies >= most && visit.pending.every((call) => call.announced === undefined)) {
    const message = `the limit of ${most} turns was reached`;
    if (visit.replies > most) return leaveFailed(scene, { message, cause: "max_turns" });
    const failure = refusedCall(`${message}: this call was not carried out`, "limit.reached");
    const key = `${visit.key}/${visit.attempt}/${visit.replies}/last`;
    return { kind: "decide", key, bodies: visit.pending.map((call) => refused(visit, call, failure)) };
  }
  const group = nextGroup(visit.pending, tools.find);
  const unannounced = group.filter((call) => call.announced === undefined && !readAgain(scene, call, tools));
  const [first] = unannounced;
  if (first) return askAudience(scene, first, tools) ?? announce(scene, unannounced);
  const done = visit.pending.filter((call) => call.outcome).length;
  const key = `${visit.key}/${visit.attempt}/${visit.replies}/calls/${done}`;
  // The key is the same in both cases, so that a later process finds what was recorded here.
  const doubtful = group.filter((call) => isInDoubt(call, tools.find(call.tool, call.input), state.run.epoch));
  if (doubtful.length > 0) {
    return { kind: "decide", key, bodies: doubtful.map((call) => refused(visit, call, IN_DOUBT)), isDoubt: true };
  }
  const calls = group.flatMap((call): Call[] => {
    const tool = tools.find(call.tool, call.input);
    const made = tool && madeFor(tool, call.input, state.run.made);
    const own = {
      ...defined("made", made),
      ...defined("again", readAgain(scene, call, tools)),
      ...defined(
        "reading",
        tool && instructionRead(tool, call.input, program.skills(visit.node, state.run.changed), tools.all),
      ),
      ...defined("recalled", tool && isStateTool(tool) ? recall(tool, call.input, memoryOf(scene)) : undefined),
    };
    return tool ? [{ key: call.key, ...defined("ref", call.ref), tool, input: call.input, ...own }] : [];
  });
  return { kind: "call", key, node: visit.node, calls };
}

/** Requests the audience of a call before it is planned, or before it could publish private text. */
function askAudience(scene: Scene, call: PendingCall, tools: ToolSet): SingleStep | undefined {
  const tool = tools.find(call.tool, call.input);
  if (!tool || call.audience || !needsAudience(scene, tool) || rejectionAt(scene, call, tool, tools)) return undefined;
  const { key, input } = call;
  return { kind: "reach", key: `${key}/audience`, node: scene.visit.node, call: { key, tool, input } };
}

/** Returns the events of a finished call: its result, and its changes to the run's own tools. */
export function callEvents(node: string, call: Call, outcome: Outcome): EventBody[] {
  const { ref, key, tool } = call;
  const result: EventBody = {
    type: "tool:result",
    node,
    tool: tool.exposed,
    ...outcome,
    ...defined("ref", ref),
    id: key,
  };
  return "error" in outcome ? [result] : [result, ...makingEvents(node, call)];
}

/** Returns the calls that may run together: leading reads or one write. Rejected calls count as reads. */
function nextGroup(pending: readonly PendingCall[], find: ToolSet["find"]): PendingCall[] {
  const open = pending.slice(pending.findIndex((call) => !call.outcome));
  const firstWrite = open.findIndex((call) => !call.outcome && find(call.tool, call.input)?.effect === "write");
  const group = firstWrite === -1 ? open : open.slice(0, Math.max(1, firstWrite));
  return group.filter((call) => !call.outcome);
}

/** Announces calls. Rejected calls are announced and answered without a handler. Repeated calls are only answered. */
function announce(scene: Scene, calls: readonly PendingCall[]): SingleStep {
  const { state, visit } = scene;
  const { node } = visit;
  const tools = toolsHere(scene);
  const announced: (PendingCall & { readonly ref: string })[] = [];
  const results: EventBody[] = [];
  const sound: PendingCall[] = [];
  for (const pending of calls) {
    const { tool: name, input, key } = pending;
    const tool = tools.find(name, input);
    const complaint = rejectionAt(scene, pending, tool, tools);
    if (tool && isReadResult(tool)) {
      results.push(refused(visit, pending, complaint ?? unknownRef(scene, input)));
      continue;
    }
    const same = complaint || !tool ? undefined : sameAs(scene, { name, tool, input }, sound, tools);
    if (same !== undefined) {
      results.push({ type: "tool:result", node, tool: name, output: `same as ${same}`, id: key });
      continue;
    }
    const call = { ...pending, ref: `r${state.run.calls.size + announced.length + 1}` };
    announced.push(call);
    const known = complaint === undefined && tool ? seenAbove(scene, { call, tool, sound }) : undefined;
    if (complaint !== undefined) results.push(refused(visit, call, complaint));
    else if (tool && holdOf(scene, call, tool)) results.push(...planCall(scene, call, tool));
    else sound.push(call);
    if (known !== undefined) {
      results.push({ type: "tool:result", node, tool: name, output: known, ref: call.ref, id: key });
    }
  }
  const bodies = announced.map(({ key: id, ref, tool, input }): EventBody => {
    return { type: "tool:call", node, tool, input, ref, id };
  });
  const isRepeatable = !sound.some((call) => tools.find(call.tool, call.input)?.effect === "write");
  return { kind: "decide", key: `${calls[0]?.key}/announce`, bodies: [...bodies, ...results], isRepeatable };
}

/** Returns the call whose result a valid `read_result` call reads. The latter is not announced. */
function readAgain({ state }: Scene, call: PendingCall, tools: ToolSet): RecordedCall | undefined {
  const tool = tools.find(call.tool, call.input);
  if (!tool || !isReadResult(tool) || call.index >= MOST_CALLS || rejection(call, tool, tools)) return undefined;
  return state.run.calls.get(plainRef(checkedAs<ReadResult>(call.input).ref));
}

function unknownRef({ state }: Scene, input: Json): Failure {
  const { ref } = checkedAs<ReadResult>(input);
  return refusedCall(`no result is called ${ref}: there are r1 to r${state.run.calls.size}`, "input.invalid");
}

interface Asked {
  readonly name: string;
  readonly tool: ToolDescriptor;
  readonly input: Json;
}

/** Returns the reference of an identical earlier call in the visit, unless a write came after it. */
function sameAs({ visit }: Scene, { name, tool, input }: Asked, sound: readonly PendingCall[], tools: ToolSet) {
  if (tool.effect !== "read" || tool.live || isReadSkill(tool)) return undefined;
  const isSame = (call: { readonly tool: string; readonly input: Json }) => {
    return call.tool === name && deepEqual(call.input, input);
  };
  const beside = sound.find(isSame)?.ref;
  if (beside !== undefined) return beside;
  const inThisAttempt = new Set(visit.calls.map(({ ref }) => ref));
  const canReadAgain = tools.find(READ_RESULT) !== undefined;
  for (const call of visit.recorded.toReversed()) {
    if (tools.all.find(({ exposed }) => exposed === call.tool)?.effect === "write") return undefined;
    const isAnswered = call.outcome !== undefined && !("error" in call.outcome);
    if (isAnswered && isSame(call)) return inThisAttempt.has(call.ref) || canReadAgain ? call.ref : undefined;
  }
  return undefined;
}

const BEYOND_MOST = refusedCall(
  `one turn carries out at most ${MOST_CALLS} calls: this one was not carried out`,
  "limit.reached",
);

/** Returns an answer without a handler if the model already has what a call would read. */
function seenAbove(
  { program, state, visit }: Scene,
  { call, tool, sound }: { readonly call: PendingCall; readonly tool: ToolDescriptor; readonly sound: PendingCall[] },
): string | undefined {
  const calls = [...visit.calls.filter((earlier) => earlier.error === undefined), ...sound];
  const skills = program.skills(visit.node, state.run.changed);
  return answerFromAbove(tool, call.input, { mode: state.run.settings.context_mode, skills, calls });
}

/** Returns why a call is rejected. The input of a planned call may refer to the results of earlier operations. */
function rejectionAt(scene: Scene, call: PendingCall, tool: ToolDescriptor | undefined, tools: ToolSet) {
  if (call.index >= MOST_CALLS) return BEYOND_MOST;
  if (!tool || call.broken || !holdOf(scene, call, tool)) return rejection(call, tool, tools);
  const error = referenceProblem(scene.state, call.input);
  if (error !== undefined) return refusedCall(error, "input.invalid");
  const refusal = refusalOf(scene, call);
  if (refusal) return refusal;
  return rejection(call, admitsReferences(tool, call.input), tools);
}

function rejection(
  call: PendingCall,
  tool: ToolDescriptor | undefined,
  { offered, all }: ToolSet,
): Failure | undefined {
  if (!tool) {
    const names = offered.map((other) => other.exposed).join(", ");
    const others = names ? `the tools here are ${names}` : "there are no tools here";
    return refusedCall(`no tool is named ${call.tool}; ${others}`, "tool.unknown");
  }
  const error = call.broken ? "the arguments were no JSON" : inputProblem(tool, call.input, all);
  return error === undefined ? undefined : refusedCall(error, "input.invalid");
}

function inputProblem(tool: ToolDescriptor, input: Json, present: readonly ToolDescriptor[]): string | undefined {
  return (
    readingProblem(tool, input) ??
    misfitOf(tool, input) ??
    makingProblem(tool, input, present) ??
    puttingProblem(tool, input)
  );
}

function refused({ node }: Visit, { tool, key, ref }: PendingCall, failure: Failure): EventBody {
  return { type: "tool:result", node, tool, ...failure, ...defined("ref", ref), id: key };
}

/** Checks whether a process that is gone announced the call, and repeating it is unsafe. */
function isInDoubt(call: PendingCall, tool: ToolDescriptor | undefined, epoch: number): boolean {
  return call.announced !== epoch && !tool?.idempotent;
}
