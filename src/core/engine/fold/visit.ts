import type { ShownImage } from "../../base/image.ts";
import { defined, type Json, type JsonObject } from "../../base/values.ts";
import type { WorkflowNode } from "../../document/workflow/node.ts";
import type { Audience, Failure } from "../../skill/skill.ts";
import type { RecordedCall } from "../event/call.ts";
import type { Degraded, RunError, Waiting } from "../event/end.ts";
import type { EventOf } from "../event/event.ts";
import type { FailureCause, NodeResult, ToolCall } from "../event/node-result.ts";
import type { Change } from "../event/patch.ts";
import type { Turn } from "../event/prompt.ts";
import type { Refutations } from "../evidence/claims.ts";

export interface Visit extends Attempt {
  /** Prefix of the visit's step keys, such as `3:assess`. */
  readonly key: string;
  readonly node: string;
  readonly iteration: number;
  /** Models that could not answer in this visit, in order. */
  readonly down: readonly string[];
  /** Announced calls of all attempts. */
  readonly recorded: RecordedCall[];
  /** Set for a node that runs a workflow. */
  items: Items | undefined;
  /** Set for an approval. */
  asked: Asked | undefined;
}

/** Part of a visit that begins again with each attempt. */
export class Attempt {
  turns: Turn[] = [];
  /** Number of answered model calls in this attempt, or of the groups of calls that a `steps` node has finished. */
  replies = 0;
  pending: PendingCall[] = [];
  /** Number of pending calls without an outcome. */
  unanswered = 0;
  /** Audiences and changes of writes that are not announced yet, by step key. */
  readonly audiences = new Map<string, Partial<Pick<PendingCall, "audience" | "refusal" | "change">>>();
  calls: ToolCall[] = [];
  /** For a `steps` node: position in `calls` of the latest group that ended, which a resume repeats if one failed. */
  latestGroup: number | undefined;
  /** True if a call of that group failed and may have been carried out, so that no resume repeats it. */
  isDoubtful = false;
  /** Position in `calls` from which a resume repeats the steps, if their evaluators failed. */
  repeatsFrom: number | undefined;
  /** The attempt's answer: the text of a reply without calls. */
  answer: { readonly text: string; readonly stop: string } | undefined;
  /** Whether a malformed answer was already returned to the model. */
  corrected = false;
  /** The answer whose claims were returned to the model, their check, and the number of replies until then. */
  recheck: Recheck | undefined;
  /** Problems of the latest answer if it was rejected, until the next reply. */
  rejected: readonly string[] | undefined;
  /** Whether the latest answer was cut off and requested again. */
  askedAgain = false;
  /** Replies of each judge by evaluator index. Undefined if the call failed. */
  judged = new Map<number, (string | undefined)[]>();
  /** Findings of each evidence evaluator by index. */
  examined = new Map<number, EventOf<"evidence:checked">>();
  /** Diagnosis that a retry waits for. null if it failed or was blank. */
  reflection: string | null | undefined;
  failure: AgentFailure | undefined;

  constructor(
    /** 0 for the first attempt. */
    public attempt: number,
    /** Value of activeMs when the attempt began. */
    public attemptFrom: number,
    /** Lesson of the previous attempt. */
    public lesson: Lesson | undefined = undefined,
  ) {
    this.rejected = lesson && [lesson.reason];
  }
}

interface Recheck extends Pick<Visit, "examined" | "replies"> {
  readonly text: string;
}

/** Items of a map in input order. A call has one. */
export interface Items {
  readonly all: readonly Item[];
  /** Number of items beyond the map's maximum, left for the next run. */
  readonly left: number;
  /** Position of the next item to begin: every item before it was begun or has an outcome already. */
  begun: number;
  failed: number;
  /** Whether a dry run stopped one of them at a decision. */
  isCut: boolean;
  /** Input of the first one that began. */
  first: JsonObject | undefined;
  /** Shortfalls of the items that have ended. */
  readonly degraded: Degraded[];
  /** Last visits in the items that have ended. */
  readonly visits: LastVisit[];
  /** Whether no item begins after one has failed: `on_error: fail`. */
  readonly stopsAtFailure: boolean;
  /** Items in progress, by their place. */
  readonly running: Map<string, Item>;
  /** Places of the running items that do not wait for an approval. An item that gets its answer goes to the end. */
  readonly active: Set<string>;
}

export interface Item {
  /** Undefined for a call. */
  readonly key: string | undefined;
  /** Position in the map's list. */
  readonly index: number;
  /** Undefined until the item is finished. */
  outcome: ItemOutcome | undefined;
}

type ItemOutcome = Pick<EventOf<"inner:end">, "status" | "data" | "skipped_reason">;

/** Requested approval. `until` is absent if it waits indefinitely. */
export interface Asked extends Omit<Waiting, "node"> {
  /** Value of activeMs when it was requested. */
  readonly from: number;
  word: Word | undefined;
}

/** Answer to an approval. `late` is set if no answer came in time. */
export type Word = Pick<EventOf<"approval:given">, "approved" | "by" | "note" | "late">;

/** Answer of a failed attempt, and feedback for the next one. */
export interface Lesson {
  readonly answer: string;
  readonly reason: string;
  readonly feedback: string;
  /** Calls whose results the attempt had. */
  readonly calls: readonly ToolCall[];
}

