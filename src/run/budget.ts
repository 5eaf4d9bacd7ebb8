import { attemptTimeLeft, runTimeLeft } from "../core/engine/interpreter.ts";
import type { Program } from "../core/engine/program.ts";
import type { State } from "../core/engine/state.ts";
import { timeoutMessage } from "../core/engine/step.ts";
import type { EventBody } from "../core/event.ts";
import type { Journal } from "../core/ports.ts";
import type { Redactor } from "../core/redact/redact.ts";
import { cutText } from "../core/values.ts";
import { Stop } from "./stop.ts";

/** A run with what ends its steps before their time. */
export interface Timed {
  readonly program: Program;
  readonly journal: Journal;
  readonly redactor: Redactor;
  readonly signal: AbortSignal;
  /** Of the run's time, what this process needed before it could drive it. */
  readonly spentMs?: number;
  /** Follows the run's signal. */
  readonly interrupted: Stop;
  /** Ends a step that takes longer than the time that is left. */
  readonly alarm: Alarm;
}

/** The time and patience that is left for the present work. */
export interface Budget {
  readonly stop: Stop;
  /** What the work comes to; rejects where the budget ends first. */
  orEnd<Value>(work: Promise<Value>): Promise<Value>;
  ended(): boolean;
  reason(): string;
  /** What to record in place of the work's result. */
  event(): EventBody;
  close(): void;
}

export function openBudget(run: Timed, state: State): Budget {
  const { run: runMs = Number.POSITIVE_INFINITY, attempt: attemptMs = Number.POSITIVE_INFINITY } = timeLeft(run, state);
  const stop = new Stop();
  let ending: EventBody | undefined;
  const endWith = (body: EventBody) => {
    ending ??= body;
    stop.abort(() => new Error(reasonOf(body)));
  };
  const interrupt = () => endWith(interruption(run));
  if (run.interrupted.aborted) interrupt();
  else run.interrupted.addEventListener("abort", interrupt);
  const onLate = () => endWith(runMs <= Math.max(0, attemptMs) ? runTimeout(state) : attemptTimeout(state));
  run.alarm.set(Math.min(runMs, attemptMs), onLate);
  return {
    stop,
    orEnd(work) {
      return new Promise((resolve, reject) => {
        work.then(resolve, reject);
        if (stop.aborted) reject(stop.reason);
        else stop.addEventListener("abort", () => reject(stop.reason));
      });
    },
    ended: () => ending !== undefined,
    reason: () => (ending ? reasonOf(ending) : ""),
    event: () => ending ?? { type: "run:interrupt", reason: "interrupted" },
    close() {
      run.interrupted.removeEventListener("abort", interrupt);
      run.alarm.unset();
    },
  };
}

/** What ends the run, or the attempt, before a step that takes no time. */
export function endedAlready(run: Timed, state: State): EventBody | undefined {
  if (run.signal.aborted) return interruption(run);
  const { run: runMs = 1, attempt: attemptMs = 1 } = timeLeft(run, state);
  if (runMs <= 0) return runTimeout(state);
  return attemptMs <= 0 ? attemptTimeout(state) : undefined;
}

/** In milliseconds; undefined where there is no limit. */
function timeLeft(run: Timed, state: State) {
  const sinceMs = sinceLastEvent(run, state);
  const left = (ms: number | undefined, spentMs = 0) => (ms === undefined ? undefined : ms - sinceMs - spentMs);
  return { run: left(runTimeLeft(state), run.spentMs), attempt: left(attemptTimeLeft(run.program, state)) };
}

/** The state's clock stands still since the last record of this process. */
function sinceLastEvent({ journal }: Timed, { run: { lastEvent } }: State): number {
  return lastEvent?.epoch === journal.epoch ? Math.max(0, Date.now() - lastEvent.at) : 0;
}

/** Whoever interrupts may say anything. */
function interruption({ signal, redactor }: Timed): EventBody {
  const reason = redactor.text(String(signal.reason ?? "interrupted"));
  return { type: "run:interrupt", reason: cutText(reason, MOST_SAID) };
}

/** Of what others say in a record of ours. */
export const MOST_SAID = 2000;

function runTimeout(state: State): EventBody {
  return { type: "limit:reached", limit: "timeout", message: timeoutMessage(state.run.settings.limits.timeout_ms ?? 0) };
}

function attemptTimeout(state: State): EventBody {
  const node = state.visit?.node ?? "";
  return { type: "limit:reached", limit: "node_timeout", message: `node ${node} took longer than its timeout` };
}

function reasonOf(body: EventBody): string {
  if (body.type === "limit:reached") return body.message;
  return body.type === "run:interrupt" ? body.reason : "";
}

export interface Alarm {
  /** Rings at once where no time is left. */
  set(ms: number, ring: () => void): void;
  unset(): void;
  close(): void;
}

/** One timer for all steps of a run that end at the same moment, as most do. */
export function createAlarm(): Alarm {
  let timer: NodeJS.Timeout | undefined;
  let dueAt = 0;
  let ring: (() => void) | undefined;
  const start = (ms: number) => {
    clearTimeout(timer);
    timer = setTimeout(() => {
      timer = undefined;
      ring?.();
    }, ms);
  };
  return {
    set(ms, wanted) {
      ring = wanted;
      if (ms <= 0) ring();
      if (ms <= 0 || ms === Number.POSITIVE_INFINITY) return;
      const wait = Math.min(ms, LONGEST_TIMER_MS);
      const at = performance.now() + wait;
      if (timer && Math.abs(at - dueAt) < ALARM_SLACK_MS) return;
      dueAt = at;
      start(wait);
    },
    unset() {
      ring = undefined;
    },
    close: () => clearTimeout(timer),
  };
}

const ALARM_SLACK_MS = 5;
const LONGEST_TIMER_MS = 2 ** 31 - 1;
