import { usageError } from "../../core/base/errors.ts";
import { defined, didYouMean } from "../../core/base/values.ts";
import { nodePath } from "../../core/document/inner/place.ts";
import type { Plan } from "../../core/engine/event/operation.ts";
import { stateOf } from "../../core/engine/fold/fold.ts";
import type { StoredRun } from "../../core/engine/ports.ts";
import { describePlan } from "../../core/engine/result/plan.ts";
import { describeResult } from "../../core/engine/result/result.ts";
import type { Report } from "../../reports/model/report.ts";
import { type NodeVisits, nodeVisits } from "../../reports/record/node-visits.ts";
import { diffRuns, type RunDiff } from "../../reports/record/run-diff.ts";
import { digestPrompt } from "../../run/digest.ts";
import { blobsOfRun } from "../../stores/file/store.ts";
import { findRecording } from "../adapters/stores.ts";
import type { Workspace } from "../host.ts";
import { completeReport } from "../views/reports.ts";

export type { NodeVisits, RunDiff };

export function reportOf({ record, events }: StoredRun): Report {
  return { record, events, result: describeResult(record, stateOf({ record, events })) };
}

export async function recordedReport(
  workspace: Workspace,
  given: string,
): Promise<{ readonly report: Report; readonly plan: Plan | undefined }> {
  const { stored } = await findRecording(workspace, given);
  const { record } = stored;
  const blobs = workspace.storeDirectory && blobsOfRun(workspace.storeDirectory, record.run);
  const report = completeReport(workspace.host, { ...reportOf(stored), ...defined("blobs", blobs) });
  return { report, plan: describePlan({ ...stored, state: stateOf(stored) }) };
}

/** Returns the visits of `NODE`, or the one visit that `NODE#2` names. */
export function inspectNode(stored: StoredRun, given: string): NodeVisits {
  const { nodes } = stored.record.workflow;
  // Nodes of inner runs have a path, such as `each[fp-81]/look`.
  const visited = new Set(
    stored.events.flatMap((event) => (event.type === "node:enter" ? [nodePath(event.at, event.node)] : [])),
  );
  const isNode = (name: string) => Object.hasOwn(nodes, name) || visited.has(name);
  const [, head = given, number] = isNode(given) ? [] : (/^(.*)#([1-9]\d*)$/s.exec(given) ?? []);
  const { run } = stored.record;
  if (!isNode(head)) {
    const near = didYouMean(head, [...Object.keys(nodes), ...visited]);
    const hint = near ?? `choose one of its nodes: ${Object.keys(nodes).slice(0, 12).join(", ")}`;
    throw usageError(`the workflow of run ${run} has no node "${head}"`, hint);
  }
  const found = nodeVisits({ ...reportOf(stored), digest: digestPrompt }, head);
  if (found.visits.length === 0) throw usageError(`run ${run} did not visit ${head}`);
  if (number === undefined) return found;
  const visits = found.visits.filter(({ visit }) => visit === Number(number));
  if (visits.length > 0) return { ...found, visits };
  const most = found.visits.length;
  throw usageError(
    `run ${run} visited ${head} ${most === 1 ? "once" : `${most} times`}`,
    most === 1 ? `write ${head}#1` : `write ${head}#1 to ${head}#${most}`,
  );
}

export async function compareRuns(workspace: Workspace, a: string, b: string): Promise<RunDiff> {
  const read = async (given: string) => reportOf((await findRecording(workspace, given)).stored);
  return diffRuns(await read(a), await read(b));
}
