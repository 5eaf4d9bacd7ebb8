import { skimAll } from "../../../app/runs/afterwards/skims.ts";
import { usageError } from "../../../core/base/errors.ts";
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
  const skimmed = await skimAll(store, runs, ({ record, events }) => {
    return { at: record.at, isWaiting: endOf(events)?.status === "waiting" };
  });
  for (const [index, run] of runs.entries()) {
    try {
      const found = skimmed[index];
      const read = found?.status === "fulfilled" ? found.value : undefined;
      // Without a time limit, an unreadable run is removed.
      if (olderThan !== undefined) {
        if (!read) throw found?.status === "rejected" ? found.reason : undefined;
        if (Date.parse(read.at) >= Date.now() - olderThan) continue;
      }
      if (read?.isWaiting) {
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
