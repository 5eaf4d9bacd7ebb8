import type { EventBody } from "../event.ts";
import { parseDuration } from "../values.ts";
import { endHalted, route } from "./departure.ts";
import { leaveUnfinished } from "./leave.ts";
import type { Program } from "./program.ts";
import { type Scene, sceneOf } from "./scene.ts";
import type { State } from "./state.ts";
import { limitReached, type Step } from "./step.ts";
import { work } from "./visit.ts";

/** Decides what happens next in a run, from its past alone. */

/** The next step of a run, from its past alone; undefined once it has ended. */
export function next(program: Program, state: State): Step | undefined {
  if (state.end) return undefined;
  const step = decideNext(program, state);
  return state.run.resumes === 0 ? step : { ...step, key: `${step.key}~${state.run.resumes}` };
}

function decideNext(program: Program, state: State): Step {
  if (!state.started) return start(program);
  if (state.visit) return inVisit(sceneOf(program, state, state.visit));
  if (state.halt) return endHalted(program, state);
  if (state.leaving) return route(program, state, state.leaving);
  return enter(program, state);
}

function inVisit(scene: Scene): Step {
  return scene.state.halt ? leaveUnfinished(scene) : work(scene);
}

function start({ record, warnings }: Program): Step {
  const said = [...new Set([...record.warnings, ...warnings])];
  return {
    kind: "decide",
    key: "start",
    bodies: [
      { type: "workflow:start", workflow: record.workflow.id },
      { type: "sources:resolved", sources: record.sources },
      ...said.map((message): EventBody => ({ type: "warning", message })),
    ],
  };
}

function enter(program: Program, state: State): Step {
  const node = state.upcoming?.node ?? program.workflow.entry;
  const most = state.run.settings.limits.max_steps;
  if (most !== undefined && state.visits >= most) {
    return limitReached(
      `${state.visits}:limit`,
      "max_steps",
      `the limit of ${most} node visits was reached before ${node}`,
    );
  }
  const iteration = (state.iterations.get(node) ?? 0) + 1;
  const instruction = program.instruction(node);
  const body: EventBody = { type: "node:enter", node, instruction, iteration };
  return { kind: "decide", key: `${state.visits + 1}:${node}`, bodies: [body] };
}

/** Milliseconds that a node's present attempt may still take; undefined without a limit (O10). */
export function attemptTimeLeft(program: Program, state: State): number | undefined {
  const { visit } = state;
  if (!visit) return undefined;
  const limit = parseDuration(program.node(visit.node).timeout) ?? state.run.settings.node_timeout_ms;
  return limit === undefined ? undefined : limit - (state.run.activeMs - visit.attemptFrom);
}

/** Milliseconds that the run may still take; a process that has just taken it up has them all (D57). */
export function runTimeLeft({ settings, epoch, lastEvent, activeMs, timeFrom }: State): number | undefined {
  const limit = settings.limits.timeout_ms;
  if (limit === undefined) return undefined;
  return lastEvent?.epoch === epoch ? limit - (activeMs - timeFrom) : limit;
}
