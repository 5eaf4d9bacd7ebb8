import type { BlobInfo } from "../../core/base/blobs.ts";
import { shortText } from "../../core/base/preview.ts";
import type { Json, JsonObject } from "../../core/base/values.ts";
import type { EventOf, RunEvent } from "../../core/engine/event/event.ts";
import type { FailureCause, NodeResult } from "../../core/engine/event/node-result.ts";
import type { Purpose } from "../../core/engine/event/reply.ts";

export interface Visit {
  /** Number of the visit in its run, from 1. */
  readonly number: number;
  /** Anchor on a report page: `visit-3`, or `visit-3-2-1` in an inner run. */
  readonly anchor: string;
  readonly node: string;
  /** Place of the inner run that it belongs to, such as `each[fp-81]`. Undefined for the run itself. */
  readonly at: string | undefined;
  readonly name: string;
  readonly iteration: number;
  readonly calls: VisitCall[];
  /** Model calls and the messages between them, in order. */
  readonly turns: VisitTurn[];
  readonly retries: EventOf<"node:retry">[];
  /** Evidence checks of the last attempt's claims. */
  evidence: EventOf<"evidence:checked">[];
  /** Warnings, limits, rejected answers and failed model calls, in order. */
  readonly remarks: Remark[];
  readonly startedAt: string;
  endedAt: string;
  /** Milliseconds in between during which no process was driving the run. */
  idleMs?: number;
  /** Undefined while the node is running, or if its process died. */
  result?: NodeResult | undefined;
  /** A limit or an interrupt stopped the visit, so its result may be incomplete. */
  isStopped: boolean;
  /** The run was resumed from this visit or an earlier one with `--from`, so the visit no longer counts. */
  isTakenBack: boolean;
  /** Cause of the failure, if the executor itself failed the node. */
  cause?: FailureCause | undefined;
  route?: EventOf<"route">;
  /** Inner runs. Those of a map are in the order of its list. */
  readonly inner: InnerRun[];
  /** Number of items that a map left for the next run. */
  left: number;
  /** Requested approval. `word` is the answer. */
  asked?: EventOf<"approval:asked"> & RunEvent;
  word?: EventOf<"approval:given"> & RunEvent;
  /** Write steps that were skipped, because writes are denied. */
  denied: readonly string[];
  /** Reasons why its node is degraded. Once the run has ended, only a node's last visit has any. */
  degraded: string[];
}

/** Run inside a visit, of a `call` node or of a map's item. */
export interface InnerRun {
  /** Anchor on a report page: `visit-3-2`. */
  readonly anchor: string;
  readonly key: string | undefined;
  /** Undefined if it is still running or has not started. */
  status?: EventOf<"inner:end">["status"];
  /** Why it failed or was skipped. Empty otherwise. */
  complaint: string;
  verdict?: string;
  input?: JsonObject;
  startedAt: string;
  endedAt: string;
  idleMs?: number;
  readonly visits: Visit[];
}
export function switchText({ from, to, reason }: EventOf<"model:switch">): string {
  return `${from} could not answer, so ${to} is asked until the end of the visit: ${reason}`;
}

const MOST_SWITCHES = 5;

/** Describes the model switches in visits. Switches for the same reason are counted. */
export function switchesIn(visits: readonly Visit[]): string[] {
  const counts = new Map<string, number>();
  for (const { kind, text } of visits.flatMap(({ remarks }) => remarks)) {
    if (kind === "model switch") counts.set(text, (counts.get(text) ?? 0) + 1);
  }
  const lines = [...counts].map(
    ([text, count]) => `${shortText(text, 240)}${count === 1 ? "" : ` (in ${count} visits)`}`,
  );
  return lines.slice(0, MOST_SWITCHES);
}

/** Model call with its tool calls, or a message between two model calls. */
export type VisitTurn = Asked | { readonly kind: "told" | "retry" | "limit" | "warning"; readonly text: string };

export interface Asked {
  readonly kind: "asked";
  /** Number of the answer's event. The prompt is rebuilt from the events before it. */
  readonly seq: number;
  readonly purpose: Purpose;
  readonly model: string;
  readonly startedAt: string;
  readonly endedAt: string;
  readonly answer: RunEvent & (EventOf<"model:reply"> | EventOf<"model:error">);
  readonly calls: VisitCall[];
}

export interface VisitCall {
  /** Reference that cites use, such as `r7`. Also its anchor on a report page. */
  readonly ref: string;
  readonly id: string;
  /** Position of its announcement in the run. */
  seq: number;
  readonly tool: string;
  readonly input: Json;
  /** Attempt that made the call, from 0. */
  readonly attempt: number;
  readonly startedAt: string;
  endedAt?: string;
  /** The call failed, but may have been carried out. */
  mayHaveActed?: boolean;
  outcome?: { readonly output: Json } | { readonly error: string };
  /** Id of the operation, if the call was planned instead of carried out. */
  planned?: string | undefined;
  blobs: readonly BlobInfo[];
}

export interface Remark {
  readonly kind: "warning" | "limit" | "rejected" | "model error" | "model switch";
  readonly text: string;
}

/** Status of a visit. `active` means that no result was recorded. */
export type VisitStatus = NodeResult["status"] | "degraded" | "active" | "stopped";

export function statusOf(visit: Visit): VisitStatus {
  const status = visit.isStopped ? "stopped" : (visit.result?.status ?? "active");
  return status === "success" && visit.degraded.length > 0 ? "degraded" : status;
}

const STATUS_WORDS = { success: "succeeded", active: "running" } as const;

type StatusWord = "succeeded" | "degraded" | "failed" | "skipped" | "running" | "stopped" | "waiting";

/** Returns the status in words, or `waiting` for a pending approval. */
export function statusWord(visit: Visit): StatusWord {
  const status = statusOf(visit);
  if (status === "active" && visit.asked && !visit.word) return "waiting";
  return status === "success" || status === "active" ? STATUS_WORDS[status] : status;
}

type Timed = Pick<Visit, "startedAt" | "endedAt" | "idleMs">;

/** Returns the time in which the run was driven, as waiting for a person does not count. */
export function durationOf({ startedAt, endedAt, idleMs = 0 }: Timed): number {
  return Math.max(0, Date.parse(endedAt) - Date.parse(startedAt) - idleMs) || 0;
}

/** Returns the reason why a node failed or was skipped. Empty otherwise. */
export function complaintOf(result: NodeResult | undefined): string {
  if (result?.status === "failed") return String(result.data.error ?? "failed");
  if (result?.status === "skipped") return String(result.data.skipped_reason ?? "skipped");
  return "";
}
