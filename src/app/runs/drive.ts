import { setTimeout as sleep } from "node:timers/promises";
import { usageError } from "../../core/base/errors.ts";
import type { Hint } from "../../core/base/options.ts";
import { cutMiddle } from "../../core/base/preview.ts";
import { deepEqual, defined } from "../../core/base/values.ts";
import { firstOf, isOffline } from "../../core/document/model-name.ts";
import { linkProgram } from "../../core/engine/decide/link.ts";
import type { RunError } from "../../core/engine/event/end.ts";
import type { EventBody, EventOf, RunEvent } from "../../core/engine/event/event.ts";
import type { ChangedPrompt } from "../../core/engine/event/prompt.ts";
import type { RunRecord } from "../../core/engine/event/record.ts";
import { fold } from "../../core/engine/fold/fold.ts";
import { begin, type State } from "../../core/engine/fold/state.ts";
import type { Observer, Store, StoredRun } from "../../core/engine/ports.ts";
import { redactDecision } from "../../core/engine/record/content.ts";
import { memoryOfEnd } from "../../core/engine/record/memory.ts";
import { describeResult, type RunResult } from "../../core/engine/result/result.ts";
import { endOf, laterWords, lateWords, type Said, waitsIn, wordOf } from "../../core/engine/result/waiting.ts";
import { recordedSettings, settingChanges, underModel } from "../../core/engine/settings/settings.ts";
import type { Logger } from "../../core/skill/skill.ts";
import { priceOf } from "../../models/prices.ts";
import { createAsk } from "../../run/ask.ts";
import { type CallOptions, createCall, createReach } from "../../run/call.ts";
import { createChange } from "../../run/change.ts";
import { driveRun, tell } from "../../run/drive.ts";
import { type Afterwards, afterwardsIn, bodyOf } from "../../run/recall.ts";
import { blobText, imageBytes } from "../../run/results/blob-tools.ts";
import { blobsOfRun } from "../../stores/file/store.ts";
import { passRecorded } from "../../stores/journal.ts";
import { openFetch } from "../adapters/fetch.ts";
import { modelFetch } from "../adapters/model-fetch.ts";
import { modelFinder } from "../adapters/models.ts";
import { exportEnded } from "../adapters/otlp.ts";
import { blobsFor } from "../adapters/stores.ts";
import { openRunCopy, type RunCopy } from "../calls/copies.ts";
import { findHandler } from "../calls/own-tools.ts";
import type { Workspace } from "../host.ts";
import { environmentRedactor } from "../secrets.ts";
import { countedDay, dayAgain, mayHaveUnwritten, writeMemory } from "./memory.ts";
import type { PreparedRun } from "./prepare.ts";
import { openPace, type Pace } from "./rates.ts";
import { changedSkills, changesNow, checkResumable, resumption } from "./resume.ts";

export { holdLarge } from "../../run/results/large.ts";

export interface Watch {
  readonly observers: readonly Observer[];
  readonly signal: AbortSignal;
  readonly onPromptChanged?: (changed: ChangedPrompt) => void;
  /** Whether a replay fails when prompts differ from the recording. */
  readonly refusesChanges?: boolean;
  readonly loggerFor: (skill: string) => Logger;
  /** Includes prompts and replies in the export to OpenTelemetry. */
  readonly tellsContent?: boolean;
  /** Called once the run is stored. Later errors break the run off. */
  readonly onOpened?: () => void;
}

const ignore = () => undefined;

export const SILENT_LOGGER: Logger = { debug: ignore, info: ignore, warn: ignore };

export function silentWatch(signal: AbortSignal): Watch {
  return { observers: [], signal, loggerFor: () => SILENT_LOGGER };
}

export interface FinishedRun {
  readonly record: RunRecord;
  /** All events of the run, including those of earlier processes. */
  readonly events: readonly RunEvent[];
  readonly state: State;
  readonly result: RunResult;
  /** Folder of the run's blobs, which may not exist. Undefined if the store keeps no files. */
  readonly blobs: string | undefined;
  /** Ids of the skills that this process was allowed to trust. */
  readonly trusted?: readonly string[];
}

