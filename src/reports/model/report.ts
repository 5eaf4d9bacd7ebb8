import type { EventOf, RunEvent } from "../../core/engine/event/event.ts";
import type { Prompt } from "../../core/engine/event/prompt.ts";
import type { RunRecord } from "../../core/engine/event/record.ts";
import type { RunResult } from "../../core/engine/result/result.ts";

/** All that a report is drawn from. */
export interface Report {
  readonly record: RunRecord;
  readonly result: RunResult;
  readonly events: readonly RunEvent[];
  /** The folder of the run's blobs; a report that links them sees it from where it lies. */
  readonly blobs?: string;
  /** Where a node's key stands in the workflow's file, as far as it is still there. */
  readonly placeOf?: (node: string) => Place | undefined;
  /** As the run digested its prompts. */
  readonly digest?: (prompt: Prompt) => string;
  /** What the recording cost that answers a replay; null where that is unknown. */
  readonly recordingCost?: number | null;
  /** The skills that this process was told to trust. */
  readonly trusted?: readonly string[];
  /** A process is driving the run: it has no end yet. */
  readonly isUnderWay?: boolean;
}

/** Where something is in a file; lines and columns from 1. */
export interface Place {
  readonly line?: number;
  readonly column?: number;
}

/** What the run said when it ended. */
export function endOf({ events }: Report): EventOf<"workflow:end"> | undefined {
  return events.findLast((event) => event.type === "workflow:end");
}

/** What each missing skill was missing at, and why. */
interface LeftOut {
  readonly skill: string;
  readonly reason: string;
  /** Ids of the visited nodes that list it. */
  readonly nodes: readonly string[];
}

/** The skills that a run went on without, each once. */
export function leftOutSkills({ degraded }: RunResult): readonly LeftOut[] {
  const skills = new Map<string, { skill: string; reason: string; nodes: string[] }>();
  for (const { skill, node, reason } of degraded) {
    if (skill === undefined) continue;
    const known = skills.get(skill) ?? { skill, reason, nodes: [] };
    known.nodes.push(node);
    skills.set(skill, known);
  }
  return [...skills.values()];
}
