import { defined } from "../../core/base/values.ts";
import { modelText } from "../../core/document/model-list.ts";
import type { BacktestResult } from "../../core/outward/testing/backtest-result.ts";
import { agreementOf, type GRADES, meanOf } from "../../core/outward/testing/grade.ts";
import type { BacktestedCase, BacktestRun } from "./backtest.ts";
import type { Coverage } from "./coverage.ts";
import type { TestedCase } from "./run-tests.ts";

export function modelOf({ model, ready }: TestedCase): string | null {
  const { model: own } = ready.workflow;
  return model.name ?? (own === undefined ? null : modelText(own));
}

export function testDocument(tested: readonly TestedCase[], coverage?: readonly Coverage[]) {
  const files = [...new Set(tested.map(({ ready }) => ready.loaded.file))];
  return {
    schema: "skillflow.tests/1",
    passed: tested.filter(({ passed }) => passed).length,
    failed: tested.filter(({ passed }) => !passed).length,
    files: files.map((file) => ({
      file,
      cases: tested.filter(({ ready }) => ready.loaded.file === file).map(caseOf),
    })),
    ...defined("coverage", coverage),
  };
}

function caseOf(one: TestedCase) {
  return {
    name: one.name,
    model: modelOf(one),
    passed: one.passed,
    runs: one.runs.length,
    passes: one.passes,
    failures: one.runs.flatMap(({ failures }) =>
      failures.map(({ expected, actual, path, message }) => ({
        expected,
        ...defined("actual", actual),
        path,
        message,
      })),
    ),
  };
}

export type TestResult = ReturnType<typeof testDocument>;

export function backtestDocument(
  done: readonly BacktestedCase[],
  about: { readonly runs: number; readonly leftOut: number },
): BacktestResult {
  const cases = done.map(({ of, workflow, model, runs }) => ({
    ...{ id: of.id, workflow, model, as_of: of.as_of ?? null, truth: of.truth },
    ...summaryOf(runs),
    agreement: agreementOf(runs.map(({ answer }) => answer)),
    unbounded: unboundedIn(runs),
    runs: runs.map(({ unbounded: _, record: __, decoys, ...run }) => ({ ...run, decoys: [...decoys] })),
  }));
  const agreement = meanOf(cases.map((one) => one.agreement));
  return {
    schema: "skillflow.backtest/1",
    ...about,
    cases,
    total: { cases: cases.length, ...summaryOf(done.flatMap(({ runs }) => runs)), agreement },
  };
}

function summaryOf(runs: readonly BacktestRun[]) {
  const sum = (of: (run: BacktestRun) => number) => runs.reduce((total, run) => total + of(run), 0);
  const count = (grade: (typeof GRADES)[number]) => runs.filter((run) => run.grade === grade).length;
  const times = runs.map(({ durationMs }) => durationMs).sort((a, b) => a - b);
  return {
    score: meanOf(runs.map(({ score }) => score)),
    ...{ right: count("right"), partly: count("partly"), wrong: count("wrong"), abstained: count("abstained") },
    failed: runs.filter(({ error }) => error !== undefined).length,
    decoys: sum(({ decoys }) => decoys.length),
    tokens: { input: sum(({ tokens }) => tokens.input), output: sum(({ tokens }) => tokens.output) },
    costUsd: runs.some(({ costUsd }) => costUsd === null) ? null : sum(({ costUsd }) => costUsd ?? 0),
    calls: sum(({ calls }) => calls),
    medianMs: times[Math.floor((times.length - 1) / 2)] ?? 0,
  };
}

function unboundedIn(runs: readonly BacktestRun[]) {
  const counts = new Map<string, number>();
  for (const { unbounded } of runs) for (const [tool, n] of unbounded) counts.set(tool, (counts.get(tool) ?? 0) + n);
  return [...counts].map(([tool, calls]) => ({ tool, calls }));
}
