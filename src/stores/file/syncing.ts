import { fdatasync } from "node:fs";
import { storeError } from "../store-error.ts";

/** Brings what was written to a file to the disk, one sync at a time. Each sync covers everything written before it. */
export interface Syncing {
  readonly begin: () => void;
  /** Resolves once everything written so far is on the disk. Throws if this sync or any earlier one failed. */
  readonly settle: () => Promise<void>;
  /** Throws if a sync failed: what it should have covered may be lost, so nothing may follow it. */
  readonly check: () => void;
}

export function openSyncing(file: number): Syncing {
  let running: Promise<void> | undefined;
  let isWanted = false;
  let failure: Error | undefined;
  const sync = async () => {
    while (isWanted && failure === undefined) {
      isWanted = false;
      await new Promise<void>((resolve) => {
        fdatasync(file, (error) => {
          failure ??= error ?? undefined;
          resolve();
        });
      });
    }
    running = undefined;
  };
  const begin = () => {
    isWanted = true;
    running ??= sync();
  };
  const check = () => {
    if (failure !== undefined) throw storeError(failure, "the run cannot be recorded");
  };
  return {
    begin,
    check,
    async settle() {
      check();
      begin();
      await running;
      check();
    },
  };
}
