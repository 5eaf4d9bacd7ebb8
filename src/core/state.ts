import type {
  Envelope,
  EventOf,
  NodeResult,
  RunError,
  RunEvent,
  RunRecord,
  RunStatus,
  Settings,
  ToolCall,
} from "./event.ts";
import type { Part, RunContext, Turn } from "./prompt.ts";
import { textOf } from "./prompt.ts";
import type { Json, JsonObject } from "./values.ts";

/**
 * A run's past, folded from its events: nothing in it that the list does not hold.
 * A state is owned by one reader: `fold` takes it and gives it back changed, so that a long run stays linear.
 */
export interface State {
  /** Of the process that reads it: calls of other epochs without a result are in doubt. */
  readonly epoch: number;
  settings: Settings;
  started: boolean;
  /** How many times the run was resumed after its end: step keys carry it. */
  resumes: number;
  /** Node visits so far. */
  visits: number;
  readonly iterations: Map<string, number>;
  /** The visits that count, in order: a resumed run takes back those that it redoes. */
  readonly path: PathStep[];
  /** Follow counts by edge index (E5), along `path`. */
  readonly follows: Map<number, number>;
  /** The last result of each node, along `path`. */
  readonly results: Map<string, NodeResult>;
  context: RunContext;
  readonly steps: TraceStep[];
  readonly edges: TraceEdge[];
  readonly usage: UsageTotals;
  /** Milliseconds that some process was driving this run. */
  activeMs: number;
  /** The node to enter next, and the edge that leads there. */
  upcoming: { readonly node: string; readonly via: number | undefined } | undefined;
  visit: Visit | undefined;
  /** A node that was left and has not been routed. */
  leaving: Leaving | undefined;
  /** A visit that the run stopped in; `run:resume` goes on inside it. */
  unfinished: Visit | undefined;
  /** Why the run is coming to its end before its time. */
  halt: Halt | undefined;
  end: End | undefined;
  /** What the last failed model call failed with. */
  modelError: RunError | undefined;
  readonly warned: Set<string>;
  lastEvent: { readonly epoch: number; readonly at: number } | undefined;
}

interface PathStep {
  readonly node: string;
  readonly via: number | undefined;
  result: NodeResult | undefined;
}

/** X4: `iteration` counts visits of the node from 1; `retryAttempt` is absent if no retry fired (N38). */
export interface TraceStep {
  readonly node: string;
  readonly status: NodeResult["status"];
  readonly iteration: number;
  readonly retryAttempt?: number;
}

export interface TraceEdge {
  readonly from: string;
  readonly to: string;
  readonly reason: string;
  readonly index: number;
}

export interface UsageTotals {
  modelCalls: number;
  inputTokens: number;
  cachedTokens: number;
  outputTokens: number;
  /** The sum of the known costs. */
  costUsd: number;
  /** Calls whose cost is unknown. */
  unpriced: number;
}

export interface Visit {
  /** `3:assess`: begins every step key of the visit. */
  readonly key: string;
  readonly node: string;
  readonly iteration: number;
  /** 0 for the first attempt. */
  attempt: number;
  /** The run's activeMs when the attempt began. */
  attemptFrom: number;
  preamble: string | undefined;
  turns: Turn[];
  /** Model invocations of this attempt that were answered (N6). */
  replies: number;
  pending: PendingCall[];
  calls: ToolCall[];
  /** The text of a reply without calls: the attempt's answer. */
  answer: { readonly text: string; readonly stop: string } | undefined;
  /** An answer already went back to the model once. */
  corrected: boolean;
  /** The runs of each judge, by the evaluator's index; undefined where it threw. */
  readonly judged: Map<number, (string | undefined)[]>;
  /** The diagnosis that a retry waits for; null once it failed or was blank. */
  reflection: string | null | undefined;
  failure: AgentFailure | undefined;
}

/** A call of the latest turn, in the order in which the model made them. */
export interface PendingCall {
  readonly key: string;
  /** The id of the model's call part. */
  readonly id: string;
  readonly tool: string;
  readonly input: Json;
  /** Why it cannot run: its arguments were no JSON. */
  readonly broken: boolean;
  /** The epoch in which it was announced. */
  announced: number | undefined;
  outcome: { readonly output: Json } | { readonly error: string } | undefined;
}

/** The node's own work failed: turn cap, early end, timeout, a model that cannot be reached (N39). */
export interface AgentFailure {
  readonly message: string;
  /** A model's error code: the run can be resumed inside the node. */
  readonly code?: string;
  readonly hint?: string;
}

