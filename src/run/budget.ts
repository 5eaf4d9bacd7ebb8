import { cutMiddle } from "../core/base/preview.ts";
import type { Redactor } from "../core/base/redact/redact.ts";
import { LONGEST_TIMER_MS } from "../core/base/values.ts";
import type { Entry, EventBody, StepKey } from "../core/engine/event/event.ts";
import { type Deadline, deadlines, isUnder } from "../core/engine/fold/limits.ts";
import type { Program } from "../core/engine/fold/program.ts";
import type { State } from "../core/engine/fold/state.ts";
import type { Journal } from "../core/engine/ports.ts";
import { Stop } from "./stop.ts";

/** The parts of a run that its time limits depend on. */
export interface Limited {
  readonly program: Program;
  readonly journal: Journal;
  readonly redactor: Redactor;
  /** Aborted when the run is interrupted. */
  readonly signal: AbortSignal;
  /** Milliseconds of the run's time limit already used by start-up. */
  readonly spentMs?: number;
}

/** A run, and what can stop its steps early. */
export interface Timed extends Limited {
  /** Aborted together with the run's signal. */
  readonly interrupted: Stop;
  /** Stops a step when the time is up. */
  readonly alarm: Alarm;
  /** Budgets of the running steps. A deadline of a run or inner run stops all steps in it. */
  readonly budgets: Set<OpenBudget>;
}

interface OpenBudget {
  readonly key: StepKey;
  readonly endWith: (body: Entry) => void;
  readonly isEnded: () => boolean;
}

/** Time left for the current step, and its interruption. */
export interface Budget {
  readonly stop: Stop;
  /** Returns the result of the work. Rejects if the budget ends first. */
  orEnd<Value>(work: Promise<Value>): Promise<Value>;
  ended(): boolean;
  reason(): string;
  /** Event to record instead of the result. */
  event(): Entry;
  close(): void;
}

/** Opens the budget of a step. `state` is that of its run or inner run. */
export function openBudget(run: Timed, state: State, key: StepKey): Budget {
  const { alarm } = run;
  const stop = new Stop();
  let ending: Entry | undefined;
  const endWith = (body: Entry) => {
    ending ??= body;
    stop.abort(() => new Error(reasonOf(body)));
  };
  const interrupt = () => endWith(interruption(run));
  const open: OpenBudget = { key, endWith, isEnded: () => ending !== undefined };
  run.budgets.add(open);
  if (run.interrupted.aborted) interrupt();
  else run.interrupted.addEventListener("abort", interrupt);
  const nearest = nearestDeadline(run, state);
  const onLate = () => {
    if (!nearest) return;
    const body = nearest.body();
    for (const other of run.budgets) if (isUnder(other.key, nearest.prefix)) other.endWith(body);
    endWith(body);
  };
  alarm.set(nearest?.leftMs ?? Number.POSITIVE_INFINITY, onLate);
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
      run.budgets.delete(open);
      run.interrupted.removeEventListener("abort", interrupt);
      alarm.unset();
    },
  };
}

/** Returns the event that stops the run, inner run or attempt before a step that takes no time, if any. */
export function endedAlready(run: Timed, state: State): Entry | undefined {
  if (run.signal.aborted) return interruption(run);
  const nearest = nearestDeadline(run, state);
  return nearest && nearest.leftMs <= 0 ? nearest.body() : undefined;
}

/** Returns the nearest deadline. If several have passed, the outermost wins. */
function nearestDeadline(run: Timed, state: State): Deadline | undefined {
  const sinceMs = sinceLastEvent(run, state);
  const { at } = state.inside ?? {};
  let nearest: Deadline | undefined;
  for (const deadline of deadlines(run.program.inside(at), state)) {
    const ofRun = deadline.prefix === "" ? (run.spentMs ?? 0) : 0;
    const leftMs = Math.max(0, deadline.leftMs - sinceMs - ofRun);
    if (!nearest || leftMs < nearest.leftMs) nearest = { ...deadline, leftMs };
  }
  return nearest;
}

/** Returns the time since the last record of this process, which the state's clock does not include. */
function sinceLastEvent({ journal }: Timed, { run }: State): number {
  const { lastEvent } = run;
  if (lastEvent?.epoch !== journal.epoch) return 0;
  const last = heard.get(run);
  if (last?.event === lastEvent) return performance.now() - last.at;
  const now = { event: lastEvent, at: performance.now() };
  if (last) Object.assign(last, now);
  else heard.set(run, now);
  return 0;
}

/** Last event of each run, and when this process first saw it, by the monotonic clock. */
const heard = new WeakMap<object, { readonly event: object; readonly at: number }>();

/** Redacts and shortens the reason, which the caller can choose freely. */
function interruption({ signal, redactor }: Timed): EventBody {
  const reason = redactor.text(String(signal.reason ?? "interrupted"));
  return { type: "run:interrupt", reason: cutMiddle(reason, MOST_SAID) };
}

export const MOST_SAID = 2000;

function reasonOf(body: EventBody): string {
  if (body.type === "limit:reached") return body.message;
  return body.type === "run:interrupt" ? body.reason : "";
}

export interface Alarm {
  /** Rings at once if no time is left. */
  set(ms: number, ring: () => void): void;
  unset(): void;
  close(): void;
}

/** Creates an alarm that reuses one timer for steps with the same deadline, as most have. */
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
