import { followPath } from "../../../base/path.ts";
import { isObject, type Json, type JsonObject } from "../../../base/values.ts";
import { pathsIn } from "../../../document/fill.ts";
import { plainPath } from "../../finding/missing.ts";
import type { Program } from "../../fold/program.ts";
import type { Scene } from "../scene.ts";

/**
 * Returns the part of a run's input that is evidence. What a model wrote is not: fields that an inner run was given from the
 * results of nodes other than steps, and the words of an earlier run in `input.run`.
 */
export function citedInput({ program, state }: Pick<Scene, "program" | "state">): JsonObject {
  const { inside, context } = state;
  const { parent: outer } = program;
  if (!inside || !outer) return withQuotesOfEarlier(context.input);
  const { with: given = {}, map } = outer.node(inside.node);
  const known = inside.parent.context.input;
  const shown = citedInput({ program: outer, state: inside.parent });
  const isShown = (path: string) => {
    const [root = "", name = "", ...rest] = path.split(/[.[]/);
    if (root === "input") return rest.length + name.length === 0 ? shown === known : shown[name] === known[name];
    return root === "run" || root === "skills" || isFromSteps(outer, path.split("."));
  };
  const kept = Object.entries(context.input).filter(([name]) => {
    const value = (given as JsonObject)[name] ?? (given as JsonObject)[`${name}?`] ?? null;
    return (name === map?.as ? [map.over] : pathsIn(value)).map(plainPath).every(isShown);
  });
  return kept.length === Object.keys(context.input).length ? context.input : Object.fromEntries(kept);
}

/** Checks whether a path leads to the results of steps, also in a map or call. */
function isFromSteps(program: Program, [node = "", ...path]: readonly string[]): boolean {
  if (!Object.hasOwn(program.workflow.nodes, node)) return false;
  const { steps, map, call } = program.node(node);
  if (steps) return true;
  if (!map && call === undefined) return false;
  const results = path.indexOf("results");
  return results !== -1 && results <= 2 && isFromSteps(program.inner(node), path.slice(results + 1));
}

/** Leaves of the earlier run that `--from-run` gave only its id and the quotes that were found. */
function withQuotesOfEarlier(input: JsonObject): JsonObject {
  const { run } = input;
  if (!isObject(run) || !isObject(run.results) || !("finding" in run)) return input;
  const found = followPath("finding.claims[*].quotes[*]", run as JsonObject);
  return { ...input, run: { id: run.id as Json, quotes: "missing" in found ? [] : found } };
}
