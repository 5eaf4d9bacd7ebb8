import { summarizeAll } from "../../../app/runs/afterwards/skims.ts";
import { plainLine } from "../../../core/base/inert.ts";
import { formatCost, formatCount, shortText } from "../../../core/base/preview.ts";
import type { RunSummary } from "../../../core/engine/record/run-summary.ts";
import { stateOf } from "../../../reports/model/account.ts";
import { openProject, text } from "../../flags.ts";
import type { Action } from "../../io.ts";
import { describeFailure, duration, type Paint, painter, printJson, programName } from "../../terminal/terminal.ts";
import { statusMark } from "../../terminal/verdict.ts";

export const listRuns: Action = async (io, _args, flags) => {
  const project = openProject(io, flags);
  const kind = text(flags, "kind");
  const runs: RunSummary[] = [];
  for (const found of await summarizeAll(project)) {
    if (found.status === "rejected") await io.err(describeFailure(found.reason, flags, io));
    else if (kind === undefined ? found.value.kind !== "backtest" : found.value.kind === kind) runs.push(found.value);
  }
  if (flags.json === true) return printJson(io, { schema: "skillflow.runs/1", runs });
  const paint = painter(io, flags);
  if (runs.length === 0) await io.err(`no runs yet: ${programName(io)} run WORKFLOW\n`);
  const queued = await project.queue?.queued();
  const lines = runs.map((run) => `${describeRun(run, queued?.has(run.id) ? "queued" : stateOf(run), paint)}\n`);
  await io.outText(lines.join(""));
  return 0;
};

/** Describes a run in two lines: id and state, then the details. An id may be long. */
function describeRun(run: RunSummary, state: string, paint: Paint): string {
  const { id, kind, workflow, status, model, costUsd, startedAt, durationMs, degraded, verdict, unrouted, about } = run;
  const kinds = kind === "run" ? [] : [paint("cyan", kind)];
  const found = [
    ...(about ? [`about ${plainLine(about.run)}: "${plainLine(shortText(about.question, 100))}"`] : []),
    ...(verdict === null ? [] : [paint("bold", plainLine(verdict))]),
    ...(degraded.length > 0 && state === status ? [paint("yellow", "degraded")] : []),
    ...(unrouted === null ? [] : [paint("yellow", `no edge applied after ${plainLine(unrouted)}`)]),
  ];
  const facts = [
    startedAt.slice(0, 16).replace("T", " "),
    duration(durationMs),
    `${formatCount(run.inputTokens + run.outputTokens)} tokens`,
    formatCost(costUsd),
    // A recheck asks no model.
    ...(kind === "recheck" ? [] : [plainLine(model)]),
  ];
  return [
    [`${statusMark(state, paint)} ${plainLine(id)}`, ...kinds, paint("bold", plainLine(workflow)), ...found].join(
      " · ",
    ),
    `  ${paint("dim", facts.join(" · "))}`,
  ].join("\n");
}
