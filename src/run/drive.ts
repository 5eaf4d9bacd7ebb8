import type { Call } from "../core/call.ts";
import { fold } from "../core/engine/fold.ts";
import { attemptTimeLeft, next, runTimeLeft } from "../core/engine/interpreter.ts";
import type { Program } from "../core/engine/program.ts";
import { begin, type State } from "../core/engine/state.ts";
import { type Step, timeoutMessage } from "../core/engine/step.ts";
import { callEvents } from "../core/engine/turn-calls.ts";
import { messageOf } from "../core/errors.ts";
import type { EventBody, EventOf, RunEvent, StepKey } from "../core/event.ts";
import type { Journal, Observer } from "../core/ports.ts";
import { redactDecision, redactOutcome } from "../core/record/content.ts";
import type { Redactor } from "../core/redact/redact.ts";
import type { Outcome } from "../core/skill.ts";
import { cutText } from "../core/values.ts";
import type { Ask } from "./ask.ts";
import type { CallTool } from "./call.ts";
import type { Recall } from "./recall.ts";
import { type Suspect, suspected } from "./stray.ts";

export interface Run {
  readonly program: Program;
  readonly journal: Journal;
  readonly ask: Ask;
  readonly callTool: CallTool;
  readonly redactor: Redactor;
  readonly observers: readonly Observer[];
  /** Aborted when somebody interrupts the run. */
  readonly signal: AbortSignal;
  /** How the run was, and now is, taken up again after its end: the recorded ones first. */
  readonly resumes: readonly EventOf<"run:resume">[];
  /** Of the run's time, what this process needed before it could drive it. */
  readonly spentMs?: number;
  /** Of a replay. */
  readonly recall?: Recall | undefined;
}

/** While `next` gives a step: perform it, record it, fold it, tell the observers. */
export function driveRun(run: Run): Promise<State> {
  const strays = strayWarnings();
  return suspected(strays, () => driveSteps(run, strays.untold)).finally(strays.close);
}

