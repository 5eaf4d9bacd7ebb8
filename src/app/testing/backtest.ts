import { chmodSync, cpSync, existsSync, lstatSync, mkdtempSync, readdirSync, realpathSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { usageError } from "../../core/base/errors.ts";
import { modelText } from "../../core/document/model-list.ts";
import type { RunEvent } from "../../core/engine/event/event.ts";
import type { RunRecord } from "../../core/engine/event/record.ts";
import type { RunChoices } from "../../core/engine/settings/settings.ts";
import { OWN_TOOLS } from "../../core/engine/tools/own-tools.ts";
import type { BacktestCase } from "../../core/outward/testing/backtest.ts";
import { type Answer, answerOf, type Graded, gradeAnswer, gradeFailure } from "../../core/outward/testing/grade.ts";
import { readRecording } from "../../stores/file/run-lines.ts";
import { filesOfRun } from "../../stores/file/store.ts";
import { openServing, type Serving } from "../adapters/models.ts";
import type { Workspace } from "../host.ts";
import { type FinishedRun, silentWatch, startRun } from "../runs/drive.ts";
import { newRunId, type PreparedRun, prepareRun } from "../runs/prepare.ts";
import { mapEntries, type SkillEntries } from "../skills/entries.ts";
import { onlyWorkflow } from "./backtest-cases.ts";

export const BACKTEST_RUNS = 3;

interface BacktestRequest {
  readonly cases: readonly BacktestCase[];
  readonly workflow: string | undefined;
  readonly runs: number;
  /** Leaves out tools that may show what happened after the case's time. */
  readonly isStrict: boolean;
  readonly choices: RunChoices;
  readonly signal: AbortSignal;
  readonly onRun: (of: BacktestCase, run: BacktestRun) => void;
}

export interface BacktestRun extends Graded {
  readonly run: string;
  readonly answer: Omit<Answer, "refuted">;
  readonly tokens: { readonly input: number; readonly output: number };
  readonly costUsd: number | null;
  readonly calls: number;
  readonly durationMs: number;
  /** Calls of tools that do not know the clock. */
  readonly unbounded: ReadonlyMap<string, number>;
  readonly error?: string;
  /** Path of the run's record. Undefined if the store keeps no files. */
  readonly record: string | undefined;
}

export interface BacktestedCase {
  readonly of: BacktestCase;
  readonly workflow: string;
  readonly model: string;
  readonly runs: readonly BacktestRun[];
}

/** Runs every case, one after another. Throws if a run cannot start. */
export async function runBacktest(workspace: Workspace, request: BacktestRequest): Promise<readonly BacktestedCase[]> {
  const documents = request.cases.map((one) => request.workflow ?? one.workflow ?? onlyWorkflow(workspace));
  const serving = await servings(workspace, request);
  const done: BacktestedCase[] = [];
  for (const [index, of] of request.cases.entries()) {
    const runs: BacktestRun[] = [];
    const document = resolve(workspace.host.cwd, documents[index] ?? "");
    let names = { workflow: "", model: "" };
    for (let n = 1; n <= request.runs && !request.signal.aborted; n++) {
      const { finished, record } = await runCase(workspace, { of, document, serving: serving(of, n) }, request);
      names = { workflow: finished.record.workflow.id, model: modelText(finished.record.settings.model) };
      const run = describeRun(of, finished, record);
      runs.push(run);
      request.onRun(of, run);
    }
    done.push({ of, ...names, runs });
  }
  return done;
}

/** Opens the recording or script for each run. A folder of recordings has `<case>.<n>.jsonl` for each of them. */
async function servings(workspace: Workspace, { choices, cases, runs }: BacktestRequest) {
  const [, name] = /^replay:(.+)$/s.exec(choices.model ?? "") ?? [];
  const folder = name === undefined ? undefined : recordingsIn(resolve(workspace.host.cwd, name));
  if (folder === undefined) {
    const opened = choices.model === undefined ? undefined : await openServing(choices.model, workspace);
    return () => opened;
  }
  const pathOf = (id: string, n: number) => join(folder, `${id}.${n}.jsonl`);
  for (const { id } of cases) {
    let found = 0;
    while (found < runs && existsSync(pathOf(id, found + 1))) found++;
    if (found === runs) continue;
    const hint = found > 0 ? `set --runs ${found}, or record it with --out DIR` : "record it with --out DIR";
    throw usageError(`there is no recording ${pathOf(id, found + 1)}`, hint);
  }
  return ({ id }: BacktestCase, n: number): Serving => {
    return { provider: "replay", recording: readRecording(pathOf(id, n)), resumed: "latest" };
  };
}

function recordingsIn(place: string): string | undefined {
  if (!existsSync(place) || !lstatSync(realpathSync(place)).isDirectory()) return undefined;
  const runs = join(place, "runs");
  return existsSync(runs) ? runs : place;
}

interface Running {
  readonly of: BacktestCase;
  readonly document: string;
  readonly serving: Serving | undefined;
}

async function runCase(workspace: Workspace, { of, document, serving }: Running, request: BacktestRequest) {
  const { isStrict, signal, choices } = request;
  const folder = of.files === undefined ? undefined : copyFiles(of.files, of.path);
  const placed = folder === undefined ? workspace : { ...workspace, host: { ...workspace.host, cwd: folder } };
  let prepared: PreparedRun | undefined;
  try {
    prepared = await prepareRun(placed, {
      document,
      input: () => of.input,
      runId: newRunId(),
      choices: { ...choices, writes: "deny" },
      connect: { signal },
      ...(serving ? { serving } : {}),
      stage: (entries) => (isStrict ? boundedSkills(entries) : entries),
    });
    const record: RunRecord = { ...prepared.record, kind: "backtest", ...(of.as_of ? { as_of: of.as_of } : {}) };
    const finished = await startRun(placed, { ...prepared, record }, silentWatch(signal));
    const { storeDirectory } = workspace;
    return { finished, record: storeDirectory && filesOfRun(storeDirectory, record.run).path };
  } finally {
    await prepared?.close();
    if (folder !== undefined) {
      changeModes(folder, { file: 0o600, folder: 0o700 });
      rmSync(folder, { recursive: true, force: true });
    }
  }
}

/** Keeps the tools that end at the run's clock, those that time does not matter to, and writes, which are denied anyway. */
function boundedSkills(entries: SkillEntries): SkillEntries {
  return mapEntries(entries, (entry) => {
    const tools = entry.skill.tools.filter(({ clock, effect }) => isBounded(clock) || effect === "write");
    return { ...entry, skill: { ...entry.skill, tools } };
  });
}

function isBounded(clock: string | undefined): boolean {
  return clock === "range" || clock === "none";
}

/** Copies files and folders without links and without the case's own file, and makes the copy read-only. Keeps file times. */
function copyFiles(files: NonNullable<BacktestCase["files"]>, path: string | undefined): string {
  const folder = realpathSync(mkdtempSync(join(tmpdir(), "skillflow-backtest-")));
  const filter = (source: string) => !lstatSync(source).isSymbolicLink() && (path === undefined || source !== path);
  for (const [place, from] of Object.entries(files)) {
    cpSync(from, join(folder, place), { recursive: true, preserveTimestamps: true, filter });
  }
  changeModes(folder, { file: 0o444, folder: 0o555 });
  return folder;
}

function changeModes(folder: string, modes: { readonly file: number; readonly folder: number }): void {
  chmodSync(folder, 0o700);
  for (const entry of readdirSync(folder, { withFileTypes: true })) {
    const path = join(folder, entry.name);
    if (entry.isDirectory()) changeModes(path, modes);
    else chmodSync(path, modes.file);
  }
  chmodSync(folder, modes.folder);
}

function describeRun(
  of: BacktestCase,
  { record, state, result, events }: FinishedRun,
  path: string | undefined,
): BacktestRun {
  const { refuted, ...answer } = answerOf(record, state);
  const isDone = result.status === "succeeded";
  const graded = isDone ? gradeAnswer(of.truth, { ...answer, refuted }) : gradeFailure(of.truth);
  const { inputTokens, outputTokens, costUsd, durationMs } = result.usage;
  return {
    run: record.run,
    ...graded,
    answer,
    tokens: { input: inputTokens, output: outputTokens },
    costUsd,
    calls: events.filter(({ type }) => type === "tool:call").length,
    durationMs,
    unbounded: of.as_of === undefined ? new Map() : unboundedCalls(record, events),
    ...(isDone ? {} : { error: result.error?.message ?? result.status }),
    record: path,
  };
}

/** Counts the calls of reads that may show what happened after the case's time. */
function unboundedCalls({ skills }: RunRecord, events: readonly RunEvent[]): ReadonlyMap<string, number> {
  const tools = new Map(skills.flatMap((skill) => skill.tools.map((tool) => [tool.exposed, tool] as const)));
  const counts = new Map<string, number>();
  for (const event of events) {
    if (event.type !== "tool:call" || OWN_TOOLS.includes(event.tool)) continue;
    const tool = tools.get(event.tool);
    if (tool && tool.effect === "read" && !isBounded(tool.clock))
      counts.set(tool.exposed, (counts.get(tool.exposed) ?? 0) + 1);
  }
  return counts;
}