export async function startRun(workspace: Workspace, prepared: PreparedRun, watch: Watch): Promise<FinishedRun> {
  const day = await countedDay(workspace, prepared.record, prepared.record);
  const record = { ...prepared.record, ...day };
  const journal = await workspace.store.create(record);
  const afterwards = prepared.replay?.afterwards ?? [];
  return drive(workspace, { ...prepared, record }, { record, journal, events: [], afterwards, watch });
}

/**
 * Continues a stored run: after a crash where it stopped, after its end with a `run:resume` event.
 * Changes apply only between an end and a resume, so a crashed run with changes is ended first.
 */
export async function resumeRun(
  workspace: Workspace,
  prepared: PreparedRun,
  watch: Watch,
  { from, said }: Onwards = {},
): Promise<FinishedRun> {
  const { record, journal, events } = await workspace.store.open(prepared.record.run);
  if (mayHaveUnwritten(events)) {
    const settled = await settle(workspace, watch, { record, journal, events });
    if (settled && from === undefined && settled.result.status === "succeeded") return settled;
    if (settled) return resumeRun(workspace, prepared, watch, { from, said });
  }
  const opened = { record, journal, events, watch };
  const afterwards = afterwardsIn(events);
  const continued = continuation(workspace, prepared, { record, events, from, said });
  const more = await continued.catch(async (error: unknown) => {
    await journal.close();
    throw error;
  });
  if (more) return drive(workspace, prepared, { ...opened, afterwards: [...afterwards, ...more] });
  const gone = { ...watch, signal: AbortSignal.abort("interrupted (its process is gone)") };
  await drive(workspace, prepared, { ...opened, watch: gone, afterwards });
  return resumeRun(workspace, prepared, watch, { from });
}

/** Returns the events that continue a run. Undefined if a crashed run must end before its changes apply. */
async function continuation(
  workspace: Workspace,
  { record, choices, changed }: PreparedRun,
  { from, said, ...stored }: StoredRun & Onwards,
): Promise<readonly Afterwards[] | undefined> {
  const { events } = stored;
  const changes = changesNow(workspace, choices, { record, events });
  const skills = changedSkills(events, changed);
  if (said || (waitsIn(events).length > 0 && from === undefined)) {
    const now = Date.now();
    const given = [...(said ? [wordOf(events, said, { now, settings: changes })] : []), ...lateWords(events, now)];
    const words = given.map((word) => ({ ...word, body: { ...word.body, settings: changes, ...skills } }));
    if (words.length > 0 || laterWords(events).length === 0) return words;
  }
  if (endOf(events)) {
    // Another process may have continued the run to its end since it was checked.
    checkResumable({ record, events }, from);
    const day = await dayAgain(workspace, stored, changes);
    return [resumption(events, { from, settings: changes, ...skills, ...day })];
  }
  return from === undefined && Object.keys(changes).length === 0 && !skills && !isHalted(events) ? [] : undefined;
}

interface Onwards {
  readonly from?: string | undefined;
  readonly said?: Said | undefined;
}

/** Records the resumption of an ended run and leaves its execution to a worker. A crashed run needs no such event. */
export function recordResume(
  workspace: Workspace,
  run: string,
  { from, choices }: { readonly from: string | undefined; readonly choices: PreparedRun["choices"] },
): Promise<void> {
  return recordNext(workspace, run, async (stored) => {
    if (endOf(stored.events) === undefined) {
      if (from === undefined) return undefined;
      const hint: Hint = ["resume it without ", { option: "from" }];
      throw usageError("a worker cannot repeat a node of an interrupted run", hint);
    }
    const settings = changesNow(workspace, choices, stored);
    return resumption(stored.events, { from, settings, ...(await dayAgain(workspace, stored, settings)) });
  });
}

/** Records an approval decision. The run continues when a worker takes it, or when it is resumed. */
export function recordWord(
  workspace: Workspace,
  run: string,
  said: Said,
  { later }: { readonly later: boolean },
): Promise<void> {
  return recordNext(workspace, run, ({ events }) => {
    const { body, ...word } = wordOf(events, said, { now: Date.now(), settings: {} });
    return { ...word, body: { ...body, ...(later ? { later } : {}) } };
  });
}

