import { isDryRun } from "../../document/inputs.ts";
import type { EventBody } from "../event/event.ts";
import { sourcesIn } from "../event/record.ts";
import { stepsLeft } from "../fold/limits.ts";
import type { Program } from "../fold/program.ts";
import { isWaiting, prefixOf, type State } from "../fold/state.ts";
import type { SingleStep, Step } from "../fold/step.ts";
import { end, endHalted, endSkipped, park, route } from "./departure.ts";
import { askWord } from "./inner/approval.ts";
import { manage, open, turnsIn } from "./inner/runs.ts";
import { takeSteps } from "./inner/steps.ts";
import { leave, leaveFailed, leaveUnfinished } from "./leave.ts";
import { unmetRequirement } from "./route.ts";
import { type Scene, sceneOf } from "./scene.ts";
import { work } from "./visit.ts";

/** Returns the next step of a run, from its past alone. Undefined once the run has ended or is waiting. */
export function next(program: Program, state: State): Step | undefined {
  if (state.end) return undefined;
  const { resumes } = state.run;
  const numbered = (step: SingleStep) => ({ ...step, key: `${step.key}~${resumes}` });
  const found = stepsOf(program, state);
  const steps = resumes === 0 ? found : found.map(numbered);
  const [first, ...others] = steps;
  if (!first) return resumes === 0 ? park(program, state) : numbered(park(program, state));
  return others.length === 0 ? first : { kind: "together", key: first.key, steps };
}

/** Returns one decision, or else the pending work of a run and its inner runs. Empty if all wait for answers. */
function stepsOf(program: Program, state: State): readonly SingleStep[] {
  const { visit, halt } = state;
  if (visit && !halt && visit.items && !visit.failure) {
    const scene = sceneOf(program, state, visit);
    const step = manage(scene, visit.items);
    return step ? [placed(state, step)] : innerSteps(program, state, visit.node, turnsIn(scene));
  }
  if (visit && !halt && isWaiting(visit)) return [];
  return [placed(state, decideNext(program, state))];
}

function innerSteps(program: Program, { run }: State, node: string, places: Iterable<string>): readonly SingleStep[] {
  const inner = program.inner(node);
  const waits: SingleStep[] = [];
  for (const place of places) {
    const state = run.inner.get(place);
    if (!state?.inside) continue;
    const steps = state.inside.waits ? [state.inside.waits] : stepsOf(inner, state);
    const [step] = steps;
    // Only a later process finds a call in doubt. Other inner runs continued before that, so it does not go first.
    if (step?.kind === "decide" && !step.isDoubt) return [step];
    if (step?.kind !== "decide" && !state.visit?.items) state.inside.waits = step;
    waits.push(...steps);
  }
  return waits;
}

/** Adds the place of the inner run to a step. The step of a limit already has one. */
function placed({ inside }: State, step: SingleStep): SingleStep {
  return inside === undefined || "at" in step ? step : { ...step, at: inside.at };
}

function decideNext(program: Program, state: State): SingleStep {
  if (!state.started) return start(program);
  if (program.record.skipped && !state.inside) return endSkipped(program, state, program.record.skipped);
  if (state.visit) return inVisit(sceneOf(program, state, state.visit));
  if (state.halt) return endHalted(program, state, state.halt);
  if (state.leaving) return route(program, state, state.leaving);
  return enter(program, state);
}

function inVisit(scene: Scene): SingleStep {
  const { state, visit, node } = scene;
  if (state.halt) return leaveUnfinished(scene);
  if (visit.failure) return leaveFailed(scene, visit.failure);
  const unmet = isNew(scene) ? unmetRequirement(scene) : undefined;
  if (unmet) return leave(scene, unmet);
  if (node.approval) return askWord(scene);
  if (node.steps) return takeSteps(scene);
  return node.map || node.call !== undefined ? open(scene) : work(scene);
}

/** Checks whether a visit has done no work yet. Each attempt takes the steps of a node from the first one. */
function isNew({ visit, node }: Scene): boolean {
  const { asked, pending, replies, attempt } = visit;
  return !asked && pending.length === 0 && replies === 0 && (attempt === 0 || node.steps !== undefined);
}

function start({ record, warnings }: Program): SingleStep {
  const said = [...new Set([...record.warnings, ...warnings])];
  return {
    kind: "decide",
    key: "start",
    bodies: [
      { type: "workflow:start", workflow: record.workflow.id },
      { type: "sources:resolved", sources: sourcesIn(record) },
      ...said.map((message): EventBody => ({ type: "warning", message })),
    ],
  };
}

function enter(program: Program, state: State): SingleStep {
  const node = state.upcoming?.node ?? program.workflow.entry;
  const reached = stepsLeft(program, state, node);
  if (reached) return reached;
  const left = isDryRun(program.record.input) ? leftOut(program, node) : undefined;
  if (left)
    return end(program, state, { status: "succeeded", reason: `a dry run ends before the ${left}`, isCut: true });
  const iteration = (state.iterations.get(node) ?? 0) + 1;
  const instruction = program.source(node, "instruction");
  const body: EventBody = { type: "node:enter", node, instruction, iteration };
  return { kind: "decide", key: `${prefixOf(state)}${state.visits + 1}:${node}`, bodies: [body] };
}

/** Describes the node at which a dry run ends: this one, or the first one of its inner workflow. */
function leftOut(program: Program, node: string, path = node): string | undefined {
  const { approval, steps, map, call } = program.node(node);
  if (approval || steps) return `${approval ? "approval" : "steps node"} ${path}`;
  if (!map && call === undefined) return undefined;
  const inner = program.inner(node);
  return leftOut(inner, inner.workflow.entry, `${path}/${inner.workflow.entry}`);
}
