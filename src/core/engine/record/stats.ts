import * as z from "zod";
import { type Fitting, groupBy } from "../../base/values.ts";
import { lazyObject, optional } from "../../skill/field.ts";
import { isApplied } from "../decide/admit.ts";
import { stateOf } from "../fold/fold.ts";
import type { PlannedOperation } from "../fold/state.ts";
import type { StoredRun } from "../ports.ts";
import type { Recheck } from "../recheck/answer.ts";
import { ANSWERS } from "../recheck/compare.ts";
import { costOf } from "../result/result.ts";
import { type FeedbackLine, JUDGEMENTS, type Judgement, judgementsIn } from "../state/feedback.ts";
import type { RunSummary } from "./run-summary.ts";

const count = () => z.int().min(0);

export const statsSchema = lazyObject(() => ({
  schema: z.literal("skillflow.stats/1"),
  since: z.string().describe("Runs that started before this time are not counted (ISO 8601)"),
  rows: z.array(
    z.object({
      workflow: z.string(),
      model: z.string().describe("none for runs that succeeded and asked no model"),
      runs: count(),
      verdicts: z.record(z.string(), count()).describe("Number of runs by verdict"),
      right: count().describe("Runs whose last judgement is right"),
      partly: count(),
      wrong: count(),
      rechecks: z.object({ held: count(), not_held: count(), inconclusive: count() }),
      planned: count().describe("Writes that were planned"),
      applied: count(),
      rejected: count().describe("Planned writes that were denied, or refused at apply"),
      tokens: z.object({ input: count(), output: count() }),
      costUsd: z.number().nullable().describe("null if the price of any call is unknown"),
      medianMs: z.number().nullable().describe("Median active time of the runs that have ended. null without any."),
    }),
  ),
  skipped: z
    .array(
      z.object({
        run: optional(z.string(), "Run that could not be read"),
        line: optional(z.int(), "Line of _feedback.jsonl that could not be read"),
        reason: z.string(),
      }),
    )
    .describe("What is not counted"),
}));
export type Stats = Fitting<typeof statsSchema>;
export type StatsRow = Stats["rows"][number];

export type WriteCounts = Readonly<Pick<StatsRow, "planned" | "applied" | "rejected">>;

export interface CountedRun {
  readonly summary: RunSummary;
  /** `none` if the run succeeded and asked no model. */
  readonly model: string;
  readonly writes: WriteCounts;
}

/** Counts the planned writes of a run. `lines` are the feedback lines about it. */
export function writesIn({ record, events }: StoredRun, lines: readonly FeedbackLine[]): WriteCounts {
  const planned = stateOf({ record, events }).run.operations.filter(({ withdrawn }) => !withdrawn);
  const rejected = new Set(lines.flatMap((line) => (line.kind === "withdrawn" ? [line.operation] : [])));
  const applied = planned.filter(isApplied).length;
  const isRejected = (one: PlannedOperation) =>
    ["denied", "refused"].includes(one.application.standing) || (!isApplied(one) && rejected.has(one.operation.id));
  return { planned: planned.length, applied, rejected: planned.filter(isRejected).length };
}

interface Counted {
  readonly runs: readonly CountedRun[];
  readonly rechecks: readonly Pick<Recheck, "of" | "answer">[];
  readonly lines: readonly FeedbackLine[];
}

/** Adds up the runs per workflow and model. Judgements and rechecks of other runs are left out. */
export function countRuns({ runs, rechecks, lines }: Counted): StatsRow[] {
  const judgements = judgementsIn(lines);
  const groups = groupBy(runs, ({ summary, model }) => JSON.stringify([summary.workflow, model]));
  const rows = [...groups.values()].map((group) => {
    const ids = new Set(group.map(({ summary }) => summary.id));
    const judged = [...ids].flatMap((id) => judgements.get(id)?.judgement ?? []);
    const answers = rechecks.flatMap(({ of, answer }) => (ids.has(of) ? [answer] : []));
    return rowOf(group, judged, answers);
  });
  return rows.sort((a, b) => compare(a.workflow, b.workflow) || compare(a.model, b.model));
}

const compare = (a: string, b: string) => (a < b ? -1 : a > b ? 1 : 0);

type Answers = readonly Recheck["answer"][];

function rowOf(group: readonly CountedRun[], judged: readonly Judgement[], answers: Answers): StatsRow {
  const summaries = group.map(({ summary }) => summary);
  const [first] = group;
  const times = summaries.flatMap(({ endedAt, durationMs }) => (endedAt === null ? [] : [durationMs]));
  const verdicts = summaries.flatMap(({ verdict }) => (verdict === null ? [] : [verdict]));
  const unpriced = summaries.filter(({ costUsd }) => costUsd === null).length;
  const total = (of: (one: CountedRun) => number) => group.reduce((sum, one) => sum + of(one), 0);
  return {
    workflow: first?.summary.workflow ?? "",
    model: first?.model ?? "",
    runs: group.length,
    verdicts: tally(verdicts),
    ...occurrences(judged, JUDGEMENTS),
    rechecks: occurrences(answers, ANSWERS),
    planned: total(({ writes }) => writes.planned),
    applied: total(({ writes }) => writes.applied),
    rejected: total(({ writes }) => writes.rejected),
    tokens: {
      input: total(({ summary }) => summary.inputTokens),
      output: total(({ summary }) => summary.outputTokens),
    },
    costUsd: costOf({ costUsd: total(({ summary }) => summary.costUsd ?? 0), unpriced }),
    medianMs: medianOf(times),
  };
}

function tally(values: readonly string[]): Record<string, number> {
  const counts = [...groupBy(values, (value) => value)].map(([value, same]) => [value, same.length] as const);
  return Object.fromEntries(counts.sort(([a], [b]) => compare(a, b)));
}

function occurrences<Name extends string>(values: readonly Name[], names: readonly Name[]) {
  const counts = names.map((name) => [name, values.filter((value) => value === name).length]);
  return Object.fromEntries(counts) as Record<Name, number>;
}

function medianOf(times: readonly number[]): number | null {
  const sorted = [...times].sort((a, b) => a - b);
  const half = Math.floor(sorted.length / 2);
  const [low, high] = [sorted[Math.ceil(sorted.length / 2) - 1], sorted[half]];
  return low === undefined || high === undefined ? null : Math.round((low + high) / 2);
}
