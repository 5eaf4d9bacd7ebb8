import { deepEqual } from "../../base/values.ts";
import type { EventOf } from "../event/event.ts";
import type { NodeResult } from "../event/node-result.ts";
import type { ContextEntry } from "../event/prompt.ts";
import { claimText, withoutClaim } from "../evidence/claims.ts";
import { foldedClaim } from "../evidence/quote.ts";
import { isUnder } from "./limits.ts";
import { shownSteps } from "./shown-results.ts";
import {
  contextAtStart,
  noteActive,
  outermost,
  type PlacedTouch,
  type PlannedOperation,
  pathOfNode,
  type State,
} from "./state.ts";
import type { PathStep, Visit } from "./visit.ts";

/** Undoes visits that a run repeats, with their results and planned operations. */

/** Prepares an ended run to continue: at a repeated node, inside its unfinished visit, or at a missing route. */
export function foldResume(state: State, { from, settings, skills, day }: EventOf<"run:resume">): void {
  const { run, end } = state;
  run.settings = { ...run.settings, ...settings };
  run.resumes += 1;
  run.afterwards += 1;
  run.timeFrom = run.activeMs;
  if (day) run.day = day;
  for (const { inside } of run.inner.values()) if (inside) inside.waits = undefined;
  // Nodes without any skill did nothing, so repeat them.
  const idle = end?.error?.code === "skills.missing" ? end.error.node : undefined;
  takeUp(state, from ?? idle);
  changeSkills(state, skills);
}

/** Updates which skills differ from the record, and from which visit on. */
export function changeSkills({ run, path, visit }: State, skills: EventOf<"run:resume">["skills"]): void {
  if (!skills) return;
  run.changed = skills;
  run.changedFrom = visit ? path.length - 1 : path.length;
}

/** Continues a run, or an inner run, where it ended. */
function takeUp(state: State, from?: string): void {
  const { unfinished, leaving, halt } = state;
  state.end = undefined;
  state.halt = undefined;
  state.unfinished = undefined;
  const again = from === undefined ? -1 : state.path.findLastIndex((step) => step.node === from);
  if (again !== -1) {
    redoFrom(state, again);
  } else if (unfinished) {
    state.steps.pop();
    stepBack(state, state.path.length - 1);
    const { node, key } = unfinished;
    state.path.push({ node, key, via: state.upcoming?.via, result: undefined, degraded: [] });
    markFailed(state, key, false);
    state.upcoming = undefined;
    const answer = unfinished.answer?.text.trim() ? unfinished.answer : undefined;
    const calls = halt ? unfinished.calls : callsToKeep(unfinished);
    const attemptFrom = unfinished.failure ? state.run.activeMs : unfinished.attemptFrom;
    state.visit = { ...unfinished, answer, failure: undefined, calls, attemptFrom };
    takeUpCall(state, state.visit);
  } else if (leaving?.failed && !halt) {
    redoFrom(state, state.path.length - 1);
  } else if (leaving) {
    state.leaving = { ...leaving, answers: [], routeError: undefined };
  }
}

/** Returns the calls of a failed visit that a resume does not repeat: all but a failed group of steps, unless it may have acted. */
function callsToKeep({ calls, latestGroup, isDoubtful, repeatsFrom }: Visit): Visit["calls"] {
  if (repeatsFrom !== undefined) return calls.slice(0, repeatsFrom);
  const isFailed = calls.slice(latestGroup).some(({ error }) => error !== undefined);
  return latestGroup === undefined || isDoubtful || !isFailed ? calls : calls.slice(0, latestGroup);
}

/** Continues inside a called workflow if the unfinished visit is a call whose inner run failed. */
function takeUpCall({ run }: State, { key, items }: Visit): void {
  if (!items) return;
  for (const [at, inner] of run.inner) {
    const [item] = items.all;
    if (inner.inside?.prefix !== `${key}/` || item?.key !== undefined || item?.outcome?.status !== "failed") continue;
    item.outcome = undefined;
    items.failed = 0;
    items.degraded.length = 0;
    items.running.set(at, item);
    items.active.add(at);
    takeUp(inner);
    noteActive(inner);
  }
}

/** Withdraws the operations of repeated work, except those that were or may have been applied. */
export function withdraw({ run: { operations } }: State, isRedone: (planned: PlannedOperation) => boolean): void {
  for (const planned of operations) {
    const isDone = ["applied", "in_doubt"].includes(planned.application.standing);
    if (!isDone && isRedone(planned)) planned.withdrawn = true;
  }
}

export function markFailed({ run: { operations } }: State, key: string, hasFailed: boolean): void {
  for (const { visit, failedIn } of operations) {
    if (!isUnder(visit, key)) continue;
    if (hasFailed) failedIn.add(key);
    else failedIn.delete(key);
  }
}

