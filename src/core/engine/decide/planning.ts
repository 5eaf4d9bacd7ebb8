import { checkedAs, deepEqual, defined, type Json, type JsonObject } from "../../base/values.ts";
import { fillKey } from "../../document/fill.ts";
import { bringsText } from "../../document/inputs.ts";
import { type Outcome, refusedCall, type ToolDescriptor } from "../../skill/skill.ts";
import type { RecordedCall } from "../event/call.ts";
import type { EventBody } from "../event/event.ts";
import { findingMarker, HELD, type Operation, operationDigest, summarize } from "../event/operation.ts";
import { branchOf, type Patch } from "../event/patch.ts";
import type { StateEntry } from "../event/record.ts";
import type { Program } from "../fold/program.ts";
import { touchesOf } from "../fold/redo.ts";
import type { PlannedOperation, State } from "../fold/state.ts";
import type { AnnouncedCall, PendingCall } from "../fold/visit.ts";
import { inertText, inertTitle } from "../plan/proposal.ts";
import { forPublic } from "../plan/public-text.ts";
import { referencesIn } from "../plan/reference.ts";
import { givesStrangersText } from "../tools/disclosure.ts";
import { isProposal, proofOf } from "../tools/proposal.ts";
import { isStatePut, isStateTool, type Memory, placedPut, recalledStrangers } from "../tools/state.ts";
import { misfitOf } from "../tools/tool-input.ts";
import { WORKSPACE } from "../tools/workspace.ts";
import { audienceOf, takesPrivateText, withReferences } from "./admit.ts";
import { isReadIn, leavesOf, type Reader, readingsOf, toolOf } from "./inner/reading.ts";
import { settingsAt } from "./offer.ts";
import { contextFor } from "./route.ts";
import { type Scene, toolsHere } from "./scene.ts";

/** Writes that are planned instead of carried out. */

/** Returns the events of a planned call: the operation and the answer to the model. */
export function planCall(scene: Scene, call: AnnouncedCall, tool: ToolDescriptor): EventBody[] {
  const { state, visit } = scene;
  const answer = (outcome: Outcome): EventBody => {
    const { ref, key, tool: name, step } = call;
    const named = { node: visit.node, tool: name, ref, id: key, ...defined("step", step) };
    return { type: "tool:result", ...named, ...outcome, ...("error" in outcome ? {} : { planned: true }) };
  };
  const { operation, aliases } = operationOf(scene, call, tool);
  const { input, kind, filtered } = operation;
  const misfit = (filtered || kind) && misfitOf(withReferences(tool, input), input);
  const altered = kind
    ? "mentions, links and HTML are made inert, which takes space"
    : "private text was removed for the public";
  if (misfit) return [answer(refusedCall(`${altered}: ${misfit}`, "input.invalid"))];
  const held: JsonObject = call.step !== undefined && operation.held ? { held: operation.held } : {};
  const same = state.run.operations.find((planned) => !planned.withdrawn && isOf(planned, operation));
  if (same) return [answer({ output: { planned: true, id: same.operation.id, ...held, same: true } })];
  const hidden = Object.keys(aliases).length === 0 ? {} : { aliases };
  const planned: EventBody = { type: "operation:planned", node: visit.node, operation, ...hidden, id: call.key };
  return [planned, answer({ output: { planned: true, id: operation.id, ...held } })];
}

function isOf({ operation }: PlannedOperation, { skill, tool, input, kind, digest }: Operation): boolean {
  if (kind === "patch") return operation.digest === digest;
  return operation.skill === skill && operation.tool === tool && deepEqual(operation.input, input);
}

function operationOf(scene: Scene, call: PendingCall, descriptor: ToolDescriptor) {
  const { state, visit } = scene;
  const { skill, name: tool, host } = descriptor;
  const isHeld = takesPrivateText(scene, call, descriptor);
  const planned = call.plannedInput ?? call.input;
  const given = isStatePut(descriptor) ? placedPut(scene.node.state ?? [], planned) : planned;
  const published = isHeld
    ? forPublic(given, { host, known: state.run.aliases })
    : { input: given, filtered: [], aliases: {} };
  const { filtered, aliases } = published;
  const patch = patchFor(scene, call, { skill, tool, input: published.input });
  const input = patch?.input ?? published.input;
  const inDiff = isHeld && patch ? forPublic(addedLines(patch.fields), { host }).filtered : [];
  const operation: Operation = {
    id: `op-${state.run.operations.length + 1}`,
    node: visit.node,
    visit: visit.iteration,
    skill,
    tool,
    input,
    summary: summarize({ skill, tool, input }),
    effect: "write",
    audience: audienceOf(call, descriptor),
    digest: operationDigest({ skill, tool, input, ...patch?.fields }),
    ...patch?.fields,
    sources: sourcesOf(scene),
    refers: referencesIn(input),
    // A proposed change is always planned, whether or not private text may be public.
    ...(isHeld && !patch ? { held: HELD } : {}),
    ...(filtered.length > 0 ? { filtered } : {}),
    ...(inDiff.length > 0 ? { in_diff: inDiff } : {}),
    ...defined("marker", markerOf(scene, skill, tool)),
  };
  return { operation, aliases };
}

