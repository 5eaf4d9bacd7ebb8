import { isObject, type Json, type JsonObject } from "../../core/base/values.ts";
import type { Workflow } from "../../core/document/workflow/workflow.ts";
import type { RunEvent } from "../../core/engine/event/event.ts";
import type { Operation } from "../../core/engine/event/operation.ts";
import type { RunRecord, Settings } from "../../core/engine/event/record.ts";
import { fold, stateOf } from "../../core/engine/fold/fold.ts";
import type { PlannedOperation, State } from "../../core/engine/fold/state.ts";
import type { Journal, Observer, StoredRun } from "../../core/engine/ports.ts";
import {
  beginDelta,
  coolDownKey,
  coolingSince,
  dayOf,
  declaredStates,
  documentsOf,
  foundIn,
  hasDayLimits,
  limitsOf,
  memoryOfEnd,
} from "../../core/engine/record/memory.ts";
import { recordedSettings } from "../../core/engine/settings/settings.ts";
import { COOL_DOWNS, changesOf, DAYS } from "../../core/engine/state/entries.ts";
import { isStatePut, placedPut, touchOf } from "../../core/engine/tools/state.ts";
import { tell } from "../../run/drive.ts";
import type { Workspace } from "../host.ts";

/** State that a run reads before it starts and writes after it ends. */

interface Beginning {
  readonly workflow: Workflow;
  readonly inner: RunRecord["inner"];
  /** Recorded input, without secrets. */
  readonly input: JsonObject;
  /** Skips the run if another one with the same key ended within the cool-down. */
  readonly coolsDown: boolean;
  /** Value from the caller that replaces the cool-down key of the workflow. */
  readonly fingerprint?: Json | undefined;
}

/** Reads the state that a new run needs. Reads nothing if the workflow declares no state. */
export async function recallMemory(
  { state }: Workspace,
  { workflow, inner, input, coolsDown, fingerprint }: Beginning,
): Promise<Pick<RunRecord, "states" | "cooled" | "skipped">> {
  const declared = declaredStates(documentsOf({ workflow, inner }));
  const cooled = coolDownKey(workflow, input, fingerprint);
  const names = [...declared.map(([name]) => name), ...(cooled === undefined || !coolsDown ? [] : [COOL_DOWNS])];
  const states = names.length === 0 ? new Map() : await state.read(names);
  const now = Date.now();
  const entries = states.get(COOL_DOWNS) ?? [];
  const skipped = coolsDown ? coolingSince(workflow, cooled, { entries, now }) : undefined;
  return {
    ...foundIn(declared, states, now),
    ...(cooled === undefined ? {} : { cooled }),
    ...(skipped ? { skipped } : {}),
  };
}

/** Returns the run whose cool-down covers a prepared run now. */
export async function coolingNow({ state }: Workspace, { workflow, cooled }: RunRecord): Promise<string | undefined> {
  if (cooled === undefined) return undefined;
  const entries = (await state.read([COOL_DOWNS])).get(COOL_DOWNS) ?? [];
  return coolingSince(workflow, cooled, { entries, now: Date.now() })?.run;
}

export function recalledIn({ states, cooled, skipped, day }: RunRecord) {
  return { ...(states && { states }), ...(cooled && { cooled }), ...(skipped && { skipped }), ...(day && { day }) };
}

/** Counts a new run towards the daily limits, if any. `again` is how often they have already stopped it. */
export async function countedDay(
  { state }: Workspace,
  record: RunRecord,
  { settings, again = 0 }: { readonly settings: Settings; readonly again?: number },
): Promise<Pick<RunRecord, "day">> {
  if (record.kind !== "run" || record.skipped || !hasDayLimits(settings)) return {};
  const at = new Date().toISOString();
  const states = await state.apply(beginDelta(record, at, again));
  return { day: dayOf(record, at, states.get(DAYS) ?? []) };
}

/** Returns the day's usage for a resumed run. Counts the run again if the daily limit had refused it. */
export async function dayAgain(
  workspace: Workspace,
  { record, events }: StoredRun,
  changes: Partial<Settings>,
): Promise<Pick<RunRecord, "day">> {
  const settings = { ...recordedSettings(record.settings, events), ...changes };
  const again = events.filter(({ type }) => type === "run:resume").length + 1;
  const limit = events.findLast(({ type }) => type === "limit:reached" || type === "run:resume");
  const wasRefused = limit?.type === "limit:reached" && limit.limit === "max_runs_per_day";
  if (wasRefused) return countedDay(workspace, record, { settings, again });
  if (record.kind !== "run" || !hasDayLimits(settings)) return {};
  const states = await workspace.state.read([DAYS]);
  return { day: dayOf(record, new Date().toISOString(), states.get(DAYS) ?? []) };
}

interface Ended {
  readonly record: RunRecord;
  readonly state: State;
  /** Positioned after all recorded events. */
  readonly journal: Journal;
  readonly observers: readonly Observer[];
}

/** Saves the state changes of an ended run once. If the process dies first, a resume saves them. */
export async function writeMemory(workspace: Workspace, { record, state, journal, observers }: Ended): Promise<State> {
  const written = memoryOfEnd(record, state);
  if (!written) return state;
  await workspace.state.apply(written.delta);
  const noted = await journal.record(`memory/${state.run.afterwards}`, async () => [written.body]);
  for (const event of noted) tell(observers, (observer) => observer.onEvent(event));
  return noted.reduce(fold, state);
}

/** Checks whether a run has ended and may have unsaved state changes. Cheap, but not exact. */
export function mayHaveUnwritten(events: readonly RunEvent[]): boolean {
  const last = events.findLast(({ type }) => ENDING.has(type));
  return last?.type === "workflow:end" && last.status !== "interrupted";
}

/** Checks whether a run has ended and has unsaved state changes. */
export function hasUnwritten({ record, events }: StoredRun): boolean {
  return mayHaveUnwritten(events) && memoryOfEnd(record, stateOf({ record, events })) !== undefined;
}

const ENDING: ReadonlySet<string> = new Set(["workflow:end", "state:written", "run:resume"]);

interface ApplyingPut {
  readonly operation: Operation;
  readonly input: Json;
  /** The run's plan. Puts of it that were already applied do not count the run again. */
  readonly planned: readonly PlannedOperation[];
}

export async function applyPut(
  { state }: Workspace,
  record: RunRecord,
  { operation, input, planned }: ApplyingPut,
): Promise<Json> {
  const { state: name, key } = (isObject(input) ? input : {}) as { readonly [key: string]: Json };
  const put = { kept: true, state: String(name), key: String(key) };
  const output: JsonObject = operation.sources.length > 0 ? { ...put, tainted: true } : put;
  const touch = touchOf(operation.tool, placedPut([], input), output, new Date().toISOString());
  const declared = new Map(declaredStates(documentsOf(record))).get(String(name)) ?? {};
  const before = planned.flatMap(appliedTouches);
  const changes = changesOf([...before, ...(touch ? [touch] : [])], before.length).get(String(name)) ?? [];
  await state.apply({
    id: `${record.run}/${operation.id}/${operation.digest}`,
    states: { [String(name)]: { changes, limits: limitsOf(declared) } },
  });
  return output;
}

function appliedTouches({ operation, application: { standing, output = null } }: PlannedOperation) {
  const { skill, tool, input } = operation;
  if (standing !== "applied" || !isStatePut({ skill, name: tool })) return [];
  return touchOf(tool, input, output, "") ?? [];
}