/** Adds a result to the context. Appends in place, because pending prompts keep a length. Copies only to replace. */
export function keepResult(state: State, step: PathStep): void {
  const { node, result, checked = [] } = step;
  if (!result) return;
  const { context } = state;
  const entries = state.results.has(node)
    ? context.entries.slice(0, context.length).filter((entry) => entry.node !== node)
    : (context.entries as ContextEntry[]);
  const most = state.run.shown.get(pathOfNode(state, node));
  const shown = most === undefined ? { data: result.data } : shownSteps(result.data, result.toolCalls, most);
  entries.push({ node, ...shown, ...claimsShown(step, result) });
  state.context = { input: context.input, entries, length: entries.length };
  state.results.set(node, result);
  if (result.status !== "success" || checked.length === 0) return;
  const refuted = checked.flatMap(({ refuted = [] }) => refuted).filter(({ holds }) => holds);
  const before = refuted.length === 0 ? [] : state.path.slice(0, state.path.lastIndexOf(step));
  for (const { claim, nodes, reason } of refuted) {
    for (const name of nodes) {
      const earlier = before.findLast((other) => other.node === name && other.result);
      if (earlier) removeClaim(state, earlier, { claim, by: node, reason });
    }
  }
}

/** Describes what the claims of a visit and of its inner runs cite, which claims were removed, and which results are inside. */
function claimsShown({ cited = [], inner = [] }: PathStep, { evidence }: NodeResult): Partial<ContextEntry> {
  if (inner.length + cited.length === 0 && !evidence) return {};
  const inside = inner.map(({ step }) => step);
  const made = inside
    .flatMap(({ result }) => result?.toolCalls ?? [])
    .flatMap(({ step, ref, tool, error }) => {
      return step === undefined || ref === undefined || error !== undefined ? [] : `${ref} (${tool})`;
    });
  const all = [...new Set([cited, ...inside.map(({ cited = [] }) => cited)].flat())];
  const counts = [evidence, ...inner.map(({ result }) => result?.evidence)];
  const dropped = counts.flatMap((each) => each?.dropped_claims ?? []);
  return {
    ...(made.length > 0 ? { made } : {}),
    ...(all.length > 0 ? { cited: all } : {}),
    ...(dropped.length > 0 ? { dropped } : {}),
  };
}

/** Removes a refuted claim from the result of an earlier visit, also from its inner runs, and from the context. */
function removeClaim(state: State, step: PathStep, refutation: Record<"claim" | "by" | "reason", string>): void {
  const { claim, by, reason } = refutation;
  const { node, checked = [], inner = [] } = step;
  const result = state.results.get(node);
  if (!result) return;
  const wanted = foldedClaim(claim);
  step.refuted = new Map([...(step.refuted ?? []), [wanted, reason]]);
  const data = withoutClaim(result.data, claim);
  if (deepEqual(data, result.data)) return;
  const claims = [checked, ...inner.map(({ step }) => step.checked ?? [])].flat().flatMap(({ claims }) => claims);
  const texts = claims.map((checked) => claimText(checked.claim));
  const text = texts.find((each) => foldedClaim(each) === wanted) ?? claim;
  const dropped = { claim: text, reason: `refuted by ${by}: ${reason}` };
  const { evidence = { claims: 0, supported: 0, dropped: 0, cites: 0, held: 0 } } = result;
  const all = [...(evidence.dropped_claims ?? []), dropped];
  state.results.set(node, {
    ...result,
    data,
    evidence: { ...evidence, dropped: evidence.dropped + 1, dropped_claims: all },
  });
  const { context } = state;
  const entries = context.entries.slice(0, context.length).map((entry) => {
    if (entry.node !== node) return entry;
    return { ...entry, data: withoutClaim(entry.data, claim), dropped: [...(entry.dropped ?? []), dropped] };
  });
  state.context = { ...context, entries };
}

/** Returns the touches of the visits on the current path, which the run sees. */
export function touchesOf(state: State): PlacedTouch[] {
  const counting = outermost(state).path.map(({ key }) => key);
  return state.run.touches.filter(({ visit }) => counting.some((key) => isUnder(visit, key)));
}

/** Returns the touches that the state has at the end: those that were already saved, and those that the run sees. */
export function touchesToSave(state: State): PlacedTouch[] {
  const { touches, written } = state.run;
  const seen = new Set(touchesOf(state));
  return touches.filter((touch, index) => index < written.touches || seen.has(touch));
}

/** Undoes the visits from a position on, and withdraws their planned operations. */
function redoFrom(state: State, position: number): void {
  const redone = state.path.slice(Math.max(0, position)).map(({ key }) => key);
  withdraw(state, ({ visit }) => redone.some((key) => isUnder(visit, key)));
  stepBack(state, position);
}

/** Rebuilds the state for a shorter path. The trace keeps all visits. */
function stepBack(state: State, position: number): void {
  const [again] = state.path.splice(Math.max(0, position));
  state.leaving = undefined;
  state.visit = undefined;
  if (again) state.upcoming = { node: again.node, via: again.via };
  state.follows.clear();
  for (const via of [...state.path, state.upcoming].map((step) => step?.via)) {
    if (via !== undefined) state.follows.set(via, (state.follows.get(via) ?? 0) + 1);
  }
  state.results.clear();
  state.context = contextAtStart(state.run, state.inside, state.context.input);
  for (const step of state.path) delete step.refuted;
  for (const step of state.path) keepResult(state, step);
}
