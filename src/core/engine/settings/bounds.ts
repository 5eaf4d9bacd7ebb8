import { usageError } from "../../base/errors.ts";
import { type OptionName, variableOf, WRITES } from "../../base/options.ts";
import { parseDuration, spellDuration } from "../../base/values.ts";
import type { Environment, ProjectConfig } from "../../document/config.ts";
import type { LoadedPolicy } from "../../document/policy.ts";
import type { Settings } from "../event/record.ts";

/** Limits of a run. Files and documents can only tighten them. Flags and variables can loosen them. */
export interface Bounds {
  readonly writes?: Writes;
  readonly limits: Partial<Settings["limits"]>;
}

export type Writes = (typeof WRITES)[number];

/** Bounds as a document or config file declares them. */
export type Declared = Pick<ProjectConfig, "writes" | "limits">;

/** Bounds as the command line sets them. */
export interface BoundChoices {
  readonly writes?: string | undefined;
  /** US dollars. */
  readonly maxCost?: number | undefined;
  readonly maxTokens?: number | undefined;
  readonly maxSteps?: number | undefined;
  /** Milliseconds. */
  readonly timeout?: number | undefined;
  readonly dayCostUsd?: number | undefined;
  readonly dayRuns?: number | undefined;
}

/** Chooses the bounds of a new run: the strictest declared ones, replaced by variables, replaced by flags. */
export function chooseBounds(choices: BoundChoices, env: Environment, declared: readonly Declared[]): Bounds {
  return replace(replace(strictest(declared.map(boundsDeclared)), boundsOfVariables(env)), boundsOfFlags(choices));
}

/** Chooses bounds for a resume: files and variables tighten the recorded ones, flags replace them. */
export function resumeBounds(
  choices: BoundChoices,
  env: Environment,
  { recorded, declared }: { readonly recorded: Bounds; readonly declared: readonly Declared[] },
): Bounds {
  return replace(strictest([recorded, chooseBounds({}, env, declared)]), boundsOfFlags(choices));
}

/** Merges bounds, keeping the strictest value of `writes` and of each limit. */
export function strictest(all: readonly Bounds[]): Bounds {
  const writes = WRITES.find((mode) => all.some((bounds) => bounds.writes === mode));
  const limits: Record<string, number> = {};
  for (const [name, value] of all.flatMap((bounds) => Object.entries(bounds.limits))) {
    limits[name] = Math.min(value, limits[name] ?? value);
  }
  return { ...(writes === undefined ? {} : { writes }), limits };
}

/** Lowers bounds to those of the policies. The notes describe for people what each policy changed. */
export function clampBounds<Given extends Bounds>(
  given: Given,
  policies: readonly LoadedPolicy[],
): { readonly clamped: Given; readonly notes: readonly string[] } {
  let clamped = given;
  const notes: string[] = [];
  for (const { path, policy } of policies) {
    const next = { ...clamped, ...strictest([clamped, boundsDeclared(policy)]) };
    const { writes: asked = "allow" } = clamped;
    const writes = (next.writes ?? asked) === asked ? [] : [`writes ${next.writes} instead of ${asked}`];
    const before = new Map(Object.entries(clamped.limits));
    const limits = Object.entries(next.limits).flatMap(([name, value]) => {
      const old = before.get(name);
      if (old === value) return [];
      const isTime = name === "timeout_ms";
      const spell = (limit: number) => (isTime ? spellDuration(limit) : String(limit));
      const instead = old === undefined ? "" : ` instead of ${spell(old)}`;
      return [`${isTime ? "timeout" : name} ${spell(value)}${instead}`];
    });
    const changes = [...writes, ...limits];
    if (changes.length > 0) notes.push(`the policy ${path} limits this run: ${changes.join(", ")}`);
    clamped = next;
  }
  return { clamped, notes };
}

function replace(bounds: Bounds, by: Bounds): Bounds {
  return { ...bounds, ...by, limits: { ...bounds.limits, ...by.limits } };
}

/** Returns bounds as a document or config file declares them. Durations become milliseconds. */
export function boundsDeclared({ writes, limits = {} }: Declared): Bounds {
  const { timeout, per_day: day = {}, ...counted } = limits;
  const perDay = { max_cost_usd_per_day: day.max_cost_usd, max_runs_per_day: day.max_runs };
  return boundsOf({ writes, ...counted, timeout_ms: parseDuration(timeout), ...perDay });
}

function boundsOfFlags({ writes, maxCost, maxTokens, maxSteps, timeout, ...day }: BoundChoices): Bounds {
  return boundsOf({
    writes: writes === undefined ? undefined : writesOf("writes", writes),
    max_cost_usd: maxCost,
    max_tokens: maxTokens,
    max_steps: maxSteps,
    timeout_ms: timeout,
    max_cost_usd_per_day: day.dayCostUsd,
    max_runs_per_day: day.dayRuns,
  });
}

function boundsOfVariables(env: Environment): Bounds {
  const read = <Value>(option: OptionName, parse: (name: string, text: string) => Value) => {
    const name = variableOf(option);
    return env[name] ? parse(name, env[name]) : undefined;
  };
  return boundsOf({
    writes: read("writes", writesOf),
    max_cost_usd: read("max-cost", amountOf),
    max_tokens: read("max-tokens", countOf),
    max_steps: read("max-steps", countOf),
    timeout_ms: read("timeout", durationOf),
  });
}

function boundsOf({ writes, ...limits }: { writes: Writes | undefined } & Record<string, unknown>): Bounds {
  const said = Object.entries(limits).filter(([, value]) => value !== undefined);
  return { ...(writes === undefined ? {} : { writes }), limits: Object.fromEntries(said) };
}

// ---- parse user input from the command line or a variable, which `name` names in messages

function writesOf(name: string, text: string): Writes {
  const found = WRITES.find((mode) => mode === text);
  if (found) return found;
  throw usageError(`${name} must be allow, plan or deny, not "${text}"`);
}

export function amountOf(name: string, text: string): number {
  const value = text.trim() === "" ? Number.NaN : Number(text);
  if (Number.isFinite(value) && value > 0) return value;
  throw usageError(`${name} must be a number above zero, not "${text}"`);
}

export function countOf(name: string, text: string): number {
  const value = text.trim() === "" ? Number.NaN : Number(text);
  if (Number.isInteger(value) && value > 0) return value;
  throw usageError(`${name} must be a whole number above zero, not "${text}"`);
}

export function durationOf(name: string, text: string): number {
  const value = parseDuration(text);
  if (value !== undefined) return value;
  throw usageError(`${name} must be a duration such as 500ms, 90s, 10m, 2h or 14d, not "${text}"`);
}
