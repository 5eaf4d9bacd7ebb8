import { valueAtPath } from "../../base/path.ts";
import { sha256 } from "../../base/sha256.ts";
import { defined, isObject, type Json, type JsonObject, parseDuration } from "../../base/values.ts";
import type { StateDeclaration, Workflow } from "../../document/workflow/workflow.ts";
import type { EventOf } from "../event/event.ts";
import {
  type Documents,
  type RunRecord,
  type Settings,
  type Skipped,
  type StateEntry,
  workflowsIn,
} from "../event/record.ts";
import { touchesToSave } from "../fold/redo.ts";
import type { End, State } from "../fold/state.ts";
import type { StateChange, StateChanges, StateDelta, StateLimits, States } from "../ports.ts";
import { COOL_DOWNS, changesOf, DAYS, keptEntries, timeOf } from "../state/entries.ts";

/** Memory that a run reads when it begins and saves when it ends, derived from its record and past alone. */

const DAY_MS = 24 * 60 * 60 * 1000;
/** Retention of daily usage. Past days have no effect, but users may look at them. */
const DAYS_LIMITS: StateLimits = { keepMs: 62 * DAY_MS };

export function limitsOf({ keep, max_entries }: StateDeclaration): StateLimits {
  return { keepMs: parseDuration(keep), maxEntries: max_entries };
}

export function documentsOf(documents: Documents): readonly Workflow[] {
  return workflowsIn(documents).map(([, workflow]) => workflow);
}

/** Returns the states that the documents declare. The outermost declaration counts. */
export function declaredStates(documents: readonly Workflow[]): [name: string, declared: StateDeclaration][] {
  const declared = new Map<string, StateDeclaration>();
  for (const [name, limits] of documents.flatMap(({ state = {} }) => Object.entries(state))) {
    if (!declared.has(name)) declared.set(name, limits);
  }
  return [...declared];
}

/** Returns the entries that a run may read from its declared states. */
export function foundIn(declared: ReturnType<typeof declaredStates>, states: States, now: number) {
  if (declared.length === 0) return {};
  const found = declared.map(([name, limits]): [string, StateEntry[]] => {
    return [name, [...keptEntries(states.get(name) ?? [], limitsOf(limits).keepMs, now)]];
  });
  return { states: Object.fromEntries(found) };
}

// ---- cool-downs

/** Returns the key of runs that cool down together. Undefined if the path leads nowhere. */
export function coolDownKey({ id, cool_down }: Workflow, input: JsonObject, fingerprint?: Json): string | undefined {
  if (!cool_down) return undefined;
  if (fingerprint !== undefined) return keyOf(id, fingerprint);
  const value = valueAtPath(cool_down.key, { input });
  return value === null || value === undefined || value === "" ? undefined : keyOf(id, value);
}

/** Builds the key that identifies runs of a workflow with the same subject. */
export function keyOf(workflow: string, fingerprint: Json): string {
  const text = typeof fingerprint === "string" ? fingerprint : JSON.stringify(fingerprint);
  return `${workflow} ${text.length <= MOST_KEY ? text : `${text.slice(0, MOST_KEY)}… ${sha256(text)}`}`;
}

const MOST_KEY = 200;

/** Returns the last run of the key, if it is within the cool-down. */
export function coolingSince(
  { cool_down }: Workflow,
  key: string | undefined,
  { entries, now }: { readonly entries: readonly StateEntry[]; readonly now: number },
): Skipped | undefined {
  const entry = key === undefined ? undefined : entries.find((one) => one.key === key);
  const { run, at, verdict } = isObject(entry?.data) ? entry.data : {};
  if (typeof run !== "string" || typeof at !== "string") return undefined;
  const age = now - timeOf(at);
  // A time far in the future is not when a run ended.
  if (!(age >= -MOST_AHEAD_MS && age < (parseDuration(cool_down?.for) ?? 0))) return undefined;
  return { run, at, ...(typeof verdict === "string" ? { verdict } : {}) };
}

const MOST_AHEAD_MS = 10 * 60 * 1000;

// ---- days

type Day = NonNullable<RunRecord["day"]>;

