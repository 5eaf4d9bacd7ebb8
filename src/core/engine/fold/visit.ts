import type { ShownImage } from "../../base/image.ts";
import { defined, type Json, type JsonObject } from "../../base/values.ts";
import type { Audience, Failure } from "../../skill/skill.ts";
import type { RecordedCall } from "../event/call.ts";
import type { Degraded, RunError } from "../event/end.ts";
import type { EventOf } from "../event/event.ts";
import type { FailureCause, ToolCall } from "../event/node-result.ts";
import type { Turn } from "../event/prompt.ts";

export interface Visit {
  /** `3:assess`: begins every step key of the visit. */
  readonly key: string;
  readonly node: string;
  readonly iteration: number;
  /** 0 for the first attempt. */
  attempt: number;
  /** The run's activeMs when the attempt began. */
  attemptFrom: number;
  /** Of the attempt before. */
  lesson: Lesson | undefined;
  /** The calls that were announced, of all attempts. */
  readonly recorded: RecordedCall[];
  turns: Turn[];
  /** Model invocations of this attempt that were answered (N6). */
  replies: number;
  pending: PendingCall[];
  /** Of the pending calls, those without an outcome. */
  unanswered: number;
  calls: ToolCall[];
  /** The text of a reply without calls: the attempt's answer. */
  answer: { readonly text: string; readonly stop: string } | undefined;
  /** An answer already went back to the model once, for its shape. */
  corrected: boolean;
  /** Why the latest answer did not count: nothing else has come since. */
  rejected: readonly string[] | undefined;
  /** The latest answer was cut off, and is asked for once more. */
  askedAgain: boolean;
  /** The runs of each judge, by the evaluator's index; undefined where it threw. */
  readonly judged: Map<number, (string | undefined)[]>;
  /** What each evidence evaluator found, by its index. */
  readonly examined: Map<number, EventOf<"evidence:checked">>;
  /** The diagnosis that a retry waits for; null once it failed or was blank. */
  reflection: string | null | undefined;
  failure: AgentFailure | undefined;
  /** Of a node that runs a workflow. */
  items: Items | undefined;
  /** Of an approval. */
  asked: Asked | undefined;
}

/** The items of a map, in the order of its input; a call has one. */
export interface Items {
  readonly all: readonly Item[];
  /** How many are for the next run, as there are more than the map takes. */
  readonly left: number;
  /** Position of the next item to begin: every item before it was begun or has an outcome already. */
  begun: number;
  failed: number;
  /** Shortfalls of the items that have ended. */
  readonly degraded: Degraded[];
  /** Whether no item begins after one has failed: `on_error: fail`. */
  readonly stopsAtFailure: boolean;
  /** Items in progress, by their place. */
  readonly running: Map<string, Item>;
  /** Places of the running items that do not wait for an approval. An item that gets its answer goes to the end. */
  readonly active: Set<string>;
}

export interface Item {
  /** Of a map. */
  readonly key: string | undefined;
  /** Its position in the map's list. */
  readonly index: number;
  /** What came of it; undefined until it is over. */
  outcome: ItemOutcome | undefined;
}

export interface ItemOutcome {
  readonly status: "success" | "failed" | "skipped" | "stopped";
  readonly data: JsonObject;
  readonly skipped_reason?: string;
}

/** A person's word that was asked for. */
export interface Asked {
  readonly ask: string;
  /** ISO 8601 */
  readonly since: string;
  /** ISO 8601; undefined where it waits for ever. */
  readonly until: string | undefined;
  /** The run's activeMs when it was asked. */
  readonly from: number;
  /** Of the plan that is asked about. */
  readonly digest: string | undefined;
  word: Word | undefined;
}

export interface Word {
  readonly approved: boolean;
  readonly by: string;
  readonly note?: string;
  /** Nobody answered in time. */
  readonly late?: true;
}

/** What an attempt that failed answered, and what the next one is told about it. */
export interface Lesson {
  readonly answer: string;
  /** Why it failed. */
  readonly reason: string;
  readonly feedback: string;
  /** The calls whose results it had. */
  readonly calls: readonly ToolCall[];
}

/** A call of the latest turn, in the order in which the model made them. */
export interface PendingCall {
  readonly key: string;
  /** Its place in the turn, in which the key ends. */
  readonly index: number;
  /** The id of the model's call part. */
  readonly id: string;
  readonly tool: string;
  readonly input: Json;
  /** Why it cannot run: its arguments were no JSON. */
  readonly broken: boolean;
  /** The epoch in which it was announced. */
  announced: number | undefined;
  /** The reference that it was announced with. */
  ref: string | undefined;
  /** It became an operation of the plan, or is one already. */
  planned: boolean;
  /** Who would read what it writes, once that was asked. */
  audience: Audience | undefined;
  /** Why its service refused to say so: the write would be refused too. */
  refusal?: Failure;
  outcome: { readonly output: Json } | { readonly error: string; readonly acted?: "unknown" } | undefined;
  /** Of its output. */
  images?: readonly ShownImage[];
}

/** The node's own work failed: turn cap, early end, timeout, a model that cannot be reached (N39). */
export interface AgentFailure {
  readonly message: string;
  readonly cause?: FailureCause;
  /** A model's error code: the run can be resumed inside the node. */
  readonly code?: string;
  readonly hint?: string;
}

export interface Leaving {
  readonly node: string;
  readonly failed: boolean;
  /** `3:assess` */
  readonly key: string;
  /** Their answers since the run was last resumed; undefined where the call failed. */
  answers: (string | undefined)[];
  /** Of the node, when it failed. */
  readonly error: RunError | undefined;
  /** Of the latest routing call that failed. */
  routeError: RunError | undefined;
}

export function toolCallOf({ ref, tool, input, announced, planned, outcome }: PendingCall): ToolCall {
  const error = announced === undefined ? "was not carried out" : "was cut off, so it may have been carried out";
  const given = outcome && "error" in outcome ? { error: outcome.error } : (outcome ?? { error });
  return { ...defined("ref", ref), tool, input, ...given, ...(planned ? { planned } : {}) };
}
