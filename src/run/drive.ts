import { messageOf } from "../core/base/errors.ts";
import { cutMiddle } from "../core/base/preview.ts";
import { mapped } from "../core/base/values.ts";
import { next } from "../core/engine/decide/interpreter.ts";
import type { RunError } from "../core/engine/event/end.ts";
import type { Entry, EventBody } from "../core/engine/event/event.ts";
import { answerQuestion } from "../core/engine/evidence/question.ts";
import { fold, foldTime } from "../core/engine/fold/fold.ts";
import { begin, type State } from "../core/engine/fold/state.ts";
import type { SingleStep, Step } from "../core/engine/fold/step.ts";
import type { Observer } from "../core/engine/ports.ts";
import { redactDecision, redactOutcome } from "../core/engine/record/content.ts";
import { refusedCall } from "../core/skill/skill.ts";
import type { Ask } from "./ask.ts";
import { type Beside, cutOffIn, nextTurn, nothingBeside, takeBeside } from "./beside.ts";
import { type Alarm, createAlarm, endedAlready, type Limited, MOST_SAID, openBudget, type Timed } from "./budget.ts";
import type { AskReach, CallTool } from "./call.ts";
import { noCalls, performCalls, type Running } from "./calls.ts";
import type { AskChange } from "./change.ts";
import type { Afterwards, Recall } from "./recall.ts";
import { Stop } from "./stop.ts";
import { type Suspect, suspected } from "./stray.ts";

export interface Run extends Limited {
  readonly ask: Ask;
  readonly callTool: CallTool;
  /** Asks a tool who can read its target. If undefined, every target that could be public counts as public. */
  readonly askReach?: AskReach;
  /** Returns the change that a call proposes, or why it cannot be proposed. If undefined, there is none. */
  readonly askChange?: AskChange;
  /** Returns the text of a blob, or undefined if the run does not have it. */
  readonly blobText?: (id: string) => Promise<string | undefined>;
  readonly observers: readonly Observer[];
  /** Events to record before the run continues after an earlier end, such as a resume or an approval. */
  readonly afterwards: readonly Afterwards[];
  /** Results from the recording, in a replay. */
  readonly recall?: Recall | undefined;
  /** Returns the error of a run that would otherwise succeed, such as a replay whose prompts changed. */
  readonly refusal?: () => RunError | undefined;
}

/** Performs the steps that `next` returns, records results, updates the state and notifies observers. */
export async function driveRun(run: Run): Promise<State> {
  const strays = strayWarnings();
  const alarm = createAlarm();
  const interrupted = new Stop();
  const interrupt = () => interrupted.abort(() => run.signal.reason);
  if (run.signal.aborted) interrupt();
  else run.signal.addEventListener("abort", interrupt, { once: true });
  try {
    const open = { interrupted, alarm, untold: strays.untold, running: new Map(), ...nothingBeside() };
    return await suspected(strays, () => driveSteps({ ...run, ...open }));
  } finally {
    run.signal.removeEventListener("abort", interrupt);
    alarm.close();
    strays.close();
  }
}

interface Drive extends Run, Timed, Beside {
  /** Warnings for the next record. */
  readonly untold: EventBody[];
  /** Running calls, by the path of the inner run. */
  readonly running: Map<string | undefined, Running>;
}

async function driveSteps(run: Drive): Promise<State> {
  const { program, journal, recall } = run;
  const state = begin(program.record, journal.epoch);
  let heardAt = performance.now();
  for (let position = 0; ; position++) {
    const found = next(program, state) ?? afterwardsStep(run, state);
    if (!found) return state;
    const step = recall && found.kind === "together" ? recall.narrow(found, position) : found;
    const isEnd = step.kind === "decide" && step.bodies[0]?.type === "workflow:end";
    if (isEnd || performance.now() - heardAt > MOST_DEAF_MS) {
      await nextTurn();
      heardAt = performance.now();
    }
    const isRepeatable = step.kind === "decide" && step.isRepeatable;
    const keys = step.kind === "together" ? step.steps.map(({ key }) => key) : step.key;
    let folded = 0;
    const work = () => {
      const entries = performed(run, state, [step, position]);
      if (step.kind !== "decide") return entries;
      const follow = (decided: readonly Entry[]) => {
        const all = withFollowing(run, state, { step, position, entries: decided });
        folded = all.folded;
        return all.entries;
      };
      return entries instanceof Promise ? entries.then(follow) : follow(entries);
    };
    const recording = journal.record(keys, work, isRepeatable);
    // Avoids a promise for the many steps that finish synchronously.
    const events = recording instanceof Promise ? await recording : recording;
    let index = 0;
    for (const event of events) {
      if (index++ < folded) foldTime(state, event);
      else fold(state, event);
      if (event.epoch === journal.epoch) tell(run.observers, (observer) => observer.onEvent(event));
    }
  }
}