async function driveSteps(run: Run, untold: EventBody[]): Promise<State> {
  const { program, journal } = run;
  const running: Running = new Map();
  let state = begin(program.record, journal.epoch);
  for (;;) {
    const step = next(program, state) ?? resumeStep(run, state);
    if (!step) return state;
    await nextTurn();
    const events = await journal.record(step.key, async () => {
      const bodies = await performed(run, state, step, running);
      return [...heard(run, untold.splice(0)), ...bodies];
    });
    for (const event of events) {
      state = fold(state, event);
      if (event.epoch === journal.epoch) tell(run.observers, event);
    }
  }
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

/** Whatever the steps are, signals and timers are heard between them. */
const nextTurn = () => new Promise<void>((resolve) => setImmediate(resolve));

/** A replay that left its recording goes no further. */
function resumeStep(run: Run, state: State): Step | undefined {
  if (run.recall && state.end?.error?.code === "replay.missing") return undefined;
  const resume = run.resumes[state.resumes];
  return resume && { kind: "decide", key: `resume/${state.resumes + 1}`, bodies: [resume] };
}

/** What came of a step, redacted before it is recorded or folded: a resumed run sees what the first one saw. */
async function performed(run: Run, state: State, step: Step, running: Running): Promise<readonly EventBody[]> {
  const bodies = await perform(run, state, step, running);
  return step.kind === "decide" ? bodies.map((body) => redactDecision(body, run.redactor)) : heard(run, bodies);
}

const MOST_SAID = 2000;

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

function watch(look: () => unknown): void {
  try {
    Promise.resolve(look()).catch(ignoreObserver);
  } catch (error) {
    ignoreObserver(error);
  }
}

/** X2, D42: an observer's failure is its own. */
const ignoreObserver = (_error: unknown) => undefined;

async function perform(run: Run, state: State, step: Step, running: Running): Promise<readonly EventBody[]> {
  const recalled = run.recall?.(step);
  if (recalled) return recalled;
  if (step.kind === "decide") {
    const ending = step.bodies.some(isBeginning) ? endedAlready(run, state) : undefined;
    return ending ? [ending] : step.bodies;
  }
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

/** Whoever interrupts may say anything. */
function interruption({ signal, redactor }: Run): EventBody {
  const reason = redactor.text(String(signal.reason ?? "interrupted"));
  return { type: "run:interrupt", reason: cutText(reason, MOST_SAID) };
}

async function performAsk(
  run: Run,
  step: Extract<Step, { kind: "ask" }>,
  budget: Budget,
): Promise<readonly EventBody[]> {
  if (budget.ended()) return [budget.event()];
  try {
    return [await Promise.race([run.ask(step, budget.signal), budget.whenEnded])];
  } catch (error) {
    if (budget.ended()) return [budget.event()];
    throw error;
  }
}

/** Calls started and not yet recorded, by step key. */
type Running = Map<
  StepKey,
  {
    readonly call: Call;
    readonly done: Promise<void>;
    readonly stop: AbortController;
    isBegun: boolean;
    outcome?: Outcome;
  }
>;

/** Starts what is not running yet, waits until at least one is done, gives all that are. */
async function performCalls(
  run: Run,
  step: Extract<Step, { kind: "call" }>,
  running: Running,
  budget: Budget,
): Promise<readonly EventBody[]> {
  if (!budget.ended()) for (const call of step.calls) if (!running.has(call.key)) startCall(run, call, running);
  try {
    await Promise.race([...[...running.values()].map((entry) => entry.done), budget.whenEnded]);
  } catch (error) {
    if (!budget.ended()) throw error;
  }
  const finished = [...running.values()].filter((entry) => entry.outcome !== undefined);
  for (const { call } of finished) running.delete(call.key);
  const bodies = finished.flatMap(({ call, outcome }) => (outcome ? callEvents(step.node, call, outcome) : []));
  if (!budget.ended()) return bodies;
  const ending = budget.event();
  const isLimit = ending.type === "limit:reached";
  const endsNode = isLimit && ending.limit === "node_timeout";
  const code = isLimit ? "limit.reached" : "run.interrupted";
  const cutOff = step.calls.filter(({ key }) => !finished.some(({ call }) => call.key === key));
  for (const call of cutOff) {
    const { isBegun = false, stop } = running.get(call.key) ?? {};
    stop?.abort(new Error(budget.reason()));
    // What was announced and not begun is not in doubt.
    const isSettled = endsNode || (!isBegun && !call.tool.idempotent);
    const error = `was ${isBegun ? "cut off" : "not begun"}: ${budget.reason()}`;
    if (isSettled) bodies.push(...callEvents(step.node, call, { error, code }));
  }
  running.clear();
  return [...bodies, ending];
}

function startCall(run: Run, call: Call, running: Running): void {
  const stop = new AbortController();
  const note = (known: { isBegun: true } | { outcome: Outcome }) => {
    const entry = running.get(call.key);
    if (entry) Object.assign(entry, known);
  };
  const done = Promise.resolve()
    .then(() => run.callTool(call, stop.signal, () => note({ isBegun: true })))
    .then((outcome) => note({ outcome }));
  running.set(call.key, { call, done, stop, isBegun: false });
}

/** The time and patience that is left for the present work. */
interface Budget {
  readonly signal: AbortSignal;
  /** Rejects when the budget ends. */
  readonly whenEnded: Promise<never>;
  ended(): boolean;
  reason(): string;
  /** What to record in place of the work's result. */
  event(): EventBody;
  close(): void;
}

function openBudget(run: Run, state: State): Budget {
  const { run: runMs, attempt: attemptMs } = timeLeft(run, state);
  let controller: AbortController | undefined;
  let ending: EventBody | undefined;
  let reject: (reason: unknown) => void = () => undefined;
  const whenEnded = new Promise<never>((_, refuse) => {
    reject = refuse;
  });
  whenEnded.catch(() => ending);
  const endWith = (body: EventBody) => {
    if (ending) return;
    ending = body;
    const reason = new Error(reasonOf(body));
    controller?.abort(reason);
    reject(reason);
  };
  const interrupt = () => endWith(interruption(run));
  if (run.signal.aborted) interrupt();
  const timers = [
    endAfter(runMs, () => endWith(runTimeout(state))),
    endAfter(attemptMs, () => endWith(attemptTimeout(state))),
  ];
  run.signal.addEventListener("abort", interrupt, { once: true });
  return {
    get signal() {
      if (runMs === undefined && attemptMs === undefined) return run.signal;
      controller ??= new AbortController();
      if (ending) controller.abort(new Error(reasonOf(ending)));
      return controller.signal;
    },
    whenEnded,
    ended: () => ending !== undefined,
    reason: () => (ending ? reasonOf(ending) : ""),
    event: () => ending ?? { type: "run:interrupt", reason: "interrupted" },
    close() {
      run.signal.removeEventListener("abort", interrupt);
      for (const handle of timers) clearTimeout(handle);
    },
  };
}

/** What ends the run, or the attempt, before a step that takes no time. */
function endedAlready(run: Run, state: State): EventBody | undefined {
  if (run.signal.aborted) return interruption(run);
  const { run: runMs = 1, attempt: attemptMs = 1 } = timeLeft(run, state);
  if (runMs <= 0) return runTimeout(state);
  return attemptMs <= 0 ? attemptTimeout(state) : undefined;
}

/** In milliseconds; undefined where there is no limit. */
function timeLeft(run: Run, state: State) {
  const sinceMs = sinceLastEvent(run, state);
  const left = (ms: number | undefined, spentMs = 0) => (ms === undefined ? undefined : ms - sinceMs - spentMs);
  return { run: left(runTimeLeft(state), run.spentMs), attempt: left(attemptTimeLeft(run.program, state)) };
}

/** The state's clock stands still since the last record of this process. */
function sinceLastEvent({ journal }: Run, { lastEvent }: State): number {
  return lastEvent?.epoch === journal.epoch ? Math.max(0, Date.now() - lastEvent.at) : 0;
}

/** At once where no time is left. */
function endAfter(ms: number | undefined, end: () => void): NodeJS.Timeout | undefined {
  if (ms !== undefined && ms > 0) return setTimeout(end, Math.min(ms, 2 ** 31 - 1));
  if (ms !== undefined) end();
  return undefined;
}

function runTimeout(state: State): EventBody {
  return { type: "limit:reached", limit: "timeout", message: timeoutMessage(state.settings.limits.timeout_ms ?? 0) };
}

function attemptTimeout(state: State): EventBody {
  const node = state.visit?.node ?? "";
  return { type: "limit:reached", limit: "node_timeout", message: `node ${node} took longer than its timeout` };
}

function reasonOf(body: EventBody): string {
  if (body.type === "limit:reached") return body.message;
  return body.type === "run:interrupt" ? body.reason : "";
}
