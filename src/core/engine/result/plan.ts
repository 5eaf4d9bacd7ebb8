import { isOpen } from "../decide/admit.ts";
import { planOf } from "../decide/planning.ts";
import { type Plan, recordedPlanDigest } from "../event/operation.ts";
import type { State } from "../fold/state.ts";
import type { StoredRun } from "../ports.ts";
import type { RunResult } from "./result.ts";

/** Returns a run's plan as a file. Undefined if the run was to carry out its writes, and did. */
export function describePlan({ record, state, events }: StoredRun & { readonly state: State }): Plan | undefined {
  if (state.run.settings.writes !== "plan" && state.run.operations.length === 0) return undefined;
  const operations = planOf(state);
  return {
    schema: "skillflow.plan/1",
    run: record.run,
    workflow: record.workflow.id,
    created: events.findLast(({ type }) => type === "workflow:end")?.time ?? record.at,
    digest: recordedPlanDigest(record, operations),
    operations,
  };
}

/** Sets the exit code that reports a succeeded run with planned writes left to apply. */
export function detailExitCode(result: RunResult, { run }: State): RunResult {
  const isPlanned = run.operations.some((one) => !one.withdrawn && isOpen(one));
  return result.status === "succeeded" && isPlanned ? { ...result, exitCode: PLANNED } : result;
}

/** Exit code of `--detailed-exit-code` if writes are left to apply. */
export const PLANNED = 6;
