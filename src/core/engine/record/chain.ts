import type { StoredRun } from "../ports.ts";

/** Recorded without digests: whether it was altered cannot be told (trust 15). A run that has done nothing yet is none. */
export function isUnchained({ events: [first] }: StoredRun): boolean {
  return first !== undefined && first.seal === undefined;
}

export function unchainedWarnings(run: StoredRun): string[] {
  return isUnchained(run) ? [`run ${run.record.run} is unchained: whether its record was altered cannot be told`] : [];
}
