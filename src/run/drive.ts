import { messageOf } from "../core/base/errors.ts";
import type { Redactor } from "../core/base/redact/redact.ts";
import { cutText } from "../core/base/values.ts";
import { next } from "../core/engine/decide/interpreter.ts";
import type { RunError } from "../core/engine/event/end.ts";
import type { Entry, EventBody, RunEvent } from "../core/engine/event/event.ts";
import { answerQuestion } from "../core/engine/evidence/question.ts";
import { fold } from "../core/engine/fold/fold.ts";
import type { Program } from "../core/engine/fold/program.ts";
import { begin, type State } from "../core/engine/fold/state.ts";
import type { SingleStep, Step } from "../core/engine/fold/step.ts";
import type { Journal, Observer, SkillLog } from "../core/engine/ports.ts";
import { redactDecision, redactOutcome } from "../core/engine/record/content.ts";
import type { Ask } from "./ask.ts";
import { type Beside, cutOffIn, nothingBeside, takeBeside } from "./beside.ts";
import { type Alarm, type Budget, createAlarm, endedAlready, MOST_SAID, openBudget, type Timed } from "./budget.ts";
import type { AskReach, CallTool } from "./call.ts";
import { noCalls, performCalls, type Running } from "./calls.ts";
import type { Suspect } from "./context.ts";
import type { Afterwards, Recall } from "./recall.ts";
import { Stop } from "./stop.ts";
import { suspected } from "./stray.ts";
import { nextTurn } from "./turns.ts";

export interface Run {
  readonly program: Program;
  readonly journal: Journal;
  readonly ask: Ask;
  readonly callTool: CallTool;
  /** Undefined where nobody is to be asked: what could be public is then. */
  readonly askReach?: AskReach;
  /** The text of a blob of the run; undefined where it holds none, or is gone. */
  readonly blobText?: (id: string) => Promise<string | undefined>;
  readonly redactor: Redactor;
  readonly observers: readonly Observer[];
  /** Aborted when somebody interrupts the run. */
  readonly signal: AbortSignal;
  /** What came, and now comes, to the run after an end: what is recorded of it first. */
  readonly afterwards: readonly Afterwards[];
  /** Of the run's time, what this process needed before it could drive it. */
  readonly spentMs?: number;
  /** Of a replay. */
  readonly recall?: Recall | undefined;
  /** Why a run that would succeed ends as failed: a replay whose prompts changed. */
  readonly refusal?: () => RunError | undefined;
}

/** While `next` gives a step: perform it, record it, fold it, tell the observers. */
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
  /** To be told in the next record. */
  readonly untold: EventBody[];
  /** The calls of each run, the inner ones by their place. */
  readonly running: Map<string | undefined, Running>;
}

async function driveSteps(run: Drive): Promise<State> {
  const { program, journal, recall } = run;
  let state = begin(program.record, journal.epoch);
  let heardAt = performance.now();
  for (let position = 0; ; position++) {
    const found = next(program, state) ?? afterwardsStep(run, state);
    if (!found) return state;
    const step = recall && found.kind === "together" ? recall.narrow(found, position) : found;
    if (endsRun(step) || performance.now() - heardAt > MOST_DEAF_MS) {
      await nextTurn();
      heardAt = performance.now();
    }
    const isRepeatable = step.kind === "decide" && step.isRepeatable;
    const keys = step.kind === "together" ? step.steps.map(({ key }) => key) : step.key;
    const events = await journal.record(keys, () => performed(run, state, step, position), isRepeatable);
    for (const event of events) {
      state = fold(state, event);
      if (event.epoch === journal.epoch) tell(run.observers, event);
    }
  }
}

/** Signals and timers are heard so often whatever the steps are, after every call, and before the end. */
const MOST_DEAF_MS = 1;

function endsRun(step: Step): boolean {
  return step.kind === "decide" && step.bodies[0]?.type === "workflow:end";
}

