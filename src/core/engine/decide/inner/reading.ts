import { placeOf } from "../../../document/inner/place.ts";
import type { RecordedCall } from "../../event/call.ts";
import type { Program } from "../../fold/program.ts";
import type { State } from "../../fold/state.ts";
import { toolsAt } from "../offer.ts";
import type { Scene } from "../scene.ts";

/** Nodes that a visit may have read: its own, those whose results it received, and those around an inner run. */
export interface Reading {
  readonly program: Program;
  readonly state: State;
  readonly nodes: ReadonlySet<string>;
}

/** Node that is being visited, or was visited last. */
export interface Reader extends Pick<Scene, "program" | "state"> {
  readonly visit: Pick<Scene["visit"], "node">;
}

export function readingsOf({ program, state, visit }: Reader): Reading[] {
  return [{ program, state, nodes: new Set([...state.results.keys(), visit.node]) }, ...around(program, state)];
}

function around({ parent }: Program, { inside }: State): Reading[] {
  if (!parent || !inside) return [];
  const { parent: state } = inside;
  return [{ program: parent, state, nodes: new Set(state.results.keys()) }, ...around(parent, state)];
}

export function isReadIn({ state, nodes }: Reading, call: RecordedCall): boolean {
  const own = state.inside?.at;
  if (call.at === own) return nodes.has(call.node);
  return call.at !== undefined && [...state.results.keys()].some((id) => isMadeBy(call, own, id));
}

/** Checks whether a node made a call, itself or in a workflow that it ran. `own` is the place of the node's run. */
export function isMadeBy({ at, node }: RecordedCall, own: string | undefined, id: string): boolean {
  if (at === own) return node === id;
  const place = placeOf(own, id, undefined);
  return at !== undefined && (at === place || at.startsWith(`${place}[`) || at.startsWith(`${place}/`));
}

/** Returns the tool of a call of this run. Undefined if the node no longer has the tool. */
export function toolOf(
  { program, state }: Pick<Scene, "program" | "state">,
  { at, node, tool }: Pick<RecordedCall, "at" | "node" | "tool">,
) {
  return toolsAt(program.inside(at), state, node).all.find(({ exposed }) => exposed === tool);
}

/** Returns the nodes of a reading with their programs. Of a node that runs a workflow, returns the nodes in it. */
export function leavesOf({ program, nodes }: Pick<Reading, "program" | "nodes">): { program: Program; id: string }[] {
  return [...nodes].flatMap((id) => {
    const { map, call } = program.node(id);
    if (!map && call === undefined) return [{ program, id }];
    const inner = program.inner(id);
    return leavesOf({ program: inner, nodes: new Set(Object.keys(inner.workflow.nodes)) });
  });
}
