import { personAtWork } from "../../../app/adapters/person.ts";
import { findRecording, planPlace } from "../../../app/adapters/stores.ts";
import { readWorkflow } from "../../../app/documents.ts";
import type { Workspace } from "../../../app/host.ts";
import { readEarlier, withEarlier } from "../../../app/runs/afterwards/from-run.ts";
import {
  type FinishedRun,
  recordResume,
  recordWord,
  resumeRun,
  startRun,
  type Watch,
} from "../../../app/runs/drive.ts";
import { type PreparedRun, prepareRun } from "../../../app/runs/prepare.ts";
import { prepareReplay } from "../../../app/runs/replay.ts";
import { checkResumable, prepareResume } from "../../../app/runs/resume.ts";
import { completeReport } from "../../../app/views/reports.ts";
import { usageError } from "../../../core/base/errors.ts";
import { plainLine, plainText } from "../../../core/base/inert.ts";
import { quoteTheirs } from "../../../core/base/voice.ts";
import { modelText } from "../../../core/document/model-list.ts";
import type { Workflow } from "../../../core/document/workflow/workflow.ts";
import type { ChangedPrompt } from "../../../core/engine/event/prompt.ts";
import type { Observer, RunQueue } from "../../../core/engine/ports.ts";
import { describePlan, detailExitCode } from "../../../core/engine/result/plan.ts";
import { type Said, wordOf } from "../../../core/engine/result/waiting.ts";
import { githubActions, hideSecrets, maskSecrets } from "../../ci/ci.ts";
import { list, openProject, readInput, text } from "../../flags.ts";
import { continuedRun, type Flags, type Io, interruptSignal } from "../../io.ts";
import { checkPlaces, chooseOutputs, type Outputs, type WrittenFile, writeOutputs } from "../../outputs.ts";
import { type Starting, tellingRefusal } from "../../refused.ts";
import { liveProgress } from "../../terminal/progress/live.ts";
import { plainProgress } from "../../terminal/progress/plain.ts";
import type { Resumed } from "../../terminal/progress/tree.ts";
import { isLive, jsonLine, jsonText, painter, programName, screenOf } from "../../terminal/terminal.ts";
import { openRecorded, openTrusted, personAt } from "../../terminal/trust.ts";
import { describeShortfall, describeVerdict } from "../../terminal/verdict.ts";

export const run = tellingRefusal(async (io, [file = ""], flags) => {
  const outputs = chooseOutputs(flags);
  const isDetached = flags.detach === true;
  const workspace = isDetached
    ? openProject(io, flags)
    : await openTrusted(io, flags, async (opened) => readWorkflow(opened, file));
  const queue = isDetached ? queueOf(workspace, flags) : undefined;
  const connect = { signal: interruptSignal(io), person: personAt(io) };
  const prepared = await discreetly(io, workspace, async () => {
    const read = await readInput(io, flags);
    const from = text(flags, "fromRun");
    const earlier = from === undefined ? undefined : await readEarlier(workspace, from);
    const input = (workflow: Workflow) => {
      io.beginning.workflow = workflow.id;
      return earlier ? withEarlier(read(workflow), earlier) : read(workflow);
    };
    const how = { runId: text(flags, "runId"), choices: flags, connect: isDetached ? undefined : connect };
    return prepareRun(workspace, { document: file, input, ...how });
  });
  if (queue) return recordOnly(io, flags, { queue, prepared });
  const start = (watch: Watch) => startRun(workspace, prepared, watch);
  return watchRun(io, flags, { outputs, prepared, workspace, ...connect, start });
});

function queueOf({ queue }: Workspace, flags: Flags): RunQueue {
  if (!queue) throw usageError("--detach requires --engine dbos, because a worker performs the run");
  const told = ["stream", "out", "report"].find((flag) => flags[flag] !== undefined);
  if (told !== undefined) throw usageError(`--${told} cannot be used with --detach, because a worker performs the run`);
  return queue;
}

async function recordOnly(io: Io, flags: Flags, { queue, prepared }: { queue: RunQueue; prepared: PreparedRun }) {
  const { record, redactor } = prepared;
  await prepared.close();
  io.protect(redactor);
  for (const warning of record.warnings) await io.err(`${plainLine(warning)}\n`);
  await queue.enqueue(record);
  return tellQueued(io, flags, record.run);
}

async function tellQueued(io: Io, flags: Flags, run: string): Promise<0> {
  await io.out(flags.json === true ? jsonText({ run }) : `${run}\n`);
  return 0;
}