/** What was thrown where nobody waits for it, and by none of the calls under way, becomes a warning in the next record. */
function strayWarnings(): Suspect & { readonly untold: EventBody[]; close(): void } {
  const untold: EventBody[] = [];
  let isOver = false;
  return {
    untold,
    take(error) {
      if (!isOver) untold.push({ type: "warning", message: `an error that nobody waited for: ${messageOf(error)}` });
      return !isOver;
    },
    close() {
      isOver = true;
    },
  };
}

/** A replay that left its recording goes no further. */
function afterwardsStep(run: Run, state: State): SingleStep | undefined {
  if (run.recall && state.end?.error?.code === "replay.missing") return undefined;
  const after = run.afterwards[state.run.afterwards];
  return after && { kind: "decide", key: after.key, at: after.at, bodies: [after.body] };
}

/** What came of a step, redacted before it is recorded or folded: a resumed run sees what the first one saw. */
async function performed(run: Drive, state: State, step: Step, position: number): Promise<readonly Entry[]> {
  if (step.kind === "together" || run.underWay.has(step.key)) {
    const entries = await performBeside(run, state, step);
    return run.untold.length === 0 ? entries : [...entries, ...heard(run, run.untold.splice(0))];
  }
  const coming = performOne(run, state, step);
  // No promise where there is nothing to wait for: most steps are decided.
  const entries = coming instanceof Promise ? await coming : coming;
  const leaving = step.kind === "decide" ? endInside(run, step, position) : [];
  const cutOff = leaving instanceof Promise ? await leaving : leaving;
  const untold = run.untold.length === 0 ? [] : heard(run, run.untold.splice(0));
  return untold.length + cutOff.length === 0 ? entries : [...untold, ...entries, ...cutOff];
}

function performOne(run: Drive, state: State, step: SingleStep): readonly Entry[] | Promise<readonly Entry[]> {
  const coming = perform(run, state, step);
  return coming instanceof Promise ? coming.then((came) => placed(run, step, came)) : placed(run, step, coming);
}

/** Redacted, and with its place, unless it is of the whole run or names its own. */
function placed(run: Run, step: SingleStep, came: readonly Entry[]): readonly Entry[] {
  const isDecided = step.kind === "decide" || step.kind === "examine";
  const bodies: readonly Entry[] = isDecided
    ? came.map((body) => redactDecision(body, run.redactor))
    : heard(run, came);
  const { at } = step;
  const isOfAll = (body: Entry) => body.type === "run:interrupt" || "at" in body;
  return at === undefined ? bodies : bodies.map((body) => (isOfAll(body) ? body : { ...body, at }));
}

/** Begins what is not under way yet, waits until one is over, and takes all that are. */
function performBeside(run: Drive, state: State, step: Step): Promise<readonly Entry[]> {
  const steps = step.kind === "together" ? step.steps : [step];
  const begin = (each: SingleStep, alarm: Alarm) => performOne({ ...run, alarm }, state, each);
  return takeBeside(run, steps, { begin, takesAll: run.recall !== undefined });
}

/** A visit that is left takes what is under way in it along: what came of that so far is recorded with it. */
function endInside(run: Drive, step: Decision, position: number): readonly Entry[] | Promise<readonly Entry[]> {
  if (run.recall) return run.recall.beside(step, position);
  return run.underWay.size > 0 && step.bodies[0]?.type === "node:exit" ? cutOffIn(run, step.key) : [];
}

type Decision = Extract<SingleStep, { kind: "decide" }>;

function heard({ redactor }: Run, bodies: readonly Entry[]): readonly Entry[] {
  return bodies.map((body) => {
    const said = redactOutcome(body, redactor);
    const isMessage = said.type === "model:error" || said.type === "run:fail" || said.type === "warning";
    return isMessage ? { ...said, message: cutText(said.message, MOST_SAID) } : said;
  });
}

export function tell(observers: readonly Observer[], event: RunEvent): void {
  for (const observer of observers) watch(() => observer.onEvent(event));
}

