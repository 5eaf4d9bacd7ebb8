import type { RunError } from "../event/end.ts";
import type { Envelope, EventOf, RunEvent } from "../event/event.ts";
import type { NodeResult } from "../event/node-result.ts";
import type { MadeTool, RecordedCall } from "../own/call.ts";
import { touchOf } from "../own/state.ts";
import { standAfter, UNTOUCHED } from "../plan/standing.ts";
import { type Part, type ToolAnswer, textOf } from "../prompt.ts";
import { defined } from "../values.ts";
import { foldAsked, foldInnerEnd, foldInnerStart, foldMap, foldWord, forgetInner } from "./inner/fold-inner.ts";
import { foldResume, keepResult, markFailed, withdraw } from "./redo.ts";
import {
  type Leaving,
  type Lesson,
  outermost,
  type PendingCall,
  prefixOf,
  type State,
  toolCallOf,
  type UsageTotals,
  type Visit,
  withOuter,
} from "./state.ts";

/** Takes one more event into the state. */
export function fold(run: State, event: RunEvent): State {
  foldTime(run, event);
  const state = event.at === undefined ? run : run.run.inner.get(event.at);
  if (state?.inside) state.inside.waits = undefined;
  if (event.type === "approval:given") foldWord(run, state, event);
  else if (state) foldInto(state, event);
  else if (event.type === "model:reply") addUsage(run.usage, event.usage);
  return run;
}

/** Into the run, or the inner run, that the event belongs to. */
function foldInto(state: State, event: Exclude<RunEvent, EventOf<"approval:given">>): void {
  switch (event.type) {
    case "workflow:start":
      state.started = true;
      break;
    case "node:enter":
      foldEnter(state, event);
      break;
    case "model:reply":
      foldReply(state, event);
      break;
    case "model:error":
      foldModelError(state, event);
      break;
    case "tool:call":
      foldCall(state, event);
      break;
    case "tool:result":
      foldResult(state, event);
      break;
    case "tool:audience":
      foldAudience(state, event);
      break;
    case "operation:planned":
      foldPlanned(state, event);
      break;
    case "operation:begun":
    case "operation:ended":
    case "operation:resolved":
      foldApplied(state, event);
      break;
    case "evidence:checked":
      state.visit?.examined.set(evaluatorOf(event), event);
      break;
    case "tool:defined":
      state.run.made = [...without(state, event.tool.name), event];
      break;
    case "tool:removed":
      state.run.made = without(state, event.name);
      break;
    case "reply:rejected":
      foldRejection(state, event);
      break;
    case "node:retry":
      foldRetry(state, event);
      break;
    case "node:exit":
      foldExit(state, event);
      break;
    case "route":
      foldRoute(state, event);
      break;
    case "limit:reached":
      foldLimit(state, event);
      break;
    case "run:interrupt":
      state.halt = { status: "interrupted", reason: event.reason };
      break;
    case "run:fail":
      foldFail(outermost(state), event);
      break;
    case "warning":
      state.run.warned.add(event.message);
      break;
    case "workflow:end":
      state.end = {
        at: event.time,
        status: event.status,
        reason: event.reason,
        waiting: event.waiting,
        verdict: event.verdict,
        error: event.error,
      };
      break;
    case "state:written":
      state.run.written = { touches: event.touches, costUsd: event.cost_usd };
      state.run.writtenEnd = state.end;
      state.run.afterwards += 1;
      break;
    case "run:resume":
      foldResume(state, event);
      break;
    case "map:start":
      foldMap(state, event);
      break;
    case "inner:start":
      foldInnerStart(state, event);
      break;
    case "inner:end":
      foldInnerEnd(state, event);
      break;
    case "approval:asked":
      foldAsked(state, event);
      break;
    case "sources:resolved":
      break;
  }
}

function foldTime(state: State, event: RunEvent): void {
  const last = state.run.lastEvent;
  if (last?.text === event.time && last.epoch === event.epoch) return;
  const at = Date.parse(event.time);
  // What is applied after the end takes no time of the run.
  if (last?.epoch === event.epoch && !state.end) state.run.activeMs += Math.max(0, at - last.at);
  else if (last?.epoch !== event.epoch) state.run.timeFrom = state.run.activeMs;
  state.run.lastEvent = { epoch: event.epoch, at, text: event.time };
}

function foldEnter(state: State, { node, iteration }: EventOf<"node:enter">): void {
  state.visits += 1;
  for (const each of withOuter(state)) each.entered += 1;
  state.iterations.set(node, iteration);
  const key = `${prefixOf(state)}${state.visits}:${node}`;
  state.path.push({ node, key, via: state.upcoming?.via, result: undefined });
  state.upcoming = undefined;
  state.visit = {
    key,
    node,
    iteration,
    recorded: [],
    items: undefined,
    asked: undefined,
    ...freshAttempt(state, 0),
  };
}

function freshAttempt(state: State, attempt: number, lesson?: Lesson) {
  return {
    attempt,
    lesson,
    attemptFrom: state.run.activeMs,
    turns: [],
    replies: 0,
    pending: [],
    unanswered: 0,
    calls: [],
    answer: undefined,
    corrected: false,
    askedAgain: false,
    judged: new Map(),
    examined: new Map(),
    reflection: undefined,
    failure: undefined,
  };
}

