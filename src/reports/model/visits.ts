import { nodePath } from "../../core/document/inner/place.ts";
import { shortfallText } from "../../core/engine/event/end.ts";
import type { EventOf, RunEvent } from "../../core/engine/event/event.ts";
import { plannedAs } from "../../core/engine/event/operation.ts";
import { nameOfNode, type RunRecord } from "../../core/engine/event/record.ts";
import { endOf } from "../../core/engine/result/waiting.ts";
import type { Report } from "./report.ts";
import type { Asked, InnerRun, Remark, Visit, VisitCall } from "./visit.ts";
import { durationOf, switchText } from "./visit.ts";

/**
 * Builds the visits of a run. Inner runs are nested in the visits of their nodes. `every` lists all visits in the order they
 * started. `remarks` has the remarks from before the first one.
 */
export function visitsOf({ record, events, result }: Report): {
  readonly visits: Visit[];
  readonly every: Visit[];
  readonly remarks: Remark[];
} {
  const root: Scope = { visits: [], anchor: "visit", at: undefined, run: undefined, last: undefined };
  const path: Path = { record, scopes: new Map([[undefined, root]]), every: [], open: new Map(), remarks: [] };
  for (const event of events) {
    const scope = path.scopes.get(event.at) ?? root;
    if (event.type === "run:resume") takeBack(root.visits, event);
    take(path, scope, event);
    scope.last = event;
  }
  takeOutIdle(path.every, events);
  const { visits } = root;
  if (endOf(events)) keepCounting(visits, result);
  return { visits, every: path.every, remarks: path.remarks };
}

/** Measures in each visit and inner run how long no process was driving the run. */
function takeOutIdle(every: readonly Visit[], events: Report["events"]): void {
  const gaps = events.flatMap(({ epoch, time: endedAt }, index) => {
    const before = events[index - 1];
    return before === undefined || before.epoch === epoch ? [] : [{ startedAt: before.time, endedAt }];
  });
  if (gaps.length === 0) return;
  const sums = [0];
  for (const gap of gaps) sums.push((sums.at(-1) ?? 0) + durationOf(gap));
  for (const timed of every.flatMap((visit) => [visit, ...visit.inner])) {
    const from = placeIn(gaps, ({ startedAt }) => startedAt >= timed.startedAt);
    const to = placeIn(gaps, ({ endedAt }) => endedAt > timed.endedAt);
    timed.idleMs = to > from ? (sums[to] ?? 0) - (sums[from] ?? 0) : 0;
  }
}

/** Returns the index of the first item that fits, or the length. All items after it must fit too. */
function placeIn<Item>(items: readonly Item[], fits: (item: Item) => boolean): number {
  let [from, to] = [0, items.length];
  while (from < to) {
    const middle = (from + to) >> 1;
    if (fits(items[middle] as Item)) to = middle;
    else from = middle + 1;
  }
  return from;
}

/** Replaces the shortfalls of all visits with those of the run's result, which counts only each node's last visit. */
function keepCounting(visits: readonly Visit[], { degraded }: Report["result"]): void {
  for (const visit of visits) visit.degraded = [];
  for (const { node, ...shortfall } of degraded)
    visits
      .filter(isCurrent)
      .findLast((visit) => visit.node === node)
      ?.degraded.push(shortfallText(shortfall));
}

/** Marks the visits that a run repeats because it was resumed from a node, with their inner runs. */
function takeBack(visits: readonly Visit[], { from }: EventOf<"run:resume">): void {
  const first = visits.findLastIndex((visit) => visit.node === from && isCurrent(visit));
  const mark = (visit: Visit): void => {
    visit.isTakenBack = true;
    for (const run of visit.inner) run.visits.forEach(mark);
  };
  if (first !== -1) visits.slice(first).forEach(mark);
}

/** Checks whether a visit was not taken back. */
export function isCurrent({ isTakenBack }: Visit): boolean {
  return !isTakenBack;
}

/** Returns the last visit of each node, also of those in inner runs. Visits that were taken back do not count. */
export function lastVisits(visits: readonly Visit[]): Visit[] {
  return [...new Map(visits.filter(isCurrent).map((visit) => [nodePath(visit.at, visit.node), visit])).values()];
}

