import { usageError } from "../../core/base/errors.ts";
import { isTexts } from "../../core/base/values.ts";
import type { Recheck } from "../../core/engine/recheck/answer.ts";
import type { RunSummary } from "../../core/engine/record/run-summary.ts";
import { type Approved, parseApprovals } from "../../core/engine/result/approval.ts";
import type { BacktestResult } from "../../core/outward/testing/backtest-result.ts";
import { personAtWork } from "../adapters/person.ts";
import { findRun } from "../adapters/stores.ts";
import type { Workspace } from "../host.ts";
import { planRecheck, prepareRecheck, recheckOf } from "../runs/afterwards/recheck.ts";
import { summarizeAll } from "../runs/afterwards/skims.ts";
import { readEnded } from "../runs/afterwards/verify.ts";
import { openOperations, refuseDeniedPlan, reviewRun } from "../runs/apply.ts";
import {
  type ApplyResult,
  applyDocument,
  applyReviewed,
  approvedBefore,
  exitCodeOf,
  parseResolutions,
} from "../runs/apply-operations.ts";
import { SILENT_LOGGER, silentWatch, startRun } from "../runs/drive.ts";
import { BACKTEST_RUNS, runBacktest } from "../testing/backtest.ts";
import { loadCases } from "../testing/backtest-cases.ts";
import { backtestDocument, type TestResult, testDocument } from "../testing/documents.ts";
import { runTests } from "../testing/run-tests.ts";

/** Work on recorded runs, tests and backtests, without a terminal. The results are the documents that `--json` prints. */

/** Approvals of planned operations. */
export interface ApplyOptions {
  /** Approves all operations. */
  readonly yes?: boolean;
  /** Approves some operations: `op-1`, or `op-1@DIGEST`. */
  readonly approve?: readonly string[];
  /** Outcomes of operations in doubt: `op-2=applied` or `op-2=not-applied`. */
  readonly resolve?: readonly string[];
}

export interface BacktestOptions {
  /** `provider:name`. */
  readonly model?: string;
  /** Runs of each case. Default: 3. */
  readonly runs?: number;
}

const ignore = () => undefined;

export function listOf(name: string, value: readonly string[]): readonly string[] {
  if (isTexts(value)) return value;
  throw usageError(`${name}: must be a list of strings`);
}

export async function applyRun(
  workspace: Workspace,
  given: string,
  { yes, approve, resolve = [] }: ApplyOptions,
): Promise<ApplyResult> {
  const { store } = workspace;
  if (yes === true && approve) throw usageError("yes and approve cannot be used together");
  const reviewed = await reviewRun(workspace, await store.read(await findRun(store, given)));
  const open = openOperations(reviewed);
  if (open.length === 0) refuseDeniedPlan(reviewed);
  const said: Approved | undefined =
    yes === true ? "all" : approve && parseApprovals(listOf("approve", approve), false);
  const approved = said ?? (open.length === 0 ? [] : approvedBefore(reviewed, open)?.operations);
  if (!approved) throw usageError("no operation was approved", "pass yes: true, or the operations as approve");
  const outcomes = await applyReviewed(workspace, reviewed, {
    ...{ approved, resolved: parseResolutions(listOf("resolve", resolve)), by: personAtWork(workspace) },
    ...{ signal: new AbortController().signal, loggerFor: () => SILENT_LOGGER },
  });
  return applyDocument(reviewed.stored.record.run, exitCodeOf(outcomes), outcomes);
}

/** Lists the runs, newest first, without backtests and without records that cannot be read. */
export async function listRuns(workspace: Workspace): Promise<RunSummary[]> {
  const found = await summarizeAll(workspace);
  const runs = found.flatMap((each) => (each.status === "fulfilled" ? each.value : []));
  return runs.filter(({ kind }) => kind !== "backtest");
}

export async function testPlaces(workspace: Workspace, paths: readonly string[]): Promise<TestResult> {
  const { signal } = new AbortController();
  const all = { models: [], filter: undefined, repeat: 1 };
  return testDocument(await runTests(workspace, { ...all, paths, signal, onCase: ignore }));
}

export async function recheckRun(workspace: Workspace, given: string): Promise<Recheck> {
  const { signal } = new AbortController();
  const of = await readEnded(workspace, given);
  const plan = await planRecheck(workspace, of);
  const prepared = await prepareRecheck(workspace, plan, { choices: {}, connect: { signal } });
  try {
    return recheckOf(await startRun(workspace, prepared, silentWatch(signal)));
  } finally {
    await prepared.close();
  }
}

export async function backtestCases(
  workspace: Workspace,
  place: string,
  { model, runs = BACKTEST_RUNS }: BacktestOptions,
): Promise<BacktestResult> {
  if (!Number.isInteger(runs) || runs < 1) throw usageError("runs: must be a whole number from 1");
  const { cases, leftOut } = loadCases(workspace, place);
  const { signal } = new AbortController();
  const how = { workflow: undefined, isStrict: false, choices: { model }, signal, onRun: ignore };
  return backtestDocument(await runBacktest(workspace, { ...how, cases, runs }), { runs, leftOut });
}