/** Longest time in ms without yielding to the event loop, so that signals and timers are handled. */
const MOST_DEAF_MS = 5;

/**
 * Adds the decisions that follow from an exit or a route to its record: the route, and the entry into the next node.
 * Folds what they follow from, before it is recorded: only the clock of the run depends on the record.
 */
function withFollowing(
  run: Drive,
  state: State,
  {
    step,
    position,
    entries,
  }: { readonly step: Decision; readonly position: number; readonly entries: readonly Entry[] },
): { readonly entries: readonly Entry[]; readonly folded: number } {
  const { lastEvent } = state.run;
  const last = entries.at(-1);
  const isLeaving = last?.type === "node:exit" || last?.type === "route";
  if (!isLeaving || !lastEvent || run.program.record.schema === "skillflow.run/1") return { entries, folded: 0 };
  const { epoch, text: time } = lastEvent;
  for (const entry of entries) fold(state, { seq: 0, epoch, time, key: step.key, ...entry });
  const folded = entries.length;
  const found = next(run.program, state);
  const follows = found?.kind === "decide" && found.at === step.at && FOLLOWING.has(found.bodies[0]?.type);
  if (!follows || run.recall?.includes(found, position) === false) return { entries, folded };
  const added = mapped(performDecision(run, state, found), (entry) => ({ key: found.key, ...entry }));
  const all = withFollowing(run, state, { step: found, position, entries: added });
  return { entries: [...entries, ...all.entries], folded: folded + all.folded };
}

const FOLLOWING: ReadonlySet<unknown> = new Set<EventBody["type"]>(["route", "node:enter"]);

/** Collects stray errors that no running call claims, as warnings for the next record. */
function strayWarnings(): Suspect & { readonly untold: EventBody[]; close(): void } {
  const untold: EventBody[] = [];
  let isOver = false;
  return {
    untold,
    take(error) {
      if (!isOver)
        untold.push({ type: "warning", message: `an unhandled error in the background: ${messageOf(error)}` });
      return !isOver;
    },
    close() {
      isOver = true;
    },
  };
}

/** Returns the step for the next event after an end. A replay that diverged stops instead. */
function afterwardsStep(run: Run, state: State): SingleStep | undefined {
  if (run.recall && state.end?.error?.code === "replay.missing") return undefined;
  const after = run.afterwards[state.run.afterwards];
  return after && { kind: "decide", key: after.key, at: after.at, bodies: [after.body] };
}

type Performed = readonly Entry[] | Promise<readonly Entry[]>;

/** Performs a step and redacts its result before it is recorded, so that a resumed run sees the same data. */
function performed(run: Drive, state: State, at: readonly [Step, number]): Performed {
  const [step] = at;
  const isAlone = run.underWay.size + run.untold.length === 0 && !run.recall;
  // Without a promise, because many steps are decisions.
  return step.kind === "decide" && isAlone ? performDecision(run, state, step) : performedWith(run, state, at);
}

async function performedWith(
  run: Drive,
  state: State,
  [step, position]: readonly [Step, number],
): Promise<readonly Entry[]> {
  if (step.kind === "together" || run.underWay.has(step.key)) {
    const steps = step.kind === "together" ? step.steps : [step];
    const begin = (each: SingleStep, alarm: Alarm) => performOne({ ...run, alarm }, state, each);
    const entries = await takeBeside(run, steps, { begin, takesAll: run.recall !== undefined });
    return run.untold.length === 0 ? entries : [...entries, ...heard(run, run.untold.splice(0))];
  }
  const entries = await performOne(run, state, step);
  const leaving = step.kind === "decide" ? endInside(run, step, position) : [];
  const cutOff = leaving instanceof Promise ? await leaving : leaving;
  const untold = run.untold.length === 0 ? [] : heard(run, run.untold.splice(0));
  return untold.length + cutOff.length === 0 ? entries : [...untold, ...entries, ...cutOff];
}

function performOne(run: Drive, state: State, step: SingleStep): Performed {
  if (step.kind === "decide") return performDecision(run, state, step);
  const recalled = run.recall?.bodies(step);
  return recalled ? placed(run, step, recalled) : reachOut(run, scopeOf(state, step), step);
}

function performDecision(run: Drive, state: State, step: Decision): readonly Entry[] {
  const recalled = run.recall?.bodies(step);
  if (recalled) return placed(run, step, recalled);
  const ending = step.bodies.some(isBeginning) ? endedAlready(run, scopeOf(state, step)) : undefined;
  return placed(run, step, ending ? [ending] : mapped(step.bodies, (body) => refused(body, run.refusal)));
}

function scopeOf(state: State, { at }: SingleStep): State {
  return at === undefined ? state : (state.run.inner.get(at) ?? state);
}