/** Call of the latest turn, in the model's order, or of the latest steps of a `steps` node. */
export interface PendingCall {
  readonly key: string;
  /** Position in the turn. The key ends with it. */
  readonly index: number;
  /** Id of the model's call part. */
  readonly id: string;
  readonly tool: string;
  readonly input: Json;
  /** Whether its arguments were invalid JSON, so that it cannot run. */
  readonly broken: boolean;
  /** Step of a `steps` node that makes the call. */
  readonly step?: string;
  /** Why the input of a step could not be filled in. */
  readonly problem?: string;
  /** Input of a step if its call is planned. References in inserted text are escaped. */
  readonly plannedInput?: Json;
  /** True if the input of a step refers to a planned operation, so that the call is planned too. */
  readonly refers?: boolean;
  announced: number | undefined;
  /** Reference under which it was announced. */
  ref: string | undefined;
  /** True if it became, or already was, an operation of the plan. */
  planned: boolean;
  /** Audience of the write, once it is known. */
  audience: Audience | undefined;
  /** Error of a service that did not report the audience. It would refuse the write too. */
  refusal?: Failure;
  /** Change that the call proposes, once it is known, or why it cannot be proposed. */
  change?: Change | Failure;
  outcome: { readonly output: Json } | { readonly error: string; readonly acted?: "unknown" } | undefined;
  images?: readonly ShownImage[];
}

export type AnnouncedCall = PendingCall & { readonly ref: string };

/** Failure of the node's own work: turn limit, early end, timeout or an unreachable model. */
export interface AgentFailure {
  readonly message: string;
  readonly cause?: FailureCause;
  /** Error code of a model. If set, the run can be resumed inside the node. */
  readonly code?: string;
  readonly hint?: RunError["hint"];
}

export interface Leaving {
  readonly node: string;
  readonly failed: boolean;
  /** Key of the visit, such as `3:assess`. */
  readonly key: string;
  readonly down: readonly string[];
  /** Whether a dry run stopped inside. */
  readonly isCut: boolean;
  /** Routing answers since the last resume. Undefined if a call failed. */
  answers: (string | undefined)[];
  readonly error: RunError | undefined;
  /** Error of the latest failed routing call. */
  routeError: RunError | undefined;
}

/** Creates a call that is not announced. Its position in the turn is the last part of the key. */
export function newCall(
  call: Omit<PendingCall, "announced" | "ref" | "planned" | "audience" | "outcome">,
): PendingCall {
  // The spread comes last: Node is slow at adding named fields after a leading spread.
  return { announced: undefined, ref: undefined, planned: false, audience: undefined, outcome: undefined, ...call };
}

export function toolCallOf({ ref, tool, input, announced, planned, outcome, step }: PendingCall): ToolCall {
  const error = announced === undefined ? "was not carried out" : "was cut off, so it may have been carried out";
  const given = outcome && "error" in outcome ? { error: outcome.error } : (outcome ?? { error });
  const call = { tool, input, ...given, ...defined("step", step), ...(planned ? { planned } : {}) };
  return ref === undefined ? call : { ref, ...call };
}

/** Returns the data of a node that runs workflows, finished or not: `{items, left, failed}`, or a call's own data. */
export function itemsData({ items }: Visit, { map }: WorkflowNode): JsonObject {
  if (!items) return map ? { items: [], left: 0, failed: 0 } : {};
  if (!map) return items.all[0]?.outcome?.data ?? {};
  const running = new Set([...items.running.values()].map(({ index }) => index));
  const told = items.all.flatMap((item) => {
    const outcome = item.outcome ?? (running.has(item.index) ? STOPPED : undefined);
    return outcome ? [{ key: item.key ?? "", ...outcome }] : [];
  });
  const notBegun = items.all.filter(({ outcome, index }) => !outcome && !running.has(index)).length;
  const failed = told.filter(({ status }) => status === "failed").length;
  return { items: told, left: items.left + notBegun, failed };
}

/** Returns the data of a `steps` node: the outputs of the steps that succeeded so far, by step. */
export function stepsData({ calls }: Pick<Visit, "calls">): JsonObject {
  const outputs = calls.flatMap(({ step, error, output = null }): [string, Json][] => {
    return step === undefined || error !== undefined ? [] : [[step, output]];
  });
  return Object.fromEntries(outputs);
}

const STOPPED: ItemOutcome = { status: "stopped", data: {} };

/** Visit on the path of a run, and what is known of it once it has ended. */
export interface PathStep {
  readonly node: string;
  /** Key of the visit, such as `3:assess`. */
  readonly key: string;
  readonly via: number | undefined;
  result: NodeResult | undefined;
  /** The shortfalls of the visit and of the runs inside it. */
  degraded: readonly Degraded[];
  /** References that the result's claims cite. */
  cited?: string[];
  /** Evidence checks of the answer. */
  checked?: readonly EventOf<"evidence:checked">[];
  /** Last visits in its inner runs. */
  inner?: readonly LastVisit[];
  /** Its claims that later visits refuted. */
  refuted?: Map<string, string>;
}

/**
 * Last visit of a node, in a run or in one of its inner runs. Visits that a resume repeats, and inner runs of visits that are
 * not the last of their node, are left out.
 */
export interface LastVisit {
  /** Place of its run. Undefined for the run itself. */
  readonly at: string | undefined;
  /** Path of the node's data in the run that lists it: `think`, `ex.results.think`, `each.items[0].data.results.think`. */
  readonly path: string;
  readonly step: PathStep;
  /** Result without the claims that were refuted. Undefined while the visit continues. */
  readonly result: NodeResult | undefined;
  /** Claims of the visit that later nodes refuted. */
  readonly refuted: Refutations;
}
