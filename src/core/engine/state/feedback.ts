import { isObject, type Json, type JsonObject } from "../../base/values.ts";
import type { StateEntry } from "../event/record.ts";
import type { StateDelta } from "../ports.ts";

/** Statements of people about finished runs. They are kept in a state, because the record of a finished run is sealed. */

/** Internal state whose file has one line of JSON per statement, `_feedback.jsonl`. */
export const FEEDBACK = "_feedback";

export const JUDGEMENTS = ["right", "partly", "wrong"] as const;
export type Judgement = (typeof JUDGEMENTS)[number];

/** A person's judgement of a run. */
export interface JudgementLine {
  readonly kind: "judgement";
  readonly run: string;
  /** Id of the workflow. */
  readonly workflow: string;
  readonly judgement: Judgement;
  /** The true cause, in the person's words. */
  readonly cause?: string;
  readonly by: string;
  /** ISO 8601. */
  readonly at: string;
  /** Verdict of the run. */
  readonly verdict: string | null;
}

/** A line about a run: a judgement, a refused answer, or an operation that was withdrawn. */
export type FeedbackLine =
  | JudgementLine
  | {
      readonly kind: "refusal" | "withdrawn";
      readonly run: string;
      readonly at: string;
      /** Operation that was withdrawn, or about which a decision was refused. */
      readonly operation?: string;
      /** Digest of the operation. */
      readonly digest?: string;
      readonly by?: string;
      /** Why a decision was refused. */
      readonly reason?: string;
    };

/** Returns the change that appends a line. `id` identifies the line among all lines. */
export function feedbackDelta(line: FeedbackLine, id: string): StateDelta {
  const { at } = line;
  const change = { key: id, first: at, last: at, runs: 1, seen: 1, data: { ...line } };
  return { id: `${FEEDBACK}/${id}`, states: { [FEEDBACK]: { changes: [change], limits: {} } } };
}

/** A line that cannot be read, such as one that a kill cut off. `line` counts from 1. */
export interface SkippedLine {
  readonly line: number;
  readonly reason: string;
}

/** Reads the lines in the order in which they were written. */
export function readFeedback(entries: readonly StateEntry[]): {
  readonly lines: readonly FeedbackLine[];
  readonly skipped: readonly SkippedLine[];
} {
  const lines: FeedbackLine[] = [];
  const skipped: SkippedLine[] = [];
  for (const [index, { data }] of entries.entries()) {
    const line = lineOf(data);
    if (line) lines.push(line);
    else skipped.push({ line: index + 1, reason: isObject(data) ? "unknown kind of line" : "the line is not JSON" });
  }
  return { lines, skipped };
}

function lineOf(data: Json): FeedbackLine | undefined {
  if (!isObject(data)) return undefined;
  const { kind, run, workflow, judgement, cause, by, at, verdict } = data as JsonObject;
  if (typeof run !== "string" || typeof at !== "string") return undefined;
  if (kind === "refusal" || kind === "withdrawn") {
    const said = ["operation", "digest", "by", "reason"].map((name) => [name, (data as JsonObject)[name]] as const);
    return { kind, run, at, ...Object.fromEntries(said.filter(([, value]) => typeof value === "string")) };
  }
  const known = JUDGEMENTS.find((one) => one === judgement);
  if (kind !== "judgement" || !known || typeof workflow !== "string" || typeof by !== "string") return undefined;
  return {
    ...{ kind, run, workflow, judgement: known, by, at },
    ...(typeof cause === "string" ? { cause } : {}),
    verdict: typeof verdict === "string" ? verdict : null,
  };
}

/** Returns the line that withdrew an operation of a run. */
export function withdrawalOf(
  lines: readonly FeedbackLine[],
  { run, id, digest }: { readonly run: string; readonly id: string; readonly digest: string },
) {
  const isIts = (line: FeedbackLine) => line.kind === "withdrawn" && line.run === run && line.operation === id;
  return lines.find((line) => isIts(line) && "digest" in line && line.digest === digest);
}

/** Returns a person's last judgement of a run. */
export function judgementBy(by: string, run: string, lines: readonly FeedbackLine[]): JudgementLine | undefined {
  return lines
    .flatMap((line) => (line.kind === "judgement" && line.run === run && line.by === by ? [line] : []))
    .at(-1);
}

/** Returns the judgement of each run. The last one counts. */
export function judgementsIn(lines: readonly FeedbackLine[]): ReadonlyMap<string, JudgementLine> {
  return new Map(lines.flatMap((line) => (line.kind === "judgement" ? [[line.run, line] as const] : [])));
}