/** Returns the latest successful visit with evals and the latest successful visit. Reports show them first. */
export function conclusionsOf(visits: readonly Visit[]): Visit[] {
  const passed = visits.filter((visit) => isCurrent(visit) && visit.result?.status === "success");
  const last = passed.at(-1);
  const proven = passed.findLast(({ result }) => result?.evals?.length);
  return [...new Set([proven, last])].filter((visit) => visit !== undefined);
}

interface Path {
  readonly record: RunRecord;
  /** Scopes of the run itself (undefined) and of its inner runs, by place. */
  readonly scopes: Map<string | undefined, Scope>;
  readonly every: Visit[];
  /** Calls without a result yet, by id. */
  readonly open: Map<string, VisitCall>;
  readonly remarks: Remark[];
}

interface Scope {
  readonly visits: Visit[];
  readonly anchor: string;
  readonly at: string | undefined;
  /** Undefined for the run itself. */
  readonly run: InnerRun | undefined;
  last: RunEvent | undefined;
}

function take(path: Path, scope: Scope, event: RunEvent): void {
  if (event.type === "node:enter") enter(path, scope, event);
  const visit = scope.visits.at(-1);
  takeRemark(path, visit, event);
  if (!visit) return;
  switch (event.type) {
    case "model:reply":
    case "model:error":
      visit.turns.push(askedIn(scope, event));
      break;
    case "run:interrupt":
      visit.turns.push({ kind: "limit", text: event.reason });
      break;
    case "tool:call":
      takeCall(path, visit, event);
      break;
    case "tool:result":
      takeResult(path, event);
      break;
    case "map:start":
      takeItems(visit, event);
      break;
    case "inner:start":
      beginInner(path, visit, event);
      break;
    case "inner:end":
      endInner(visit, event);
      break;
    case "approval:asked":
      visit.asked = event;
      break;
    case "approval:given":
      visit.word = event;
      break;
    case "evidence:checked":
      visit.evidence = [...visit.evidence.filter(({ evaluator }) => evaluator !== event.evaluator), event];
      break;
    case "node:retry":
      visit.retries.push(event);
      visit.turns.push({ kind: "retry", text: event.reason });
      visit.evidence = [];
      break;
    case "node:exit":
      visit.result = event.result;
      visit.isStopped = event.stopped === true;
      visit.degraded.push(...(event.degraded ?? []).map(shortfallText));
      visit.cause = event.cause;
      visit.denied = event.denied ?? [];
      visit.endedAt = event.time;
      break;
    case "route":
      visit.route = event;
      visit.degraded.push(...(event.degraded ?? []).map(shortfallText));
      break;
  }
  if (!visit.result) visit.endedAt = event.time;
  if (scope.run && scope.run.status === undefined) scope.run.endedAt = event.time;
}

function takeRemark({ remarks }: Path, visit: Visit | undefined, event: RunEvent): void {
  const remark = remarkOf(event);
  if (!remark) return;
  const { kind, text } = remark;
  (visit?.remarks ?? remarks).push(remark);
  if (kind !== "model error") visit?.turns.push({ kind: TURN_KINDS[kind], text });
}

const TURN_KINDS = { warning: "warning", limit: "limit", rejected: "told", "model switch": "warning" } as const;

function enter({ record, every }: Path, { visits, anchor, at }: Scope, event: EventOf<"node:enter"> & RunEvent): void {
  const { node, iteration, time } = event;
  const number = visits.length + 1;
  const visit: Visit = {
    number,
    anchor: `${anchor}-${number}`,
    node,
    at,
    name: nameOfNode(record, at, node),
    iteration,
    calls: [],
    turns: [],
    retries: [],
    evidence: [],
    remarks: [],
    startedAt: time,
    endedAt: time,
    isStopped: false,
    isTakenBack: false,
    inner: [],
    left: 0,
    denied: [],
    degraded: [],
  };
  visits.push(visit);
  every.push(visit);
}
function addInner(visit: Visit, key: string | undefined, time: string): InnerRun {
  const run: InnerRun = {
    anchor: `${visit.anchor}-${visit.inner.length + 1}`,
    key,
    complaint: "",
    startedAt: time,
    endedAt: time,
    visits: [],
  };
  visit.inner.push(run);
  return run;
}

