import { setImmediate as nextTurn } from "node:timers/promises";
import { SkillflowError, usageError } from "../../core/base/errors.ts";
import { plural } from "../../core/base/preview.ts";
import { checkedAs, defined, isObject, type Json } from "../../core/base/values.ts";
import { admitOperation } from "../../core/engine/decide/admit.ts";
import type { Call } from "../../core/engine/event/call.ts";
import type { EventBody } from "../../core/engine/event/event.ts";
import type { Operation } from "../../core/engine/event/operation.ts";
import { type Patch, patchOf } from "../../core/engine/event/patch.ts";
import type { PlannedOperation } from "../../core/engine/fold/state.ts";
import { standAfter } from "../../core/engine/plan/standing.ts";
import type { Journal, StoredRun } from "../../core/engine/ports.ts";
import { approvedByWord, holdToReview } from "../../core/engine/result/approval.ts";
import { recordedSettings } from "../../core/engine/settings/settings.ts";
import { type FeedbackLine, withdrawalOf } from "../../core/engine/state/feedback.ts";
import { runScriptTool } from "../../core/engine/tools/disclosure.ts";
import { PROPOSE_CHANGE } from "../../core/engine/tools/proposal.ts";
import { isStatePut, plannedPut } from "../../core/engine/tools/state.ts";
import { WORKSPACE } from "../../core/engine/tools/workspace.ts";
import { EXECUTOR, failureOf, type Outcome, type ToolDescriptor } from "../../core/skill/skill.ts";
import { exposedName } from "../../core/skill/tool-names.ts";
import { recordSkill } from "../../loaders/registry/entry.ts";
import { type CallOptions, type CallTool, createCall } from "../../run/call.ts";
import { afterwardsIn } from "../../run/recall.ts";
import { passRecorded } from "../../stores/journal.ts";
import { openFetch } from "../adapters/fetch.ts";
import { differenceOf } from "../adapters/mcp-connections.ts";
import { findHandler } from "../calls/own-tools.ts";
import { deliverPatch } from "../calls/patches/deliver.ts";
import type { Workspace } from "../host.ts";
import type { SkillEntries } from "../skills/entries.ts";
import { feedbackOf } from "./afterwards/feedback.ts";
import {
  type AppliedOperation,
  type ApplyRequest,
  bareOf,
  type PreparedApply,
  prepareApply,
  type ReviewedPlan,
  reviewPlan,
  skillOf,
} from "./apply.ts";
import { applyPut } from "./memory.ts";
import { openPace } from "./rates.ts";

/** Connects the skills of the approved operations, applies these, and disconnects the skills. */
export async function applyReviewed(workspace: Workspace, reviewed: ReviewedPlan, request: ApplyRequest) {
  const prepared = await prepareApply(workspace, reviewed, request);
  try {
    return await applyPlan(workspace, prepared, request);
  } finally {
    await prepared.close();
  }
}

/** Applies the approved operations in order. After a failure, continues with operations that do not depend on it. */
export async function applyPlan(
  workspace: Workspace,
  prepared: PreparedApply,
  request: ApplyRequest,
): Promise<readonly AppliedOperation[]> {
  const { record } = prepared.reviewed.stored;
  const opened = await workspace.store.open(record.run);
  try {
    // Since the review, another process may have applied operations, but must not have changed anything else.
    const { planned, operations } = reviewPlan(opened);
    holdToReview(prepared.reviewed.operations, operations);
    const note = await openLedger(opened);
    const { lines, skipped } = await feedbackOf(workspace);
    if (skipped.length > 0) {
      const message = `nothing was applied: ${plural(skipped.length, "line")} of the feedback cannot be read, and may be a denial`;
      throw new SkillflowError("store.failed", message, {
        hint: "mend or remove what skillflow stats lists as skipped",
      });
    }
    const { tool_timeout_ms: timeoutMs } = recordedSettings(record.settings, opened.events);
    const call = callerOf(workspace, prepared, { ...request, timeoutMs, planned });
    const applying = { prepared, request, planned, lines, note, call };
    const outcomes: AppliedOperation[] = [];
    for (const one of planned) {
      // Yields to the event loop, so that signals and timers are handled and schema checks get a new time limit.
      await nextTurn();
      const { id, digest } = one.operation;
      const isApproved = prepared.approved.has(id);
      const word = isApproved ? request.resolved?.get(id) : undefined;
      if (word !== undefined) {
        await note(one, { type: "operation:resolved", operation: id, digest, applied: word, by: request.by });
      }
      const done = appliedBefore(one) ?? (isApproved ? await carryOut(applying, one) : NOT_APPROVED);
      const outcome = { id, digest, ...done };
      outcomes.push(outcome);
      request.onOutcome?.(outcome);
    }
    return outcomes;
  } finally {
    await opened.journal.close();
  }
}