export const resume = tellingRefusal(async (io, _, flags) => {
  const outputs = chooseOutputs(flags);
  const from = text(flags, "from");
  const stored = continuedRun(io);
  const { workflow } = stored.record;
  io.beginning.workflow = workflow.id;
  checkResumable(stored, from);
  if (flags.detach === true) return leaveToWorker(io, flags, { run: stored.record.run, from });
  const last = stored.events.findLast((event) => event.type === "node:enter" || event.type === "route");
  const at = from ?? (last?.type === "route" ? last.to : last?.node) ?? workflow.entry;
  return continueRun(io, flags, { outputs, at, how: { from } });
});

type Continuing = Pick<Watched, "outputs"> & Pick<Resumed, "at"> & { readonly how: Parameters<typeof resumeRun>[3] };

/** Drives the stored run on, from a node or with a decision. */
async function continueRun(io: Starting, flags: Flags, { outputs, at, how }: Continuing): Promise<number> {
  const stored = continuedRun(io);
  const workspace = await openRecorded(io, flags);
  const connect = { signal: interruptSignal(io), person: personAt(io) };
  const prepared = await discreetly(io, workspace, () => prepareResume(workspace, stored, { choices: flags, connect }));
  const start = (watch: Watch) => resumeRun(workspace, prepared, watch, how);
  const resumed = { at, events: stored.events };
  return watchRun(io, flags, { outputs, prepared, workspace, ...connect, resumed, start });
}

async function leaveToWorker(io: Io, flags: Flags, { run, from }: { run: string; from: string | undefined }) {
  const workspace = openProject(io, flags);
  const queue = queueOf(workspace, flags);
  await recordResume(workspace, run, { from, choices: flags });
  await queue.requeue(run);
  return tellQueued(io, flags, run);
}

export const signal = tellingRefusal(async (io, [, node = ""], flags) => {
  const outputs = chooseOutputs(flags);
  const { record, events } = continuedRun(io);
  io.beginning.workflow = record.workflow.id;
  const said = { node, approved: approvalIn(flags), by: personAtWork(io), note: text(flags, "note") };
  // Before the run is opened, which would take it from the queue.
  wordOf(events, said, { now: Date.now(), settings: {} });
  if (flags.run === false || flags.detach === true) return recordAlone(io, flags, { run: record.run, said });
  return continueRun(io, flags, { outputs, at: node, how: { said } });
});

function approvalIn({ approve, deny }: Flags): boolean {
  if ((approve === true) === (deny === true)) {
    throw usageError("exactly one of --approve and --deny is required", "add a reason with --note TEXT");
  }
  return approve === true;
}

async function recordAlone(io: Io, flags: Flags, { run, said }: { run: string; said: Said }): Promise<number> {
  const workspace = openProject(io, flags);
  const queue = flags.detach === true ? queueOf(workspace, flags) : undefined;
  await recordWord(workspace, run, said, { later: queue === undefined });
  await queue?.requeue(run);
  const word = said.approved ? "approved" : "denied";
  const next = queue ? "" : `  next: ${programName(io)} resume ${plainLine(run)}\n`;
  await io.err(`${plainLine(said.node)} ${word} by ${plainLine(said.by)}\n${next}`);
  if (flags.json === true) await io.out(jsonText({ run }));
  return 0;
}

export const replay = tellingRefusal(async (io, [given = ""], flags) => {
  const outputs = chooseOutputs(flags);
  const workspace = openProject(io, flags);
  const recording = await findRecording(workspace, given);
  io.beginning.workflow = recording.stored.record.workflow.id;
  const signal = interruptSignal(io);
  const isLive = text(flags, "tools") === "live";
  const request = {
    runId: text(flags, "runId"),
    sources: { fileRoot: flags.fileRoot, inputSources: flags.inputSources },
    tools: isLive ? ("live" as const) : ("recorded" as const),
    connect: isLive ? { signal } : undefined,
  };
  const prepared = await discreetly(io, workspace, () => prepareReplay(workspace, recording, request));
  const allowsChanges = flags.allowChanges === true;
  const start = (watch: Watch) => startRun(workspace, prepared, watch);
  return watchRun(io, flags, { outputs, prepared, workspace, signal, allowsChanges, start });
});

/** Hides the environment's secrets in errors that occur before the run's own secrets are known. */
async function discreetly<Value>(io: Io, workspace: Workspace, prepare: () => Promise<Value>): Promise<Value> {
  try {
    return await prepare();
  } catch (error) {
    await hideSecrets(io, workspace);
    throw error;
  }
}

