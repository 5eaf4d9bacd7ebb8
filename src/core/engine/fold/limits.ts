import { parseDuration } from "../../base/values.ts";
import { type ModelChoice, modelsOf } from "../../document/model-list.ts";
import type { EventBody, StepKey } from "../event/event.ts";
import type { InnerLimits, Program } from "./program.ts";
import { outermost, type State } from "./state.ts";
import type { AskStep, SingleStep } from "./step.ts";

type Reached = Extract<EventBody, { type: "limit:reached" }>;

type Question = Omit<AskStep, "kind" | "model" | "fallback" | "visit"> & { readonly models: ModelChoice };

/** Asks the first model that has not failed in this visit, unless a limit of an enclosing run is reached. */
export function ask(program: Program, state: State, { models, ...question }: Question): SingleStep {
  const { key: visit, down } = state.visit ?? state.leaving ?? { key: "", down: [] };
  // Each switch needs a new key, because the failed call has recorded its own.
  const key = down.length === 0 ? question.key : `${question.key}@${down.length}`;
  const late = dayReached(state);
  if (late) return limitStep(outermost(state), key, late);
  const all = levels(program, state);
  for (const level of all) {
    const reached = spent(level);
    if (reached) return limitStep(level.state, key, reached);
  }
  const warning = uncountedBy(all);
  if (warning !== undefined && !state.run.warned.has(warning)) {
    return { kind: "decide", key: `${key}/uncounted`, bodies: [{ type: "warning", message: warning }] };
  }
  return { kind: "ask", ...question, ...nextModels(models, down), key, visit };
}

/** Returns the model to ask now, and the one after it. If all have failed, the last one is asked. */
export function nextModels(models: ModelChoice, down: readonly string[]) {
  const all = modelsOf(models);
  const [model = all.at(-1) ?? "", fallback] = all.filter((name) => !down.includes(name));
  return { model, fallback };
}

/** Returns the step for a limit that prevents entering a node. */
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

/** Checks the daily limits, which all runs of the workflow share. */
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

/** Checks whether a step belongs to a run, visit or item with this prefix. */
export function isUnder(key: StepKey, prefix: string): boolean {
  if (!key.startsWith(prefix)) return false;
  return (
    prefix === "" || prefix.endsWith("/") || key.length === prefix.length || /^[/[]/.test(key.slice(prefix.length))
  );
}

/** Time limit of running work, and the event to record when it is reached. */
export interface Deadline {
  readonly leftMs: number;
  /** Prefix of the step keys that end with it. */
  readonly prefix: string;
  /** Creates the event, which few steps need. */
  readonly body: () => Reached & { readonly at: string | undefined };
}

/** Returns the deadlines of the current attempt, the inner runs around it and the run. */
export function deadlines(program: Program, state: State): Deadline[] {
  const found: Deadline[] = [];
  for (const level of levels(program, state)) {
    const { visit, inside, run } = level.state;
    const reached = { type: "limit:reached", at: inside?.at } as const;
    const limitMs = level.limits.timeout_ms;
    const leftMs = timeLeft(level);
    if (leftMs !== undefined && limitMs !== undefined) {
      const body = () => ({ ...reached, limit: "timeout", message: timeoutMessage(limitMs) }) as const;
      found.push({ leftMs, prefix: inside?.prefix ?? "", body });
    }
    const attemptMs = visit && attemptLimit(level.program, level.state, visit.node);
    if (!visit || attemptMs === undefined) continue;
    const message = `node ${visit.node} took longer than its timeout`;
    const body = () => ({ ...reached, limit: "node_timeout", message }) as const;
    found.push({ leftMs: attemptMs - (run.activeMs - visit.attemptFrom), prefix: visit.key, body });
  }
  return found;
}

interface Level {
  readonly program: Program;
  readonly state: State;
  readonly limits: InnerLimits;
}

/** Lists the levels from the run inwards. If several limits are reached, the outermost counts. */
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
  const isLate = timeout_ms !== undefined && timeSpent(level.state) >= timeout_ms;
  return isLate ? { limit: "timeout", message: timeoutMessage(timeout_ms) } : undefined;
}

/** Describes the limits that do not hold because a reply came without a count of its tokens. */
function uncountedBy(all: readonly Level[]): string | undefined {
  const open = all.filter(({ state }) => state.usage.uncounted > 0);
  const limits = (["max_tokens", "max_cost_usd"] as const).filter((limit) =>
    open.some((level) => level.limits[limit] !== undefined),
  );
  return limits.length === 0
    ? undefined
    : `the model does not say how many tokens its replies took: ${limits.join(" and ")} cannot count them`;
}

function timeSpent({ run, inside }: State): number {
  return run.activeMs - (inside?.from ?? run.timeFrom);
}

/** Returns the remaining time. A process that has just resumed the run starts with the full time. */
function timeLeft({ state, limits }: Level): number | undefined {
  if (limits.timeout_ms === undefined) return undefined;
  const { inside, run } = state;
  if (!inside && run.lastEvent?.epoch !== run.epoch) return limits.timeout_ms;
  return limits.timeout_ms - timeSpent(state);
}

function attemptLimit(program: Program, { run }: State, id: string): number | undefined {
  const node = program.node(id);
  const own = parseDuration(node.timeout);
  return own === undefined && (node.instruction ?? node.steps) !== undefined ? run.settings.node_timeout_ms : own;
}

function limitStep({ inside }: State, key: StepKey, reached: Pick<Reached, "limit" | "message">): SingleStep {
  const at = inside?.at;
  return { kind: "decide", key: `${key}/${reached.limit}`, at, bodies: [{ type: "limit:reached", ...reached }] };
}

function timeoutMessage(ms: number): string {
  return `the time limit of ${ms / 1000} s was reached`;
}
