import { parseDuration } from "../../base/values.ts";
import type { EventBody, StepKey } from "../event/event.ts";
import type { InnerLimits, Program } from "./program.ts";
import { outermost, type State } from "./state.ts";
import type { AskStep, SingleStep } from "./step.ts";

/** What a run, an inner run and an attempt may spend (O8, O10; extensions 7, Map and call). */

type Reached = Extract<EventBody, { type: "limit:reached" }>;

/** Asks a model, unless a limit of the run, or of an inner run that it is part of, is reached (O8). */
export function ask(program: Program, state: State, step: Omit<AskStep, "kind">): SingleStep {
  const late = dayReached(state);
  if (late) return limitStep(outermost(state), step.key, late);
  for (const level of levels(program, state)) {
    const reached = spent(level);
    if (reached) return limitStep(level.state, step.key, reached);
  }
  return { kind: "ask", ...step };
}

/** The same before a node is entered. */
export function stepsLeft(program: Program, state: State, node: string): SingleStep | undefined {
  const late = dayReached(state);
  if (late) return limitStep(outermost(state), `${state.inside?.prefix ?? ""}${state.visits}:day`, late);
  for (const { state: each, limits } of levels(program, state)) {
    if (limits.max_steps === undefined || each.entered < limits.max_steps) continue;
    const message = `the limit of ${limits.max_steps} node visits was reached before ${node}`;
    return limitStep(each, `${state.inside?.prefix ?? ""}${state.visits}:limit`, { limit: "max_steps", message });
  }
  return undefined;
}

/** What all runs of the workflow may use in a day is used up (extensions G33). */
function dayReached(state: State): Pick<Reached, "limit" | "message"> | undefined {
  const { day, settings, written } = state.run;
  const { max_cost_usd_per_day: cost, max_runs_per_day: runs } = settings.limits;
  if (!day) return undefined;
  if (runs !== undefined && day.runs > runs) {
    const message = `the limit of ${runs} runs a day was reached (${day.date}, UTC)`;
    return { limit: "max_runs_per_day", message };
  }
  const spent = day.cost_usd + outermost(state).usage.costUsd - written.costUsd;
  if (cost === undefined || spent < cost) return undefined;
  const message = `the limit of $${cost} a day was reached ($${spent.toFixed(4)} spent on ${day.date}, UTC)`;
  return { limit: "max_cost_usd_per_day", message };
}

/** Whether a step ends with what a prefix names. */
export function isUnder(key: StepKey, prefix: string): boolean {
  if (!key.startsWith(prefix)) return false;
  return (
    prefix === "" || prefix.endsWith("/") || key.length === prefix.length || /^[/[]/.test(key.slice(prefix.length))
  );
}

/** A moment at which work has to end, and what is recorded then. */
export interface Deadline {
  readonly leftMs: number;
  /** All steps whose keys begin so end with it. */
  readonly prefix: string;
  readonly body: Reached & { readonly at: string | undefined };
}

/** Of the attempt under way, of the inner runs that it is part of, and of the run. */
export function deadlines(program: Program, state: State): Deadline[] {
  const found: Deadline[] = [];
  for (const level of levels(program, state)) {
    const { visit, inside, run } = level.state;
    const of = { type: "limit:reached", at: inside?.at } as const;
    const leftMs = timeLeft(level);
    if (leftMs !== undefined && level.limits.timeout_ms !== undefined) {
      const body = { ...of, limit: "timeout", message: timeoutMessage(level.limits.timeout_ms) } as const;
      found.push({ leftMs, prefix: inside?.prefix ?? "", body });
    }
    const attemptMs = visit && attemptLimit(level.program, level.state, visit.node);
    if (!visit || attemptMs === undefined) continue;
    const body = { ...of, limit: "node_timeout", message: `node ${visit.node} took longer than its timeout` } as const;
    found.push({ leftMs: attemptMs - (run.activeMs - visit.attemptFrom), prefix: visit.key, body });
  }
  return found;
}

interface Level {
  readonly program: Program;
  readonly state: State;
  readonly limits: InnerLimits;
}

/** From the run itself inwards: where several are reached, the outermost counts. */
function levels(program: Program, state: State): Level[] {
  const { inside, run } = state;
  if (!inside || !program.parent) return [{ program, state, limits: run.settings.limits }];
  return [...levels(program.parent, inside.parent), { program, state, limits: program.limits }];
}

function spent(level: Level): Pick<Reached, "limit" | "message"> | undefined {
  const { max_cost_usd, max_tokens, timeout_ms } = level.limits;
  const { costUsd, inputTokens, outputTokens } = level.state.usage;
  if (max_cost_usd !== undefined && costUsd >= max_cost_usd) {
    const message = `the limit of $${max_cost_usd} was reached ($${costUsd.toFixed(4)} spent)`;
    return { limit: "max_cost_usd", message };
  }
  const used = inputTokens + outputTokens;
  if (max_tokens !== undefined && used >= max_tokens) {
    return { limit: "max_tokens", message: `the limit of ${max_tokens} tokens was reached (${used} used)` };
  }
  const leftMs = timeout_ms === undefined ? undefined : timeout_ms - timeSpent(level.state);
  return timeout_ms !== undefined && leftMs !== undefined && leftMs <= 0
    ? { limit: "timeout", message: timeoutMessage(timeout_ms) }
    : undefined;
}

function timeSpent({ run, inside }: State): number {
  return run.activeMs - (inside?.from ?? run.timeFrom);
}

/** A process that has just taken the run up has all of its time (D57). */
function timeLeft({ state, limits }: Level): number | undefined {
  if (limits.timeout_ms === undefined) return undefined;
  const { inside, run } = state;
  if (!inside && run.lastEvent?.epoch !== run.epoch) return limits.timeout_ms;
  return limits.timeout_ms - timeSpent(state);
}

function attemptLimit(program: Program, { run }: State, id: string): number | undefined {
  const node = program.node(id);
  const own = parseDuration(node.timeout);
  return own === undefined && node.instruction !== undefined ? run.settings.node_timeout_ms : own;
}

function limitStep({ inside }: State, key: StepKey, reached: Pick<Reached, "limit" | "message">): SingleStep {
  const at = inside?.at;
  return { kind: "decide", key: `${key}/${reached.limit}`, at, bodies: [{ type: "limit:reached", ...reached }] };
}

function timeoutMessage(ms: number): string {
  return `the time limit of ${ms / 1000} s was reached`;
}
