import { plural } from "../../../core/base/preview.ts";
import type { BacktestResult } from "../../../core/outward/testing/backtest-result.ts";
import { oneLine, padTable } from "../../terminal/terminal.ts";

const HEAD = [
  ...["Case", "Score", "Right", "Partly", "Wrong", "Abstained"],
  ...["Decoys", "Agreement", "Calls", "Tokens", "Cost", "Time"],
];

function rowsOf({ cases, total }: BacktestResult): string[][] {
  return [...cases.map((one) => cellsOf(oneLine(one.id, 80), one)), cellsOf("in all", total)];
}

function cellsOf(name: string, row: BacktestResult["total"] | BacktestResult["cases"][number]): string[] {
  const { score, right, partly, wrong, abstained, decoys, agreement, calls, tokens, costUsd, medianMs } = row;
  const counts = [right, partly, wrong, abstained, decoys].map(String);
  const cost = costUsd === null ? "unpriced" : `$${costUsd.toFixed(4)}`;
  const seconds = `${(medianMs / 1000).toFixed(1)} s`;
  const used = [String(calls), String(tokens.input + tokens.output), cost, seconds];
  return [name, score.toFixed(2), ...counts, `${Math.round(agreement * 100)} %`, ...used];
}

export function backtestTable(document: BacktestResult): string {
  return `${[...padTable([HEAD, ...rowsOf(document)]), ...notesOf(document)].join("\n")}\n`;
}

export function backtestMarkdown(document: BacktestResult): string {
  const line = (cells: readonly string[]) => `| ${cells.join(" | ")} |`;
  const table = [line(HEAD), line(HEAD.map(() => "---")), ...rowsOf(document).map(line)].join("\n");
  const notes = notesOf(document).map((note) => `- ${note}`);
  return `${["# Backtest", table, ...(notes.length > 0 ? [notes.join("\n")] : [])].join("\n\n")}\n`;
}

function notesOf({ cases, leftOut, baseline }: BacktestResult): string[] {
  const unbounded = cases.flatMap(({ id, unbounded: tools }) => {
    if (tools.length === 0) return [];
    const listed = tools.map(({ tool, calls }) => `${tool} (${calls})`).join(", ");
    return [`${id}: these tools may have returned what happened after the case's time: ${listed}`];
  });
  const compared = baseline && [
    `score ${baseline.now.toFixed(2)}, before ${baseline.before.toFixed(2)}, over ${plural(baseline.cases, "case")}; the spread is ` +
      `${baseline.spread.toFixed(2)}${baseline.fell ? ": it fell" : ""}`,
  ];
  const omitted = leftOut > 0 ? [`${plural(leftOut, "judged run")} without a known truth left out`] : [];
  return [...unbounded, ...omitted, ...(compared ?? [])];
}
