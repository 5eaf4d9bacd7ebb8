import type { BacktestedCase, BacktestRun } from "../../../app/testing/backtest.ts";
import { agreementOf, type Comparison, type GRADES, meanOf } from "../../../core/outward/testing/grade.ts";
import { oneLine } from "../../terminal/terminal.ts";

/** Result of a backtest for people and programs. */

/** Builds the `skillflow.backtest/1` document. */
export function backtestDocument(
  done: readonly BacktestedCase[],
  about: { readonly runs: number; readonly leftOut: number },
) {
  const cases = done.map(({ of, workflow, model, runs }) => ({
    ...{ id: of.id, workflow, model, as_of: of.as_of ?? null, truth: of.truth },
    ...summaryOf(runs),
    agreement: agreementOf(runs.map(({ answer }) => answer)),
    unbounded: unboundedIn(runs),
    runs: runs.map(({ unbounded: _, record: __, ...run }) => run),
  }));
  const agreement = meanOf(cases.map((one) => one.agreement));
  return {
    schema: "skillflow.backtest/1",
    ...about,
    cases,
    total: { cases: cases.length, ...summaryOf(done.flatMap(({ runs }) => runs)), agreement },
  };
}

export type BacktestDocument = ReturnType<typeof backtestDocument> & { readonly baseline?: Comparison };

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

const HEAD = [
  "Case",
  "Score",
  "Right",
  "Partly",
  "Wrong",
  "Abstained",
  "Decoys",
  "Agreement",
  "Calls",
  "Tokens",
  "Cost",
  "Time",
];

function rowsOf({ cases, total }: BacktestDocument): string[][] {
  return [...cases.map((one) => cellsOf(oneLine(one.id, 80), one)), cellsOf("in all", total)];
}

function cellsOf(name: string, row: BacktestDocument["total"] | BacktestDocument["cases"][number]): string[] {
  const { score, right, partly, wrong, abstained, decoys, agreement, calls, tokens, costUsd, medianMs } = row;
  const counts = [right, partly, wrong, abstained, decoys].map(String);
  const cost = costUsd === null ? "unpriced" : `$${costUsd.toFixed(4)}`;
  const seconds = `${(medianMs / 1000).toFixed(1)} s`;
  const used = [String(calls), String(tokens.input + tokens.output), cost, seconds];
  return [name, score.toFixed(2), ...counts, `${Math.round(agreement * 100)} %`, ...used];
}

export function backtestTable(document: BacktestDocument): string {
  const table = [HEAD, ...rowsOf(document)];
  const widths = HEAD.map((_, n) => Math.max(...table.map((row) => row[n]?.length ?? 0)));
  const lines = table.map((row) =>
    row
      .map((cell, n) => cell.padEnd(widths[n] ?? 0))
      .join("  ")
      .trimEnd(),
  );
  return `${[...lines, ...notesOf(document)].join("\n")}\n`;
}

export function backtestMarkdown(document: BacktestDocument): string {
  const line = (cells: readonly string[]) => `| ${cells.join(" | ")} |`;
  const table = [line(HEAD), line(HEAD.map(() => "---")), ...rowsOf(document).map(line)].join("\n");
  const notes = notesOf(document).map((note) => `- ${note}`);
  return `${["# Backtest", table, ...(notes.length > 0 ? [notes.join("\n")] : [])].join("\n\n")}\n`;
}

function notesOf({ cases, leftOut, baseline }: BacktestDocument): string[] {
  const unbounded = cases.flatMap(({ id, unbounded: tools }) => {
    const told = tools.map(({ tool, calls }) => `${tool} (${calls})`).join(", ");
    return tools.length === 0
      ? []
      : [`${id}: these tools may have returned what happened after the case's time: ${told}`];
  });
  const compared = baseline && [
    `score ${baseline.now.toFixed(2)}, before ${baseline.before.toFixed(2)}, over ${baseline.cases} cases; the spread is ` +
      `${baseline.spread.toFixed(2)}${baseline.fell ? ": it fell" : ""}`,
  ];
  const omitted = leftOut > 0 ? [`${leftOut} judged runs make no case`] : [];
  return [...unbounded, ...omitted, ...(compared ?? [])];
}
