import { addUsage } from "../engine/fold.ts";
import { recordedSettings } from "../engine/settings.ts";
import { noUsage } from "../engine/state.ts";
import type { RunRecord } from "../event.ts";
import type { Skimmed, SkimmedRun } from "../skim.ts";
import { costOf, degradedSkills, type RunResult, statusOf } from "./result.ts";

/** A run on a line of a list (`skillflow.runs/1`). */
export interface RunSummary {
  readonly id: string;
  readonly kind: RunRecord["kind"];
  /** Its workflow's id, and its name. */
  readonly workflow: string;
  readonly name: string;
  readonly status: RunResult["status"];
  readonly exitCode: number;
  readonly verdict: string | null;
  readonly degraded: RunResult["degraded"];
  readonly model: string;
  readonly costUsd: number | null;
  readonly inputTokens: number;
  readonly outputTokens: number;
  readonly startedAt: string;
  readonly endedAt: string | null;
  readonly durationMs: number;
}

export function summarizeRun({ record, events }: SkimmedRun): RunSummary {
  const usage = noUsage();
  const visited = new Set<string>();
  const resumes: Extract<Skimmed, { type: "run:resume" }>[] = [];
  let end: Extract<Skimmed, { type: "workflow:end" }> | undefined;
  for (const event of events) {
    if (event.type === "node:enter") visited.add(event.node);
    if (event.type === "model:reply") addUsage(usage, event.usage);
    if (event.type === "workflow:end") end = event;
    if (event.type !== "run:resume") continue;
    resumes.push(event);
    end = undefined;
  }
  const { status, exitCode } = statusOf(end);
  return {
    id: record.run,
    kind: record.kind,
    workflow: record.workflow.id,
    name: record.workflow.name,
    status,
    exitCode,
    verdict: null,
    degraded: degradedSkills(record, visited),
    model: recordedSettings(record.settings, resumes).model,
    costUsd: costOf(usage),
    inputTokens: usage.inputTokens,
    outputTokens: usage.outputTokens,
    startedAt: record.at,
    endedAt: end?.at ?? null,
    durationMs: activeTime(events),
  };
}

/** As the fold counts it: without the time between its processes. */
function activeTime(events: readonly Skimmed[]): number {
  const spent = events.map((event, index) => {
    const last = events[index - 1];
    return last?.epoch === event.epoch ? Math.max(0, Date.parse(event.at) - Date.parse(last.at)) : 0;
  });
  return Math.round(spent.reduce((sum, part) => sum + part, 0));
}
