import type { EventOf, RunEvent } from "../../core/engine/event/event.ts";
import type { Prompt } from "../../core/engine/event/prompt.ts";
import type { RunRecord } from "../../core/engine/event/record.ts";
import type { RunResult } from "../../core/engine/result/result.ts";
export interface Report {
  readonly record: RunRecord;
  readonly result: RunResult;
  readonly events: readonly RunEvent[];
  /** Folder of the run's blobs. Relative to the report file if one links to them. */
  readonly blobs?: string;
  /** Returns the position of a node's key in the workflow file, if it is still there. */
  readonly placeOf?: (node: string) => Place | undefined;
  /** Computes a prompt's digest as the run did. */
  readonly digest?: (prompt: Prompt) => string;
  /** Returns the cost of the recording that a replay uses. null if unknown, undefined without a recording. */
  readonly recordingCost?: () => number | null | undefined;
  /** Skills that the user trusts in this process. */
  readonly trusted?: readonly string[];
  /** A process is still driving the run. */
  readonly isUnderWay?: boolean;
}

/** Position in a file. Lines and columns start at 1. */
export interface Place {
  readonly line?: number;
  readonly column?: number;
}

/** Returns the event of the run's last end. */
export function endOf({ events }: Report): EventOf<"workflow:end"> | undefined {
  return events.findLast((event) => event.type === "workflow:end");
}
