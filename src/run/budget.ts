import type { Redactor } from "../core/base/redact/redact.ts";
import { cutText } from "../core/base/values.ts";
import type { Entry, EventBody, StepKey } from "../core/engine/event/event.ts";
import { type Deadline, deadlines, isUnder } from "../core/engine/fold/limits.ts";
import type { Program } from "../core/engine/fold/program.ts";
import type { State } from "../core/engine/fold/state.ts";
import type { Journal } from "../core/engine/ports.ts";
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
  /** Of the steps under way: what ends a run, or an inner one, ends all that is under way in it. */
  readonly budgets: Set<OpenBudget>;
}

interface OpenBudget {
  readonly key: StepKey;
  readonly endWith: (body: Entry) => void;
  readonly isEnded: () => boolean;
}

/** The time and patience that is left for the present work. */
export interface Budget {
  readonly stop: Stop;
  /** What the work comes to; rejects where the budget ends first. */
  orEnd<Value>(work: Promise<Value>): Promise<Value>;
  ended(): boolean;
  reason(): string;
  /** What to record in place of the work's result. */
  event(): Entry;
  close(): void;
}

/** Of a step of the run, or of an inner one, whose state that is. Side by side, each has an alarm of its own. */
export function openBudget(run: Timed, state: State, key: StepKey, alarm: Alarm = run.alarm): Budget {
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
    for (const other of run.budgets) if (isUnder(other.key, nearest.prefix)) other.endWith(nearest.body);
    endWith(nearest.body);
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

/** What ends the run, an inner run or the attempt before a step that takes no time. */
export function endedAlready(run: Timed, state: State): Entry | undefined {
  if (run.signal.aborted) return interruption(run);
  const nearest = nearestDeadline(run, state);
  return nearest && nearest.leftMs <= 0 ? nearest.body : undefined;
}

/** As of now; of several that have passed the outermost. */
function nearestDeadline(run: Timed, state: State): Deadline | undefined {
  const sinceMs = sinceLastEvent(run, state);
  const { at } = state.inside ?? {};
  const found = deadlines(run.program.inside(at), state).map((deadline) => {
    const ofRun = deadline.prefix === "" ? (run.spentMs ?? 0) : 0;
    return { ...deadline, leftMs: Math.max(0, deadline.leftMs - sinceMs - ofRun) };
  });
  return found.reduce<Deadline | undefined>(
    (best, each) => (best && best.leftMs <= each.leftMs ? best : each),
    undefined,
  );
}

/** The state's clock stands still since the last record of this process. */
function sinceLastEvent({ journal }: Timed, { run: { lastEvent } }: State): number {
  if (lastEvent?.epoch !== journal.epoch) return 0;
  const heardAt = heard.get(lastEvent) ?? performance.now();
  heard.set(lastEvent, heardAt);
  return performance.now() - heardAt;
}

/** When this process first looked at an event, by a clock that nobody sets. */
const heard = new WeakMap<object, number>();

/** Whoever interrupts may say anything. */
function interruption({ signal, redactor }: Timed): EventBody {
  const reason = redactor.text(String(signal.reason ?? "interrupted"));
  return { type: "run:interrupt", reason: cutText(reason, MOST_SAID) };
}

/** Of what others say in a record of ours. */
export const MOST_SAID = 2000;

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
