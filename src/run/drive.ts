import { fold } from "../core/engine/fold.ts";
import { next } from "../core/engine/interpreter.ts";
import type { Program } from "../core/engine/program.ts";
import { begin, type State } from "../core/engine/state.ts";
import type { Step } from "../core/engine/step.ts";
import { callEvents } from "../core/engine/turn-calls.ts";
import { messageOf } from "../core/errors.ts";
import type { EventBody, RunEvent, StepKey } from "../core/event.ts";
import { answerQuestion } from "../core/evidence/question.ts";
import type { Call } from "../core/own/call.ts";
import type { Journal, Observer, SkillLog } from "../core/ports.ts";
import { redactDecision, redactOutcome } from "../core/record/content.ts";
import type { Redactor } from "../core/redact/redact.ts";
import type { Outcome } from "../core/skill.ts";
import { cutText } from "../core/values.ts";
import type { Ask } from "./ask.ts";
import { type Budget, createAlarm, endedAlready, MOST_SAID, openBudget, type Timed } from "./budget.ts";
import type { AskReach, CallTool } from "./call.ts";
import type { Suspect } from "./context.ts";
import type { Afterwards, Recall } from "./recall.ts";
import { Stop } from "./stop.ts";
import { suspected } from "./stray.ts";

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
    return await suspected(strays, () => driveSteps({ ...run, interrupted, alarm, untold: strays.untold }));
  } finally {
    run.signal.removeEventListener("abort", interrupt);
    alarm.close();
    strays.close();
  }
}

interface Drive extends Run, Timed {
  /** To be told in the next record. */
  readonly untold: EventBody[];
}

async function driveSteps(run: Drive): Promise<State> {
  const { program, journal } = run;
  const running = noCalls();
  let state = begin(program.record, journal.epoch);
  let heardAt = performance.now();
  for (;;) {
    const step = next(program, state) ?? afterwardsStep(run, state);
    if (!step) return state;
    if (endsRun(step) || performance.now() - heardAt > MOST_DEAF_MS) {
      await nextTurn();
      heardAt = performance.now();
    }
    const isRepeatable = step.kind === "decide" && step.isRepeatable;
    const events = await journal.record(step.key, () => performed(run, state, step, running), isRepeatable);
    for (const event of events) {
      state = fold(state, event);
      if (event.epoch === journal.epoch) tell(run.observers, event);
    }
  }
}

/** Signals and timers are heard so often whatever the steps are, after every call, and before the end. */
const MOST_DEAF_MS = 1;
const nextTurn = () => new Promise<void>((resolve) => setImmediate(resolve));

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
function afterwardsStep(run: Run, state: State): Step | undefined {
  if (run.recall && state.end?.error?.code === "replay.missing") return undefined;
  const after = run.afterwards[state.run.afterwards];
  return after && { kind: "decide", key: after.key, bodies: [after.body] };
}

/** What came of a step, redacted before it is recorded or folded: a resumed run sees what the first one saw. */
async function performed(run: Drive, state: State, step: Step, running: Running): Promise<readonly EventBody[]> {
  const coming = perform(run, state, step, running);
  // No promise where there is nothing to wait for: most steps are decided.
  const came = coming instanceof Promise ? await coming : coming;
  const isDecided = step.kind === "decide" || step.kind === "examine";
  const bodies = isDecided ? came.map((body) => redactDecision(body, run.redactor)) : heard(run, came);
  return run.untold.length === 0 ? bodies : [...heard(run, run.untold.splice(0)), ...bodies];
}

function heard({ redactor }: Run, bodies: readonly EventBody[]): readonly EventBody[] {
  return bodies.map((body) => {
    const said = redactOutcome(body, redactor);
    const isMessage = said.type === "model:error" || said.type === "run:fail" || said.type === "warning";
    return isMessage ? { ...said, message: cutText(said.message, MOST_SAID) } : said;
  });
}

