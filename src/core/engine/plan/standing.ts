import { actedByCode } from "../../base/errors.ts";
import { defined, type Json } from "../../base/values.ts";
import type { Envelope, EventOf, RunEvent } from "../event/event.ts";
import type { Operation } from "../event/operation.ts";

/** Current status of a planned operation, derived from the run's events. */
export interface Application {
  readonly standing: Standing;
  /** Time of the last change. Undefined if it was never started. */
  readonly at?: string;
  /** User who applied or resolved it. */
  readonly by?: string;
  /** Call id that the tool received. Present once it was started. */
  readonly call?: string;
  readonly output?: Json;
  /** True if the target system already had it. */
  readonly existing?: true;
  readonly error?: string;
  /** Person who denied a plan with it, and when. */
  readonly denied?: { readonly by: string; readonly at: string };
}

/** `in_doubt` means started without a known outcome, for now or forever. `denied`: a person denied the plan with it. */
export type Standing = "planned" | "applied" | "failed" | "refused" | "in_doubt" | "denied";

export const UNTOUCHED: Application = { standing: "planned" };

/** Returns the status by operation id. Operations that were never started are left out. */
export function applicationsOf(events: readonly RunEvent[]): ReadonlyMap<string, Application> {
  const applications = new Map<string, Application>();
  const planned: Operation[] = [];
  for (const event of events) {
    if (event.type === "operation:planned") planned.push(event.operation);
    if (event.type === "approval:given") {
      for (const { id } of planned) applications.set(id, standDecided(applications.get(id) ?? UNTOUCHED, event));
    }
    if (event.type === "operation:planned" || !("operation" in event)) continue;
    const { operation } = event;
    applications.set(operation, standAfter(applications.get(operation) ?? UNTOUCHED, event));
  }
  for (const { id, kind } of planned) {
    const now = applications.get(id);
    if (kind === "patch" && now?.standing === "in_doubt") applications.set(id, standInterrupted(now));
  }
  return applications;
}

/** Returns the status of a change of files that was started. It is not in doubt, because apply finds its branch and request. */
function standInterrupted(now: Application): Application {
  if (now.denied) return { ...now, standing: "denied", ...now.denied };
  return { ...now, standing: "failed", error: now.error ?? "it has not ended: apply it again" };
}

/** Updates the status of an operation that was planned before a decision about the plan. A later decision replaces it. */
export function standDecided(before: Application, event: EventOf<"approval:given"> & Envelope): Application {
  const { digest, approved, late, by, time: at } = event;
  const { denied: _, ...rest } = before;
  // A missing answer denies nothing.
  if (digest === undefined || late) return before;
  if (approved) return before.standing === "denied" ? UNTOUCHED : rest;
  if (before.standing === "applied") return before;
  const denied = { by, at };
  return before.standing === "in_doubt" ? { ...before, denied } : { standing: "denied", ...denied, denied };
}

export function standAfter(before: Application, event: RunEvent): Application {
  const { time: at } = event;
  switch (event.type) {
    case "operation:begun":
      return { standing: "in_doubt", at, by: event.by, call: event.call };
    case "operation:ended": {
      const { error, output, existing, in_doubt, acted, code } = event;
      // Older records lack `acted`, so the code decides.
      const isDoubtful = in_doubt === true || (acted === undefined && actedByCode(code) === "unknown");
      const failed = code === "call.refused" ? "refused" : "failed";
      const standing = error === undefined ? "applied" : isDoubtful ? "in_doubt" : failed;
      const told = { ...defined("output", output), ...defined("existing", existing), ...defined("error", error) };
      return { standing, at, ...defined("by", before.by), ...defined("call", before.call), ...told };
    }
    case "operation:refused":
      if (before.standing === "in_doubt") return before;
      return { standing: "refused", at, by: event.by, error: event.error };
    case "operation:resolved":
      if (before.denied && !event.applied) return { standing: "denied", ...before.denied, denied: before.denied };
      return { standing: event.applied ? "applied" : "planned", at, by: event.by };
    default:
      return before;
  }
}

/** Result of an operation, as `apply` reports it. */
export type ApplyStatus = Exclude<Standing, "planned" | "denied"> | "already_applied" | "skipped" | "not_approved";