/** Redacts events and adds the inner run's path, unless they have one or concern the whole run. */
function placed(run: Run, step: SingleStep, came: readonly Entry[]): readonly Entry[] {
  const isDecided = step.kind === "decide" || step.kind === "examine";
  const bodies: readonly Entry[] = isDecided
    ? mapped(came, (body) => redactDecision(body, run.redactor))
    : heard(run, came, step.kind === "ask" ? mapped(step.prompt.tools, ({ name }) => name) : []);
  const { at } = step;
  const isOfAll = (body: Entry) => body.type === "run:interrupt" || "at" in body;
  return at === undefined ? bodies : mapped(bodies, (body) => (isOfAll(body) ? body : { ...body, at }));
}

/** Stops the running steps inside a node that ends, and returns their results so far. */
function endInside(run: Drive, step: Decision, position: number): Performed {
  if (run.recall) return run.recall.beside(step, position);
  return run.underWay.size > 0 && step.bodies[0]?.type === "node:exit" ? cutOffIn(run, step.key) : [];
}

type Decision = Extract<SingleStep, { kind: "decide" }>;

function heard({ redactor }: Run, bodies: readonly Entry[], offered: readonly string[] = []): readonly Entry[] {
  return mapped(bodies, (body) => {
    const said = redactOutcome(body, redactor, offered);
    if (said.type === "model:switch") return { ...said, reason: cutMiddle(said.reason, MOST_SAID) };
    const isMessage = said.type === "model:error" || said.type === "run:fail" || said.type === "warning";
    return isMessage ? { ...said, message: cutMiddle(said.message, MOST_SAID) } : said;
  });
}

/** Notifies observers. Errors in an observer do not affect the run. */
export function tell(observers: readonly Observer[], look: (observer: Observer) => unknown): void {
  for (const observer of observers) {
    try {
      const looking = look(observer);
      if (typeof looking === "object" && looking !== null) Promise.resolve(looking).catch(ignoreObserver);
    } catch (error) {
      ignoreObserver(error);
    }
  }
}

const ignoreObserver = (_error: unknown) => undefined;

function refused<Body extends EventBody>(body: Body, refusal: Run["refusal"]): Body {
  const error = body.type === "workflow:end" && body.status === "succeeded" ? refusal?.() : undefined;
  return error ? { ...body, status: "failed", reason: error.message, error } : body;
}

async function reachOut(
  run: Drive,
  scope: State,
  step: Exclude<SingleStep, { kind: "decide" }>,
): Promise<readonly Entry[]> {
  if (step.kind === "examine") return placed(run, step, [await performExamine(run, step)]);
  if (step.kind === "reach") return placed(run, step, [await performReach(run, step)]);
  const budget = openBudget(run, scope, step.key);
  try {
    if (step.kind === "ask") {
      const answer = budget.ended() ? budget.event() : await budget.orEnd(run.ask(step, budget.stop));
      return placed(run, step, [answer]);
    }
    const running = run.running.get(step.at) ?? noCalls();
    run.running.set(step.at, running);
    const entries = await performCalls(run, step, { running, budget });
    if (running.calls.size === 0) run.running.delete(step.at);
    return placed(run, step, entries);
  } catch (error) {
    if (step.kind === "ask" && budget.ended()) return placed(run, step, [budget.event()]);
    throw error;
  } finally {
    budget.close();
  }
}

/** Detects steps that must not start without time left or after an interrupt: calls would be in doubt. */
function isBeginning({ type }: EventBody): boolean {
  return type === "node:enter" || type === "tool:call";
}

const NO_COPY = refusedCall("the run has no working copy", "tool.unknown");

async function performReach(
  run: Drive,
  { node, call, asks }: Extract<SingleStep, { kind: "reach" }>,
): Promise<EventBody> {
  if (asks === "change") {
    const given = (await run.askChange?.(call)) ?? NO_COPY;
    const told = "error" in given ? { error: given.error, code: given.code } : { change: given };
    return { type: "tool:change", node, id: call.key, ...told };
  }
  const told = (await run.askReach?.(call, run.interrupted)) ?? "public";
  const event = { type: "tool:audience", node, id: call.key } as const;
  if (typeof told === "string") return { ...event, audience: told };
  return { ...event, audience: "public", error: told.error, code: told.code };
}

/** Checks the claims. A missing blob counts as empty, but the result itself still counts. */
async function performExamine(run: Run, { question }: Extract<SingleStep, { kind: "examine" }>): Promise<EventBody> {
  const texts = new Map<string, string>();
  for (const { blob_id } of question.results.flatMap(({ blobs }) => blobs)) {
    const text = texts.has(blob_id) ? undefined : await run.blobText?.(blob_id);
    if (text !== undefined) texts.set(blob_id, text);
  }
  return answerQuestion(question, texts);
}
