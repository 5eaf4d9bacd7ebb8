import * as z from "zod";
import { type Fitting, isObject, lazy } from "../../base/values.ts";
import { lazyObject } from "../../skill/field.ts";
import type { StateEntry } from "../event/record.ts";
import type { StateDelta } from "../ports.ts";

/** Statements of people about finished runs. They are kept in a state, because the record of a finished run is sealed. */

/** Internal state whose file has one line of JSON per statement, `_feedback.jsonl`. */
export const FEEDBACK = "_feedback";

export const JUDGEMENTS = ["right", "partly", "wrong"] as const;
export type Judgement = (typeof JUDGEMENTS)[number];

const judgementSchema = lazyObject(() => ({
  kind: z.literal("judgement"),
  run: z.string(),
  workflow: z.string().describe("Id of the workflow"),
  judgement: z.enum(JUDGEMENTS),
  cause: z.string().optional().catch(undefined).describe("True cause, in the person's words"),
  by: z.string(),
  at: z.string().describe("ISO 8601"),
  verdict: z.string().nullable().catch(null).describe("Verdict of the run"),
}));
export type JudgementLine = Fitting<typeof judgementSchema>;

const text = () => z.string().optional().catch(undefined);

/** A judgement, a refused answer, or an operation that was withdrawn. Other fields that are not texts are left out. */
const lineSchema = lazy(() =>
  z.discriminatedUnion("kind", [
    judgementSchema(),
    z.object({
      kind: z.enum(["refusal", "withdrawn"]),
      run: z.string(),
      at: z.string(),
      operation: text().describe("Operation that was withdrawn, or about which a decision was refused"),
      digest: text().describe("Digest of the operation"),
      by: text(),
      reason: text().describe("Why a decision was refused"),
    }),
  ]),
);
export type FeedbackLine = Fitting<typeof lineSchema>;

/** Returns the change that appends a line. `id` identifies the line among all lines. */
export function feedbackDelta(line: FeedbackLine, id: string): StateDelta {
  const { at } = line;
  const change = { key: id, first: at, last: at, runs: 1, seen: 1, data: { ...line } };
  return { id: `${FEEDBACK}/${id}`, states: { [FEEDBACK]: { changes: [change], limits: {} } } };
}

/** Reads the lines in the order in which they were written. Skips those that a kill cut off. They count from 1. */
export function readFeedback(entries: readonly StateEntry[]) {
  const lines: FeedbackLine[] = [];
  const skipped: { readonly line: number; readonly reason: string }[] = [];
  for (const [index, { data }] of entries.entries()) {
    const line = lineSchema().safeParse(data).data;
    if (line) lines.push(line);
    else skipped.push({ line: index + 1, reason: isObject(data) ? "unknown kind of line" : "the line is not JSON" });
  }
  return { lines, skipped };
}

export function withdrawalOf(
  lines: readonly FeedbackLine[],
  { run, id, digest }: { readonly run: string; readonly id: string; readonly digest: string },
) {
  const isIts = (line: FeedbackLine) => line.kind === "withdrawn" && line.run === run && line.operation === id;
  return lines.find((line) => isIts(line) && "digest" in line && line.digest === digest);
}

export function judgementBy(by: string, run: string, lines: readonly FeedbackLine[]): JudgementLine | undefined {
  return lines
    .flatMap((line) => (line.kind === "judgement" && line.run === run && line.by === by ? [line] : []))
    .at(-1);
}

/** Returns the judgement of each run. The last one counts. */
export function judgementsIn(lines: readonly FeedbackLine[]): ReadonlyMap<string, JudgementLine> {
  return new Map(lines.flatMap((line) => (line.kind === "judgement" ? [[line.run, line] as const] : [])));
}
