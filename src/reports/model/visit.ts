import type { BlobInfo } from "../../core/base/blobs.ts";
import type { Json, JsonObject } from "../../core/base/values.ts";
import type { EventOf, RunEvent } from "../../core/engine/event/event.ts";
import type { FailureCause, NodeResult } from "../../core/engine/event/node-result.ts";
import type { Purpose } from "../../core/engine/event/reply.ts";

/** One visit of a node, as its events tell it. */
export interface Visit {
  /** From 1, in the order of its run. */
  readonly number: number;
  /** Its place on a page: `visit-3`; of an inner run `visit-3-2-1`. */
  readonly anchor: string;
  readonly node: string;
  /** The inner run that it belongs to: `each[fp-81]`; undefined of the run itself. */
  readonly at: string | undefined;
  readonly name: string;
  readonly iteration: number;
  readonly calls: VisitCall[];
  /** What was asked, answered and told, in order. */
  readonly turns: VisitTurn[];
  readonly retries: EventOf<"node:retry">[];
  /** What code found of the claims of its answers, the last attempt's alone. */
  evidence: EventOf<"evidence:checked">[];
  /** Warnings, limits, rejected answers and failed model calls, in the order they came. */
  readonly remarks: Remark[];
  readonly models: Set<string>;
  readonly startedAt: string;
  endedAt: string;
  modelCalls: number;
  tokens: number;
  /** null where a price is unknown. */
  costUsd: number | null;
  /** undefined while the node is at work, or when its process is gone. */
  result: NodeResult | undefined;
  /** A limit or an interrupt stopped it: its result is what it had by then. */
  isStopped: boolean;
  /** What it failed by, if the executor itself decided so. */
  cause: FailureCause | undefined;
  route: EventOf<"route"> | undefined;
  /** The runs inside it, in the order of a map's list. */
  readonly inner: InnerRun[];
  /** How many items a map has left for the next run. */
  left: number;
  /** The word that it asked for, and what was said. */
  asked: (EventOf<"approval:asked"> & RunEvent) | undefined;
  word: (EventOf<"approval:given"> & RunEvent) | undefined;
  /** Why its node did less than it is for, although the run went on; of its last visit alone. */
  degraded: string[];
}

/** A run inside a visit: a call's one, or that of a map's item. */
export interface InnerRun {
  /** Its place on a page: `visit-3-2`. */
  readonly anchor: string;
  /** Of a map's item. */
  readonly key: string | undefined;
  /** undefined where it is at work, or was not begun. */
  status: EventOf<"inner:end">["status"] | undefined;
  /** Why it failed, or was skipped; empty where it was not. */
  complaint: string;
  verdict: string | undefined;
  input: JsonObject | undefined;
  startedAt: string;
  endedAt: string;
  readonly visits: Visit[];
}

/** A model call with what it brought about, or what was said between two of them. */
export type VisitTurn = Asked | { readonly kind: "told" | "retry" | "limit" | "warning"; readonly text: string };

export interface Asked {
  readonly kind: "asked";
  /** The event that answered it: the prompt is rebuilt from those before. */
  readonly seq: number;
  readonly purpose: Purpose;
  readonly model: string;
  readonly startedAt: string;
  readonly endedAt: string;
  readonly answer: EventOf<"model:reply"> | EventOf<"model:error">;
  readonly calls: VisitCall[];
}

export interface VisitCall {
  /** `r7`: what cites it, and its place on a page. */
  readonly ref: string;
  readonly id: string;
  readonly tool: string;
  readonly input: Json;
  /** From 0: the attempt that made it. */
  readonly attempt: number;
  readonly startedAt: string;
  endedAt: string | undefined;
  outcome: { readonly output: Json } | { readonly error: string } | undefined;
  /** The operation that it was planned as, in place of being carried out. */
  planned: string | undefined;
  blobs: readonly BlobInfo[];
}

export interface Remark {
  readonly kind: "warning" | "limit" | "rejected" | "model error";
  readonly text: string;
}

/** `active`: no result was recorded. */
export type VisitStatus = NodeResult["status"] | "degraded" | "active" | "stopped";

export function statusOf(visit: Visit): VisitStatus {
  const status = visit.isStopped ? "stopped" : (visit.result?.status ?? "active");
  return status === "success" && visit.degraded.length > 0 ? "degraded" : status;
}

export function durationOf({ startedAt, endedAt }: { readonly startedAt: string; readonly endedAt: string }): number {
  return Math.max(0, Date.parse(endedAt) - Date.parse(startedAt)) || 0;
}

/** Why a node did not succeed, in its own words; empty if it did. */
export function complaintOf(result: NodeResult | undefined): string {
  if (result?.status === "failed") return String(result.data.error ?? "failed");
  if (result?.status === "skipped") return String(result.data.skipped_reason ?? "skipped");
  return "";
}
