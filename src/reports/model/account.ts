import { formatCost, plural } from "../../core/base/preview.ts";
import { modelText } from "../../core/document/model-list.ts";
import type { RunStatus } from "../../core/engine/event/end.ts";
import { nameOfNode } from "../../core/engine/event/record.ts";
import { type Finding, findingOf, recheckFinding } from "../../core/engine/finding/finding.ts";
import { stateOf as stateAfter } from "../../core/engine/fold/fold.ts";
import { judgeRecheck } from "../../core/engine/recheck/answer.ts";
import { PLANNED } from "../../core/engine/result/plan.ts";
import { recordedSettings } from "../../core/engine/settings/settings.ts";
import { type Deeds, deedsOf } from "./deeds.ts";
import { type Evidence, evidenceOf } from "./evidence.ts";
import { type Failure, failureOf } from "./failure.ts";
import { endOf, type Report } from "./report.ts";
import { statusOf, type Visit } from "./visit.ts";
import { isCurrent, lastVisits, visitsOf } from "./visits.ts";
import { type Awaited, awaitedIn } from "./waiting.ts";

/** Summary of a run for all reports. The run's status, its finding and its writes are independent of each other. */
export interface Account extends Report {
  readonly state: RunState;
  /** `succeeded, 1 node failed during the run`. */
  readonly standing: string;
  /** One line with the finding, or with the first failure. */
  readonly headline: string;
  readonly finding: Finding;
  readonly failure: Failure | undefined;
  readonly deeds: Deeds;
  readonly awaited: readonly Awaited[];
  readonly evidence: Evidence;
  readonly visits: readonly Visit[];
  /** All visits, including those of inner runs, in the order they started. */
  readonly every: readonly Visit[];
  /** Remarks from before the first visit. */
  readonly remarks: ReturnType<typeof visitsOf>["remarks"];
  /** Source of the answers if no live model was used. */
  readonly answeredBy: "recording" | "script" | undefined;
  /** Returns the display name of a node of the run, or of the inner run at `at`. */
  readonly nameOf: (node: string, at?: string) => string;
}

export type RunState = RunStatus | "degraded" | "running";

export function accountOf(report: Report): Account {
  const { visits, every, remarks } = visitsOf(report);
  const failure = report.isUnderWay ? undefined : failureOf(report, visits.filter(isCurrent));
  const { record } = report;
  const state = stateAfter(report);
  const recheck = judgeRecheck(record, state);
  const finding = recheck ? recheckFinding(recheck, record) : findingOf(state, record);
  return {
    ...report,
    state: report.isUnderWay ? "running" : stateOf(report.result),
    standing: report.isUnderWay ? "running" : standingOf(report, visits),
    headline: headlineOf(report, finding, failure),
    finding,
    failure,
    deeds: deedsOf(report, visits, every),
    awaited: awaitedIn(report),
    evidence: evidenceOf(record, every, { state, found: finding.claims }),
    visits,
    every,
    remarks,
    answeredBy: answeredBy(report),
    nameOf: (node, at) => nameOfNode(report.record, at, node),
  };
}

/** Returns `degraded` for a run that succeeded with less than its workflow asks for, and for a recheck that is not held. */
export function stateOf<Status extends string>(result: Ended<Status>): Status | "degraded" {
  const { status, degraded, exitCode } = result;
  const isLess = degraded.length > 0 || (exitCode !== 0 && exitCode !== PLANNED);
  return status === "succeeded" && isLess ? "degraded" : status;
}

type Ended<Status> = Pick<Report["result"], "degraded" | "exitCode"> & { readonly status: Status };

function standingOf({ result }: Report, visits: readonly Visit[]): string {
  const last = lastVisits(visits).filter(({ degraded }) => degraded.length > 0);
  const failed = last.filter((visit) => statusOf(visit) === "failed").length;
  const short = last.length - failed;
  const told = [
    failed > 0 ? `${plural(failed, "node")} failed during the run` : "",
    short > 0 ? `${plural(short, "node")} degraded` : "",
  ].filter((part) => part !== "");
  return [result.status, ...(result.status === "succeeded" ? told : [])].join(", ");
}

function headlineOf(report: Report, finding: Finding, failure: Failure | undefined): string {
  const isNamed = finding.rechecked !== undefined || report.record.workflow.report?.headline !== undefined;
  if (finding.headline !== undefined && (isNamed || !failure)) return finding.headline;
  if (failure) return failure.headline;
  const [asked] = report.result.waiting ?? [];
  if (asked) return asked.ask;
  if (finding.cause) return finding.cause.text;
  const { name } = report.record.workflow;
  if (finding.verdict !== undefined) return `${name}: ${finding.verdict}`;
  return `${name}: ${report.isUnderWay ? "running" : (endOf(report)?.reason ?? report.result.status)}`;
}

/** Describes the cost of a run without a live model. */
export function paidWords(answeredBy: NonNullable<Account["answeredBy"]>, costOf: Report["recordingCost"]): string {
  if (answeredBy === "script") return "scripted, not paid";
  const cost = costOf?.();
  return cost === undefined ? "recorded, not paid" : `recorded, not paid: the recording cost ${formatCost(cost)}`;
}

function answeredBy({ record, events }: Report): Account["answeredBy"] {
  const model = modelText(recordedSettings(record.settings, events).model);
  if (record.kind === "replay" || model.startsWith("replay:")) return "recording";
  return model.startsWith("script:") ? "script" : undefined;
}
