import { collectStats, SINCE_MS, type Stats } from "../../../app/runs/afterwards/stats.ts";
import { plainLine } from "../../../core/base/inert.ts";
import { formatCost, formatCount, formatDuration, plural } from "../../../core/base/preview.ts";
import { number, openProject } from "../../flags.ts";
import type { Action } from "../../io.ts";
import { type Paint, painter, printJson } from "../../terminal/terminal.ts";

export const stats: Action = async (io, _args, flags) => {
  const workspace = openProject(io, flags);
  const found = await collectStats(workspace, Date.now() - (number(flags, "since") ?? SINCE_MS));
  if (flags.json === true) return printJson(io, found);
  const paint = painter(io, flags);
  if (found.rows.length === 0) await io.err(`no runs since ${found.since.slice(0, 10)}\n`);
  for (const row of found.rows) await io.outText(`${describeRow(row, paint)}\n`);
  for (const { run, line, reason } of found.skipped) {
    const place = run === undefined ? `line ${line} of the feedback` : plainLine(run);
    await io.err(`${paint("yellow", "!")} not counted: ${place}: ${plainLine(reason)}\n`);
  }
  return 0;
};

function describeRow(row: Stats["rows"][number], paint: Paint): string {
  const { rechecks, tokens } = row;
  const verdicts = Object.entries(row.verdicts).map(([verdict, count]) => `${plainLine(verdict)} ${count}`);
  const judged = `${row.right} right, ${row.partly} partly, ${row.wrong} wrong`;
  const checked = `${rechecks.held} held, ${rechecks.not_held} not held, ${rechecks.inconclusive} inconclusive`;
  const writes = `${row.planned} planned, ${row.applied} applied, ${row.rejected} rejected`;
  const spent = [
    `${formatCount(tokens.input + tokens.output)} tokens`,
    formatCost(row.costUsd),
    ...(row.medianMs === null ? [] : [`median ${formatDuration(row.medianMs)}`]),
  ];
  const facts: readonly (readonly [string, string])[] = [
    ...(verdicts.length === 0 ? [] : [["verdicts", verdicts.join(", ")] as const]),
    ["judged", judged],
    ["rechecks", checked],
    ["writes", writes],
    ["spent", spent.join(" · ")],
  ];
  const head = `${paint("bold", plainLine(row.workflow))} ${paint("dim", `· ${plainLine(row.model)} ·`)} ${plural(row.runs, "run")}`;
  return [head, ...facts.map(([name, fact]) => `  ${paint("dim", name.padEnd(9))} ${fact}`)].join("\n");
}
