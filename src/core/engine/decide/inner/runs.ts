import { compileSchema } from "../../../base/schema/schema.ts";
import { deepEqual, defined, type Json, type JsonObject, parseDuration } from "../../../base/values.ts";
import { checkInput } from "../../../document/check/workflow.ts";
import { fillIn, pathsIn } from "../../../document/fill.ts";
import { type Choice, chooseItems, listAt, type Seen, valuesOf } from "../../../document/inner/items.ts";
import { placeOf } from "../../../document/inner/place.ts";
import type { MapSettings } from "../../../document/workflow/node.ts";
import type { EventBody } from "../../event/event.ts";
import { withRunRoots } from "../../finding/write.ts";
import { touchesOf } from "../../fold/redo.ts";
import { mayBegin } from "../../fold/state.ts";
import type { SingleStep } from "../../fold/step.ts";
import { type Item, type Items, itemsData } from "../../fold/visit.ts";
import { viewOf } from "../../state/entries.ts";
import { seenItems } from "../../state/unseen.ts";
import { evaluate, leaveOrRetry } from "../judging/judgement.ts";
import { leave, leaveFailed } from "../leave.ts";
import { foundIn } from "../planning.ts";
import { contextFor } from "../route.ts";
import type { Scene } from "../scene.ts";

/** Inner runs of a visit: one for each item of a map, or a single one for a called workflow. */

/** Returns the next decision about the inner runs, or undefined while they continue by themselves. */
export function manage(scene: Scene, items: Items): SingleStep | undefined {
  const free = placesOf(scene) - items.active.size;
  if (free > 0 && mayBegin(items)) return begin(scene, toBegin(items, free));
  return items.running.size === 0 ? close(scene, items) : undefined;
}

/** Returns how many inner runs may be active at once. */
function placesOf({ node }: Scene): number {
  return node.map?.concurrency ?? 1;
}

/** Returns the inner runs that may take steps now. Several answers at once can activate more than the limit. */
export function turnsIn(scene: Scene): readonly string[] {
  const turns: string[] = [];
  for (const place of scene.visit.items?.active ?? []) if (turns.push(place) >= placesOf(scene)) break;
  return turns;
}

function toBegin({ all, begun }: Items, most: number): Item[] {
  const found: Item[] = [];
  for (let index = begun; index < all.length && found.length < most; index++) {
    const item = all[index];
    if (item && !item.outcome) found.push(item);
  }
  return found;
}

/** Chooses the items of a map, or begins the inner run of a call. */
export function open(scene: Scene): SingleStep {
  const { visit, node } = scene;
  const filled = fill(scene);
  if ("problem" in filled) return leaveFailed(scene, { message: filled.problem });
  if (!node.map) return begin(scene, [{ key: undefined, index: 0, outcome: undefined }]);
  const list = listAt(node.map.over, contextFor([node.map.over], scene.state));
  if (!list) return leaveFailed(scene, { message: `map over ${node.map.over}: not a list` });
  const choice: Choice = chooseItems(node.map, list, seenBy(scene, node.map));
  return {
    kind: "decide",
    key: `${visit.key}/map`,
    bodies: [{ type: "map:start", node: visit.node, ...choice, ...defined("state", node.map.unseen?.state) }],
  };
}

/** Returns a function that finds the items that the state, with the run's own writes, shows as already judged. */
function seenBy({ program, state }: Scene, map: MapSettings): Seen {
  const { unseen } = map;
  if (!unseen) return () => new Map();
  return (items) => {
    const asked = {
      items: items.map(({ key, item }) => ({ key, values: valuesOf(map, item) })),
      entries: viewOf(foundIn(program, unseen.state), unseen.state, touchesOf(state)),
      withinMs: parseDuration(unseen.within),
      unlessChanged: unseen.unless_changed,
      now: state.run.lastEvent?.at ?? 0,
    };
    return seenItems(asked);
  };
}

/** Begins the items with valid input, and records the others as skipped or failed. */
function begin(scene: Scene, items: readonly Item[]): SingleStep {
  const { visit, node, state } = scene;
  const [next] = items;
  let first = visit.items?.first;
  const bodies = items.map((item): EventBody => {
    const inner = placeOf(state.inside?.at, visit.node, item.key);
    const named = { node: visit.node, inner, ...defined("item", item.key) };
    const { input, problem } = innerInput(scene, item);
    if (problem === undefined) {
      const same = first ? sameFields(input, first, node.map?.as) : [];
      first ??= input;
      return { type: "inner:start", ...named, input, ...(same.length > 0 ? { same } : {}) };
    }
    if (node.map?.on_error === "skip")
      return { type: "inner:end", ...named, status: "skipped", data: {}, skipped_reason: problem };
    return { type: "inner:end", ...named, status: "failed", data: { error: problem } };
  });
  return { kind: "decide", key: `${visit.key}/begin/${next?.index}`, bodies };
}

/** Returns the large fields that are the same as in the first item, but not the item, so that a record has them once. */
function sameFields(input: JsonObject, first: JsonObject, item: string | undefined): string[] {
  if (!deepEqual(Object.keys(input), Object.keys(first))) return [];
  const isLarge = (value: Json) => (typeof value === "string" ? value : JSON.stringify(value)).length > LARGE_FIELD;
  return Object.entries(input).flatMap(([name, value]) =>
    name !== item && deepEqual(value, first[name]) && isLarge(value) ? name : [],
  );
}

const LARGE_FIELD = 4096;

function innerInput(scene: Scene, { index }: Item): { input: JsonObject; problem?: string } {
  const { program, visit, node } = scene;
  const filled = fill(scene);
  const given = "problem" in filled ? {} : filled.values;
  const wanted = node.map ? { ...given, [node.map.as]: itemAt(scene, node.map, index) } : given;
  const { input, diagnostics } = checkInput(program.inner(visit.node).workflow, wanted);
  const wrong = diagnostics.filter(({ severity }) => severity === "error").map(({ message }) => message);
  if (wrong.length === 0) return { input: input as JsonObject };
  return { input: {}, problem: `the input does not fit: ${wrong.join("; ")}` };
}

export function itemAt(scene: Scene, { over }: MapSettings, index: number): Json {
  return listAt(over, contextFor([over], scene.state))?.[index] ?? null;
}

function fill(scene: Scene): ReturnType<typeof fillIn> {
  const { node, state } = scene;
  if (!node.with) return { values: {} };
  const given = node.with as JsonObject;
  const outer = contextFor(["input", ...state.results.keys()], state);
  return fillIn(given, withRunRoots(outer, scene, pathsIn(given)));
}

/** Leaves a visit whose inner runs have ended. Its data is checked and evaluated like an answer, unless a dry run cut it. */
function close(scene: Scene, items: Items): SingleStep {
  const { visit, node } = scene;
  const data = itemsData(visit, node);
  if (items.stopsAtFailure && items.failed > 0) {
    const broken = items.all.find(({ outcome }) => outcome?.status === "failed");
    return leaveFailed(scene, { message: `item ${broken?.key} failed: ${broken?.outcome?.data.error}` });
  }
  if (items.isCut) return leave(scene, { status: "success", data, toolCalls: [] });
  const problems = node.output ? compileSchema(node.output)(data) : [];
  if (problems.length === 0) return evaluate(scene, data);
  const why = problems.join("; ");
  return leaveOrRetry(scene, { data, error: `output invalid: ${why}`, failures: [`output (schema): ${why}`] });
}
