import { EventEmitter, once } from "node:events";
import { asOurs, errorFor, exitCodeOf, messageOf, SkillflowError, usageError } from "../../core/base/errors.ts";
import { deepEqual, isObject } from "../../core/base/values.ts";
import type { RunEvent } from "../../core/engine/event/event.ts";
import type { Observer, StoredRun } from "../../core/engine/ports.ts";
import { describeBrokenOff } from "../../core/engine/result/refusal.ts";
import type { RunResult } from "../../core/engine/result/result.ts";
import type { Logger } from "../../core/skill/skill.ts";
import { tell } from "../../run/drive.ts";
import type { Workspace } from "../host.ts";
import { asLibraryOption } from "../options.ts";
import { type FinishedRun, startRun, type Watch } from "../runs/drive.ts";
import type { PreparedRun } from "../runs/prepare.ts";
import { markedAsOurs } from "../runs/stray.ts";

/**
 * Run in progress. It continues even if its events or result are not read; abort the signal to stop it.
 * Every iteration yields all recorded events from the first one on, and ends with the run.
 * A run is not a thenable: await `result`.
 */
export interface Run<Result = RunResult> extends AsyncIterable<RunEvent> {
  /** Resolves once the run is stored. Rejects like `result` if the run could not start. */
  readonly id: Promise<string>;
  /**
   * The result document. Resolves when the run ends, whatever its outcome, which `status` describes.
   * Rejects with a SkillflowError if nothing ran. `exitCode` is 2 (workflow or input), 3 (config) or 4 (store locked).
   * Not awaiting it never causes an unhandled rejection.
   */
  readonly result: Promise<Result>;
}

export interface Watching {
  /** Called for each recorded event and for progress. Errors that observers throw do not affect the run. */
  readonly observers?: readonly Observer[];
  /** Signal that interrupts the run. `result` still resolves. Nothing is recorded if it aborts before the start. */
  readonly signal?: AbortSignal;
}

export interface Course {
  /** Known even if the run never starts. */
  readonly run: string;
  readonly workflow?: () => string;
  prepare(signal: AbortSignal): Promise<PreparedRun>;
  /** Default: starts the run. */
  readonly drive?: (prepared: PreparedRun, watch: Watch) => Promise<FinishedRun>;
}

/** Starts a run and returns immediately. `clean` redacts secrets until the run's own redactor exists. */
export function beginRun(workspace: Workspace, planned: () => Course, given: Watching, clean: Clean): Run {
  const events: RunEvent[] = [];
  /** Tells the readers of the events that there are more, or that the run is over. */
  const news = new EventEmitter().setMaxListeners(0);
  let isOver = false;
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
    else if (signal) {
      // Listens to a signal of its own: Node.js reports more than ten listeners of one signal as a leak.
      const own = signal instanceof AbortSignal ? AbortSignal.any([signal]) : signal;
      own.addEventListener("abort", stop);
      unhear = () => own.removeEventListener("abort", stop);
    }
    await undefined; // returns to the caller before any work starts
    const watching = { signal: interrupt.signal, observers: [keep, ...observers], opened, events };
    return carryOut(workspace, course, { ...watching, clean });
  };
  let opened: (id: string) => void = () => undefined;
  const recorded = new Promise<string>((resolve) => {
    opened = resolve;
  });
  const keep: Observer = {
    onEvent(event) {
      events.push(structuredClone(event));
      news.emit("more");
    },
  };
  const result = markedAsOurs(begin)
    .catch(refuseIn(clean))
    .finally(() => {
      unhear();
      isOver = true;
      news.emit("more");
    });
  const id = Promise.race([recorded, result.then(({ run }) => run)]);
  id.catch(heard);
  return {
    id,
    result,
    async *[Symbol.asyncIterator]() {
      for (let next = 0; ; next++) {
        while (next === events.length && !isOver) await once(news, "more");
        const event = events[next];
        if (!event) return void (await result); // throws if the run could not start
        yield structuredClone(event);
      }
    },
  };
}

/** Returns a run whose result is made from the run's own result. */
export function withResult<Result>({ id, result, ...rest }: Run, change: (result: RunResult) => Result): Run<Result> {
  const changed = result.then(change);
  changed.catch(heard);
  return { ...rest, id, result: changed };
}

/** Reads the caller's options. Errors that their getters throw are usage errors, not internal ones. */
function readable<Value>(read: () => Value): Value {
  try {
    return read();
  } catch (error) {
    if (error instanceof SkillflowError) throw error;
    throw new SkillflowError("usage.invalid", `the arguments cannot be read: ${messageOf(error)}`, { cause: error });
  }
}

function signalOf(signal: unknown): AbortSignal | undefined {
  const isSignal = isObject(signal) && typeof signal.aborted === "boolean" && "addEventListener" in signal;
  if (signal === undefined || isSignal) return signal as AbortSignal | undefined;
  throw usageError("signal: must be an AbortSignal");
}

