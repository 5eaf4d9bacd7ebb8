import { shortText } from "../../base/preview.ts";
import { nodePath } from "../../document/inner/place.ts";
import type { Degraded, Shortfall } from "../event/end.ts";
import type { State } from "./state.ts";
import type { Visit } from "./visit.ts";

/** Returns the shortfalls of each node's last visit on the path, including its inner runs. */
export function degradedIn({ run, path, visit }: Pick<State, "run" | "path" | "visit">): Degraded[] {
  const last = new Map(path.map((step) => [step.node, step.degraded]));
  if (visit) last.set(visit.node, degradedInside(run, visit));
  return [...last.values()].flat();
}

/** Returns the shortfalls of a visit's inner runs, including those still running. */
export function degradedInside({ inner }: State["run"], { items }: Visit): Degraded[] {
  if (!items) return [];
  const open = [...items.running.keys()].flatMap((at) => inner.get(at) ?? []);
  return distinct([...items.degraded, ...open.flatMap(degradedIn)]);
}

/** Assigns shortfalls to the outermost node. Reasons from inner runs begin with the path, except for missing skills. */
export function placed(
  { inside }: Pick<State, "inside">,
  node: string,
  shortfalls: readonly Shortfall[] = [],
): Degraded[] {
  const [outer = node] = inside?.at.split(/[[/]/, 1) ?? [];
  return shortfalls.map(({ reason, ...shortfall }) => {
    const isPlaced = inside !== undefined && shortfall.skill === undefined;
    const text = isPlaced ? `${nodePath(inside.at, node)}: ${reason}` : reason;
    return { node: outer, ...shortfall, reason: shortText(text, LONGEST_REASON) };
  });
}

/** Maximum length of a reason. The text is already redacted, so no part of a secret can remain. */
const LONGEST_REASON = 300;

/** Keeps each missing skill once per node, because all items of a map lack the same ones. */
function distinct(all: readonly Degraded[]): Degraded[] {
  const seen = new Set<string>();
  return all.filter(({ node, skill }) => {
    if (skill === undefined) return true;
    const key = JSON.stringify([node, skill]);
    return !seen.has(key) && seen.add(key);
  });
}