export interface Leaving {
  readonly node: string;
  readonly failed: boolean;
  /** `3:assess` */
  readonly key: string;
  /** Their answers since the run was last resumed; undefined where the call failed. */
  answers: (string | undefined)[];
  /** Of the node, when it failed. */
  readonly error: RunError | undefined;
  /** Of the latest routing call that failed. */
  routeError: RunError | undefined;
}

export interface Halt {
  readonly status: "stopped" | "interrupted";
  readonly reason: string;
  readonly limit?: string;
}

export interface End {
  readonly status: RunStatus;
  readonly reason: string;
  readonly error: RunError | undefined;
}

export function begin(record: RunRecord, epoch = 0): State {
  return {
    epoch,
    settings: record.settings,
    started: false,
    resumes: 0,
    visits: 0,
    iterations: new Map(),
    path: [],
    follows: new Map(),
    results: new Map(),
    context: { input: record.input, entries: [], length: 0 },
    steps: [],
    edges: [],
    usage: { modelCalls: 0, inputTokens: 0, cachedTokens: 0, outputTokens: 0, costUsd: 0, unpriced: 0 },
    activeMs: 0,
    upcoming: { node: record.workflow.entry, via: undefined },
    visit: undefined,
    leaving: undefined,
    unfinished: undefined,
    halt: undefined,
    end: undefined,
    modelError: undefined,
    warned: new Set(),
    lastEvent: undefined,
  };
}

/** Takes one more event into the state. */
export function fold(state: State, event: RunEvent): State {
  foldTime(state, event);
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
    case "warning":
      state.warned.add(event.message);
      break;
    case "workflow:end":
      state.end = { status: event.status, reason: event.reason, error: event.error };
      break;
    case "run:resume":
      foldResume(state, event);
      break;
    case "sources:resolved":
      break;
  }
  return state;
}

function foldTime(state: State, event: RunEvent): void {
  const at = Date.parse(event.at);
  const last = state.lastEvent;
  if (last?.epoch === event.epoch) state.activeMs += Math.max(0, at - last.at);
  state.lastEvent = { epoch: event.epoch, at };
}

function foldEnter(state: State, { node, iteration }: EventOf<"node:enter">): void {
  state.visits += 1;
  state.iterations.set(node, iteration);
  state.path.push({ node, via: state.upcoming?.via, result: undefined });
  state.upcoming = undefined;
  state.visit = {
    key: `${state.visits}:${node}`,
    node,
    iteration,
    ...freshAttempt(state, 0, undefined),
  };
}

function freshAttempt(state: State, attempt: number, preamble: string | undefined) {
  return {
    attempt,
    preamble,
    attemptFrom: state.activeMs,
    turns: [],
    replies: 0,
    pending: [],
    calls: [],
    answer: undefined,
    corrected: false,
    judged: new Map(),
    reflection: undefined,
    failure: undefined,
  };
}

function foldReply(state: State, event: EventOf<"model:reply"> & Envelope): void {
  addUsage(state.usage, event.usage);
  const text = textOf(event.parts);
  const { visit, leaving } = state;
  if (event.purpose === "route" && leaving) noteAnswer(leaving, text);
  if (!visit) return;
  if (event.purpose === "judge") judgeOf(visit, event).push(text);
  if (event.purpose === "reflect") visit.reflection = text.trim() === "" ? null : text;
  if (event.purpose !== "work") return;
  visit.replies += 1;
  if (event.parts.length > 0) visit.turns.push({ role: "assistant", parts: event.parts });
  visit.pending = pendingCalls(visit, event.parts);
  visit.answer = visit.pending.length === 0 ? { text, stop: event.stop } : undefined;
}

function noteAnswer(leaving: Leaving, answer: string | undefined): void {
  leaving.answers.push(answer);
}

function addUsage(totals: UsageTotals, usage: EventOf<"model:reply">["usage"]): void {
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
    id: part.id,
    tool: part.tool,
    input: part.type === "call" ? part.input : part.text,
    broken: part.type === "broken_call",
    announced: undefined,
    outcome: undefined,
  }));
}

/** The evaluator is named by its index in the step key: `3:assess/0/judge/2/1`. */
function judgeOf(visit: Visit, { key }: Envelope): (string | undefined)[] {
  const index = Number(/\/judge\/(\d+)\/\d+(?:~\d+)?$/.exec(key)?.[1] ?? 0);
  const answers = visit.judged.get(index) ?? [];
  visit.judged.set(index, answers);
  return answers;
}

function foldModelError(state: State, event: EventOf<"model:error"> & Envelope): void {
  const { visit, leaving } = state;
  const { code, message, hint, node } = event;
  state.modelError = { code, message, ...(hint ? { hint } : {}), node };
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
  const call = state.visit?.pending.find((pending) => pending.key === event.id);
  if (call) call.announced = event.epoch;
}

