import type { StoredRun } from "../ports.ts";

/** Checks whether a run was recorded without digests, so that changes go unnoticed. Ignores runs without events. */
export function isUnchained({ events: [first] }: StoredRun): boolean {
  return first !== undefined && first.record === undefined;
}

export function unchainedWarnings(run: StoredRun): string[] {
  return isUnchained(run) ? [`run ${run.record.run} is unchained: changes to its record cannot be detected`] : [];
}