/** Of an answer that was refused or cut off the text alone is kept: its calls are not carried out (D58). */
function foldReply(state: State, event: EventOf<"model:reply"> & Envelope): void {
  for (const each of withOuter(state)) addUsage(each.usage, event.usage);
  const text = textOf(event.parts);
  const { visit, leaving } = state;
  if (event.purpose === "route" && leaving) noteAnswer(leaving, text);
  if (!visit) return;
  if (event.purpose === "judge") judgeOf(visit, event).push(text);
  if (event.purpose === "reflect") visit.reflection = text.trim() === "" ? null : text;
  if (event.purpose !== "work") return;
  visit.replies += 1;
  const parts = event.stop === "end" ? event.parts : event.parts.filter((part) => part.type === "text");
  if (parts.length > 0) visit.turns.push({ role: "assistant", parts });
  if (event.stop !== "length") visit.askedAgain = false;
  visit.pending = pendingCalls(visit, parts);
  visit.unanswered = visit.pending.length;
  visit.answer = visit.pending.length === 0 ? { text, stop: event.stop } : undefined;
}

function noteAnswer(leaving: Leaving, answer: string | undefined): void {
  leaving.answers.push(answer);
}

export function addUsage(totals: UsageTotals, usage: EventOf<"model:reply">["usage"]): void {
  totals.modelCalls += 1;
  totals.inputTokens += usage?.inputTokens ?? 0;
  totals.cachedTokens += usage?.cachedTokens ?? 0;
  totals.outputTokens += usage?.outputTokens ?? 0;
  totals.costUsd += usage?.costUsd ?? 0;
  if (usage?.costUsd === null || usage === null) totals.unpriced += 1;
}

function pendingCalls(visit: Visit, parts: readonly Part[]): PendingCall[] {
  const calls = parts.filter((part) => part.type === "call" || part.type === "broken_call");
  return calls.map((part, index) => ({
    key: `${visit.key}/${visit.attempt}/${visit.replies}/${index}`,
    index,
    id: part.id,
    tool: part.tool,
    input: part.type === "call" ? part.input : part.text,
    broken: part.type === "broken_call",
    announced: undefined,
    ref: undefined,
    planned: false,
    audience: undefined,
    outcome: undefined,
  }));
}

function judgeOf(visit: Visit, event: Envelope): (string | undefined)[] {
  const index = evaluatorOf(event);
  const answers = visit.judged.get(index) ?? [];
  visit.judged.set(index, answers);
  return answers;
}

/** An evaluator is named by its index in the step key: `3:assess/0/judge/2/1`, `3:assess/0/evidence/0`. */
function evaluatorOf({ key }: Envelope): number {
  return Number(/\/(?:judge\/(\d+)\/\d+|evidence\/(\d+))(?:~\d+)?$/.exec(key)?.slice(1).find(Boolean) ?? 0);
}

function foldModelError(state: State, event: EventOf<"model:error"> & Envelope): void {
  const { visit, leaving } = state;
  const { code, message, hint, node } = event;
  for (const each of withOuter(state)) each.modelError = { code, message, ...(hint ? { hint } : {}), node };
  if (event.purpose === "route" && leaving) {
    noteAnswer(leaving, undefined);
    leaving.routeError = state.modelError;
  }
  if (!visit) return;
  if (event.purpose === "judge") judgeOf(visit, event).push(undefined);
  if (event.purpose === "reflect") visit.reflection = null;
  if (event.purpose !== "work") return;
  visit.failure = { message, code, ...(hint ? { hint } : {}) };
}

function foldCall(state: State, event: EventOf<"tool:call"> & Envelope): void {
  const { ref, node, tool, input } = event;
  const recorded: RecordedCall = { ref, node, ...defined("at", state.inside?.at), tool, input, outcome: undefined };
  state.run.calls.set(ref, recorded);
  state.visit?.recorded.push(recorded);
  const call = pendingOf(state.visit, event.id);
  if (call) Object.assign(call, { announced: event.epoch, ref });
}

function foldResult(state: State, event: EventOf<"tool:result"> & Envelope): void {
  const { visit } = state;
  const { ref, output = null, error, blobs, planned = false } = event;
  if (blobs) state.run.holdsBlobs = true;
  const outcome = error === undefined ? { output } : { error };
  const recorded = ref === undefined ? undefined : state.run.calls.get(ref);
  if (recorded) state.run.hasResults = true;
  if (recorded && planned) recorded.planned = planned;
  if (recorded) recorded.outcome = error === undefined ? { output, ...defined("blobs", blobs) } : { error };
  const touch = recorded && !planned && touchOf(event.tool, recorded.input, output, event.time);
  if (touch) state.run.touches.push({ ...touch, visit: visit?.key ?? "" });
  const call = pendingOf(visit, event.id);
  if (!visit || !call) return;
  if (!call.outcome) visit.unanswered -= 1;
  call.outcome = outcome;
  call.planned = planned;
  if (visit.unanswered > 0) return;
  visit.turns.push({ role: "tools", results: visit.pending.map(answerOf) });
  for (const answered of visit.pending) if (answered.ref !== undefined) visit.calls.push(toolCallOf(answered));
  visit.pending = [];
}

