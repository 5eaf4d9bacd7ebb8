import { SkillflowError, usageError } from "../../base/errors.ts";
import { deepEqual, defined, didYouMean } from "../../base/values.ts";
import { planOf } from "../decide/planning.ts";
import type { RunEvent } from "../event/event.ts";
import { type Operation, operationDigest, type Plan, planDigest, recordedPlanDigest } from "../event/operation.ts";
import { branchOf, patchOf } from "../event/patch.ts";
import type { Documents, RunRecord } from "../event/record.ts";
import type { PlannedOperation, State } from "../fold/state.ts";
import { isProposal } from "../tools/proposal.ts";

/** `all`, or operations by id, optionally with the start of their digests. */
export type Approved = "all" | readonly ApprovedOperation[];

export interface ApprovedOperation {
  readonly id: string;
  readonly digest?: string;
}

const APPROVAL = /^(op-\d+)(?:@([0-9a-f]+))?$/;

/** Minimum length of a shortened digest. Another input could match fewer digits. */
const FEWEST_DIGITS = 32;
const ALL_DIGITS = 64;

/** Parses `op-1,op-3@DIGEST`. `isWhole` requires full digests. */
export function parseApprovals(texts: readonly string[], isWhole: boolean): ApprovedOperation[] {
  const words = texts.flatMap((text) => text.split(",")).map((word) => word.trim());
  return words.map((word) => {
    const [, id, digest] = APPROVAL.exec(word) ?? [];
    if (id === undefined) throw usageError(`"${word}" does not name an operation`, "write op-1, or op-1@DIGEST");
    return { id, ...(digest === undefined ? {} : { digest: checkDigest(digest, isWhole) }) };
  });
}

/** Returns a digest that is long enough to name one content. Throws if it is shorter. */
export function checkDigest(digest: string, isWhole: boolean): string {
  const least = isWhole ? ALL_DIGITS : FEWEST_DIGITS;
  if (/^[0-9a-f]*$/.test(digest) && digest.length >= least && digest.length <= ALL_DIGITS) return digest;
  const whole = "pass the whole digest: CI does not accept a shortened one";
  const hint = isWhole ? whole : "pass at least the first 32 digits";
  throw usageError(`"${digest}" is not a digest with ${isWhole ? "64" : "32 to 64"} hexadecimal digits`, hint);
}

/** Returns the ids of the approved operations. Throws if the plan differs from what was approved. */
export function approvedIn(
  { record, operations }: { readonly record: RunRecord; readonly operations: readonly Operation[] },
  approved: Approved,
  digest?: string,
): ReadonlySet<string> {
  const whole = recordedPlanDigest(record, operations);
  if (digest !== undefined && !whole.startsWith(digest)) {
    const hint = "review it again: it has changed since the last review";
    throw usageError(`the plan's digest is ${whole}, not ${digest}`, hint);
  }
  if (approved === "all") return new Set(operations.map(({ id }) => id));
  for (const { id, digest: said } of approved) {
    const operation = operations.find((planned) => planned.id === id);
    const ids = operations.map((planned) => planned.id);
    if (!operation) {
      throw usageError(`the plan has no ${id}`, didYouMean(id, ids) ?? `it has ${ids.join(", ") || "nothing"}`);
    }
    if (said !== undefined && !operation.digest.startsWith(said)) {
      const hint = "review it again: it has changed since it was approved";
      throw usageError(`the digest of ${id} is ${operation.digest}, not ${said}`, hint);
    }
  }
  return new Set(approved.map(({ id }) => id));
}

/** Returns what the last answer of a person during the run approved: exactly the operations planned by then. */
export function approvedByWord(
  planned: readonly Pick<PlannedOperation, "operation" | "withdrawn">[],
  events: readonly RunEvent[],
): { readonly by: string; readonly operations: readonly ApprovedOperation[] } | undefined {
  const word = events.findLast((event) => event.type === "approval:given" && event.digest !== undefined && !event.late);
  if (word?.type !== "approval:given" || !word.approved) return undefined;
  const standing = planned.filter(({ withdrawn }) => !withdrawn).map(({ operation }) => operation);
  const count = [...standing.keys(), standing.length].find(
    (length) => planDigest(standing.slice(0, length)) === word.digest,
  );
  if (count === undefined) return undefined;
  return { by: word.by, operations: standing.slice(0, count).map(({ id, digest }) => ({ id, digest })) };
}

/** Returns the plan of a run for review. Throws if the record was altered. */
export function plannedIn(state: State): readonly Operation[] {
  const operations = planOf(state);
  const altered = operations.find((one) => operationDigest(one) !== one.digest || !isWhole(one));
  if (!altered) return operations;
  throw new SkillflowError("plan.altered", `${altered.id} does not match its digest: the run's record was altered`);
}

/** Checks that a patch is delivered as its input says, because its digest covers only the input, base, diff and files. */
function isWhole(operation: Operation): boolean {
  const patch = patchOf(operation);
  if (!patch) return true;
  const { title, body, draft, labels, branch } = patch;
  return (
    isProposal({ skill: operation.skill, name: operation.tool }) &&
    deepEqual(operation.input, { title, body, draft, labels }) &&
    branch === branchOf(title, operation.digest)
  );
}

/** Throws if a plan file differs from the run's record. */
export function holdToRecord(plan: Plan, record: Documents, operations: readonly Operation[]): void {
  const workflowOf = plan.workflow === record.workflow.id ? undefined : "it names another workflow";
  const isWhole = plan.digest === recordedPlanDigest(record, operations);
  const whole = isWhole ? undefined : "its digest does not match its operations and their servers";
  const difference = differenceOf(operations, plan.operations) ?? workflowOf ?? whole;
  if (difference === undefined) return;
  throw new SkillflowError("plan.altered", `the plan file differs from the plan of run ${plan.run}: ${difference}`, {
    hint: `review the recorded plan: skillflow apply ${plan.run}`,
  });
}

/** Throws if the plan differs from the one that was reviewed. */
export function holdToReview(reviewed: readonly Operation[], operations: readonly Operation[]): void {
  const difference = differenceOf(reviewed, operations);
  if (difference === undefined) return;
  throw new SkillflowError("plan.altered", `the run's plan differs from the reviewed one: ${difference}`, {
    hint: "review it again: nothing was applied",
  });
}

/** Describes how two lists of operations differ, apart from those applied since. */
function differenceOf(expected: readonly Operation[], found: readonly Operation[]): string | undefined {
  for (const [index, operation] of found.entries()) {
    const before = expected[index];
    if (before?.id !== operation.id) return `${operation.id} is out of order`;
    // Plan files of earlier versions name no inner run.
    const placed = { ...defined("at", before.at), ...withoutMark(operation) };
    if (!deepEqual(withoutMark(before), placed)) return `${operation.id} differs`;
  }
  const missing = expected[found.length];
  return missing && `${missing.id} is missing`;
}

function withoutMark({ applied: _applied, kind = "call", ...operation }: Operation) {
  return { ...operation, kind };
}
