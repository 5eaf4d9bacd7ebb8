import { isObject, type Json, type JsonObject } from "../../core/base/values.ts";
import type { Workflow } from "../../core/document/workflow/workflow.ts";
import type { RunEvent } from "../../core/engine/event/event.ts";
import type { Operation } from "../../core/engine/event/operation.ts";
import type { RunRecord } from "../../core/engine/event/record.ts";
import type { Settings } from "../../core/engine/event/settings.ts";
import { fold } from "../../core/engine/fold/fold.ts";
import { begin, type State } from "../../core/engine/fold/state.ts";
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
import { COOL_DOWNS, changesOf, DAYS } from "../../core/engine/state/delta.ts";
import { placedPut, touchOf } from "../../core/engine/tools/state.ts";
import { tell } from "../../run/drive.ts";
import type { Workspace } from "../host.ts";

/** What runs remember: read before one begins, written once it has ended (extensions G31, G33). */

type Recalled = Pick<RunRecord, "states" | "cooled" | "skipped">;

interface Beginning {
  readonly workflow: Workflow;
  /** The workflows that its nodes run. */
  readonly inner: RunRecord["inner"];
  /** As it is recorded: without secrets. */
  readonly input: JsonObject;
  /** Whether a run of the same key, not long ago, is reason enough to do nothing. */
  readonly coolsDown: boolean;
  /** What stands in place of the workflow's key, where whoever begins the run says so. */
  readonly fingerprint?: Json | undefined;
}

/** All that a new run goes by of memory; of a workflow that has none, nothing is read. */
export async function recallMemory(
  { state }: Workspace,
  { workflow, inner, input, coolsDown, fingerprint }: Beginning,
): Promise<Recalled> {
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

/** The same of a run that is about to begin, as it stands by now. */
export async function coolingNow({ state }: Workspace, { workflow, cooled }: RunRecord): Promise<string | undefined> {
  if (cooled === undefined) return undefined;
  const entries = (await state.read([COOL_DOWNS])).get(COOL_DOWNS) ?? [];
  return coolingSince(workflow, cooled, { entries, now: Date.now() })?.run;
}

/** What a recorded run had recalled. */
export function recalledIn({ states, cooled, skipped, day }: RunRecord) {
  return { ...(states && { states }), ...(cooled && { cooled }), ...(skipped && { skipped }), ...(day && { day }) };
}

/** Counts a run of a workflow with limits of a day before it begins; `again`: it was stopped by them that many times. */
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

/** The same of a run that is taken up again and was counted. */
export async function presentDay(
  { state }: Workspace,
  record: RunRecord,
  settings: Settings,
): Promise<Pick<RunRecord, "day">> {
  if (record.kind !== "run" || !hasDayLimits(settings)) return {};
  const states = await state.read([DAYS]);
  return { day: dayOf(record, new Date().toISOString(), states.get(DAYS) ?? []) };
}

interface Ended {
  readonly record: RunRecord;
  readonly state: State;
  /** Past all that is recorded. */
  readonly journal: Journal;
  readonly observers: readonly Observer[];
}

/** Writes what a run that has ended leaves, once; a crash in between is made good by whoever takes the run up again. */
export async function writeMemory(workspace: Workspace, { record, state, journal, observers }: Ended): Promise<State> {
  const written = memoryOfEnd(record, state);
  if (!written) return state;
  await workspace.state.apply(written.delta);
  const noted = await journal.record(`memory/${state.run.afterwards}`, async () => [written.body]);
  for (const event of noted) tell(observers, event);
  return noted.reduce(fold, state);
}

/** Whether a run has ended and what it leaves may not be written yet. */
export function mayHaveUnwritten(events: readonly RunEvent[]): boolean {
  const last = events.findLast(({ type }) => ENDING.has(type));
  return last?.type === "workflow:end" && last.status !== "interrupted";
}

/** Whether there is anything. */
export function hasUnwritten({ record, events }: StoredRun): boolean {
  return mayHaveUnwritten(events) && memoryOfEnd(record, events.reduce(fold, begin(record))) !== undefined;
}

const ENDING: ReadonlySet<string> = new Set(["workflow:end", "state:written", "run:resume"]);

/** Writes a put that was planned. */
export async function applyPut(
  { state }: Workspace,
  record: RunRecord,
  { operation, input }: { readonly operation: Operation; readonly input: Json },
): Promise<Json> {
  const { state: name, key } = (isObject(input) ? input : {}) as { readonly [key: string]: Json };
  const put = { kept: true, state: String(name), key: String(key) };
  const output: JsonObject = operation.sources.length > 0 ? { ...put, tainted: true } : put;
  const touch = touchOf(operation.tool, placedPut([], input), output, new Date().toISOString());
  const declared = new Map(declaredStates(documentsOf(record))).get(String(name)) ?? {};
  const changes = changesOf(touch ? [touch] : []).get(String(name)) ?? [];
  await state.apply({
    id: `${record.run}/${operation.id}/${operation.digest}`,
    states: { [String(name)]: { changes, limits: limitsOf(declared) } },
  });
  return output;
}
