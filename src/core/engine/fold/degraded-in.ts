import type { Degraded } from "../event/end.ts";
import type { RunRecord } from "../event/record.ts";
import { degradedNodes, shortfallOf } from "./degraded.ts";
import { workflowAt } from "./documents.ts";
import type { State } from "./state.ts";

/** The degraded nodes of a run, computed from its past. */
export function degradedIn(record: RunRecord, { iterations, path, results, run }: State): Degraded[] {
  const own = degradedNodes(record, {
    visited: iterations.keys(),
    inside: [...run.changedAt.keys()].filter((place) => place.includes("/")),
    last: path.at(-1)?.node,
    results,
    changed: run.changedAt,
  });
  return [...own, ...inside(record, run.inside)];
}

/** The nodes inside other nodes that succeeded with less than they are for. */
function inside(record: RunRecord, results: State["run"]["inside"]): Degraded[] {
  return [...results].flatMap(([place, result]) => {
    const cut = place.lastIndexOf("/");
    const workflow = workflowAt(record, place.slice(0, cut));
    const reason = workflow && shortfallOf({ ...record, workflow }, place.slice(cut + 1), result, false);
    const [node = ""] = place.split(/[[/]/, 1);
    return reason === undefined ? [] : [{ node, reason: `${place}: ${reason}` }];
  });
}
