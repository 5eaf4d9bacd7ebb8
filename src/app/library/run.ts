import { exitCodeOf, hintFor, messageOf, SkillflowError } from "../../core/base/errors.ts";
import { deepEqual, isObject } from "../../core/base/values.ts";
import type { RunEvent } from "../../core/engine/event/event.ts";
import type { Observer, Store, StoredRun } from "../../core/engine/ports.ts";
import { describeBrokenOff } from "../../core/engine/result/refusal.ts";
import type { RunResult } from "../../core/engine/result/result.ts";
import type { Logger } from "../../core/skill/skill.ts";
import { tellLog, tellWarning } from "../../run/drive.ts";
import type { FinishedRun, Watch } from "../runs/drive.ts";
import type { PreparedRun } from "../runs/prepare.ts";
import { markedAsOurs } from "../runs/stray.ts";
import { onAbort } from "./abort.ts";
import { createEventLog } from "./events.ts";
import { asOption } from "./wording.ts";

/**
 * A run that has been begun. It goes on whether or not anybody reads or awaits it; leaving a loop over it does not stop
 * it, the signal does. Iterating gives every event that it records, each reader from the first one on, and ends with the
 * run. No thenable: await `result`.
 */
export interface Run extends AsyncIterable<RunEvent> {
  /** Resolves once the run is in its store; rejects as `result` does where nothing ran. */
  readonly id: Promise<string>;
  /**
   * The result document, once all is over. Whatever came of the run, it resolves, and `status` says how; it rejects with a
   * SkillflowError where nothing ran: a wrong workflow or input (`exitCode` 2), missing config (3), a store that is locked (4).
   * A rejection that nobody awaits is no unhandled one.
   */
  readonly result: Promise<RunResult>;
}

/** Who watches a run, and who may stop it. */
export interface Watching {
  /** Told of each event after it was recorded, and of what is shown while it happens. Their failures are their own. */
  readonly observers?: readonly Observer[];
  /** Aborted: the run is recorded as interrupted and `result` resolves so; before it has begun, nothing is recorded. */
  readonly signal?: AbortSignal;
}

/** One way to a run: what it needs, how it is driven, and what is known of it before either. */
export interface Course {
  /** Also of a run that never began. */
  readonly run: string;
  readonly workflow: () => string;
  prepare(signal: AbortSignal): Promise<PreparedRun>;
  drive(prepared: PreparedRun, watch: Watch): Promise<FinishedRun>;
  readonly store: Store;
}

/** Returns at once, whatever it is given; `clean` keeps secrets out of what is said before a run's own are known. */
export function beginRun(planned: () => Course, given: Watching, clean: (text: string) => string): Run {
  const log = createEventLog();
  const interrupt = new AbortController();
  let signal: AbortSignal | undefined;
  let unhear: () => void = () => undefined;
  const stop = () => interrupt.abort(reasonOf(signal?.reason));
  const begin = async (): Promise<RunResult> => {
    const { course, observers, ...read } = readable(() => ({
      course: planned(),
      signal: signalOf(given.signal),
      observers: observersOf(given.observers).map(apart),
    }));
    signal = read.signal;
    if (signal?.aborted) stop();
    else if (signal) unhear = onAbort(signal, stop);
    await undefined; // whoever begins it goes on first
    const watching = { signal: interrupt.signal, observers: [keep, ...observers], opened, events: log.events };
    return carryOut(course, watching, clean);
  };
  let opened: (id: string) => void = () => undefined;
  const recorded = new Promise<string>((resolve) => {
    opened = resolve;
  });
  const keep: Observer = { onEvent: (event) => log.push(structuredClone(event)) };
  const result = markedAsOurs(begin)
    .catch(refuseIn(clean))
    .finally(() => unhear());
  result.then(
    () => log.end(),
    (error: unknown) => log.end({ error }),
  );
  const id = Promise.race([recorded, result.then(({ run }) => run)]);
  id.catch(heard);
  return { id, result, [Symbol.asyncIterator]: () => log[Symbol.asyncIterator]() };
}

/** What was given is its caller's: whatever it throws when it is looked at is no fault of ours. */
function readable<Value>(read: () => Value): Value {
  try {
    return read();
  } catch (error) {
    if (error instanceof SkillflowError) throw error;
    throw new SkillflowError("usage.invalid", `what was given cannot be read: ${messageOf(error)}`, { cause: error });
  }
}

function signalOf(signal: unknown): AbortSignal | undefined {
  const isSignal = isObject(signal) && typeof signal.aborted === "boolean" && "addEventListener" in signal;
  if (signal === undefined || isSignal) return signal as AbortSignal | undefined;
  throw new SkillflowError("usage.invalid", "signal: it is no AbortSignal");
}

function observersOf(observers: unknown = []): readonly Observer[] {
  const isObserver = (one: unknown) => isObject(one) && typeof one.onEvent === "function";
  if (Array.isArray(observers) && observers.every(isObserver)) return observers as readonly Observer[];
  throw new SkillflowError("usage.invalid", "observers: each is an object with a function onEvent");
}

/** `result` tells it to whoever asks. */
const heard = () => undefined;