/** Returns the fields of a proposed change, and the input as it is published. Undefined for other calls. */
function patchFor(
  scene: Scene,
  { change }: PendingCall,
  { skill, tool, input }: Pick<Operation, "skill" | "tool" | "input">,
): { readonly input: Json; readonly fields: Patch & Pick<Operation, "kind"> } | undefined {
  if (!isProposal({ skill, name: tool }) || !change || "error" in change) return undefined;
  const { title, body, draft = true, labels = [] } = checkedAs<Proposed>(input);
  const published = {
    title: inertTitle(title),
    body: inertText(body),
    draft,
    labels: labels.map(inertTitle).filter(Boolean),
  };
  const kind = "patch" as const;
  const digest = operationDigest({ skill, tool, input: published, kind, ...change });
  const isOwn = (call: RecordedCall) => toolOf(scene, call)?.skill === WORKSPACE;
  const proof = defined("proof", proofOf([...scene.state.run.calls.values()].filter(isOwn)));
  return {
    input: published,
    fields: { kind, ...change, ...published, ...proof, branch: branchOf(published.title, digest) },
  };
}

function addedLines({ diff }: Pick<Patch, "diff">): string {
  const lines = diff.split("\n").filter((line) => line.startsWith("+") && !line.startsWith("+++ "));
  return lines.map((line) => line.slice(1)).join("\n");
}

type Proposed = Pick<Patch, "title" | "body"> & Partial<Pick<Patch, "draft" | "labels">>;

/** Lists the untrusted text that the node may have read: the input, skills of MCP servers, and results of calls. */
export function sourcesOf(reader: Reader): Operation["sources"] {
  const { program, state } = reader;
  const readings = readingsOf(reader);
  const isStrangers = (call: RecordedCall) => {
    const { outcome } = call;
    if (!outcome || call.planned || !readings.some((reading) => isReadIn(reading, call))) return false;
    const tool = toolOf(reader, call);
    if (tool && isStateTool(tool)) return !isStatePut(tool) && "output" in outcome && recalledStrangers(outcome.output);
    return tool !== undefined && givesStrangersText(tool);
  };
  const calls = [...state.run.calls.values()].filter(isStrangers);
  const { workflow, record } = program.inside(undefined);
  return [
    ...(bringsText(workflow.inputs, record.input) ? [{ ref: "input" }] : []),
    ...readings.flatMap(leavesOf).flatMap(({ program: own, id: node }) => {
      const remote = own.skills(node, state.run.changed).filter(({ server }) => server !== undefined);
      return remote.map(({ id }) => ({ ref: id, node }));
    }),
    ...calls.map(({ ref, tool, node }) => ({ ref, tool, node })),
  ];
}

/** Returns the entries of a state as the run found them when it began. */
export function foundIn({ record: { states = {} } }: Program, name: string): readonly StateEntry[] {
  return Object.hasOwn(states, name) ? (states[name] ?? []) : [];
}

/** Returns the facts that the tools of a node's states depend on. */
export function memoryOf(scene: Scene): Memory {
  const { program, state, node } = scene;
  return {
    states: node.state ?? [],
    found: (name) => foundIn(program, name),
    touches: touchesOf(state),
    isTainted: sourcesOf(scene).length > 0,
  };
}

/** Returns a marker that identifies the finding at the target, if the node's `once` resolves to a value. */
function markerOf({ program, state, visit, node }: Scene, skill: string, tool: string): string | undefined {
  const root = contextFor(["input", ...state.results.keys()], state);
  for (const written of [node.once ?? []].flat()) {
    const key = fillKey(written, root);
    if (key !== undefined) return findingMarker({ workflow: program.workflow.id, node: visit.node, skill, tool, key });
  }
  return undefined;
}

const PLANNED =
  'Calls that write are planned here and carried out later, once a person has agreed: each answers {"planned": true, "id": "op-1"}. A later call may take what an earlier one will come to: ${op-1.url}.';

export function planNote(scene: Scene): string | undefined {
  if (settingsAt(scene.program, scene.state.run.settings).writes !== "plan") return undefined;
  return toolsHere(scene).offered.some(({ effect }) => effect === "write") ? PLANNED : undefined;
}

/** Returns the operations that a run planned, in order and with their current state. */
export function planOf({ run: { operations } }: Pick<State, "run">): Operation[] {
  return operations
    .filter(({ withdrawn }) => !withdrawn)
    .map(({ operation, failedIn, application }) => ({
      ...operation,
      kind: operation.kind ?? "call",
      ...(failedIn.size > 0 ? { node_failed: true as const } : {}),
      ...(application.standing === "applied" ? { applied: true as const } : {}),
    }));
}