function tell(observers: readonly Observer[], event: RunEvent): void {
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

function perform(
  run: Drive,
  state: State,
  step: Step,
  running: Running,
): readonly EventBody[] | Promise<readonly EventBody[]> {
  const recalled = run.recall?.(step);
  if (recalled) return recalled;
  if (step.kind !== "decide") return reachOut(run, state, step, running);
  const ending = step.bodies.some(isBeginning) ? endedAlready(run, state) : undefined;
  return ending ? [ending] : step.bodies;
}

async function reachOut(
  run: Drive,
  state: State,
  step: Exclude<Step, { kind: "decide" }>,
  running: Running,
): Promise<readonly EventBody[]> {
  if (step.kind === "examine") return [await performExamine(run, step)];
  if (step.kind === "reach") return [await performReach(run, step)];
  const budget = openBudget(run, state);
  try {
    return step.kind === "ask" ? await performAsk(run, step, budget) : await performCalls(run, step, running, budget);
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
  step: Extract<Step, { kind: "ask" }>,
  budget: Budget,
): Promise<readonly EventBody[]> {
  if (budget.ended()) return [budget.event()];
  try {
    return [await budget.orEnd(run.ask(step, budget.stop))];
  } catch (error) {
    if (budget.ended()) return [budget.event()];
    throw error;
  }
}

async function performReach(run: Drive, { node, call }: Extract<Step, { kind: "reach" }>): Promise<EventBody> {
  const audience = (await run.askReach?.(call, run.interrupted)) ?? "public";
  return { type: "tool:audience", node, audience, id: call.key };
}

/** What is not there any more counts as not said: the result itself still counts. */
async function performExamine(run: Run, { question }: Extract<Step, { kind: "examine" }>): Promise<EventBody> {
  const texts = new Map<string, string>();
  for (const { blob_id } of question.results.flatMap(({ blobs }) => blobs)) {
    const text = texts.has(blob_id) ? undefined : await run.blobText?.(blob_id);
    if (text !== undefined) texts.set(blob_id, text);
  }
  return answerQuestion(question, texts);
}

/** Calls started and not yet recorded. */
interface Running {
  /** By step key. */
  readonly calls: Map<StepKey, RunningCall>;
  /** What ends them all; in its place stands another once it did. */
  stop: Stop;
  /** Told when one of them is over. */
  onOver: () => void;
}

interface RunningCall {
  readonly call: Call;
  isBegun: boolean;
  outcome?: Outcome;
  /** What the call itself never throws. */
  defect?: { readonly error: unknown };
}

function noCalls(): Running {
  return { calls: new Map(), stop: new Stop(), onOver: () => undefined };
}

/** Starts what is not running yet, waits until at least one is done, gives all that are. */
async function performCalls(
  run: Run,
  step: Extract<Step, { kind: "call" }>,
  running: Running,
  budget: Budget,
): Promise<readonly EventBody[]> {
  if (!budget.ended()) for (const call of step.calls) if (!running.calls.has(call.key)) startCall(run, call, running);
  try {
    await budget.orEnd(oneOver(running));
  } catch (error) {
    if (!budget.ended()) throw error;
  }
  const finished = [...running.calls.values()].filter((entry) => entry.outcome !== undefined);
  for (const { call } of finished) running.calls.delete(call.key);
  const bodies = finished.flatMap(({ call, outcome }) => (outcome ? callEvents(step.node, call, outcome) : []));
  if (!budget.ended()) return bodies;
  const ending = budget.event();
  const isLimit = ending.type === "limit:reached";
  const endsNode = isLimit && ending.limit === "node_timeout";
  const code = isLimit ? "limit.reached" : "run.interrupted";
  const cutOff = step.calls.filter(({ key }) => !finished.some(({ call }) => call.key === key));
  running.stop.abort(() => new Error(budget.reason()));
  for (const call of cutOff) {
    const { isBegun = false } = running.calls.get(call.key) ?? {};
    // What was announced and not begun is not in doubt.
    const isSettled = endsNode || (!isBegun && !call.tool.idempotent);
    const error = `was ${isBegun ? "cut off" : "not begun"}: ${budget.reason()}`;
    if (isSettled) bodies.push(...callEvents(step.node, call, { error, code }));
  }
  Object.assign(running, noCalls());
  return [...bodies, ending];
}

function startCall(run: Run, call: Call, running: Running): void {
  const entry: RunningCall = { call, isBegun: false };
  const { stop, calls } = running;
  calls.set(call.key, entry);
  const over = (how: Pick<RunningCall, "outcome" | "defect">) => {
    Object.assign(entry, how);
    running.onOver();
  };
  const begun = () => {
    entry.isBegun = true;
  };
  run.callTool(call, stop, begun).then(
    (outcome) => over({ outcome }),
    (error: unknown) => over({ defect: { error } }),
  );
}

/** Those that are over within one turn of the process are recorded as one. */
async function oneOver(running: Running): Promise<void> {
  const entries = [...running.calls.values()];
  const isOver = () => entries.some(({ outcome, defect }) => outcome || defect);
  if (!isOver()) {
    await new Promise<void>((resolve) => {
      running.onOver = resolve;
    });
  }
  await nextTurn();
  const broken = entries.find(({ defect }) => defect);
  if (broken) throw broken.defect?.error;
}
