import { messageOf } from "../../../core/base/errors.ts";
import { groupBy } from "../../../core/base/values.ts";
import type { SkimmedRun } from "../../../core/engine/event/skim.ts";
import type { Recheck } from "../../../core/engine/recheck/answer.ts";
import { summarizeRun } from "../../../core/engine/record/run-summary.ts";
import {
  type CountedRun,
  countRuns,
  type Stats,
  type WriteCounts,
  writesIn,
} from "../../../core/engine/record/stats.ts";
import type { FeedbackLine } from "../../../core/engine/state/feedback.ts";
import type { Workspace } from "../../host.ts";
import { feedbackOf } from "./feedback.ts";
import { recheckOf } from "./recheck.ts";

export type { Stats };

export const DAY_MS = 24 * 60 * 60 * 1000;
export const SINCE_MS = 30 * DAY_MS;

/** Counts the real runs that started since a time, in milliseconds since 1970, and the rechecks of these runs. */
export async function collectStats(workspace: Workspace, wanted: number): Promise<Stats> {
  const since = Math.max(0, wanted);
  const { store } = workspace;
  const { lines, skipped: unread } = await feedbackOf(workspace);
  const aboutRun = groupBy(lines, ({ run }) => run);
  const runs: CountedRun[] = [];
  const rechecks: Recheck[] = [];
  const skipped: Stats["skipped"] = [...unread];
  for (const id of await store.list()) {
    try {
      const skim = await store.skim(id);
      const { kind, at } = skim.record;
      if (!(Date.parse(at) >= since)) continue;
      if (kind === "run") {
        const run = await countRun(workspace, skim, aboutRun.get(id) ?? []);
        if (run) runs.push(run);
      }
      if (kind !== "recheck") continue;
      rechecks.push(recheckOf(await store.read(id)));
    } catch (error) {
      skipped.push({ run: id, reason: messageOf(error) });
    }
  }
  const rows = countRuns({ runs, rechecks, lines });
  return { schema: "skillflow.stats/1", since: new Date(since).toISOString(), rows, skipped };
}

const NO_WRITES: WriteCounts = { planned: 0, applied: 0, rejected: 0 };

/** Counts a run. Reads the whole record only if the run planned writes. A run that a cool-down skipped does not count. */
async function countRun(
  { store }: Workspace,
  skim: SkimmedRun,
  lines: readonly FeedbackLine[],
): Promise<CountedRun | undefined> {
  const summary = summarizeRun(skim);
  if (summary.status === "skipped") return undefined;
  const isWithoutModel = summary.status === "succeeded" && !skim.events.some(({ type }) => type === "model:reply");
  const hasPlan = skim.events.some(({ type }) => type === "operation:planned");
  const writes = hasPlan ? writesIn(await store.read(summary.id), lines) : NO_WRITES;
  return { summary, model: isWithoutModel ? "none" : summary.model, writes };
}