function foldResult(state: State, event: EventOf<"tool:result">): void {
  const { visit } = state;
  const call = visit?.pending.find((pending) => pending.key === event.id);
  if (!visit || !call) return;
  call.outcome = event.error === undefined ? { output: event.output ?? null } : { error: event.error };
  if (visit.pending.some((pending) => pending.outcome === undefined)) return;
  visit.turns.push({ role: "tools", results: visit.pending.map(answerOf) });
  visit.calls.push(...visit.pending.map(toolCallOf));
  visit.pending = [];
}

function answerOf({ id, outcome }: PendingCall) {
  if (outcome && "error" in outcome) return { id, output: { error: outcome.error }, failed: true };
  return { id, output: outcome?.output ?? null, failed: false };
}

export function toolCallOf({ tool, input, announced, outcome }: PendingCall): ToolCall {
  const error = announced === undefined ? "was not carried out" : "was cut off, so it may have been carried out";
  return { tool, input, ...(outcome ?? { error }) };
}

function foldRejection(state: State, { reason }: EventOf<"reply:rejected">): void {
  if (!state.visit) return;
  state.visit.turns.push({ role: "user", text: reason });
  state.visit.answer = undefined;
  state.visit.corrected = true;
}

function foldRetry(state: State, event: EventOf<"node:retry">): void {
  const { visit } = state;
  if (!visit) return;
  const { node, iteration } = visit;
  state.steps.push({ node, status: "failed", iteration, retryAttempt: visit.attempt });
  Object.assign(visit, freshAttempt(state, event.attempt, event.preamble));
}

function foldExit(state: State, { node, result, unfinished }: EventOf<"node:exit">): void {
  const { visit } = state;
  const step = state.path.at(-1);
  if (!visit || !step) return;
  if (unfinished) state.unfinished = visit;
  const retryAttempt = visit.attempt > 0 ? { retryAttempt: visit.attempt } : {};
  state.steps.push({ node, status: result.status, iteration: visit.iteration, ...retryAttempt });
  step.result = result;
  keepResult(state, node, result);
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

/** Prompts under way hold a length, so the list of entries grows in place; only a second result of a node copies it. */
function keepResult(state: State, node: string, result: NodeResult): void {
  const { context } = state;
  const entries = state.results.has(node)
    ? context.entries.slice(0, context.length).filter((entry) => entry.node !== node)
    : (context.entries as { node: string; data: JsonObject }[]);
  entries.push({ node, data: result.data });
  state.context = { input: context.input, entries, length: entries.length };
  state.results.set(node, result);
}

function foldRoute(state: State, { from, to, reason, edge }: EventOf<"route">): void {
  state.follows.set(edge, (state.follows.get(edge) ?? 0) + 1);
  state.edges.push({ from, to, reason, index: edge });
  state.leaving = undefined;
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

/** What an ended run goes on with: a node again, inside the visit it stopped in, or the route that it lacked. */
function foldResume(state: State, { from, settings }: EventOf<"run:resume">): void {
  const { unfinished, leaving, halt } = state;
  state.settings = { ...state.settings, ...settings };
  state.resumes += 1;
  state.end = undefined;
  state.halt = undefined;
  state.unfinished = undefined;
  if (from !== undefined) {
    redoFrom(
      state,
      state.path.findLastIndex((step) => step.node === from),
    );
  } else if (unfinished) {
    state.steps.pop();
    redoFrom(state, state.path.length - 1);
    state.path.push({ node: unfinished.node, via: state.upcoming?.via, result: undefined });
    state.upcoming = undefined;
    const answer = unfinished.answer?.text.trim() ? unfinished.answer : undefined;
    state.visit = { ...unfinished, answer, failure: undefined };
  } else if (leaving?.failed && !halt) {
    redoFrom(state, state.path.length - 1);
  } else if (leaving) {
    state.leaving = { ...leaving, answers: [], routeError: undefined };
  }
}

/** Takes back the visits from a position on; the trace keeps the whole path. */
function redoFrom(state: State, position: number): void {
  const [again] = state.path.splice(Math.max(0, position));
  state.leaving = undefined;
  state.visit = undefined;
  if (again) state.upcoming = { node: again.node, via: again.via };
  state.follows.clear();
  for (const via of [...state.path, state.upcoming].map((step) => step?.via)) {
    if (via !== undefined) state.follows.set(via, (state.follows.get(via) ?? 0) + 1);
  }
  state.results.clear();
  state.context = { input: state.context.input, entries: [], length: 0 };
  for (const { node, result } of state.path) if (result) keepResult(state, node, result);
}
