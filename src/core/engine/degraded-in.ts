import { degradedNodes } from "../degraded.ts";
import type { Degraded } from "../event/end.ts";
import type { RunRecord } from "../event/record.ts";
import type { State } from "./past/state.ts";

/** The degraded nodes of a run, computed from its past. */
export function degradedIn(record: RunRecord, { iterations, path, results, run }: State): Degraded[] {
  return degradedNodes(record, {
    visited: iterations.keys(),
    inside: [...run.changedAt.keys()].filter((place) => place.includes("/")),
    last: path.at(-1)?.node,
    results,
    changed: run.changedAt,
  });
}