/** The key of a call ends in its index, so that a turn of very many is folded in one pass. */
function pendingOf(visit: Visit | undefined, key: string): PendingCall | undefined {
  const call = visit?.pending[Number(key.slice(key.lastIndexOf("/") + 1))];
  return call?.key === key ? call : undefined;
}

function answerOf({ id, ref, outcome }: PendingCall): ToolAnswer {
  const named = { id, ...defined("ref", ref) };
  if (outcome && "error" in outcome) return { ...named, output: { error: outcome.error }, failed: true };
  return { ...named, output: outcome?.output ?? null, failed: false };
}

function foldAudience({ visit }: State, { id, audience }: EventOf<"tool:audience">): void {
  const call = pendingOf(visit, id);
  if (call) call.audience = audience;
}

function foldPlanned({ run: { operations }, visit }: State, { operation }: EventOf<"operation:planned">): void {
  const { key = "", attempt = 0 } = visit ?? {};
  operations.push({ operation, visit: key, attempt, withdrawn: false, failedIn: new Set(), application: UNTOUCHED });
}

function foldApplied(
  state: State,
  event: EventOf<"operation:begun" | "operation:ended" | "operation:resolved"> & Envelope,
): void {
  state.run.afterwards += 1;
  const planned = state.run.operations.find(({ operation }) => operation.id === event.operation);
  if (planned) planned.application = standAfter(planned.application, event);
}

function without({ run: { made } }: State, name: string): readonly MadeTool[] {
  return made.filter(({ tool }) => tool.name !== name);
}

function foldRejection(state: State, { reason }: EventOf<"reply:rejected">): void {
  if (!state.visit) return;
  state.visit.turns.push({ role: "user", text: reason });
  if (state.visit.answer?.stop === "length") state.visit.askedAgain = true;
  else state.visit.corrected = true;
  state.visit.answer = undefined;
}

function foldRetry(state: State, event: EventOf<"node:retry">): void {
  const { visit } = state;
  if (!visit) return;
  const { node, iteration } = visit;
  state.steps.push({ node, status: "failed", iteration, retryAttempt: visit.attempt });
  withdraw(state, (planned) => planned.visit === visit.key && planned.attempt === visit.attempt);
  Object.assign(
    visit,
    freshAttempt(state, event.attempt, {
      answer: visit.answer?.text ?? "",
      feedback: event.preamble,
      calls: visit.calls,
    }),
  );
}

function foldExit(state: State, { node, result, unfinished }: EventOf<"node:exit">): void {
  const { visit } = state;
  const step = state.path.at(-1);
  if (!visit || !step) return;
  if (unfinished) state.unfinished = visit;
  else forgetInner(state, visit);
  const retryAttempt = visit.attempt > 0 ? { retryAttempt: visit.attempt } : {};
  state.steps.push({ node, status: result.status, iteration: visit.iteration, ...retryAttempt });
  step.result = result;
  markFailed(state, visit.key, result.status === "failed");
  step.cited = citedBy(state, visit);
  keepResult(state, step);
  state.leaving = {
    node,
    failed: result.status === "failed",
    key: visit.key,
    answers: [],
    error: exitError(visit, result),
    routeError: undefined,
  };
  state.visit = undefined;
}

function exitError(visit: Visit, result: NodeResult): RunError | undefined {
  if (result.status !== "failed") return undefined;
  const { code = "node.failed", hint } = visit.failure ?? {};
  return { code, message: String(result.data.error ?? "failed"), ...(hint ? { hint } : {}), node: visit.node };
}

/** The results that a visit's supported claims cite, each once (extensions G11). */
function citedBy(state: State, { examined }: Visit): string[] {
  const claims = [...examined.values()].flatMap((found) => found.claims.filter(({ supported }) => supported));
  const held = claims.flatMap(({ cites }) => cites.flatMap(({ ref, problem }) => (problem === undefined ? ref : [])));
  return [...new Set(held)].map((ref) => `${ref} (${state.run.calls.get(ref)?.tool})`);
}

function foldRoute(state: State, { from, to, reason, edge }: EventOf<"route">): void {
  state.follows.set(edge, (state.follows.get(edge) ?? 0) + 1);
  state.edges.push({ from, to, reason, index: edge });
  state.leaving = undefined;
  if (state.unfinished) forgetInner(state, state.unfinished);
  state.unfinished = undefined;
  state.upcoming = { node: to, via: edge };
}

function foldLimit(state: State, event: EventOf<"limit:reached">): void {
  if (event.limit !== "node_timeout") {
    state.halt = { status: "stopped", reason: event.message, limit: event.limit };
  } else if (state.visit) {
    state.visit.failure = { message: event.message };
  }
}

function foldFail(state: State, { code, message, hint, node }: EventOf<"run:fail">): void {
  const error = { code, message, ...(hint ? { hint } : {}), node };
  state.halt = { status: "failed", reason: message, error };
}