/** Adds the items of a map. Items that cannot or need not run already have an outcome. */
function takeItems(visit: Visit, { items, left, time }: EventOf<"map:start"> & RunEvent): void {
  visit.left = left;
  for (const { key, skipped_reason, error } of items) {
    const run = addInner(visit, key, time);
    if (skipped_reason !== undefined) Object.assign(run, { status: "skipped", complaint: skipped_reason });
    else if (error !== undefined) Object.assign(run, { status: "failed", complaint: error });
  }
}

/** Returns the first inner run of this key without a status, or adds one. */
function runOf(visit: Visit, key: string | undefined, time: string): InnerRun {
  return visit.inner.find((run) => run.key === key && run.status === undefined) ?? addInner(visit, key, time);
}

function beginInner(path: Path, visit: Visit, event: EventOf<"inner:start"> & RunEvent): void {
  const { item, inner, input, same = [], time } = event;
  const run = runOf(visit, item, time);
  const shared = Object.fromEntries(same.map((name) => [name, "(the same as in the first item)"]));
  Object.assign(run, { input: { ...shared, ...input }, startedAt: time, endedAt: time });
  path.scopes.set(inner, { visits: run.visits, anchor: run.anchor, at: inner, run, last: undefined });
}

function endInner(visit: Visit, event: EventOf<"inner:end"> & RunEvent): void {
  const { item, status, data, skipped_reason, error, time } = event;
  const run = runOf(visit, item, time);
  const why = status === "failed" ? (error?.message ?? data.error ?? "failed") : (skipped_reason ?? "");
  const verdict = typeof data.verdict === "string" ? { verdict: data.verdict } : {};
  Object.assign(run, { status, complaint: String(why), endedAt: time, ...verdict });
}

function remarkOf<Type extends RunEvent["type"]>(event: EventOf<Type>): Remark | undefined {
  return REMARKS[event.type]?.(event);
}

const REMARKS: { readonly [Type in RunEvent["type"]]?: (event: EventOf<Type>) => Remark } = {
  warning: ({ message }) => ({ kind: "warning", text: message }),
  "limit:reached": ({ message }) => ({ kind: "limit", text: message }),
  "reply:rejected": ({ reason }) => ({ kind: "rejected", text: reason }),
  "model:switch": (event) => ({ kind: "model switch", text: switchText(event) }),
  "model:error": ({ message, hint }) => ({ kind: "model error", text: hint ? `${message} (${hint})` : message }),
};

/** Builds a turn from a model's answer. The model was asked when the scope's previous event was recorded. */
function askedIn({ last }: Scope, event: Asked["answer"]): Asked {
  const { seq, purpose, model, time } = event;
  const startedAt = last?.epoch === event.epoch ? last.time : time;
  return { kind: "asked", seq, purpose, model, startedAt, endedAt: time, answer: event, calls: [] };
}

function takeCall(path: Path, visit: Visit, event: EventOf<"tool:call"> & RunEvent): void {
  const { id, seq, ref, tool, input, time } = event;
  const announced = path.open.get(id);
  if (announced) {
    announced.seq = seq;
    return;
  }
  const attempt = visit.retries.length;
  const call: VisitCall = { ref, id, seq, tool, input, attempt, startedAt: time, blobs: [] };
  path.open.set(id, call);
  visit.calls.push(call);
  visit.turns.findLast((turn) => turn.kind === "asked")?.calls.push(call);
}

function takeResult({ open }: Path, event: EventOf<"tool:result"> & RunEvent): void {
  const { id, output, error, acted, blobs = [], time } = event;
  const call = open.get(id);
  if (!call) return;
  call.outcome = error === undefined ? { output: output ?? null } : { error };
  if (acted === "unknown") call.mayHaveActed = true;
  call.planned = plannedAs(event);
  call.blobs = blobs;
  call.endedAt = time;
  open.delete(id);
}