/** Tells the observers what is shown while it happens and never recorded. */
export function tellProgress(observers: readonly Observer[], node: string, message: string): void {
  for (const observer of observers) watch(() => observer.onProgress?.({ node, message }));
}

export function tellAnswering(observers: readonly Observer[], node: string, characters: number): void {
  for (const observer of observers) watch(() => observer.onAnswering?.({ node, characters }));
}

export function tellLog(observers: readonly Observer[], log: SkillLog): void {
  for (const observer of observers) watch(() => observer.onLog?.(log));
}

export function tellWarning(observers: readonly Observer[], message: string): void {
  for (const observer of observers) watch(() => observer.onWarning?.({ message }));
}

function watch(look: () => unknown): void {
  try {
    const looking = look();
    if (typeof looking === "object" && looking !== null) Promise.resolve(looking).catch(ignoreObserver);
  } catch (error) {
    ignoreObserver(error);
  }
}

/** X2, D42: an observer's failure is its own. */
const ignoreObserver = (_error: unknown) => undefined;

function perform(run: Drive, state: State, step: SingleStep): readonly Entry[] | Promise<readonly Entry[]> {
  const recalled = run.recall?.bodies(step);
  if (recalled) return recalled;
  const scope = step.at === undefined ? state : (state.run.inner.get(step.at) ?? state);
  if (step.kind !== "decide") return reachOut(run, scope, step);
  const ending = step.bodies.some(isBeginning) ? endedAlready(run, scope) : undefined;
  return ending ? [ending] : step.bodies.map((body) => refused(body, run.refusal));
}

function refused<Body extends EventBody>(body: Body, refusal: Run["refusal"]): Body {
  const error = body.type === "workflow:end" && body.status === "succeeded" ? refusal?.() : undefined;
  return error ? { ...body, status: "failed", reason: error.message, error } : body;
}

async function reachOut(
  run: Drive,
  scope: State,
  step: Exclude<SingleStep, { kind: "decide" }>,
): Promise<readonly Entry[]> {
  if (step.kind === "examine") return [await performExamine(run, step)];
  if (step.kind === "reach") return [await performReach(run, step)];
  const budget = openBudget(run, scope, step.key);
  try {
    if (step.kind === "ask") return await performAsk(run, step, budget);
    const running = run.running.get(step.at) ?? noCalls();
    run.running.set(step.at, running);
    const entries = await performCalls(run, step, running, budget);
    if (running.calls.size === 0) run.running.delete(step.at);
    return entries;
  } finally {
    budget.close();
  }
}

/** What an interrupted run begins no more (X10), nor one without time (trust 11): an announced call would be in doubt. */
function isBeginning({ type }: EventBody): boolean {
  return type === "node:enter" || type === "tool:call";
}

async function performAsk(
  run: Run,
  step: Extract<SingleStep, { kind: "ask" }>,
  budget: Budget,
): Promise<readonly Entry[]> {
  if (budget.ended()) return [budget.event()];
  try {
    return [await budget.orEnd(run.ask(step, budget.stop))];
  } catch (error) {
    if (budget.ended()) return [budget.event()];
    throw error;
  }
}

async function performReach(run: Drive, { node, call }: Extract<SingleStep, { kind: "reach" }>): Promise<EventBody> {
  const told = (await run.askReach?.(call, run.interrupted)) ?? "public";
  const event = { type: "tool:audience", node, id: call.key } as const;
  if (typeof told === "string") return { ...event, audience: told };
  return { ...event, audience: "public", error: told.error, code: told.code };
}

/** What is not there any more counts as not said: the result itself still counts. */
async function performExamine(run: Run, { question }: Extract<SingleStep, { kind: "examine" }>): Promise<EventBody> {
  const texts = new Map<string, string>();
  for (const { blob_id } of question.results.flatMap(({ blobs }) => blobs)) {
    const text = texts.has(blob_id) ? undefined : await run.blobText?.(blob_id);
    if (text !== undefined) texts.set(blob_id, text);
  }
  return answerQuestion(question, texts);
}