/** Sees what no other is given: what one of them changes, nobody else sees. */
function apart(observer: Observer): Observer {
  return {
    onEvent: (event) => observer.onEvent(structuredClone(event)),
    onProgress: (progress) => observer.onProgress?.(progress),
    onAnswering: (answering) => observer.onAnswering?.(answering),
    onLog: (log) => observer.onLog?.({ ...log }),
    onWarning: (warning) => observer.onWarning?.({ ...warning }),
  };
}

interface Beginning {
  readonly signal: AbortSignal;
  readonly observers: readonly Observer[];
  readonly opened: (id: string) => void;
  readonly events: readonly RunEvent[];
}

async function carryOut(
  course: Course,
  { signal, observers, opened, events }: Beginning,
  clean: (text: string) => string,
): Promise<RunResult> {
  const prepared = signal.aborted ? undefined : await unlessAborted(course.prepare(signal), signal);
  if (!prepared) return notBegun(course, clean(String(signal.reason)));
  let isOpened = false;
  for (const warning of prepared.warnings) tellWarning(observers, prepared.redactor.text(warning));
  const watch: Watch = {
    observers,
    signal,
    onPromptChanged(change) {
      tellWarning(observers, `the prompt of ${change.node} is not as it was recorded`);
    },
    loggerFor: (skill) => loggerTelling(observers, skill),
    onOpened() {
      isOpened = true;
      opened(prepared.record.run);
    },
  };
  try {
    const finished = await course.drive(prepared, watch);
    return finished.result;
  } catch (error) {
    if (!isOpened) throw error;
    const { record } = prepared;
    const stored = await course.store.read(record.run).catch((): StoredRun => ({ record, events }));
    return describeBrokenOff(stored, cleaned(asOurs(error), prepared.redactor.text));
  } finally {
    await prepared.close();
  }
}

const nothing = () => undefined;

function loggerTelling(observers: readonly Observer[], skill: string): Logger {
  const say = (level: keyof Logger) => (message: string) => tellLog(observers, { skill, level, message });
  return { debug: say("debug"), info: say("info"), warn: say("warn") };
}

/** What was prepared, or undefined where the signal came first: what is opened for it then is closed again. */
async function unlessAborted(preparing: Promise<PreparedRun>, signal: AbortSignal): Promise<PreparedRun | undefined> {
  const stopped = new Promise<undefined>((resolve) => {
    if (signal.aborted) resolve(undefined);
    signal.addEventListener("abort", () => resolve(undefined), { once: true });
  });
  const prepared = await Promise.race([stopped, preparing]).catch((error: unknown) => {
    if (!signal.aborted) throw error;
  });
  if (prepared && !signal.aborted) return prepared;
  preparing.then((late) => late.close()).catch(nothing);
  return undefined;
}

/** Interrupted before anything ran: nothing is recorded. */
function notBegun({ run, workflow }: Course, why: string): RunResult {
  const code = "run.interrupted";
  return {
    schema: "skillflow.result/1",
    run,
    workflow: workflow(),
    status: "interrupted",
    exitCode: exitCodeOf(code),
    degraded: [],
    results: {},
    trace: { steps: [], edges: [], sources: {}, skills: [] },
    usage: { modelCalls: 0, inputTokens: 0, cachedTokens: 0, outputTokens: 0, costUsd: 0, durationMs: 0 },
    plan: [],
    error: { code, message: `${why} before the run began` },
  };
}

/** As people read it. */
function reasonOf(reason: unknown): string {
  if (typeof reason === "string" && reason !== "") return `interrupted (${reason})`;
  const isPlain = reason === undefined || (reason instanceof DOMException && reason.name === "AbortError");
  return isPlain ? "interrupted" : `interrupted (${messageOf(reason)})`;
}

/** Throws whatever went wrong as an error of ours that tells no secret. */
export function refuseIn(clean: (text: string) => string): (error: unknown) => never {
  return (error) => {
    throw cleaned(asOurs(error), clean);
  };
}

function asOurs(error: unknown): SkillflowError {
  if (error instanceof SkillflowError) return error;
  return new SkillflowError("internal.fault", `this is a fault of skillflow itself: ${messageOf(error)}`, {
    cause: error,
  });
}

/** The same error, or one with a hint for programs; where secrets stood in it, without them and without what caused it. */
function cleaned(error: SkillflowError, clean: (text: string) => string): SkillflowError {
  const { code, message, diagnostics, cause } = error;
  const hint = hintFor(error, asOption);
  const told = { message, ...(hint === undefined ? {} : { hint }), diagnostics };
  const shown = { ...cleanTold(told, clean), diagnostics: diagnostics.map((each) => cleanTold(each, clean)) };
  const isClean = deepEqual(told, shown);
  if (isClean && hint === error.hint) return error;
  return new SkillflowError(code, shown.message, { ...shown, cause: isClean ? cause : undefined });
}

interface Told {
  readonly message: string;
  readonly hint?: string | undefined;
}

/** Without the secrets that stood in it. */
export function cleanTold<Given extends Told>(told: Given, clean: (text: string) => string): Given {
  return { ...told, message: clean(told.message), ...(told.hint === undefined ? {} : { hint: clean(told.hint) }) };
}
