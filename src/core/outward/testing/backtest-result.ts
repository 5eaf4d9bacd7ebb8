import * as z from "zod";
import { type Fitting, lazy } from "../../base/values.ts";
import { optional } from "../../skill/field.ts";
import { truthSchema } from "./backtest.ts";
import { GRADES } from "./grade.ts";

/** Results of a backtest, as `--json` prints them. */

const tokens = () => z.object({ input: z.int(), output: z.int() });
const cost = () => z.number().nullable().describe("Cost in US dollars. null if the price of any call is unknown");
const nullableText = () => z.string().nullable();

const summary = () => ({
  score: z.number().describe("Mean score of the runs"),
  ...{ right: z.int(), partly: z.int(), wrong: z.int(), abstained: z.int() },
  failed: z.int().describe("Runs that failed"),
  decoys: z.int().describe("Decoys that runs took for the cause"),
  tokens: tokens(),
  costUsd: cost(),
  calls: z.int(),
  medianMs: z.int(),
  agreement: z.number().describe("Share of the runs with the most common answer"),
});

const runSchema = lazy(() =>
  z.object({
    run: z.string(),
    grade: z.enum(GRADES),
    score: z.number(),
    parts: z
      .partialRecord(truthSchema().keyof().exclude(["decoys"]), z.boolean())
      .describe("Whether each part that the truth has was met"),
    decoys: z.array(z.string()),
    answer: z.object({
      verdict: nullableText(),
      cause_kind: nullableText(),
      commit: nullableText(),
      service: nullableText(),
      cause: nullableText(),
    }),
    tokens: tokens(),
    costUsd: cost(),
    calls: z.int(),
    durationMs: z.int(),
    error: optional(z.string(), "Why the run failed"),
  }),
);

export const backtestResultSchema = lazy(() =>
  z.object({
    schema: z.literal("skillflow.backtest/1"),
    runs: z.int().describe("Runs of each case"),
    leftOut: z.int().describe("Judged runs that make no case"),
    cases: z.array(
      z.object({
        id: z.string(),
        workflow: z.string(),
        model: z.string(),
        as_of: nullableText(),
        truth: truthSchema(),
        ...summary(),
        unbounded: z
          .array(z.object({ tool: z.string(), calls: z.int() }))
          .describe("Calls of tools that do not end at the clock of the case"),
        runs: z.array(runSchema()),
      }),
    ),
    total: z.object({ cases: z.int(), ...summary() }),
    baseline: optional(
      z.object({
        before: z.number(),
        now: z.number(),
        spread: z.number().describe("Twice the standard error of the difference"),
        fell: z.boolean(),
        cases: z.int(),
      }),
      "Comparison of the mean scores of the cases that both results have",
    ),
  }),
);
export type BacktestResult = Fitting<typeof backtestResultSchema>;
