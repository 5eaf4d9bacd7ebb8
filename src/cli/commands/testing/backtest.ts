import { copyFileSync, existsSync, readFileSync } from "node:fs";
import { join, resolve } from "node:path";
import * as z from "zod";
import { BACKTEST_RUNS, type BacktestedCase, runBacktest } from "../../../app/testing/backtest.ts";
import { type Cases, feedbackCases, loadCases } from "../../../app/testing/backtest-cases.ts";
import { backtestDocument } from "../../../app/testing/documents.ts";
import { usageError } from "../../../core/base/errors.ts";
import { parseJson } from "../../../core/base/values.ts";
import type { BacktestResult } from "../../../core/outward/testing/backtest-result.ts";
import { compareScores, type Scores } from "../../../core/outward/testing/grade.ts";
import { makeFolder } from "../../../files/files.ts";
import { number, openGuarded, text } from "../../flags.ts";
import { type Action, type Io, interruptSignal } from "../../io.ts";
import { checkPlaces, writeReport } from "../../outputs.ts";
import { jsonText } from "../../terminal/terminal.ts";
import { backtestMarkdown, backtestTable } from "./backtest-view.ts";

/** Runs `skillflow backtest`. Exit codes: 0, 1 the score fell or a run failed, 2 a case or the baseline is invalid. */
export const backtest: Action = async (io, [place], flags) => {
  const writes = text(flags, "writes");
  if (writes !== undefined && writes !== "deny")
    throw usageError(`a backtest never writes: --writes ${writes} is not possible`);
  const workspace = openGuarded(io, flags);
  const isFeedback = flags.fromFeedback === true;
  if (isFeedback === (place !== undefined)) throw usageError("name either CASES or --from-feedback");
  const { cases, leftOut }: Cases = place === undefined ? await feedbackCases(workspace) : loadCases(workspace, place);
  const baseline = readBaseline(io, text(flags, "baseline"));
  if (baseline && !cases.some(({ id }) => baseline.has(id))) throw usageError("the baseline has none of these cases");
  const out = text(flags, "out");
  for (const folder of out === undefined ? [] : [out, join(out, "runs")]) checkPlaces(io, { out: folder, reports: [] });
  const signal = interruptSignal(io);
  const runs = number(flags, "runs") ?? BACKTEST_RUNS;
  const done = await runBacktest(workspace, {
    cases,
    workflow: text(flags, "workflow"),
    runs,
    isStrict: flags.strictClock === true,
    choices: flags,
    signal,
    onRun({ id }, { error, grade }) {
      if (flags.quiet !== true) void io.err(`${id}: ${error === undefined ? grade : `failed: ${error}`}\n`);
    },
  });
  const tested = backtestDocument(done, { runs, leftOut });
  const compared = baseline && compareScores(baseline, scoresOf(tested.cases));
  const document: BacktestResult = { ...tested, ...(compared ? { baseline: compared } : {}) };
  if (out !== undefined) await writeFiles(io, resolve(io.host.cwd, out), { document, done });
  if (flags.json === true) await io.out(jsonText(document));
  else await io.outText(backtestTable(document));
  if (signal.aborted) return 130;
  return compared?.fell === true || document.total.failed > 0 ? 1 : 0;
};

const baselineSchema = z.object({
  schema: z.literal("skillflow.backtest/1"),
  cases: z.array(z.object({ id: z.string(), runs: z.array(z.object({ score: z.number() })).min(1) })).min(1),
});

function readBaseline({ host }: Io, name: string | undefined): Scores | undefined {
  if (name === undefined) return undefined;
  const path = resolve(host.cwd, name);
  if (!existsSync(path)) throw usageError(`there is no baseline ${name}`);
  const read = baselineSchema.safeParse(parseJson(readFileSync(path, "utf8")));
  if (!read.success) throw usageError(`${name} is not the backtest.json of a backtest`);
  return scoresOf(read.data.cases);
}

function scoresOf(cases: z.infer<typeof baselineSchema>["cases"]): Scores {
  return new Map(cases.map(({ id, runs }) => [id, runs.map(({ score }) => score)]));
}

/** Writes `backtest.json`, `backtest.md` and the runs' records, `runs/CASE.N.jsonl`. */
async function writeFiles(
  io: Io,
  folder: string,
  { document, done }: { readonly document: BacktestResult; readonly done: readonly BacktestedCase[] },
): Promise<void> {
  const runs = makeFolder(join(folder, "runs"));
  await writeReport(io, join(folder, "backtest.json"), jsonText(document));
  await writeReport(io, join(folder, "backtest.md"), backtestMarkdown(document));
  for (const { of, runs: all } of done) {
    for (const [index, { record }] of all.entries()) {
      if (record !== undefined) copyFileSync(record, join(runs, `${of.id}.${index + 1}.jsonl`));
    }
  }
}
