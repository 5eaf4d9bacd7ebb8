import { defined } from "../../base/values.ts";
import type { MadeTool } from "../event/call.ts";
import type { RunError } from "../event/end.ts";
import type { Envelope, EventOf, RunEvent } from "../event/event.ts";
import type { NodeResult } from "../event/node-result.ts";
import { heldIn } from "../evidence/claims.ts";
import type { StoredRun } from "../ports.ts";
import { degradedInside, placed } from "./degraded.ts";
import { foldApplied, foldAudience, foldCall, foldChange, foldPlanned, foldResult } from "./fold-call.ts";
import { foldAsked, foldInnerEnd, foldInnerStart, foldMap, foldWord, forgetInner } from "./fold-inner.ts";
import { addUsage, evaluatorOf, foldModelError, foldRejection, foldReply, foldSwitch } from "./fold-reply.ts";
import { innerVisits } from "./last-visits.ts";
import { foldResume, keepResult, markFailed, withdraw } from "./redo.ts";
import { begin, noteActive, outermost, pathOfNode, prefixOf, type State, withOuter } from "./state.ts";
import { Attempt, type Visit } from "./visit.ts";

export function fold(run: State, event: RunEvent): State {
  foldTime(run, event);
  const state = event.at === undefined ? run : run.run.inner.get(event.at);
  if (state?.inside) state.inside.waits = undefined;
  if (event.type === "approval:given") foldWord(run, state, event);
  else if (state) foldInto(state, event);
  else if (event.type === "model:reply") addUsage(run.usage, event.usage);
  if (state) noteActive(state);
  return run;
}

type Folded = Exclude<RunEvent["type"], "approval:given">;

/** Changes the state of the run or inner run that the event belongs to. Ignores types of later versions. */
function foldInto<Type extends Folded>(state: State, event: EventOf<Type> & Envelope): void {
  FOLDS[event.type]?.(state, event);
}

const FOLDS: { readonly [Type in Folded]: (state: State, event: EventOf<Type> & Envelope) => void } = {
  "workflow:start": (state) => {
    state.started = true;
  },
  "node:enter": foldEnter,
  "model:reply": foldReply,
  "model:error": foldModelError,
  "model:switch": foldSwitch,
  "tool:call": foldCall,
  "tool:result": foldResult,
  "tool:audience": foldAudience,
  "tool:change": foldChange,
  "operation:planned": foldPlanned,
  "operation:begun": foldApplied,
  "operation:ended": foldApplied,
  "operation:refused": foldApplied,
  "operation:resolved": foldApplied,
  "evidence:checked": ({ visit }, event) => visit?.examined.set(evaluatorOf(event), event),
  "tool:defined": (state, event) => {
    state.run.made = [...without(state, event.tool.name), event];
  },
  "tool:removed": (state, { name }) => {
    state.run.made = without(state, name);
  },
  "reply:rejected": foldRejection,
  "node:retry": foldRetry,
  "node:exit": foldExit,
  route: foldRoute,
  "limit:reached": foldLimit,
  "run:interrupt": (state, { reason }) => {
    state.halt = { status: "interrupted", reason };
  },
  "run:fail": (state, event) => foldFail(outermost(state), event),
  warning: ({ run }, { message }) => run.warned.add(message),
  "workflow:end": (state, { time: at, status, reason, waiting, verdict, degraded = [], unrouted, error }) => {
    state.end = { at, status, reason, waiting, verdict, degraded, unrouted, error };
  },
  "approval:refused": ({ run }) => {
    run.afterwards += 1;
  },
  "state:written": (state, { touches, cost_usd: costUsd }) => {
    state.run.written = { touches, costUsd };
    state.run.writtenEnd = state.end;
    state.run.afterwards += 1;
  },
  "run:resume": foldResume,
  "map:start": foldMap,
  "inner:start": foldInnerStart,
  "inner:end": foldInnerEnd,
  "approval:asked": foldAsked,
  "sources:resolved": () => undefined,
};

export function stateOf({ record, events }: StoredRun): State {
  return events.reduce(fold, begin(record));
}

