import { actedByCode } from "../../base/errors.ts";
import { defined, type Json } from "../../base/values.ts";
import type { EventOf, RunEvent } from "../event/event.ts";

/** How an operation of a plan stands now, as the run's events tell it. */
export interface Application {
  readonly standing: Standing;
  /** When it came to stand so; undefined while nobody has touched it. */
  readonly at?: string;
  /** Who applied it, or said what became of it. */
  readonly by?: string;
  /** The id that its tool knows the call by, once it was begun. */
  readonly call?: string;
  readonly output?: Json;
  /** The sink had it already. */
  readonly existing?: true;
  readonly error?: string;
}

/** `in_doubt`: begun, without an outcome so far, or ever. */
export type Standing = "planned" | "applied" | "failed" | "in_doubt";

export const UNTOUCHED: Application = { standing: "planned" };

/** By operation; those that were never begun are not in it. */
export function applicationsOf(events: readonly RunEvent[]): ReadonlyMap<string, Application> {
  const applications = new Map<string, Application>();
  for (const event of events) {
    const operation = operationOf(event);
    if (operation !== undefined)
      applications.set(operation, standAfter(applications.get(operation) ?? UNTOUCHED, event));
  }
  return applications;
}

/** The id of the planned one that something comes of. */
function operationOf(event: RunEvent): string | undefined {
  return event.type !== "operation:planned" && "operation" in event ? event.operation : undefined;
}

/** How an operation stands after one more event about it. */
export function standAfter(before: Application, event: RunEvent): Application {
  const { time: at } = event;
  switch (event.type) {
    case "operation:begun":
      return { standing: "in_doubt", at, by: event.by, call: event.call };
    case "operation:ended": {
      const { error, output, existing } = event;
      const standing = error === undefined ? "applied" : isInDoubt(event) ? "in_doubt" : "failed";
      const told = { ...defined("output", output), ...defined("existing", existing), ...defined("error", error) };
      return { standing, at, ...defined("by", before.by), ...defined("call", before.call), ...told };
    }
    case "operation:resolved":
      return { standing: event.applied ? "applied" : "planned", at, by: event.by };
    default:
      return before;
  }
}

/** Older records do not state whether the call may have written: there, its code decides. */
function isInDoubt({ in_doubt, acted, code }: EventOf<"operation:ended">): boolean {
  return in_doubt === true || (acted === undefined && actedByCode(code) === "unknown");
}