interface Watched {
  readonly outputs: Outputs;
  readonly prepared: PreparedRun;
  readonly workspace: Workspace;
  readonly signal: AbortSignal;
  readonly start: (watch: Watch) => Promise<FinishedRun>;
  readonly resumed?: Resumed | undefined;
  /** Whether prompts may differ from the recording. Defaults to true. */
  readonly allowsChanges?: boolean;
}

function watchRun(io: Starting, flags: Flags, watched: Watched): Promise<number> {
  return watchPrepared(io, flags, watched).finally(() => watched.prepared.close());
}

async function watchPrepared(io: Starting, flags: Flags, watched: Watched): Promise<number> {
  const { outputs, prepared, workspace, allowsChanges = true } = watched;
  const github = githubActions(io);
  await maskSecrets(io, prepared);
  checkPlaces(io, outputs);
  const paint = painter(io, flags);
  const watch = await watchStart(io, flags, watched);
  const progress = openProgress(io, flags, watched);
  const lost: unknown[] = [];
  const lose = (error: unknown) => void lost.push(error);
  const warner: Observer = {
    onEvent: () => undefined,
    onWarning: ({ message }) => io.err(`${paint("yellow", "!")} ${plainLine(message)}\n`),
  };
  const stream: Observer = { onEvent: (event) => io.out(jsonLine(event)).catch(lose) };
  const changed: ChangedPrompt[] = [];
  const driving = watched.start({
    ...watch,
    observers: [progress, warner, ...(flags.stream === true ? [stream] : [])],
    tellsContent: flags.otlpContent === true,
    onPromptChanged: (change) => changed.push(change),
    refusesChanges: !allowsChanges,
  });
  const driven = await driving.finally(progress.close);
  io.beginning.isTold = true;
  const result = flags.detailedExitCode === true ? detailExitCode(driven.result, driven.state) : driven.result;
  const finished = { ...driven, result, trusted: list(flags, "trustSkill") };
  if (changed.length > 0) {
    const { describeChanges } = await import("../../terminal/changes.ts");
    await io.err(describeChanges(changed, paint));
  }
  const written: WrittenFile[] = [];
  const plan = describePlan(finished);
  const place = github ? planPlace(workspace, finished.record.run) : undefined;
  const report = completeReport(io.host, finished);
  await writeOutputs(io, outputs, { report, planned: plan && { plan, place }, written }).catch(lose);
  await github?.report(report, written, plan).catch(lose);
  if (flags.json === true) await io.out(jsonText(finished.result)).catch(lose);
  const verdict = { ...screenOf(io, paint), written: written.map((file) => file.path) };
  await io.err(flags.quiet === true ? describeShortfall(finished, verdict) : describeVerdict(finished, verdict));
  // The verdict is printed first. A result that could not be written is a separate error.
  if (lost.length > 0) throw lost[0];
  return finished.result.exitCode;
}

export async function watchStart(
  io: Starting,
  flags: Flags,
  { workspace, prepared, signal }: Pick<Watched, "workspace" | "prepared" | "signal">,
) {
  for (const warning of prepared.warnings) await io.err(`${plainLine(warning)}\n`);
  return {
    signal,
    loggerFor: (skill: string) => skillLogger(io, flags, skill),
    onOpened: () => {
      io.beginning.recorded = () => workspace.store.read(prepared.record.run);
    },
  };
}

function openProgress(io: Io, flags: Flags, { prepared, resumed }: Watched): ReturnType<typeof liveProgress> {
  const { record, choices } = prepared;
  const write = (line: string) => void io.err(line);
  if (flags.quiet === true) return { onEvent: () => undefined, close: () => undefined };
  if (!isLive(io)) {
    if (resumed) write(`resuming ${plainLine(record.run)} at ${plainLine(resumed.at)}\n`);
    return { ...plainProgress(write), close: () => undefined };
  }
  const redraw = (lines: string) => void io.redraw(lines);
  const model = choices.model ?? modelText(record.settings.model);
  const paint = painter(io, flags);
  return liveProgress({
    ...{ record, model, write, redraw, paint, now: Date.now, resumed },
    get columns() {
      return io.columns;
    },
  });
}

export function skillLogger(io: Io, flags: Flags, skill: string) {
  const say = (shown: boolean) => (message: string) => {
    const lines = plainText(message).split("\n");
    if (shown) void io.err(lines.map((line) => `${quoteTheirs(`${skill}: ${line}`)}\n`).join(""));
  };
  return { debug: say(flags.verbose === true), info: say(flags.quiet !== true), warn: say(true) };
}