/** Records in a waiting run that a person's decision was refused. The same refusal is recorded once. */
export function recordRefusal(
  workspace: Workspace,
  run: string,
  refusal: Omit<EventOf<"approval:refused">, "type">,
): Promise<void> {
  const body = redactDecision({ type: "approval:refused", ...refusal }, environmentRedactor(workspace));
  return recordNext(workspace, run, ({ events }) => {
    const known = events.filter(({ type }) => type === "approval:refused");
    if (known.some((event) => deepEqual(bodyOf(event), body))) return undefined;
    return { key: `refused/${known.length + 1}`, body };
  });
}

type Next = Pick<ReturnType<typeof wordOf>, "key" | "at"> & { readonly body: EventBody };

/** Records what follows in a run that no process drives, if anything. */
async function recordNext(
  workspace: Workspace,
  run: string,
  nextOf: (stored: StoredRun) => Next | undefined | Promise<Next | undefined>,
): Promise<void> {
  const { journal, ...stored } = await workspace.store.open(run);
  try {
    const next = await nextOf(stored);
    if (!next) return;
    await passRecorded(journal, stored.events);
    const body = redactDecision(next.body, environmentRedactor(workspace));
    await journal.record(next.key, async () => [{ ...body, ...defined("at", next.at) }]);
  } finally {
    await journal.close();
  }
}

/** Saves the state changes of an ended run without continuing it. */
export async function settleRun(workspace: Workspace, run: string): Promise<void> {
  const opened = await workspace.store.open(run);
  if (!(await settle(workspace, { observers: [] }, opened))) await opened.journal.close();
}

/** Saves the state changes of an ended run if that is still to be done. Returns undefined if there are none. */
async function settle(
  workspace: Workspace,
  watch: Pick<Watch, "observers" | "onOpened">,
  opened: Omit<Opened, "afterwards" | "watch">,
): Promise<FinishedRun | undefined> {
  const { record, journal, events } = opened;
  const state = events.reduce(fold, begin(record, journal.epoch));
  if (!memoryOfEnd(record, state)) return undefined;
  watch.onOpened?.();
  try {
    await passRecorded(journal, events);
    const told = [...events];
    const keep: Observer = { onEvent: (event) => told.push(event) };
    const written = await writeMemory(workspace, { record, state, journal, observers: [keep, ...watch.observers] });
    return finishedRun(workspace, { record, events: told }, written);
  } finally {
    await journal.close();
  }
}

/** Checks whether the process died while it was stopping the run. */
function isHalted(events: readonly RunEvent[]): boolean {
  const last = events.findLast(({ type }) =>
    ["run:interrupt", "run:fail", "limit:reached", "run:resume", "approval:given"].includes(type),
  );
  if (last?.type === "limit:reached") return last.limit !== "node_timeout";
  return last?.type === "run:interrupt" || last?.type === "run:fail";
}

interface Opened {
  readonly record: RunRecord;
  readonly journal: Awaited<ReturnType<Store["create"]>>;
  readonly events: readonly RunEvent[];
  readonly afterwards: readonly Afterwards[];
  readonly watch: Watch;
}

type Progress = (node: string | undefined, message: string) => void;

async function drive(workspace: Workspace, prepared: PreparedRun, opened: Opened): Promise<FinishedRun> {
  const { watch } = opened;
  watch.onOpened?.();
  const { observers, signal } = watch;
  const onProgress: Progress = (node, message) => {
    const told = cutMiddle(prepared.redactor.text(message), MOST_PROGRESS);
    tell(observers, (observer) => observer.onProgress?.({ node: node ?? opened.record.workflow.entry, message: told }));
  };
  const pace = openPace(workspace, onProgress);
  const work = () => driveOpened(workspace, prepared, { ...opened, onProgress, pace });
  const finished = await (pace ? pace.run(signal, work) : work()).finally(() => opened.journal.close());
  if (!prepared.choices.offline) {
    const warn = (message: string) =>
      tell(watch.observers, (observer) => observer.onWarning?.({ message: prepared.redactor.text(message) }));
    await exportEnded(workspace.host, finished, { content: watch.tellsContent === true, warn });
  }
  return finished;
}

