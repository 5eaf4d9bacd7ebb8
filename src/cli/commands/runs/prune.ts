import { openWorkspace } from "../../../app/workspace.ts";
import { SkillflowError } from "../../../core/errors.ts";
import type { Store } from "../../../core/ports.ts";
import { endOf } from "../../../core/record/waiting.ts";
import { durationOf } from "../../../core/settings/bounds.ts";
import type { SkimmedRun } from "../../../core/skim.ts";
import { flagValue, integer, projectOptions } from "../../flags.ts";
import type { Action } from "../../io.ts";
import { amount, describeFailure, jsonText } from "../../terminal.ts";

/** Removes runs that nobody needs; one that is being driven, or waits for a person's word, stays. */
export const pruneRuns: Action = async (io, _args, flags) => {
  const keep = integer(flags, "keep", "--keep");
  const olderThan = flagValue(flags, "olderThan", durationOf);
  if (keep === undefined && olderThan === undefined) {
    throw new SkillflowError("usage.invalid", "nothing says which runs are to go", {
      hint: "--keep N keeps the newest ones, --older-than DURATION the younger ones",
    });
  }
  const store = openWorkspace(io.host, projectOptions(flags)).store;
  const removed: string[] = [];
  for (const run of (await store.list()).slice(keep ?? 0)) {
    try {
      if (olderThan !== undefined && !(await beganBefore(store, run, Date.now() - olderThan))) continue;
      if (await isWaiting(store, run)) {
        await io.err(`${run} waits for a person's word: it stays\n`);
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

/** What cannot be read waits for nobody. */
async function isWaiting(store: Store, run: string): Promise<boolean> {
  const { events } = await store.skim(run).catch((): Pick<SkimmedRun, "events"> => ({ events: [] }));
  return endOf(events)?.status === "waiting";
}

async function beganBefore(store: Store, run: string, time: number): Promise<boolean> {
  const { record } = await store.skim(run);
  return Date.parse(record.at) < time;
}