export function hasDayLimits({ limits }: Settings): boolean {
  return limits.max_cost_usd_per_day !== undefined || limits.max_runs_per_day !== undefined;
}

const dayKey = (date: string, workflow: string) => `${date} ${workflow}`;

/** Counts another run of the day, before it begins. */
export function beginDelta(record: RunRecord, at: string, again = 0): StateDelta {
  return {
    id: `${record.run}/begin${again === 0 ? "" : `~${again}`}`,
    states: { [DAYS]: dayChange(record, at, { runs: 1 }) },
  };
}

function dayChange({ workflow }: RunRecord, at: string, add: Readonly<Record<string, number>>): StateChanges {
  const key = dayKey(at.slice(0, 10), workflow.id);
  return { changes: [{ key, first: at, last: at, runs: 0, seen: 1, add }], limits: DAYS_LIMITS };
}

export function dayOf({ workflow }: RunRecord, at: string, entries: readonly StateEntry[]): Day {
  const date = at.slice(0, 10);
  const data = entries.find(({ key }) => key === dayKey(date, workflow.id))?.data;
  const { runs, cost_usd } = isObject(data) ? data : {};
  return { date, runs: numberOf(runs), cost_usd: numberOf(cost_usd) };
}

function numberOf(value: unknown): number {
  return typeof value === "number" ? value : 0;
}

// ---- the end

/** Returns what an ended or waiting run has to save. Undefined if there is nothing new. */
export function memoryOfEnd(record: RunRecord, state: State) {
  const { end, run } = state;
  if (record.kind !== "run" || !end || end.status === "interrupted" || end.status === "skipped") return undefined;
  if (run.writtenEnd === end) return undefined;
  const isWaiting = end.status === "waiting";
  const own = isWaiting ? {} : { ...entriesPut(record, state), ...dayUsed(record, state, end.at) };
  const states = { ...own, ...coolDownBegun(record, end) };
  const entries = Object.values(states).reduce((sum, { changes }) => sum + changes.length, 0);
  if (entries === 0) return undefined;
  const piece = isWaiting ? "/waiting" : run.resumes === 0 ? "" : `~${run.resumes}`;
  const delta = { id: `${record.run}${piece}`, states };
  const counted = isWaiting ? run.written : { touches: run.touches.length, costUsd: state.usage.costUsd };
  const { touches, costUsd: cost_usd } = counted;
  const body: EventOf<"state:written"> = { type: "state:written", delta: delta.id, entries, touches, cost_usd };
  return { delta, body };
}

function entriesPut(record: RunRecord, state: State): Record<string, StateChanges> {
  const declared = new Map(declaredStates(documentsOf(record)));
  const put = changesOf(touchesToSave(state), state.run.written.touches);
  const changed = [...put].flatMap(([name, changes]) => {
    const limits = declared.get(name);
    return limits ? [[name, { changes, limits: limitsOf(limits) }] as const] : [];
  });
  return Object.fromEntries(changed);
}

/** Returns the day's usage to save. A run that the daily limit stopped does not count. */
function dayUsed(record: RunRecord, { run, usage, halt }: State, at: string): Record<string, StateChanges> {
  if (!hasDayLimits(run.settings)) return {};
  const cost = usage.costUsd - run.written.costUsd;
  const isRefused = halt?.status === "stopped" && halt.limit === "max_runs_per_day";
  const add = { ...(cost > 0 ? { cost_usd: cost } : {}), ...(isRefused ? { runs: -1 } : {}) };
  return Object.keys(add).length === 0 ? {} : { [DAYS]: dayChange(record, at, add) };
}

function coolDownBegun({ run, cooled, workflow }: RunRecord, end: End): Record<string, StateChanges> {
  const keepMs = parseDuration(workflow.cool_down?.for);
  if (cooled === undefined || keepMs === undefined || end.status === "stopped") return {};
  const { at, verdict, status } = end;
  const data = { run, at, status, ...defined("verdict", verdict) };
  const change: StateChange = { key: cooled, first: at, last: at, runs: 1, seen: 1, data };
  return { [COOL_DOWNS]: { changes: [change], limits: { keepMs: Math.max(keepMs, 90 * DAY_MS) } } };
}