async function driveOpened(
  workspace: Workspace,
  prepared: PreparedRun,
  opened: Opened & { readonly pace: Pace | undefined; readonly onProgress: Progress },
): Promise<FinishedRun> {
  const { record, redactor, choices } = prepared;
  const { pace, onProgress, watch } = opened;
  const { host } = workspace;
  const settings = {
    ...recordedSettings(record.settings, opened.events),
    ...settingChanges(opened.afterwards.map(({ body }) => body)),
  };
  let changes = 0;
  const findModel = modelFinder({
    workspace,
    model: firstOf(settings.model),
    serving: prepared.serving,
    fetch: modelFetch(host.env, choices.offline),
    offline: choices.offline,
    past: underModel({ record, events: opened.events }, settings.model),
    onPromptChanged: (changed) => {
      changes += 1;
      watch.onPromptChanged?.(changed);
    },
  });
  const ask = createAsk({
    findModel: pace ? pace.findModel(findModel) : findModel,
    priceOf: isOffline(settings.model) ? () => 0 : priceOf,
    clock: realClock,
    onProgress,
    imageOf: (image) => imageBytes(blobsFor(workspace, record), image),
    onAnswering: (node, characters) =>
      tell(watch.observers, (observer) => observer.onAnswering?.({ node, characters })),
  });
  const events = [...opened.events];
  const keep: Observer = { onEvent: (event) => events.push(event) };
  const observers = [keep, ...watch.observers];
  const own = openRunCopy(workspace, record, { ...opened, isReal: prepared.replay?.change === undefined });
  const { callTool, askReach, askChange } = toolCaller(workspace, prepared, {
    copy: own.copy,
    timeoutMs: settings.tool_timeout_ms,
    loggerFor: watch.loggerFor,
  });
  const driven = await driveRun({
    program: linkProgram(record),
    journal: opened.journal,
    ask,
    callTool: pace ? pace.callTool(callTool) : callTool,
    askReach,
    askChange,
    blobText: (id) => blobText(blobsFor(workspace, record), id),
    redactor,
    observers,
    signal: watch.signal,
    afterwards: opened.afterwards,
    spentMs: prepared.spentMs,
    recall: prepared.replay?.recall,
    refusal: () => (watch.refusesChanges && changes > 0 ? changedError(changes) : undefined),
  });
  const state = await writeMemory(workspace, { record, state: driven, journal: opened.journal, observers });
  const finished = finishedRun(workspace, { record: opened.record, events }, state);
  if (!KEEPS_COPY.has(finished.result.status) || workspace.storeDirectory === undefined) own.remove();
  return finished;
}

/** Statuses of runs that continue later. Their copy is removed with the run. */
const KEEPS_COPY: ReadonlySet<string> = new Set(["interrupted", "stopped", "waiting"]);

function finishedRun(workspace: Workspace, { record, events }: StoredRun, state: State): FinishedRun {
  const { host, storeDirectory: folder } = workspace;
  const result = describeResult(record, state, host.writeOption);
  return { record, events, state, result, blobs: folder && blobsOfRun(folder, record.run) };
}

function changedError(count: number): RunError {
  return {
    code: "replay.changed",
    message: `${count} prompt${count === 1 ? "" : "s"} changed since the recording`,
    hint: ["record the run again, or accept the changes with ", { option: "allow-changes" }],
  };
}

const MOST_PROGRESS = 2000;

function toolCaller(
  workspace: Workspace,
  { entries, record, redactor, choices: { offline }, replay }: PreparedRun,
  { copy, ...means }: Pick<CallOptions, "timeoutMs" | "loggerFor"> & Pick<RunCopy, "copy">,
) {
  const { cwd, env } = workspace.host;
  const blobs = blobsFor(workspace, record);
  const calling: CallOptions = {
    run: record.run,
    findHandler: (call) => findHandler(call, { workspace, record, entries, blobs, copy }),
    workDir: cwd,
    fetch: openFetch(env, offline),
    offline,
    redactor,
    blobs,
    asOf: record.as_of === undefined ? undefined : Date.parse(record.as_of),
    ...means,
  };
  const askChange = createChange({ changeOf: async () => replay?.change ?? copy().change(), redactor });
  return { callTool: createCall(calling), askReach: createReach(calling), askChange };
}

const realClock = {
  random: Math.random,
  sleep: (ms: number, signal: AbortSignal) =>
    sleep(ms, undefined, { signal }).catch(() => {
      throw signal.reason;
    }),
};