function observersOf(observers: unknown = []): readonly Observer[] {
  const isObserver = (one: unknown) => isObject(one) && typeof one.onEvent === "function";
  if (Array.isArray(observers) && observers.every(isObserver)) return observers as readonly Observer[];
  throw usageError("observers: each must be an object with a function onEvent");
}

/** Avoids an unhandled rejection. */
const heard = () => undefined;

/** Gives an observer its own copies, so that its changes do not affect other observers. */
function apart(observer: Observer): Observer {
  return {
    onEvent: (event) => observer.onEvent(structuredClone(event)),
    onProgress: (progress) => observer.onProgress?.(progress),
    onAnswering: (answering) => observer.onAnswering?.(answering),
    onLog: (log) => observer.onLog?.({ ...log }),
    onWarning: (warning) => observer.onWarning?.({ ...warning }),
  };
}

type Clean = (text: string) => string;

interface Beginning {
  readonly clean: Clean;
  readonly signal: AbortSignal;
  readonly observers: readonly Observer[];
  readonly opened: (id: string) => void;
  readonly events: readonly RunEvent[];
}

async function carryOut(
  workspace: Workspace,
  course: Course,
  { clean, signal, observers, opened, events }: Beginning,
): Promise<RunResult> {
  const prepared = signal.aborted ? undefined : await unlessAborted(course.prepare(signal), signal);
  if (!prepared) return notBegun(course, clean(String(signal.reason)));
  let isOpened = false;
  const warn = (message: string) => tell(observers, (observer) => observer.onWarning?.({ message }));
  for (const warning of prepared.warnings) warn(prepared.redactor.text(warning));
  const watch: Watch = {
    observers,
    signal,
    onPromptChanged: ({ node }) => warn(`the prompt of ${node} differs from the recording`),
    loggerFor: (skill) => loggerTelling(observers, skill),
    onOpened() {
      isOpened = true;
      opened(prepared.record.run);
    },
  };
  try {
    const { drive = startRun.bind(undefined, workspace) } = course;
    return (await drive(prepared, watch)).result;
  } catch (error) {
    if (!isOpened) throw error;
    const { record } = prepared;
    const stored = await workspace.store.read(record.run).catch((): StoredRun => ({ record, events }));
    return describeBrokenOff(stored, cleaned(asOurs(error), prepared.redactor.text));
  } finally {
    await prepared.close();
  }
}

function loggerTelling(observers: readonly Observer[], skill: string): Logger {
  const say = (level: keyof Logger) => (message: string) =>
    tell(observers, (observer) => observer.onLog?.({ skill, level, message }));
  return { debug: say("debug"), info: say("info"), warn: say("warn") };
}

/** Waits for the preparation, or returns undefined if the signal aborts first. Closes what it opened too late. */
async function unlessAborted(preparing: Promise<PreparedRun>, signal: AbortSignal): Promise<PreparedRun | undefined> {
  const stopped = signal.aborted ? undefined : once(signal, "abort").then(() => undefined);
  const prepared = await Promise.race([stopped, preparing]).catch((error: unknown) => {
    if (!signal.aborted) throw error;
  });
  if (prepared && !signal.aborted) return prepared;
  preparing.then((late) => late.close()).catch(heard);
  return undefined;
}

/** Returns the result of a run that was interrupted before it started. Nothing is recorded. */
function notBegun({ run, workflow = () => "" }: Course, why: string): RunResult {
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
    error: { code, message: `${why} before the run started` },
  };
}

function reasonOf(reason: unknown): string {
  if (typeof reason === "string" && reason !== "") return `interrupted (${reason})`;
  const isPlain = reason === undefined || (reason instanceof DOMException && reason.name === "AbortError");
  return isPlain ? "interrupted" : `interrupted (${messageOf(reason)})`;
}

/** Rethrows any error as a SkillflowError without secrets. */
export function refuseIn(clean: Clean): (error: unknown) => never {
  return (error) => {
    throw cleaned(asOurs(error), clean);
  };
}

/** Redacts an error and names options as programs do. Drops the cause if the text contained secrets. */
function cleaned(error: SkillflowError, clean: Clean): SkillflowError {
  const { code, message, hint, diagnostics, cause } = errorFor(error, asLibraryOption);
  const told = { message, ...(hint === undefined ? {} : { hint }), diagnostics };
  const shown = { ...cleanTold(told, clean), diagnostics: diagnostics.map((each) => cleanTold(each, clean)) };
  const isClean = deepEqual(told, shown);
  if (isClean && deepEqual(told, { ...told, hint: error.hint, diagnostics: error.diagnostics })) return error;
  return new SkillflowError(code, shown.message, { ...shown, cause: isClean ? cause : undefined });
}

export function cleanTold<Told extends { readonly message: string; readonly hint?: string | undefined }>(
  told: Told,
  clean: Clean,
): Told {
  return { ...told, message: clean(told.message), ...(told.hint === undefined ? {} : { hint: clean(told.hint) }) };
}
