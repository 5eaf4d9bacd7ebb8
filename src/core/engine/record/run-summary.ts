import { defined } from "../../base/values.ts";
import { modelText } from "../../document/model-list.ts";
import type { RunRecord } from "../event/record.ts";
import type { Skimmed, SkimmedRun } from "../event/skim.ts";
import { addUsage } from "../fold/fold-reply.ts";
import { UsageTotals } from "../fold/state.ts";
import { costOf, type RunResult, statusOf } from "../result/result.ts";
import { endOf, takesUp } from "../result/waiting.ts";

/** A run as an entry of a list (`skillflow.runs/1`). */
export interface RunSummary {
  readonly id: string;
  readonly kind: RunRecord["kind"];
  /** Id of the workflow. `name` is its name. */
  readonly workflow: string;
  readonly name: string;
  readonly status: RunResult["status"];
  readonly exitCode: number;
  readonly verdict: string | null;
  readonly degraded: RunResult["degraded"];
  /** The node where the run ended because none of its edges applied. */
  readonly unrouted: string | null;
  readonly model: string;
  readonly costUsd: number | null;
  readonly inputTokens: number;
  readonly outputTokens: number;
  readonly startedAt: string;
  readonly endedAt: string | null;
  readonly durationMs: number;
  /** For a question: the run that it is about. */
  readonly about?: { readonly run: string; readonly question: string };
}

export function summarizeRun({ record, events }: SkimmedRun): RunSummary {
  const usage = new UsageTotals();
  let { model } = record.settings;
  for (const event of events) {
    if (event.type === "model:reply") addUsage(usage, event.usage);
    if (event.type !== "run:resume" && event.type !== "approval:given") continue;
    if (takesUp(event)) model = event.settings.model ?? model;
  }
  const end = endOf(events);
  const { status, exitCode } = statusOf(record.kind, end);
  return {
    id: record.run,
    kind: record.kind,
    workflow: record.workflow.id,
    name: record.workflow.name,
    status,
    exitCode,
    verdict: end?.verdict ?? null,
    unrouted: end?.unrouted?.node ?? null,
    degraded: end?.degraded ?? [],
    model: modelText(model),
    costUsd: costOf(usage),
    inputTokens: usage.inputTokens,
    outputTokens: usage.outputTokens,
    startedAt: record.at,
    endedAt: end?.time ?? null,
    durationMs: activeTime(events),
    ...defined("about", record.about),
  };
}

/** Returns the active milliseconds, as `fold` counts them: without pauses between processes or time after the end. */
function activeTime(events: readonly Skimmed[]): number {
  let spent = 0;
  let last = { text: "", time: 0, epoch: -1 };
  let hasEnded = false;
  for (const event of events) {
    const { type, time: text, epoch } = event;
    const time = text === last.text ? last.time : Date.parse(text);
    if (epoch === last.epoch && !hasEnded) spent += Math.max(0, time - last.time) || 0;
    last = { text, time, epoch };
    if (type === "workflow:end") hasEnded = true;
    if (takesUp(event)) hasEnded = false;
  }
  return Math.round(spent);
}