interface Applying {
  readonly prepared: PreparedApply;
  readonly request: ApplyRequest;
  readonly planned: readonly PlannedOperation[];
  readonly lines: readonly FeedbackLine[];
  readonly note: Note;
  readonly call: ReturnType<typeof callerOf>;
}

type Told = Omit<AppliedOperation, "id" | "digest">;

const NOT_APPROVED: Told = { status: "not_approved" };

function appliedBefore({ application: { standing, output } }: PlannedOperation): Told | undefined {
  return standing === "applied" ? { status: "already_applied", ...defined("result", output) } : undefined;
}

async function carryOut(applying: Applying, one: PlannedOperation): Promise<Told> {
  const { prepared, request, planned, lines, note, call } = applying;
  const { operation, application } = one;
  const { id, digest } = operation;
  if (request.signal.aborted) return { status: "skipped", error: "interrupted before it was started" };
  const withdrawal = withdrawalOf(lines, { run: prepared.reviewed.stored.record.run, id, digest });
  const { denied, standing } = application;
  const denial = withdrawal ?? (standing === "denied" || patchOf(operation) ? denied : undefined);
  if (denial) return { status: "refused", error: `it was denied by ${denial.by} at ${denial.at}` };
  const tool = patchOf(operation) ? PROPOSAL : toolOf(prepared.entries, operation);
  const lack = differenceOf(prepared.differences, skillOf(operation), operation.tool);
  const admission = admitOperation(one, { planned, tool, lack, redactor: prepared.redactor });
  if (admission.kind === "in_doubt" || denied) {
    return { status: "in_doubt", error: "it was started and its outcome is unknown: check the service" };
  }
  if (admission.kind === "refused") {
    const { error } = admission;
    await note(one, { type: "operation:refused", operation: id, digest, error, by: request.by });
  }
  if (admission.kind !== "run") return { status: admission.kind, error: admission.error };
  const begun = application.standing === "in_doubt" ? application.call : undefined;
  const name = begun ?? callId(operation, prepared, request);
  await note(one, { type: "operation:begun", operation: id, digest, call: name, by: request.by });
  const outcome = await call(operation, name, admission);
  return endOf(one, { note, tool: admission.tool, outcome });
}

/** Returns an id that is the same in every run, so that the target finds what another run has written. */
function callId({ digest, marker }: Operation, { reviewed }: PreparedApply, { again }: ApplyRequest): string {
  return again ? `${marker ?? digest}~${reviewed.stored.record.run}` : (marker ?? digest);
}

async function endOf(
  one: PlannedOperation,
  { note, tool, outcome }: { readonly note: Note; readonly tool: ToolDescriptor; readonly outcome: Outcome },
): Promise<Told> {
  const { id: operation, digest } = one.operation;
  if ("error" in outcome) {
    const { error, code, acted } = outcome;
    const isInDoubt = acted === "unknown" && !tool.idempotent;
    const doubt = isInDoubt ? { in_doubt: true as const } : {};
    await note(one, { type: "operation:ended", operation, digest, error, code, acted, ...doubt });
    return { status: isInDoubt ? "in_doubt" : code === "call.refused" ? "refused" : "failed", error };
  }
  const { output } = outcome;
  const existing = isObject(output) && output.existing === true ? { existing: true as const } : {};
  await note(one, { type: "operation:ended", operation, digest, output, ...existing });
  return { status: existing.existing ? "already_applied" : "applied", result: output, ...existing };
}

function toolOf(entries: SkillEntries, operation: Operation): ToolDescriptor | undefined {
  if (isStatePut(bareOf(operation))) return plannedPut();
  const id = skillOf(operation);
  const record = recordSkill(id, entries.get(id));
  if (operation.skill === EXECUTOR) return runScriptTool([record], "write");
  return (record.tools as readonly ToolDescriptor[]).find(({ name }) => name === operation.tool);
}

/** Size limit of a result, which later operations may refer to and which is therefore kept whole. */
const MOST_RESULT = 1024 * 1024;

