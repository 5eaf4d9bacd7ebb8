import { shorten } from "../../base/values.ts";
import { nodePath } from "../../document/inner/place.ts";
import type { Degraded, Shortfall } from "../event/end.ts";
import type { State } from "./state.ts";
import type { Visit } from "./visit.ts";

/** The shortfalls that count: those of each node's last visit on the path, and of the runs inside it. */
export function degradedIn({ run, path, visit }: Pick<State, "run" | "path" | "visit">): Degraded[] {
  const last = new Map(path.map((step) => [step.node, step.degraded]));
  if (visit) last.set(visit.node, degradedInside(run, visit));
  return [...last.values()].flat();
}

/** The shortfalls of the runs inside a visit, whether they have ended or not. */
export function degradedInside({ inner }: State["run"], { items }: Visit): Degraded[] {
  if (!items) return [];
  const open = [...items.running.keys()].flatMap((at) => inner.get(at) ?? []);
  return distinct([...items.degraded, ...open.flatMap(degradedIn)]);
}

/** The shortfalls of a visit as the whole run shows them: at the outermost node, with the path of an inner one in the reason. */
export function placed(
  { inside }: Pick<State, "inside">,
  node: string,
  shortfalls: readonly Shortfall[] = [],
): Degraded[] {
  const [outer = node] = inside?.at.split(/[[/]/, 1) ?? [];
  return shortfalls.map(({ reason, ...shortfall }) => {
    const isPlaced = inside !== undefined && shortfall.skill === undefined;
    const text = isPlaced ? `${nodePath(inside.at, node)}: ${reason}` : reason;
    return { node: outer, ...shortfall, reason: shorten(text, LONGEST_REASON) };
  });
}

/** Only redacted text is cut: what is left of a secret would not be recognized. */
const LONGEST_REASON = 300;

/** Each missing skill once for each node: all items of a map lack the same ones. */
function distinct(all: readonly Degraded[]): Degraded[] {
  const seen = new Set<string>();
  return all.filter(({ node, skill }) => {
    if (skill === undefined) return true;
    const key = JSON.stringify([node, skill]);
    return !seen.has(key) && seen.add(key);
  });
}
