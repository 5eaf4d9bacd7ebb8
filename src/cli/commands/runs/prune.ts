import { usageError } from "../../../core/base/errors.ts";
import type { SkimmedRun } from "../../../core/engine/event/skim.ts";
import { endOf } from "../../../core/engine/result/waiting.ts";
import { number, openProject } from "../../flags.ts";
import type { Action } from "../../io.ts";
import { amount, describeFailure, jsonText } from "../../terminal/terminal.ts";

/** Removes old runs, except those that are running or waiting for an approval. */
export const pruneRuns: Action = async (io, _args, flags) => {
  const keep = number(flags, "keep");
  const olderThan = number(flags, "olderThan");
  if (keep === undefined && olderThan === undefined) {
    throw usageError(
      "no runs were selected",
      "pass --keep N to keep the newest runs, or --older-than DURATION to remove only older runs",
    );
  }
  const store = openProject(io, flags).store;
  const removed: string[] = [];
  const runs = (await store.list()).slice(keep ?? 0);
  const skimmed = await Promise.allSettled(runs.map((run) => store.skim(run)));
  for (const [index, run] of runs.entries()) {
    try {
      const found = skimmed[index];
      if (olderThan !== undefined && !beganBefore(found, Date.now() - olderThan)) continue;
      if (isWaiting(found)) {
        await io.err(`${run} is waiting for approval and was kept\n`);
        continue;
      }
      await store.remove(run);
      removed.push(run);
    } catch (error) {
      await io.err(describeFailure(error, flags, io));
    }
  }
  if (flags.json === true) await io.out(jsonText({ removed }));
  else await io.outText(`${amount(removed.length, "run")} removed\n`);
  return 0;
};

type Found = PromiseSettledResult<SkimmedRun> | undefined;

/** Checks whether a run waits for an approval. Treats an unreadable run as not waiting. */
function isWaiting(found: Found): boolean {
  return found?.status === "fulfilled" && endOf(found.value.events)?.status === "waiting";
}

function beganBefore(found: Found, time: number): boolean {
  if (found?.status !== "fulfilled") throw found?.reason;
  return Date.parse(found.value.record.at) < time;
}
