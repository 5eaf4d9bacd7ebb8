import * as z from "zod";
import type { Fitting } from "../../base/values.ts";
import { lazyObject } from "../../skill/field.ts";
import { truthSchema } from "./backtest.ts";
import { GRADES } from "./grade.ts";

/** Results of a backtest, as `--json` prints them. */

const [text, count, number] = [z.string, z.int, z.number];
const given = () => text().nullable();
const spent = () => ({
  tokens: z.object({ input: count(), output: count() }),
  costUsd: number().nullable().describe("Cost in US dollars. null if the price of any call is unknown"),
  calls: count(),
});
const summary = () => ({
  score: number().describe("Mean score of the runs"),
  ...{ right: count(), partly: count(), wrong: count(), abstained: count(), failed: count() },
  decoys: count().describe("Decoys that runs took for the cause"),
  ...spent(),
  medianMs: count(),
  agreement: number().describe("Share of the runs with the most common answer"),
});
const runOf = () => ({
  ...{ run: text(), grade: z.enum(GRADES), score: number(), decoys: z.array(text()) },
  parts: z.partialRecord(truthSchema().keyof().exclude(["decoys"]), z.boolean()).describe("Parts of the truth, if met"),
  answer: z.object({ verdict: given(), cause_kind: given(), commit: given(), service: given(), cause: given() }),
  ...spent(),
  durationMs: count(),
  error: text().optional().describe("Why the run failed"),
});
const caseOf = () => ({
  ...{ id: text(), workflow: text(), model: text(), as_of: given(), truth: truthSchema(), ...summary() },
  unbounded: z.array(z.object({ tool: text(), calls: count() })).describe("Calls that do not end at the case's clock"),
  runs: z.array(z.object(runOf())),
});
const comparison = () => ({ before: number(), now: number(), spread: number(), fell: z.boolean(), cases: count() });

export const backtestResultSchema = lazyObject(() => ({
  schema: z.literal("skillflow.backtest/1"),
  runs: count().describe("Runs of each case"),
  leftOut: count().describe("Judged runs that make no case"),
  cases: z.array(z.object(caseOf())),
  total: z.object({ cases: count(), ...summary() }),
  baseline: z.object(comparison()).optional().describe("Mean scores of the cases that both results have"),
}));
export type BacktestResult = Fitting<typeof backtestResultSchema>;