function callerOf(
  workspace: Workspace,
  prepared: PreparedApply,
  { signal, loggerFor, timeoutMs, planned }: ApplyRequest & { timeoutMs: number; planned: ReviewedPlan["planned"] },
) {
  const { reviewed, entries, redactor } = prepared;
  const { record } = reviewed.stored;
  const blobs = workspace.store.blobs(record.run);
  let callTool: CallTool | undefined;
  const pace = openPace(workspace);
  const paced = (options: CallOptions) => pace?.callTool(createCall(options)) ?? createCall(options);
  return async (
    operation: Operation,
    name: string,
    { tool, input }: Pick<Call, "tool" | "input">,
  ): Promise<Outcome> => {
    if (isStatePut(tool)) return attempted(tool, () => applyPut(workspace, record, { operation, input, planned }));
    const proposed = patchOf(operation);
    if (proposed) {
      const patch = { ...proposed, ...checkedAs<Pick<Patch, "title" | "body" | "draft" | "labels">>(input) };
      const delivered = await attempted(tool, () => deliverPatch(workspace, prepared, { patch, signal, timeoutMs }));
      return "error" in delivered ? { ...delivered, error: redactor.text(delivered.error) } : delivered;
    }
    const { id } = operation;
    callTool ??= paced({
      run: record.run,
      findHandler: (call) => findHandler(call, { workspace, record, entries, blobs, copy: neverCopied }),
      timeoutMs,
      workDir: workspace.host.cwd,
      fetch: openFetch(workspace.host.env, false),
      loggerFor,
      redactor,
      blobs,
      mostResult: MOST_RESULT,
    });
    return callTool({ key: `apply/${id}`, id: name, tool, input }, signal);
  };
}

async function attempted(tool: ToolDescriptor, work: () => Promise<Json>): Promise<Outcome> {
  try {
    return { output: await work() };
  } catch (error) {
    return failureOf(tool, error);
  }
}

const PROPOSAL: ToolDescriptor = {
  ...{ skill: WORKSPACE, name: PROPOSE_CHANGE.name, exposed: exposedName(WORKSPACE, PROPOSE_CHANGE.name) },
  ...{ description: PROPOSE_CHANGE.description, input_schema: PROPOSE_CHANGE.input_schema },
  ...{ effect: "write", idempotent: true, audience: "public" },
};

/** Records an event about an operation, and updates the operation's state. */
type Note = (one: PlannedOperation, body: EventBody) => Promise<void>;

async function openLedger({ events, journal }: StoredRun & { readonly journal: Journal }): Promise<Note> {
  await passRecorded(journal, events);
  let count = afterwardsIn(events).length;
  return async (one, body) => {
    count += 1;
    const noted = await journal.record(`after/${count}`, async () => [body]);
    one.application = noted.reduce(standAfter, one.application);
  };
}

function neverCopied(): never {
  throw new SkillflowError("call.refused", "a plan is applied without a working copy");
}

const GOOD: ReadonlySet<AppliedOperation["status"]> = new Set(["applied", "already_applied", "not_approved"]);

export function exitCodeOf(outcomes: readonly AppliedOperation[]): number {
  return outcomes.every(({ status }) => GOOD.has(status)) ? 0 : 1;
}

export function applyDocument(run: string, exitCode: number, operations: readonly AppliedOperation[]) {
  return { schema: "skillflow.apply/1" as const, run, exitCode, operations };
}

export type ApplyResult = ReturnType<typeof applyDocument>;

/** Returns the approval given during the run, if any of its operations is still open. */
export function approvedBefore({ stored, planned }: ReviewedPlan, open: readonly Operation[]) {
  const word = approvedByWord(planned, stored.events);
  return word?.operations.some(({ id }) => open.some((one) => one.id === id)) ? word : undefined;
}

/** Reads outcomes of operations in doubt: `op-2=applied` or `op-2=not-applied`. */
export function parseResolutions(given: readonly string[]): ReadonlyMap<string, boolean> {
  const words = given.flatMap((text) => text.split(","));
  return new Map(
    words.map((word) => {
      const [, id, applied] = /^(op-\d+)=(applied|not-applied)$/.exec(word.trim()) ?? [];
      if (id !== undefined) return [id, applied === "applied"] as const;
      throw usageError(`--resolve takes op-2=applied or op-2=not-applied, not "${word}"`);
    }),
  );
}