/** Updates the clock of the run alone, for an event that was folded before it was recorded. */
export function foldTime(state: State, event: RunEvent): void {
  const last = state.run.lastEvent;
  if (last?.text === event.time && last.epoch === event.epoch) return;
  const at = Date.parse(event.time);
  // Operations applied after the end do not count towards the run's time limit.
  if (last?.epoch === event.epoch && !state.end) state.run.activeMs += Math.max(0, at - last.at);
  else if (last?.epoch !== event.epoch) state.run.timeFrom = state.run.activeMs;
  state.run.lastEvent = { epoch: event.epoch, at, text: event.time };
}

function foldEnter(state: State, { node, iteration }: EventOf<"node:enter">): void {
  state.visits += 1;
  for (const each of withOuter(state)) each.entered += 1;
  state.iterations.set(node, iteration);
  state.run.changedAt.set(pathOfNode(state, node), state.run.changed);
  const key = `${prefixOf(state)}${state.visits}:${node}`;
  state.path.push({ node, key, via: state.upcoming?.via, result: undefined, degraded: [] });
  state.upcoming = undefined;
  const fresh = new Attempt(0, state.run.activeMs);
  state.visit = { key, node, iteration, down: [], recorded: [], items: undefined, asked: undefined, ...fresh };
}

function without({ run: { made } }: State, name: string): readonly MadeTool[] {
  return made.filter(({ tool }) => tool.name !== name);
}

function foldRetry(state: State, event: EventOf<"node:retry">): void {
  const { visit } = state;
  if (!visit) return;
  const { node, iteration } = visit;
  state.steps.push({ node, status: "failed", iteration, retryAttempt: visit.attempt });
  withdraw(state, (planned) => planned.visit === visit.key && planned.attempt === visit.attempt);
  const { reason, preamble: feedback } = event;
  const lesson = { answer: visit.answer?.text ?? "", reason, feedback, calls: visit.calls };
  Object.assign(visit, new Attempt(event.attempt, state.run.activeMs, lesson));
}

function foldExit(state: State, event: EventOf<"node:exit">): void {
  const { node, result, unfinished, repeats_from, degraded, denied } = event;
  const { visit } = state;
  const step = state.path.at(-1);
  if (!visit || !step) return;
  step.degraded = [...placed(state, node, degraded), ...degradedInside(state.run, visit)];
  visit.repeatsFrom = repeats_from;
  if (unfinished) state.unfinished = visit;
  else forgetInner(state, visit);
  state.run.changedAt.set(pathOfNode(state, node), state.run.changed);
  const retryAttempt = visit.attempt > 0 ? { retryAttempt: visit.attempt } : {};
  const { iteration } = visit;
  state.steps.push({ node, status: result.status, iteration, ...retryAttempt, ...defined("denied", denied) });
  step.result = result;
  markFailed(state, visit.key, result.status === "failed");
  step.cited = citedBy(state, visit);
  if (visit.examined.size > 0) step.checked = [...visit.examined.values()];
  if (visit.items) step.inner = innerVisits(state, visit);
  keepResult(state, step);
  state.leaving = {
    node,
    failed: result.status === "failed",
    key: visit.key,
    down: visit.down,
    isCut: visit.items?.isCut === true,
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

/** Lists the results that the supported claims of a visit cite, without duplicates. */
function citedBy(state: State, { examined }: Visit): string[] {
  if (examined.size === 0) return [];
  const claims = [...examined.values()].flatMap((found) => found.claims.filter(({ supported }) => supported));
  const held = claims.flatMap(({ cites }) => heldIn(cites));
  return [...new Set(held.map(({ ref }) => ref))].map((ref) => `${ref} (${state.run.calls.get(ref)?.tool})`);
}

function foldRoute(state: State, { from, to, reason, edge, degraded }: EventOf<"route">): void {
  const step = state.path.at(-1);
  if (step) step.degraded = [...step.degraded, ...placed(state, from, degraded)];
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
    state.visit.failure = { message: event.message, cause: "timeout" };
  }
}

function foldFail(state: State, { code, message, hint, node }: EventOf<"run:fail">): void {
  const error = { code, message, ...(hint ? { hint } : {}), node };
  state.halt = { status: "failed", reason: message, error };
}
